//! The worker package that every test is given is used as it is: nothing of it is made anew.

use std::fs;
use std::path::{Path, PathBuf};

use pillion_process::stamp::Stamp;
use pillion_testing::{CommandOutput, TestContext, package};

/// The stamps of everything below the folder of packages.
fn stamps(folder: &Path) -> Vec<(PathBuf, Stamp)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(stamps(&path)),
            false => found.push((path.clone(), Stamp::of(&path))),
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn a_package_that_is_given_to_a_test_is_used_as_it_is() {
    let context = TestContext::new();
    let call = context.pillion_command(&["call", "math:hypot", "[3, 4]"]);
    let folder = context.base.join(package::PLACE);
    let given = stamps(&folder);
    let is_record = |path: &Path| path.to_string_lossy().contains(package::RECORDS[1]);
    assert!(given.iter().any(|(path, _)| is_record(path)), "{given:?}");
    assert_eq!(CommandOutput::of(call).json(), 5.0);
    for (path, stamp) in given {
        assert_eq!(Stamp::of(&path), stamp, "{}", path.display());
    }
}
