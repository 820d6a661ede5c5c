//! Watching with inotify: one watch per folder, and one per file with several names.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::{News, Refused, join};
use crate::rules::is_built_in;

/// File systems that nobody changes behind this kernel's back, by their magic numbers.
const LOCAL: [u64; 19] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xf2f5_2010, // F2FS
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0x2fc1_2fc1, // ZFS
    0x794c_7630, // overlayfs: a folder keeps its watch when it moves to the upper layer
    0xca45_1a4e, // bcachefs
    0x7371_7368, // SquashFS
    0xe0f5_e1e2, // EROFS
    0x9660,      // ISO 9660
    0x4d44,      // FAT
    0x2011_bab0, // exFAT
    0x7366_746e, // NTFS
    0x482b,      // HFS+
    0x3153_464a, // JFS
    0x3434,      // NILFS
    0x5265_4973, // ReiserFS
];

/// Why changes of the file system at `path` may go unseen by a watch: others can write to
/// it (NFS, SMB, FUSE, 9p and the like), or nothing is known of it.
pub(crate) fn distrust(path: &Path) -> Option<String> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
    let kind = u64::try_from(kind).unwrap_or_default() & 0xffff_ffff;
    (!LOCAL.contains(&kind)).then(|| {
        let path = path.display();
        format!("others may change the file system of `{path}` (kind {kind:#x}) unseen")
    })
}

/// Keeps watch over folders.
#[derive(Debug)]
pub(crate) struct Watch {
    queue: OwnedFd,
    limit: usize,
    /// The paths of each watched folder: several if it is mounted twice, or while it moves.
    folders: HashMap<i32, Vec<Arc<str>>>,
    /// Files with several names.
    linked: HashMap<i32, (u64, u64)>,
    /// Those among them that are new: what a link did to the other names was told to nobody.
    new_links: Vec<(u64, u64)>,
    buffer: Box<[MaybeUninit<u8>]>,
}

impl Watch {
    /// A watch over nothing yet, and never over more than `limit` things.
    pub(crate) fn open(limit: usize) -> Result<Self, Refused> {
        let queue =
            inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|error| {
                Refused::Limit(match error {
                    Errno::MFILE => {
                        "the limit fs.inotify.max_user_instances or that of open files is reached"
                            .to_owned()
                    }
                    error => format!("inotify cannot be had: {error}"),
                })
            })?;
        Ok(Self {
            queue,
            limit,
            folders: HashMap::new(),
            linked: HashMap::new(),
            new_links: Vec::new(),
            buffer: vec![MaybeUninit::uninit(); 1 << 16].into(),
        })
    }

    fn add(&self, path: &Path, flags: WatchFlags) -> Result<i32, Refused> {
        if self.count() >= self.limit {
            let limit = self.limit;
            return Err(Refused::Limit(format!(
                "there is more than {limit} to watch"
            )));
        }
        inotify::add_watch(&self.queue, path, flags).map_err(|error| match error {
            Errno::NOSPC => {
                Refused::Limit("the limit fs.inotify.max_user_watches is reached".into())
            }
            Errno::NOMEM => Refused::Limit("no memory for more watches".into()),
            error => Refused::This(error.into()),
        })
    }

    /// Watch a folder, which is at `full` and known as `path`.
    pub(crate) fn folder(&mut self, full: &Path, path: &Arc<str>) -> Result<i32, Refused> {
        let mut flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::EXCL_UNLINK
            | WatchFlags::ONLYDIR;
        if !path.is_empty() {
            flags |= WatchFlags::DONT_FOLLOW;
        }
        let watch = self.add(full, flags)?;
        let paths = self.folders.entry(watch).or_default();
        if !paths.contains(path) {
            paths.push(path.clone());
        }
        Ok(watch)
    }

    /// Watch a file with several names: a folder only tells what happens through its own.
    pub(crate) fn linked(&mut self, full: &Path, inode: (u64, u64)) -> Result<(), Refused> {
        let flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVE_SELF
            | WatchFlags::DONT_FOLLOW;
        let watch = self.add(full, flags)?;
        if self.linked.insert(watch, inode).is_none() {
            self.new_links.push(inode);
        }
        Ok(())
    }

    /// The folder is not at `path` any more.
    pub(crate) fn forget(&mut self, path: &str, watch: i32) {
        let Some(paths) = self.folders.get_mut(&watch) else {
            return;
        };
        paths.retain(|known| **known != *path);
        if paths.is_empty() {
            self.folders.remove(&watch);
            // Fails if the folder is gone, and its watch with it.
            let _ = inotify::remove_watch(&self.queue, watch);
        }
    }

    /// No file of ours is this one any more.
    pub(crate) fn forget_linked(&mut self, inode: (u64, u64)) {
        let queue = &self.queue;
        self.linked.retain(|watch, known| {
            if *known == inode {
                let _ = inotify::remove_watch(queue, *watch);
            }
            *known != inode
        });
    }

    /// How many watches there are.
    pub(crate) fn count(&self) -> usize {
        self.folders.len() + self.linked.len()
    }

    /// What happened since this was last asked. It does not wait.
    pub(crate) fn drain(&mut self) -> News {
        let mut news = News::default();
        let new_links = self.new_links.drain(..);
        news.inodes.extend(new_links.map(|inode| (inode, false)));
        let mut events = Reader::new(&self.queue, &mut self.buffer);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return news,
                Err(Errno::INTR) => continue,
                Err(_) => {
                    news.everything = true;
                    return news;
                }
            };
            let (watch, what) = (event.wd(), event.events());
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                news.everything = true;
                continue;
            }
            let content = what.intersects(
                ReadFlags::MODIFY
                    | ReadFlags::CLOSE_WRITE
                    | ReadFlags::CREATE
                    | ReadFlags::DELETE
                    | ReadFlags::MOVED_FROM
                    | ReadFlags::MOVED_TO,
            );
            let gone = what.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT);
            if let Some(inode) = self.linked.get(&watch).copied() {
                *news.inodes.entry(inode).or_default() |= content;
                if gone {
                    self.linked.remove(&watch);
                }
                continue;
            }
            if gone {
                for path in self.folders.remove(&watch).unwrap_or_default() {
                    news.everything |= path.is_empty();
                    news.folders.insert(path.to_string());
                }
                continue;
            }
            let Some(folders) = self.folders.get(&watch) else {
                continue; // forgotten while this was in the queue
            };
            let Some(name) = event.file_name() else {
                // The folder's own properties: its parent tells, if it has one of ours.
                news.everything |= folders.iter().any(|path| path.is_empty());
                continue;
            };
            for folder in folders {
                let Ok(name) = name.to_str() else {
                    news.unnamed.insert(folder.clone());
                    continue;
                };
                let is_folder = what.contains(ReadFlags::ISDIR);
                if is_built_in(name, is_folder) {
                    continue; // tools make caches all the time
                }
                let path = join(folder, name);
                if is_folder {
                    news.folders.insert(path);
                } else {
                    *news.files.entry(path).or_default() |= content;
                }
            }
        }
    }
}
