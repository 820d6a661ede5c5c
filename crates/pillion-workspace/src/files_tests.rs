use std::collections::BTreeMap;

use super::*;

fn entry(path: &str, size: u64) -> FileEntry {
    FileEntry {
        path: path.into(),
        stamp: Stamp {
            dev: 1,
            ino: 1,
            size,
            mtime_ns: 0,
            ctime_ns: 0,
        },
        settled: true,
    }
}

#[test]
fn files_are_a_sorted_map() {
    let mut files = Files::default();
    let mut model = BTreeMap::new();
    let mut random = 7_u64;
    for step in 0..30_000_u64 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let path = format!("{}/{}", (random >> 33) % 7, (random >> 40) % 1000);
        if random >> 62 == 0 {
            assert_eq!(files.remove(&path), model.remove(&path).is_some());
        } else {
            files.put(entry(&path, step));
            model.insert(path, step);
        }
        assert_eq!(files.len(), model.len());
    }
    let same = |files: &Files| {
        let ours: Vec<_> = files.iter().map(|e| (&*e.path, e.stamp.size)).collect();
        let theirs: Vec<_> = model.iter().map(|(p, s)| (p.as_str(), *s)).collect();
        assert_eq!(ours, theirs);
    };
    same(&files);
    let sorted = Files::from_sorted(files.iter().cloned().collect());
    same(&sorted);
    for (path, size) in &model {
        assert_eq!(sorted.get(path).map(|e| e.stamp.size), Some(*size));
    }
    for folder in ["0", "3", "6", "7", "", "3/"] {
        let prefix = match folder.trim_end_matches('/') {
            "" => String::new(),
            name => format!("{name}/"),
        };
        let ours: Vec<_> = files.under(folder).map(|e| e.path.to_string()).collect();
        let theirs = model.keys().filter(|path| path.starts_with(&prefix));
        assert_eq!(ours, theirs.cloned().collect::<Vec<_>>());
    }
}

#[test]
fn a_folder_is_not_its_namesake() {
    let files = ["a.py", "a/b", "a/c", "a0", "ab/c"].map(|path| entry(path, 0));
    let files = Files::from_sorted(files.to_vec());
    let under: Vec<_> = files.under("a").map(|e| &*e.path).collect();
    assert_eq!(under, ["a/b", "a/c"]);
    assert_eq!(files.under("a/b").count(), 0);
    assert_eq!(Files::default().under("a").count(), 0);
    assert_eq!(Files::default().under("").count(), 0);
}

#[test]
fn a_copy_is_not_changed() {
    let mut files = Files::default();
    for n in 0..2000 {
        files.put(entry(&format!("{n:04}"), 0));
    }
    let before = files.clone();
    files.put(entry("0007", 1));
    files.remove("0008");
    assert_eq!(before.get("0007").map(|e| e.stamp.size), Some(0));
    assert!(before.get("0008").is_some() && files.get("0008").is_none());
    assert_eq!((before.len(), files.len()), (2000, 1999));
}
