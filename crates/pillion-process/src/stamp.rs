//! What the file system says of a file without reading it: the one proof that a file is the
//! very one, with the very content, that was seen before.
//!
//! Every part of a [`Stamp`] is there for a change that the others miss. Device and inode tell
//! of a file that took the place of another. Size and modification time tell of most writes;
//! but programs set that time as they like (`touch -r`, `tar`, `rsync`, `cp -p`, build tools),
//! and then a write of the same size leaves no trace in either. The change time is set by the
//! kernel alone, with every write, rename, link, `chmod` and also with the setting of the
//! other times: no program can set it back without setting the machine's clock.
//!
//! What is missing has a stamp, too ([`Stamp::MISSING`]): that nothing is at a path is a fact
//! like any other, and ceases to be one.
//!
//! What a stamp cannot tell:
//!
//! - Of a folder it tells which names are in it, not what is in the files behind them.
//! - Kernels stamp with the time of their last timer interrupt. Two writes of the same size to
//!   the same file within those milliseconds may look the same, if the look was in between.
//!   Who keeps what he read asks for that, too ([`Look::settles`]), and lets the text decide
//!   until the moment is over.
//! - What is written through a memory map is stamped when the kernel gets to know of it.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::sys;

/// A file changed less than this before the look may change again with the same stamp:
/// kernels stamp with the time of their last timer interrupt.
pub const RACY: Duration = Duration::from_millis(30);
/// The same where time is counted in seconds.
const RACY_SECONDS: Duration = Duration::from_secs(3);

/// What the file system says of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The device it is on.
    pub dev: u64,
    /// Its number there.
    pub ino: u64,
    /// Its length in bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When its content or its properties changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
}

impl Stamp {
    /// Nothing is there, or nothing that can be looked at. No file has the inode 0.
    pub const MISSING: Self = Self {
        dev: 0,
        ino: 0,
        size: 0,
        mtime_ns: 0,
        ctime_ns: 0,
    };

    /// The stamp of what is at a path now, links followed.
    pub fn of(path: &Path) -> Self {
        path.metadata()
            .map_or(Self::MISSING, |meta| Self::from(&meta))
    }

    /// Whether it says that nothing is there.
    pub fn is_missing(&self) -> bool {
        (self.dev, self.ino) == (0, 0)
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime_ns: nanos(meta.mtime(), meta.mtime_nsec()),
            ctime_ns: nanos(meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl From<&rustix::fs::Stat> for Stamp {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let (modified, changed) = sys::parts_of_seconds(stat);
        Self {
            dev: sys::device(stat),
            ino: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: nanos(stat.st_mtime, modified),
            ctime_ns: nanos(stat.st_ctime, changed),
        }
    }
}

/// A time in nanoseconds, from how the system tells it.
fn nanos(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// A moment at which files are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    began_ns: i64,
    /// The times are those of another machine, whose clock may differ.
    distrust: bool,
}

impl Look {
    /// Now. `distrust` says that the times may be those of another machine.
    pub fn now(distrust: bool) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.map_or(0, |since| since.as_nanos());
        Self {
            began_ns: i64::try_from(nanos).unwrap_or(i64::MAX),
            distrust,
        }
    }

    /// Whether a write after this look, by which `stamp` was found, must have changed it.
    pub fn settles(self, stamp: &Stamp) -> bool {
        let whole_seconds = stamp.ctime_ns % 1_000_000_000 == 0;
        let window = match self.distrust || whole_seconds {
            true => RACY_SECONDS,
            false => RACY,
        };
        let window = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
        // A modification time in the future was set by hand, and the next write will not
        // carry it; a change time is never set by hand.
        let near = |time: i64| (self.began_ns.saturating_sub(time)).abs() < window;
        stamp.ctime_ns <= self.began_ns && !near(stamp.ctime_ns) && !near(stamp.mtime_ns)
    }
}

/// The stamps of what something was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Stamps(Vec<(PathBuf, Stamp)>);

impl Stamps {
    /// Those of these paths, as they are now.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut stamps = Self::default();
        paths.into_iter().for_each(|path| stamps.add(path));
        stamps
    }

    /// One more, as it is now.
    pub fn add(&mut self, path: PathBuf) {
        let stamp = Stamp::of(&path);
        self.0.push((path, stamp));
    }

