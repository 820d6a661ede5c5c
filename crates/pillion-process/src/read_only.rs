//! Children that may read everything and write nothing, whatever their configuration says.
//!
//! A tool that is only asked something may still be told to write by a file in the project,
//! by a variable or by its own defaults. Its command line switches that off as far as it
//! can; the kernel, by Landlock, makes sure of it. The guard puts the wall up around itself
//! before it starts the program, so that nothing in between has to be unsafe.

use std::path::Path;

/// Give up writing, for this process and all that it starts, except at or below `writable`
/// and to `/dev/null`. A kernel without Landlock leaves everything as it is.
#[cfg(target_os = "linux")]
pub(crate) fn restrict<'a>(
    writable: impl IntoIterator<Item = &'a Path>,
) -> Result<(), landlock::RulesetError> {
    use landlock::{
        ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr,
    };
    // The last version that added a right to write; a kernel that knows less keeps less.
    let writing: BitFlags<AccessFs> = AccessFs::from_write(ABI::V3);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)?
        .create()?;
    for path in writable.into_iter().chain([Path::new("/dev/null")]) {
        // What is not there cannot be written to.
        let Ok(place) = PathFd::new(path) else {
            continue;
        };
        let rights = match path.is_dir() {
            true => writing,
            false => writing & AccessFs::from_file(ABI::V3),
        };
        rules = rules.add_rule(PathBeneath::new(place, rights))?;
    }
    rules.restrict_self()?;
    Ok(())
}

/// There is no such wall here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn restrict<'a>(
    _writable: impl IntoIterator<Item = &'a Path>,
) -> Result<(), std::convert::Infallible> {
    Ok(())
}
