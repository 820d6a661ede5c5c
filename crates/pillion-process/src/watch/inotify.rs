//! Watching paths with inotify: what is there, and every folder and link on the way to it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// File systems that nobody changes behind this kernel's back: ext, XFS, Btrfs, F2FS, tmpfs,
/// ZFS. Not overlayfs: a file that moves to the upper layer loses its watch.
const LOCAL: [u64; 6] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0x0102_1994,
    0x2fc1_2fc1,
];
/// Links that are followed on the way to a file, as many as the kernel follows.
const MAX_LINKS: usize = 40;

const MOVED: WatchFlags = WatchFlags::MOVE_SELF.union(WatchFlags::DELETE_SELF);
const CAME: WatchFlags = WatchFlags::CREATE.union(WatchFlags::MOVED_TO);
const WENT: WatchFlags = WatchFlags::DELETE.union(WatchFlags::MOVED_FROM);
const CHANGED: WatchFlags = WatchFlags::MODIFY.union(WatchFlags::ATTRIB);

/// The watches of one who asks.
#[derive(Debug)]
pub(super) struct Watches {
    queue: &'static Queue,
    is_disturbed: Arc<AtomicBool>,
    numbers: HashSet<i32>,
}

/// What somebody wants to hear of a watched file or folder.
#[derive(Debug)]
enum Interest {
    /// What happens to itself.
    Itself,
    /// And to any name in it.
    Names,
    /// And to this name in it.
    Name(OsString),
}

impl Interest {
    fn covers(&self, name: Option<&OsStr>) -> bool {
        match (self, name) {
            (_, None) | (Self::Names, _) => true,
            (Self::Itself, Some(_)) => false,
            (Self::Name(wanted), Some(name)) => wanted == name,
        }
    }
}

impl Watches {
    /// Watch these paths; `None` where that cannot be done.
    pub(super) fn of(paths: &[PathBuf]) -> Option<Self> {
        let mut watches = Self {
            queue: Queue::of_process()?,
            is_disturbed: Arc::default(),
            numbers: HashSet::new(),
        };
        let mut passed = HashSet::new();
        for path in paths {
            watches.add(path, &mut passed)?;
        }
        Some(watches)
    }

    /// Whether nothing happened since they were made.
    pub(super) fn are_quiet(&self) -> bool {
        self.queue.read().is_some() && !self.is_disturbed.load(Ordering::Relaxed)
    }

    /// Watch what is at a path, and every folder and link on the way; folders that were
    /// `passed` are watched already.
    fn add(&mut self, path: &Path, passed: &mut HashSet<PathBuf>) -> Option<()> {
        path.is_absolute().then_some(())?;
        let mut here = PathBuf::from("/");
        let mut rest = names(path)?;
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
            && passed.contains(folder)
        {
            here = folder.to_owned();
            rest = VecDeque::from([name.to_owned()]);
        }
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&name);
            let kind = match fs::symlink_metadata(&next) {
                Ok(meta) => meta.file_type(),
                // It may come.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    is_local(&here).then_some(())?;
                    return self.watch(&here, MOVED | CAME, Interest::Name(name));
                }
                Err(_) => return None,
            };
            if kind.is_symlink() {
                links += 1;
                let target = fs::read_link(&next).ok().filter(|_| links <= MAX_LINKS)?;
                // A link is never written, only replaced.
                let flags = MOVED | WatchFlags::ATTRIB | WatchFlags::DONT_FOLLOW;
                self.watch(&next, flags, Interest::Itself)?;
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                let mut ahead = names(&target)?;
                ahead.append(&mut rest);
                rest = ahead;
            } else if !rest.is_empty() {
                if passed.insert(next.clone()) {
                    self.watch(&next, MOVED, Interest::Itself)?;
                }
                here = next;
            } else if kind.is_dir() {
                is_local(&next).then_some(())?;
                let flags = MOVED | CAME | WENT | WatchFlags::ATTRIB;
                self.watch(&next, flags, Interest::Names)?;
            } else {
                is_local(&here).then_some(())?;
                self.watch(&next, MOVED | CHANGED, Interest::Itself)?;
            }
        }
        Some(())
    }

    /// Watch one file or folder. One that is gone by now is found missing by the look that
    /// follows.
    fn watch(&mut self, path: &Path, flags: WatchFlags, interest: Interest) -> Option<()> {
        match self.queue.add(path, flags, interest, &self.is_disturbed) {
            Ok(number) => {
                self.numbers.insert(number);
                Some(())
            }
            Err(Errno::NOENT) => Some(()),
            Err(_) => None,
        }
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.queue.remove(&self.numbers, &self.is_disturbed);
    }
}

