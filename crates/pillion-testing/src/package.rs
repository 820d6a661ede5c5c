//! The worker package as a first use leaves it: laid out and compiled once for all tests of this
//! process, and given to each as a copy of its own.
//!
//! Without it every test would compile the whole package, and its first worker would read the
//! sources meanwhile: half of what a small test costs. A copy has other stamps than what it was
//! copied from, so its records are written anew; if pillion should not believe them, it does all
//! of it again.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use pillion_process::stamp::Stamp;
use serde_json::{Value, json};

use crate::{TestContext, wait_until};

/// Where packages are, below the base folder of a test.
pub const PLACE: &str = "pillion/cache/worker";
/// How the records of sources and of byte-code are called.
pub const RECORDS: [&str; 2] = [".complete", ".compiled-"];

/// A file or folder of the package.
struct Entry {
    /// Its path below the base folder.
    path: PathBuf,
    mode: u32,
    changed: SystemTime,
    /// None for a folder.
    content: Option<Vec<u8>>,
}

impl Entry {
    /// Whether it says what the others were when they were written.
    fn is_record(&self) -> bool {
        let name = self.path.file_name().unwrap().to_string_lossy();
        RECORDS.iter().any(|record| name.starts_with(record))
    }
}

/// Everything that a first use wrote for the package; folders come before what is in them, and
/// records last.
struct Package {
    /// Where it was made.
    base: PathBuf,
    entries: Vec<Entry>,
}

/// Give a package to a test, whose files belong to `user`.
pub(crate) fn give(base: &Path, user: Option<u32>) {
    static PACKAGE: OnceLock<Package> = OnceLock::new();
    PACKAGE.get_or_init(Package::make).write(base, user);
}

impl Package {
    fn make() -> Self {
        let context = TestContext::at_first_use();
        let daemon = context.daemon();
        daemon.connect().py("math:hypot", json!([3, 4])).unwrap();
        let mut package = Self {
            base: context.base.clone(),
            entries: Vec::new(),
        };
        wait_until("the package to be compiled", || {
            let packages = fs::read_dir(context.base.join(PLACE)).unwrap().flatten();
            let mut names = packages.flat_map(|one| fs::read_dir(one.path()).unwrap().flatten());
            names.any(|name| name.file_name().to_string_lossy().starts_with(RECORDS[1]))
        });
        drop(daemon);
        for folder in ["pillion", "pillion/cache"] {
            package.take(Path::new(folder));
        }
        package.take_all(Path::new(PLACE));
        package.entries.sort_by_key(Entry::is_record);
        package
    }

    fn take_all(&mut self, path: &Path) {
        self.take(path);
        let place = self.base.join(path);
        if place.is_dir() {
            for inner in fs::read_dir(place).unwrap().flatten() {
                self.take_all(&path.join(inner.file_name()));
            }
        }
    }

    fn take(&mut self, path: &Path) {
        let place = self.base.join(path);
        let meta = place.metadata().unwrap();
        self.entries.push(Entry {
            path: path.to_owned(),
            mode: meta.mode(),
            changed: meta.modified().unwrap(),
            content: meta.is_file().then(|| fs::read(&place).unwrap()),
        });
    }

    fn write(&self, base: &Path, user: Option<u32>) {
        for entry in &self.entries {
            let place = base.join(&entry.path);
            match &entry.content {
                None if place.is_dir() => continue,
                None => fs::create_dir(&place).unwrap(),
                Some(record) if entry.is_record() => {
                    fs::write(&place, self.record_of(&place, record, base)).unwrap();
                }
                Some(content) => {
                    fs::write(&place, content).unwrap();
                    // Byte-code knows its source by this time.
                    let file = File::options().write(true).open(&place).unwrap();
                    file.set_modified(entry.changed).unwrap();
                }
            }
            fs::set_permissions(&place, Permissions::from_mode(entry.mode)).unwrap();
            if user.is_some() {
                chown(&place, user, user).unwrap();
            }
        }
    }

    /// The record at `place`, with the stamps that its files have there.
    fn record_of(&self, place: &Path, record: &[u8], base: &Path) -> Vec<u8> {
        let mut record: Value = serde_json::from_slice(record).unwrap();
        let folder = place.parent().unwrap();
        let files = record["files"].as_object().unwrap().keys();
        let files = files.map(|name| {
            // The whole path, or that below the package.
            let path = match Path::new(name).strip_prefix(&self.base) {
                Ok(below) => base.join(below),
                Err(_) => folder.join(name),
            };
            let stamp = serde_json::to_value(Stamp::of(&path)).unwrap();
            let name = name.replace(self.base.to_str().unwrap(), base.to_str().unwrap());
            (name, stamp)
        });
        record["files"] = Value::Object(files.collect());
        serde_json::to_vec(&record).unwrap()
    }
}
