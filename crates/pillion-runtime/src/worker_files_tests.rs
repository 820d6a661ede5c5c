//! The worker package is complete whatever happened to it.

use super::*;
use std::fs;
use std::sync::Barrier;

fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    package()
        .files
        .iter()
        .map(|(name, _)| (name.clone(), fs::read(path.join(name)).unwrap()))
        .collect()
}

fn expected() -> BTreeMap<String, Vec<u8>> {
    package()
        .files
        .iter()
        .map(|(name, file)| (name.clone(), file.data.to_vec()))
        .collect()
}

#[test]
fn only_the_package_is_embedded() {
    let names: Vec<&str> = package()
        .files
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert!(names.contains(&"__main__.py"), "{names:?}");
    assert!(names.contains(&"pillion/__init__.py"), "{names:?}");
    for name in names {
        let ours = name == "__main__.py" || name.starts_with("pillion/");
        assert!(ours && name.ends_with(".py"), "{name}");
    }
}

#[test]
fn every_folder_of_the_package_has_its_byte_code_proved() {
    let files = package()
        .files
        .iter()
        .filter_map(|(name, _)| name.rsplit_once('/'));
    let folders: std::collections::BTreeSet<&str> = files.map(|(folder, _)| folder).collect();
    assert_eq!(folders, bytecode::FOLDERS.into());
}

#[test]
fn it_is_laid_out_once_and_then_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let dirs = Dirs::under(home.path());
    let path = worker_dir(&dirs).unwrap();
    assert_eq!(contents(&path), expected());
    let before = Stamp::of(&path.join(RECORD));
    assert_eq!(worker_dir(&dirs).unwrap(), path);
    assert_eq!(Stamp::of(&path.join(RECORD)), before, "nothing was written");
}

#[test]
fn damage_is_repaired() {
    let home = tempfile::tempdir().unwrap();
    let dirs = Dirs::under(home.path());
    let path = worker_dir(&dirs).unwrap();
    let main = path.join("__main__.py");
    let original = fs::read(&main).unwrap();

    let mut same_length = original.clone();
    same_length.reverse();
    let modified = main.metadata().unwrap().modified().unwrap();
    let damages: [&dyn Fn(); 6] = [
        &|| fs::write(&main, "").unwrap(),
        &|| {
            // Even with length and times put back.
            fs::write(&main, &same_length).unwrap();
            fs::File::options()
                .write(true)
                .open(&main)
                .unwrap()
                .set_modified(modified)
                .unwrap();
        },
        &|| fs::remove_file(&main).unwrap(),
        &|| fs::remove_dir_all(path.join("pillion")).unwrap(),
        &|| fs::write(path.join(RECORD), "{}").unwrap(),
        &|| {
            fs::remove_file(&main).unwrap();
            fs::create_dir(&main).unwrap();
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        damage();
        assert_eq!(worker_dir(&dirs).unwrap(), path);
        assert_eq!(contents(&path), expected(), "damage {number}");
        assert!(package().is_recorded(&path), "damage {number}");
    }
}

#[test]
fn a_race_ends_with_one_complete_package() {
    let home = tempfile::tempdir().unwrap();
    let dirs = Dirs::under(home.path());
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                let path = worker_dir(&dirs).unwrap();
                assert_eq!(contents(&path), expected());
            });
        }
    });
    let left = dirs.cache.join("worker").read_dir().unwrap().count();
    assert_eq!(left, 1, "the losers cleaned up");
}

#[test]
fn old_packages_go_and_young_ones_stay() {
    let home = tempfile::tempdir().unwrap();
    let dirs = Dirs::under(home.path());
    let all = dirs.cache.join("worker");
    for (name, days) in [
        ("a1", 0),
        ("b2", 2),
        ("c3", 3),
        ("d4", 4),
        ("e5", 5),
        (".f6.1-1.tmp", 2),
        (".g7.1-1.tmp", 0),
    ] {
        let path = all.join(name);
        fs::create_dir_all(&path).unwrap();
        let time = SystemTime::now() - Duration::from_secs(days * 86_400 + 60);
        fs::File::open(&path).unwrap().set_modified(time).unwrap();
    }
    let current = worker_dir(&dirs).unwrap();
    let mut left: Vec<String> = all
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !current.ends_with(name))
        .collect();
    left.sort();
    assert_eq!(left, [".g7.1-1.tmp", "a1", "b2"]);
}
