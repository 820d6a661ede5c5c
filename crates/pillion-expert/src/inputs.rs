//! Files of the session that skills may read: by name, and never through a link.
//!
//! The learner's own code writes into these folders, so a name in there may be a link to
//! anything. Files are therefore opened here, without following links, and handed on as open
//! files: what was looked at is what is read, whatever has that name by then.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pillion_lanes::TableGiven;
use rustix::fs::{Mode, OFlags};

/// The most files; a run has at most so many tools of a kind.
const MOST_FILES: usize = 64;
/// Names of a folder that are looked at.
const MOST_NAMES: usize = 10_000;
/// The most bytes of all files that are put into the folder of a run.
const MOST_BYTES: u64 = 24 << 20;
/// The longest name.
const NAME: usize = 200;

/// A file of the session.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) size: u64,
    modified: (i64, i64),
    file: File,
}

impl Input {
    /// Where the open file can be read. It stays open as long as this is there.
    pub(crate) fn path(&self) -> PathBuf {
        pillion_process::descriptor_path(&self.file)
    }
}

/// The files of `folders`: of the first one first, in each the newest first. Of two with the
/// same name the first counts. Blocks.
pub(crate) fn open(folders: &[&Path]) -> Vec<Input> {
    let mut all: Vec<Input> = Vec::new();
    for folder in folders {
        let mut found = open_folder(folder);
        found.retain(|input| all.iter().all(|other| other.name != input.name));
        found.sort_by(|a, b| (b.modified, &a.name).cmp(&(a.modified, &b.name)));
        all.extend(found);
    }
    all.truncate(MOST_FILES);
    all
}

fn open_folder(folder: &Path) -> Vec<Input> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(folder, flags, Mode::empty()) else {
        return Vec::new();
    };
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .take(MOST_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_plain(name))
        .collect();
    names.sort();
    // Nobody may make us hold all descriptors of the process.
    names.truncate(4 * MOST_FILES);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    names
        .into_iter()
        .filter_map(|name| {
            let file = rustix::fs::openat(&opened, &name, flags, Mode::empty()).ok()?;
            let file = File::from(file);
            let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some(Input {
                name,
                size: meta.len(),
                modified: (meta.mtime(), meta.mtime_nsec()),
                file,
            })
        })
        .collect()
}

fn is_plain(name: &str) -> bool {
    !name.starts_with('.')
        && name.len() <= NAME
        && !name.chars().any(|c| c.is_control() || "/\\`".contains(c))
}

/// The CSV files as tables, by names that SQL takes.
pub(crate) fn tables(inputs: &[Input]) -> Vec<(String, TableGiven)> {
    let mut all: Vec<(String, TableGiven)> = Vec::new();
    for input in inputs {
        let Some((stem, end)) = input.name.rsplit_once('.') else {
            continue;
        };
        let name = table_name(stem);
        if !end.eq_ignore_ascii_case("csv") || all.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let given = TableGiven {
            csv_path: Some(input.path()),
            ..TableGiven::default()
        };
        all.push((name, given));
    }
    all
}

/// `Sales 2024` as `sales_2024`.
fn table_name(stem: &str) -> String {
    let plain: String = stem
        .chars()
        .map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_lowercase(),
            false => '_',
        })
        .collect();
    let reserved = ["sqlite_", "pragma_", "json_", "jsonb_"];
    let fits = plain.starts_with(|c: char| c.is_ascii_alphabetic())
        && !reserved.iter().any(|prefix| plain.starts_with(prefix));
    if fits { plain } else { format!("t_{plain}") }
}

/// The contents of all files that fit, to be put into the folder of a run. Blocks.
pub(crate) fn contents(inputs: &[Input]) -> Vec<(String, Vec<u8>)> {
    let mut left = MOST_BYTES;
    let mut all = Vec::new();
    for input in inputs {
        let Some(bytes) = read(input, left) else {
            continue;
        };
        left -= bytes.len() as u64;
        all.push((input.name.clone(), bytes));
    }
    all
}

