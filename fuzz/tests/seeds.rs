//! The seeds of every target, as tests: without libFuzzer, on any toolchain.

use std::path::Path;

#[test]
fn properties_hold_for_all_seeds() {
    for (target, property) in pillion_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("seeds")
            .join(target);
        let seeds: Vec<_> = folder.read_dir().unwrap().flatten().collect();
        assert!(!seeds.is_empty(), "{target} has no seeds");
        for seed in seeds {
            println!("{}", seed.path().display());
            property(&std::fs::read(seed.path()).unwrap());
        }
    }
}

#[test]
fn every_target_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
    let mut files: Vec<_> = folder
        .read_dir()
        .unwrap()
        .flatten()
        .map(|file| file.file_name().into_string().unwrap())
        .collect();
    files.sort();
    let names = pillion_fuzz::TARGETS.iter();
    let expected: Vec<_> = names.map(|(name, _)| format!("{name}.rs")).collect();
    assert_eq!(files, expected);
}