    /// One more, as it was when it was looked at.
    pub fn add_seen(&mut self, path: PathBuf, stamp: Stamp) {
        self.0.push((path, stamp));
    }

    /// Those of others as well.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Those of others as well, instead of what was known of the same paths.
    pub fn update(&mut self, newer: Self) {
        let new: HashSet<&Path> = newer.paths().collect();
        self.0.retain(|(path, _)| !new.contains(path.as_path()));
        self.extend(newer);
    }

    /// The paths that they are of.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(path, _)| path.as_path())
    }

    /// The first path that is not as it was: one `stat` for each until then.
    pub fn changed(&self) -> Option<&Path> {
        let mut all = self.0.iter();
        let changed = all.find(|(path, stamp)| Stamp::of(path) != *stamp);
        changed.map(|(path, _)| path.as_path())
    }

    /// Whether no write after the look by which they were found can have come with the same
    /// stamp.
    pub fn settle(&self, look: Look) -> bool {
        self.0.iter().all(|(_, stamp)| look.settles(stamp))
    }

    /// Whether everything is still so: one `stat` for each.
    pub fn hold(&self) -> bool {
        self.changed().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// As `touch -r` does.
    fn set_back(path: &Path, stamp: Stamp) {
        let nanos = u64::try_from(stamp.mtime_ns).unwrap();
        let time = std::time::UNIX_EPOCH + Duration::from_nanos(nanos);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
        assert_eq!(Stamp::of(path).mtime_ns, stamp.mtime_ns);
    }

    /// Kernels count in ticks: change until the clock has gone on.
    fn until_seen(path: &Path, before: Stamp, change: impl Fn()) {
        let mut looks = 0;
        while Stamp::of(path) == before {
            change();
            set_back(path, before);
            looks += 1;
            assert!(looks < 1_000_000, "it is never seen");
        }
    }

    #[test]
    fn a_write_of_the_same_size_is_seen_although_its_time_is_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        let before = Stamp::of(&path);
        assert_eq!(before, Stamp::of(&path));
        until_seen(&path, before, || fs::write(&path, "two").unwrap());
        assert_eq!(Stamp::of(&path).size, before.size);
    }

    #[test]
    fn a_file_in_the_place_of_another_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        let before = Stamp::of(&path);
        let other = folder.path().join("other");
        fs::write(&other, "two").unwrap();
        fs::rename(other, &path).unwrap();
        set_back(&path, before);
        assert_ne!(before, Stamp::of(&path));
    }

    #[test]
    fn what_is_missing_has_a_stamp_until_it_comes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let stamps = Stamps::of([path.clone(), folder.path().to_owned()]);
        assert!(Stamp::of(&path).is_missing() && stamps.hold());
        fs::write(&path, "").unwrap();
        assert!(!Stamp::of(&path).is_missing() && !stamps.hold());
        let mut both = Stamps::of([path.clone()]);
        both.extend(Stamps::of([folder.path().join("never")]));
        assert!(both.hold());
        fs::remove_file(path).unwrap();
        assert!(!both.hold());
    }

    #[test]
    fn a_stamp_settles_when_its_moment_is_over() {
        let second = 1_000_000_000;
        let at = |ns: i64, distrust| Look {
            began_ns: ns,
            distrust,
        };
        let mut stamp = Stamp::MISSING;
        stamp.mtime_ns = 100 * second + 1;
        stamp.ctime_ns = 100 * second + 1;
        let settled = |look: Look| look.settles(&stamp);
        assert!(!settled(at(100 * second + 2, false)));
        assert!(!settled(at(100 * second + 29_000_000, false)));
        assert!(settled(at(100 * second + 40_000_000, false)));
        assert!(!settled(at(100 * second + 40_000_000, true)));
        assert!(settled(at(104 * second, true)));
        assert!(!settled(at(99 * second, false)), "changed in the future");
        stamp.ctime_ns = 100 * second;
        assert!(
            !at(101 * second, false).settles(&stamp),
            "counted in seconds"
        );
        stamp.ctime_ns = 90 * second + 1;
        stamp.mtime_ns = 999 * second;
        assert!(at(100 * second, false).settles(&stamp), "set by hand");
    }
}
