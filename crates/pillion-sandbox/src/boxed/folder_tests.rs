//! What a folder is said to hold, by real folders and by processes that are really there.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::*;

/// As if the file system had had room for everything before the run: whatever is written, the
/// folder has to be added up to know whether it is full.
const LOST_MUCH: (u64, u64) = (u64::MAX / 2, u64::MAX / 2);
/// As if nothing had been lost since then.
const LOST_NOTHING: (u64, u64) = (0, 0);

fn disk(path: &Path, bytes: u64, files: u64, left: (u64, u64)) -> Disk {
    Disk {
        path: path.to_owned(),
        bytes,
        files,
        used: 0,
        named: 0,
        left,
        sends: false,
    }
}

fn own() -> Vec<i32> {
    vec![i32::try_from(std::process::id()).unwrap()]
}

/// What is in a folder, if it fits.
fn sum(path: &Path, disk: &Disk, pids: &[i32]) -> Option<Sum> {
    let folder = Folder::new(disk.clone()).unwrap();
    let mut adding = folder.begin(pids).ok()?;
    let for_long = Instant::now() + Duration::from_secs(3600);
    assert_eq!(path, disk.path);
    adding.go_on(disk, for_long).ok().flatten()
}

/// So many bytes that were really written.
fn fill(path: &Path, bytes: usize) -> u64 {
    fs::write(path, vec![7; bytes]).unwrap();
    // Some file systems say only then how much it takes.
    File::open(path).unwrap().sync_all().unwrap();
    fs::metadata(path).unwrap().blocks() * 512
}

#[test]
fn everything_with_a_name_is_added_up_and_a_file_with_two_names_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let disk = disk(folder.path(), u64::MAX, u64::MAX, LOST_NOTHING);
    let empty = sum(folder.path(), &disk, &[]).unwrap();
    assert_eq!(empty.names, 0);
    let one = fill(&at("one"), 100_000);
    assert!(one >= 100_000);
    let with_one = sum(folder.path(), &disk, &[]).unwrap();
    assert_eq!((with_one.bytes - empty.bytes, with_one.names), (one, 1));
    fs::hard_link(at("one"), at("again")).unwrap();
    std::os::unix::fs::symlink("/", at("link")).unwrap();
    let with_names = sum(folder.path(), &disk, &[]).unwrap();
    assert_eq!(with_names.names, 3, "names cost, too");
    assert!(
        with_names.bytes - with_one.bytes < one,
        "the bytes are the same"
    );
    // What was never written takes nothing.
    File::create(at("hole")).unwrap().set_len(1 << 40).unwrap();
    let with_hole = sum(folder.path(), &disk, &[]).unwrap();
    assert!(with_hole.bytes - with_names.bytes < 1 << 20);
}

#[test]
fn a_removed_file_counts_as_long_as_somebody_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let disk = disk(folder.path(), u64::MAX, u64::MAX, LOST_NOTHING);
    let before = sum(folder.path(), &disk, &own()).unwrap().bytes;
    let taken = fill(&path, 1 << 20);
    let (open, again) = (File::open(&path).unwrap(), File::open(&path).unwrap());
    fs::remove_file(&path).unwrap();
    let now = |pids: &[i32]| sum(folder.path(), &disk, pids).unwrap().bytes;
    assert!(now(&own()) >= before + taken, "it is open");
    assert!(now(&own()) < before + 2 * taken, "once");
    assert!(now(&[]) < before + taken, "nobody of the run has it");
    drop((open, again));
    assert!(now(&own()) < before + taken);
}

#[test]
fn as_much_as_fits_is_not_too_much() {
    let folder = tempfile::tempdir().unwrap();
    fill(&folder.path().join("a"), 50_000);
    fill(&folder.path().join("b"), 50_000);
    let whole = disk(folder.path(), u64::MAX, u64::MAX, LOST_NOTHING);
    let Sum { bytes, names } = sum(folder.path(), &whole, &[]).unwrap();
    let fits = |bytes, files| {
        let disk = disk(folder.path(), bytes, files, LOST_NOTHING);
        sum(folder.path(), &disk, &[]).is_some()
    };
    assert!(fits(bytes, names));
    assert!(!fits(bytes - 1, names));
    assert!(!fits(bytes, names - 1));
}