/// All of a file from its beginning, unless it has more than `most` bytes.
fn read(input: &Input, most: u64) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    // Opened anew, so that nobody else's place in it counts.
    let file = File::open(input.path()).ok()?;
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::{Duration, SystemTime};

    fn write(folder: &Path, name: &str, age: u64) {
        fs::create_dir_all(folder).unwrap();
        let file = File::create(folder.join(name)).unwrap();
        fs::write(folder.join(name), name).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        file.set_modified(then).unwrap();
    }

    fn names(inputs: &[Input]) -> Vec<&str> {
        inputs.iter().map(|input| &*input.name).collect()
    }

    #[test]
    fn files_are_known_by_name_the_newest_first_and_the_first_folder_counts() {
        let home = tempfile::tempdir().unwrap();
        let (data, work) = (home.path().join("data"), home.path().join("work"));
        write(&data, "old.csv", 9);
        write(&data, "new.csv", 1);
        write(&data, "same.csv", 1);
        write(&work, "same.csv", 0);
        write(&work, "main.py", 0);
        let inputs = open(&[&data, &work, &home.path().join("none")]);
        assert_eq!(
            names(&inputs),
            ["new.csv", "same.csv", "old.csv", "main.py"]
        );
        assert_eq!(fs::read_to_string(inputs[1].path()).unwrap(), "same.csv");
    }

    #[test]
    fn nothing_is_read_through_a_link_or_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        write(&data, "good.csv", 0);
        write(&data, ".hidden", 0);
        write(home.path(), "secret", 0);
        std::os::unix::fs::symlink(home.path().join("secret"), data.join("link.csv")).unwrap();
        fs::create_dir(data.join("folder.csv")).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, data.join("pipe.csv"), kind, mode, 0).unwrap();
        assert_eq!(names(&open(&[&data])), ["good.csv"]);
        let link = home.path().join("link");
        std::os::unix::fs::symlink(home.path(), &link).unwrap();
        assert!(open(&[&link]).is_empty(), "nor is a folder");
    }

    #[test]
    fn a_name_that_is_given_to_another_file_does_not_change_what_is_read() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), "a.csv", 0);
        let inputs = open(&[home.path()]);
        fs::remove_file(home.path().join("a.csv")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", home.path().join("a.csv")).unwrap();
        assert_eq!(contents(&inputs), [("a.csv".to_owned(), b"a.csv".to_vec())]);
    }

    #[test]
    fn what_does_not_fit_is_not_put_into_a_folder() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            let file = File::create(home.path().join(name)).unwrap();
            file.set_len(MOST_BYTES - 10).unwrap();
        }
        write(home.path(), "c", 0);
        let sizes: Vec<usize> = contents(&open(&[home.path()]))
            .iter()
            .map(|(_, bytes)| bytes.len())
            .collect();
        assert_eq!(sizes.len(), 2, "one of the large ones, and the small one");
    }

    #[test]
    fn many_files_are_cut_off() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..100 {
            write(home.path(), &format!("{number}.csv"), number);
        }
        let inputs = open(&[home.path()]);
        assert_eq!((inputs.len(), &*inputs[0].name), (MOST_FILES, "0.csv"));
    }

    #[test]
    fn tables_have_names_that_sql_takes() {
        for (stem, name) in [
            ("sales", "sales"),
            ("Sales 2024", "sales_2024"),
            ("2024", "t_2024"),
            ("sqlite_x", "t_sqlite_x"),
            ("\u{e4}", "t__"),
            ("", "t_"),
        ] {
            assert_eq!(table_name(stem), name);
        }
        let home = tempfile::tempdir().unwrap();
        for name in ["a.csv", "A.CSV", "b.txt", "c"] {
            write(home.path(), name, 0);
        }
        let tables = tables(&open(&[home.path()]));
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].0, "a");
    }
}
