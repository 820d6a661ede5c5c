//! The source files that a process has imported: is each still what it was?
//!
//! The file system is the truth, and it is asked before every call. Asking costs a system
//! call per file, though, and with hundreds of modules more than the call itself. So where
//! there are more than a few, the kernel is told to keep watch ([`Sentry`]): it notes a
//! change before the writer's own system call returns, hence what was written before a
//! request came is noted when the request is looked at, and one read tells that nothing
//! was. Whatever a watch cannot see is still looked at, and so is everything where no
//! watch can be had.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use pillion_process::stamp::Stamp;
use pillion_protocol::worker::SourceFile;

/// Up to so many files, looking at each is as cheap as anything else.
const FEW: usize = 4;
/// After so long everything is looked at again: for writes through a memory map, which
/// no watch sees.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What a process has imported.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: Vec<SourceFile>,
    watch: Watch,
}

#[derive(Debug, Default)]
enum Watch {
    /// The files have changed since, or there are only a few.
    #[default]
    None,
    Kept(Box<Sentry>),
    /// It cannot be had here.
    Impossible,
}

impl Sources {
    /// More files, or newer proofs of known ones.
    pub(crate) fn add(&mut self, files: Vec<SourceFile>) {
        if files.is_empty() {
            return;
        }
        let new: BTreeSet<_> = files.iter().map(|file| file.0.clone()).collect();
        self.files.retain(|known| !new.contains(&known.0));
        self.files.extend(files);
        self.watch = Watch::None;
    }

    /// The first file that is not as it was when it was imported.
    pub(crate) fn changed(&mut self) -> Option<String> {
        if let Watch::Kept(sentry) = &mut self.watch
            && sentry.all_quiet(&self.files)
        {
            return None;
        }
        if matches!(self.watch, Watch::None) && self.files.len() > FEW {
            // Before looking, so that nothing can happen in between.
            self.watch = Sentry::post(&self.files).map_or_else(
                || {
                    tracing::info!("source files cannot be watched: each is looked at");
                    Watch::Impossible
                },
                |sentry| Watch::Kept(Box::new(sentry)),
            );
        }
        if let Watch::Kept(sentry) = &mut self.watch {
            sentry.begin_look();
        }
        let changed = self.files.iter().find(|file| !unchanged(file));
        if changed.is_some()
            && let Watch::Kept(_) = self.watch
        {
            // Its quiet would only mean that the file is as changed as before.
            self.watch = Watch::None;
        }
        changed.map(|file| file.0.clone())
    }
}

/// Whether a proof says that nothing was at its path.
fn is_absence(file: &SourceFile) -> bool {
    (file.1, file.2) == (0, 0)
}

/// Whether a file is still what its proof says.
fn unchanged(file: &SourceFile) -> bool {
    let path = Path::new(&file.0);
    match is_absence(file) {
        true => fs::symlink_metadata(path).is_err(),
        false => Stamp::of(path) == stamp(file),
    }
}

/// The stamp that a worker sent. Times beyond those of a stamp are the last one there is, as
/// they are in what is found here.
fn stamp(file: &SourceFile) -> Stamp {
    let SourceFile(_, dev, ino, size, mtime, ctime) = *file;
    let time = |nanos: i128| i64::try_from(nanos).unwrap_or(i64::MAX);
    Stamp {
        dev,
        ino,
        size,
        mtime_ns: time(mtime),
        ctime_ns: time(ctime),
    }
}

/// Which folder stands at a path now.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let meta = fs::metadata(folder).ok()?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(target_os = "linux"))]
use elsewhere::Sentry;
#[cfg(target_os = "linux")]
use linux::Sentry;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    use pillion_protocol::worker::SourceFile;
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

    use super::{LOOK_AGAIN, identity, is_absence, unchanged};

    /// File systems that nobody changes behind this kernel's back: ext, XFS, Btrfs, F2FS,
    /// tmpfs, ZFS. Not overlayfs: a file that moves to the upper layer loses its watch.
    const LOCAL: [u64; 6] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0x0102_1994,
        0x2fc1_2fc1,
    ];

    /// Keeps watch over files.
    #[derive(Debug)]
    pub(super) struct Sentry {
        /// Tells of every change to the content, the name or the number of names of a file.
        events: OwnedFd,
        /// The folders: another may be put in the place of one, with its files untouched.
        folders: Vec<(PathBuf, Option<(u64, u64)>)>,
        /// Files that are reached through links, any of which may be turned: looked at.
        linked: Vec<usize>,
        looked: Instant,
    }

    impl Sentry {
        /// Watch these files; `None` where that cannot be done.
        pub(super) fn post(files: &[SourceFile]) -> Option<Self> {
            let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            let wanted = WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::MOVE_SELF
                | WatchFlags::DELETE_SELF;
            let mut folders = BTreeMap::new();
            let mut linked = Vec::new();
            for (index, file) in files.iter().enumerate() {
                let path = Path::new(&file.0);
                if path.canonicalize().is_ok_and(|real| real != path) {
                    linked.push(index);
                    continue;
                }
                let folder = path.parent()?;
                if !folders.contains_key(folder) {
                    let kind = rustix::fs::statfs(folder).ok()?.f_type;
                    if !LOCAL.contains(&u64::try_from(kind).ok()?) {
                        return None;
                    }
                    folders.insert(folder.to_owned(), identity(folder));
                }
                // One that is gone by now is found missing by the look that follows; one that
                // never was is seen to appear by its folder.
                let names = WatchFlags::CREATE | WatchFlags::MOVED_TO;
                let (target, wanted) = if is_absence(file) {
                    (folder, names)
                } else if path.is_dir() {
                    // Its own proof changes with the names in it.
                    let gone = WatchFlags::DELETE | WatchFlags::MOVED_FROM;
                    (path, wanted | names | gone)
                } else {
                    (path, wanted)
                };
                // Several proofs may want the same folder watched.
                let wanted = wanted | WatchFlags::MASK_ADD;
                match inotify::add_watch(&events, target, wanted) {
                    Ok(_) | Err(rustix::io::Errno::NOENT) => {}
                    Err(_) => return None,
                }
            }
            Some(Self {
                events,
                folders: folders.into_iter().collect(),
                linked,
                looked: Instant::now(),
            })
        }

        /// Whether nothing can have happened since the last look.
        pub(super) fn all_quiet(&mut self, files: &[SourceFile]) -> bool {
            self.looked.elapsed() < LOOK_AGAIN
                && self.next_events() == Err(rustix::io::Errno::AGAIN)
                && self
                    .folders
                    .iter()
                    .all(|(folder, known)| identity(folder) == *known)
                && self.linked.iter().all(|at| unchanged(&files[*at]))
        }

        /// Everything is about to be looked at: what was noted until now is settled by that.
        pub(super) fn begin_look(&mut self) {
            while matches!(self.next_events(), Ok(1..)) {}
            self.looked = Instant::now();
        }

        fn next_events(&self) -> rustix::io::Result<usize> {
            let mut buffer = [0_u8; 4096];
            rustix::io::read(&self.events, &mut buffer)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use pillion_protocol::worker::SourceFile;

    /// Nobody keeps watch here.
    #[derive(Debug)]
    pub(super) enum Sentry {}

    impl Sentry {
        pub(super) fn post(_: &[SourceFile]) -> Option<Self> {
            None
        }

        pub(super) fn all_quiet(&mut self, _: &[SourceFile]) -> bool {
            match *self {}
        }

        pub(super) fn begin_look(&mut self) {
            match *self {}
        }
    }
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