#[test]
fn whoever_hides_something_deep_down_has_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path(), u64::MAX, u64::MAX, LOST_NOTHING);
    fs::create_dir_all(folder.path().join("d/".repeat(walk::DEPTH))).unwrap();
    assert!(sum(folder.path(), &disk, &[]).is_some());
    fs::create_dir_all(folder.path().join("d/".repeat(walk::DEPTH + 2))).unwrap();
    assert!(sum(folder.path(), &disk, &[]).is_none());
}

#[test]
fn a_folder_is_full_when_it_holds_more_than_fits() {
    let folder = tempfile::tempdir().unwrap();
    let watched = disk(folder.path(), 1 << 20, 10, LOST_MUCH);
    let full = |folder: &mut Folder| {
        folder.is_full(Everyone::NOBODY) && folder.was_filled(Everyone::NOBODY)
    };
    let mut seen = Folder::new(watched.clone()).unwrap();
    assert!(
        !full(&mut seen),
        "others have written that much, not this run"
    );
    fill(&folder.path().join("large"), 2 << 20);
    assert!(full(&mut Folder::new(watched.clone()).unwrap()), "bytes");
    fs::remove_file(folder.path().join("large")).unwrap();
    for name in 0..11 {
        fs::write(folder.path().join(name.to_string()), "").unwrap();
    }
    assert!(full(&mut Folder::new(watched).unwrap()), "names");
}

#[test]
fn a_folder_that_cannot_be_full_is_added_up_at_leisure() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path(), 1 << 20, 10, LOST_NOTHING);
    let mut seen = Folder::new(disk).unwrap();
    fill(&folder.path().join("large"), 2 << 20);
    assert!(
        !seen.is_full_already(Everyone::NOBODY),
        "nothing says that it could be"
    );
    // It is found out all the same, only later.
    while !seen.is_full(Everyone::NOBODY) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_was_there_before_counts_from_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let used = Disk {
        used: (1 << 40) + 1,
        ..disk(folder.path(), 1 << 40, u64::MAX, LOST_NOTHING)
    };
    // It may be full, so it is added up, and then it is known not to be.
    let mut seen = Folder::new(used).unwrap();
    assert!(seen.may_be_full());
    assert!(!seen.is_full(Everyone::NOBODY));
    assert!(!seen.may_be_full());
}

#[test]
fn the_next_look_comes_before_the_room_can_be_used_up() {
    let folder = tempfile::tempdir().unwrap();
    let time = |bytes| {
        let disk = disk(folder.path(), bytes, 10, LOST_NOTHING);
        Folder::new(disk).unwrap().time_left()
    };
    assert_eq!(time(2 * FAST), Duration::from_secs(2));
    assert_eq!(time(FAST / 4), Duration::from_millis(250));
    assert_eq!(time(0), AGAIN, "not all the time");
    assert!(time(u64::MAX) >= Duration::from_secs(4), "no overflow");
}

#[test]
fn a_folder_that_is_none_is_not_watched() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for name in ["link", "file", "nothing"] {
        let path = folder.path().join(name);
        let watched = Folder::new(disk(&path, 1, 1, LOST_NOTHING));
        assert!(watched.is_none(), "{name}");
    }
}

#[test]
fn descriptors_on_their_way_in_a_socket_are_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let device = fs::metadata(folder.path()).unwrap().dev();
    let file = File::create(folder.path().join("file")).unwrap();
    let (here, _there) = UnixStream::pair().unwrap();
    crate::message::send(&here, &1, &[file.as_fd()]).unwrap();
    let pid = own()[0];
    assert!(hides(pid, device, true));
    assert!(!hides(pid, device, false), "who cannot send has none there");
}

#[test]
fn processes_that_are_gone_have_written_nothing() {
    assert_eq!(written(&[]), 0);
    assert_eq!(written(&[i32::MAX]), 0);
    assert!(!hides(i32::MAX, 0, true));
}