/// The names on the way to a path, without those that stay where they are.
fn names(path: &Path) -> Option<VecDeque<OsString>> {
    let mut names = VecDeque::new();
    for part in path.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir => names.push_back("..".into()),
            Component::Normal(name) => names.push_back(name.to_owned()),
            Component::Prefix(_) => return None,
        }
    }
    Some(names)
}

fn is_local(folder: &Path) -> bool {
    let kind = rustix::fs::statfs(folder).map(|of| of.f_type);
    kind.is_ok_and(|kind| u64::try_from(kind).is_ok_and(|kind| LOCAL.contains(&kind)))
}

/// The queue that the kernel puts its notes into, and who wants to hear of what.
#[derive(Debug)]
struct Queue {
    events: OwnedFd,
    listeners: Mutex<HashMap<i32, Vec<Listener>>>,
}

#[derive(Debug)]
struct Listener {
    interest: Interest,
    is_disturbed: Arc<AtomicBool>,
}

type Listeners<'a> = MutexGuard<'a, HashMap<i32, Vec<Listener>>>;

impl Queue {
    fn of_process() -> Option<&'static Self> {
        static QUEUE: OnceLock<Option<Queue>> = OnceLock::new();
        QUEUE
            .get_or_init(|| {
                let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
                Some(Self {
                    events,
                    listeners: Mutex::default(),
                })
            })
            .as_ref()
    }

    fn add(
        &self,
        path: &Path,
        flags: WatchFlags,
        interest: Interest,
        is_disturbed: &Arc<AtomicBool>,
    ) -> Result<i32, Errno> {
        let mut listeners = self.listeners();
        // Others may want to hear of other things there.
        let number = inotify::add_watch(&self.events, path, flags | WatchFlags::MASK_ADD)?;
        listeners.entry(number).or_default().push(Listener {
            interest,
            is_disturbed: Arc::clone(is_disturbed),
        });
        Ok(number)
    }

    fn remove(&self, numbers: &HashSet<i32>, is_disturbed: &Arc<AtomicBool>) {
        let mut listeners = self.listeners();
        for number in numbers {
            let Some(all) = listeners.get_mut(number) else {
                continue;
            };
            all.retain(|one| !Arc::ptr_eq(&one.is_disturbed, is_disturbed));
            if all.is_empty() {
                listeners.remove(number);
                // It may be gone together with what it was on.
                let _ = inotify::remove_watch(&self.events, *number);
            }
        }
    }

    /// Tell everyone of what was noted until now; `None` if that cannot be known.
    fn read(&self) -> Option<()> {
        let mut listeners = self.listeners();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => hear(&mut listeners, &event),
                Err(Errno::AGAIN) => return Some(()),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    fn listeners(&self) -> Listeners<'_> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn hear(listeners: &mut HashMap<i32, Vec<Listener>>, event: &inotify::Event<'_>) {
    let disturb = |listener: &Listener| listener.is_disturbed.store(true, Ordering::Relaxed);
    let flags = event.events();
    if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
        listeners.values().flatten().for_each(disturb);
        return;
    }
    let name = event
        .file_name()
        .map(|name| OsStr::from_bytes(name.to_bytes()));
    let number = event.wd();
    let heard = listeners.get(&number).into_iter().flatten();
    heard
        .filter(|listener| listener.interest.covers(name))
        .for_each(disturb);
    if flags.contains(ReadFlags::IGNORED) {
        listeners.remove(&number);
    }
}
