//! Whether a folder on disk holds more than it may. Untrusted code writes to it meanwhile.
//!
//! The kernel says at once how much is left of the file system, and how much the run's processes
//! have written. As long as neither is what still fits into the folder, it cannot be full, and
//! its files are added up at leisure. If one of them is, it may be this run, somebody else, or a
//! file that was written twice. Then everyone in the run is stopped while all is added up, so
//! that nothing can be done meanwhile that would take long to find out.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Mode, OFlags, fstat, fstatvfs, open};

use super::processes::Everyone;
use crate::spec::Disk;
use crate::walk::{self, Unseen, Walk};

/// How long the files are added up at a look, while there is time; so many times longer is
/// something else done, and for so long if all were added up.
const A_WHILE: Duration = Duration::from_millis(5);
const SHARE: u32 = 4;
const REST: Duration = Duration::from_millis(100);
/// How long it may take while everyone waits, and longer for each name that fits into the folder.
/// What cannot be added up is too much.
const AT_MOST: Duration = Duration::from_secs(1);
const EACH: Duration = Duration::from_micros(20);
/// Bytes that can be written in a second, as far as we have seen; and the least time until the
/// next look.
const FAST: u64 = 4 << 30;
const AGAIN: Duration = Duration::from_millis(2);
/// By then a program has taken the descriptors that its order came with.
const ORDERED: Duration = Duration::from_secs(1);
/// Names that are looked at between two looks at the clock.
const SOME: usize = 64;

/// A folder that is watched.
pub(super) struct Folder {
    disk: Disk,
    root: OwnedFd,
    device: u64,
    /// The file system before the run, and when the folder was added up last.
    before: Left,
    at_sum: Left,
    sum: Sum,
    /// A sum that is being made at leisure, and the file system when that began.
    going_on: Option<(Adding, Left)>,
    not_before: Instant,
    /// Bytes that the run had written at the last look.
    written: u64,
    began: Instant,
    /// Everyone is not stopped again before this.
    not_now_before: Instant,
}

/// What is left of a file system.
#[derive(Debug, Clone, Copy, Default)]
struct Left {
    bytes: u64,
    files: u64,
    /// Bytes that the run had written then.
    written: u64,
}

impl Left {
    fn of(folder: &OwnedFd, written: u64) -> Self {
        let (bytes, files) =
            fstatvfs(folder).map_or((0, 0), |stat| (stat.f_bfree * stat.f_frsize, stat.f_ffree));
        Self {
            bytes,
            files,
            written,
        }
    }
}

/// What is in a folder.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    bytes: u64,
    names: u64,
}

/// It holds more than it may, or hides what it holds.
struct TooMuch;

impl Folder {
    /// A folder, before anything runs. One that cannot be opened is none that could be written to.
    pub(super) fn new(disk: Disk) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = open(&disk.path, flags, Mode::empty()).ok()?;
        let (bytes, files) = disk.left;
        let left = Left {
            bytes,
            files,
            written: 0,
        };
        Some(Self {
            device: fstat(&root).map_or(0, |stat| stat.st_dev),
            sum: Sum {
                bytes: disk.used,
                names: disk.named,
            },
            disk,
            root,
            before: left,
            at_sum: left,
            going_on: None,
            not_before: Instant::now() + REST,
            written: 0,
            began: Instant::now(),
            not_now_before: Instant::now(),
        })
    }

    /// Whether it holds more than fits, with what the run has open of it without a name.
    pub(super) fn is_full(&mut self, everyone: Everyone) -> bool {
        self.written = written(&(everyone.list)());
        let is_full = match self.may_be_full() {
            true => self.add_up_now(everyone),
            false => self.add_up_at_leisure(everyone),
        };
        is_full.is_err()
    }

    /// The same without anything that takes time, unless there is need for it.
    pub(super) fn is_full_already(&mut self, everyone: Everyone) -> bool {
        self.may_be_full() && self.add_up_now(everyone).is_err()
    }

    /// The same at the end, when nobody is there any more.
    pub(super) fn was_filled(&mut self, nobody: Everyone) -> bool {
        self.may_be_full() && self.add_up_while_held(nobody).is_err()
    }

    /// Whether the file system has lost what still fitted when the folder was added up last.
    fn may_be_full(&self) -> bool {
        let most = self.most();
        most.bytes > self.disk.bytes || most.names > self.disk.files
    }

    /// The most that it can hold.
    fn most(&self) -> Sum {
        let (left, then) = (Left::of(&self.root, self.written), &self.at_sum);
        let gone = then.bytes.saturating_sub(left.bytes);
        let written = left.written.saturating_sub(then.written);
        Sum {
            bytes: self.sum.bytes + gone.max(written),
            names: self.sum.names + then.files.saturating_sub(left.files),
        }
    }

    /// How long it takes at least until it can be full.
    pub(super) fn time_left(&self) -> Duration {
        let room = self.disk.bytes.saturating_sub(self.most().bytes);
        let soon = Duration::from_nanos(room.saturating_mul(1_000_000_000) / FAST);
        let rest = self
            .not_now_before
            .saturating_duration_since(Instant::now());
        soon.max(rest).max(AGAIN)
    }

    fn add_up_at_leisure(&mut self, everyone: Everyone) -> Result<(), TooMuch> {
        let now = Instant::now();
        if now < self.not_before {
            return Ok(());
        }
        let (mut adding, began) = match self.going_on.take() {
            Some(going_on) => going_on,
            None => {
                let began = Left::of(&self.root, self.written);
                (self.begin(&(everyone.list)())?, began)
            }
        };
        let sum = adding.go_on(&self.disk, now + A_WHILE)?;
        self.not_before = Instant::now() + now.elapsed() * SHARE;
        match sum {
            Some(sum) => {
                (self.sum, self.at_sum) = (sum, began);
                self.not_before += REST;
            }
            None => self.going_on = Some((adding, began)),
        }
        Ok(())
    }

    fn add_up_now(&mut self, everyone: Everyone) -> Result<(), TooMuch> {
        let began = Instant::now();
        let written = self.written.saturating_sub(self.at_sum.written);
        let is_its_own = self.sum.bytes + written > self.disk.bytes;
        if !is_its_own && began < self.not_now_before {
            return Ok(());
        }
        self.add_up_while_held(everyone)?;
        // If somebody else is writing much, nobody here is stopped all the time.
        self.not_now_before = Instant::now() + began.elapsed() * SHARE;
        Ok(())
    }

    fn add_up_while_held(&mut self, everyone: Everyone) -> Result<(), TooMuch> {
        self.going_on = None;
        everyone.held(|pids| {
            let mut adding = self.begin(pids)?;
            let names = u32::try_from(self.disk.files).unwrap_or(u32::MAX);
            let until = Instant::now() + AT_MOST + EACH * names;
            let sum = adding.go_on(&self.disk, until)?;
            self.sum = sum.ok_or(TooMuch)?;
            self.written = written(pids);
            self.at_sum = Left::of(&self.root, self.written);
            // What is neither there nor anybody else's.
            let gone = self.before.bytes.saturating_sub(self.at_sum.bytes);
            let more = self.disk.used + gone > self.disk.bytes;
            let sends = self.disk.sends && self.began.elapsed() > ORDERED;
            match more && pids.iter().any(|pid| hides(*pid, self.device, sends)) {
                true => Err(TooMuch),
                false => Ok(()),
            }
        })
    }

    fn begin(&self, pids: &[i32]) -> Result<Adding, TooMuch> {
        let mut adding = Adding {
            walk: Walk::open(&self.disk.path).map_err(|_| TooMuch)?,
            sum: Sum::default(),
            known: HashSet::new(),
        };
        adding.sum.bytes = walk::bytes(adding.walk.root());
        adding.add_nameless(self.device, pids);
        Ok(adding)
    }
}

/// A folder that is being added up.
struct Adding {
    walk: Walk,
    sum: Sum,
    /// Files with more than one name, or none, that were added already.
    known: HashSet<(u64, u64)>,
}

impl Adding {
    /// Go on until a time; the sum if it came to its end. Every name counts, also the second of a
    /// file: they take time, and room in their folder.
    fn go_on(&mut self, disk: &Disk, until: Instant) -> Result<Option<Sum>, TooMuch> {
        loop {
            for _ in 0..SOME {
                let found = match self.walk.next() {
                    Some(Ok(found)) => found,
                    // Whoever hides something has something to hide.
                    Some(Err(Unseen::TooDeep | Unseen::Closed)) => return Err(TooMuch),
                    None => return self.fits(disk).map(Some),
                };
                self.sum.names += 1;
                let has_names = found.stat.st_nlink > 1 && found.kind() != FileType::Directory;
                let (dev, ino) = (found.stat.st_dev, found.stat.st_ino);
                if !has_names || self.known.insert((dev, ino)) {
                    self.sum.bytes += found.bytes();
                }
                self.fits(disk)?;
            }
            if Instant::now() > until {
                return Ok(None);
            }
        }
    }

    /// What was added up so far, if it is not more than may be there.
    fn fits(&self, disk: &Disk) -> Result<Sum, TooMuch> {
        match self.sum.bytes > disk.bytes || self.sum.names > disk.files {
            true => Err(TooMuch),
            false => Ok(self.sum),
        }
    }

    /// Files that were removed are there as long as somebody has them open.
    fn add_nameless(&mut self, device: u64, pids: &[i32]) {
        for pid in pids {
            let files = fs::read_dir(format!("/proc/{pid}/fd"));
            for file in files.into_iter().flatten().flatten() {
                let Ok(meta) = fs::metadata(file.path()) else {
                    continue;
                };
                let is_nameless = meta.nlink() == 0 && meta.dev() == device;
                if is_nameless && self.known.insert((meta.dev(), meta.ino())) {
                    self.sum.bytes += meta.blocks() * 512;
                }
            }
        }
    }
}

/// Bytes for a disk that these processes have written, and those that they waited for.
fn written(pids: &[i32]) -> u64 {
    let all = pids.iter().filter_map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "))?;
        line.trim().parse::<u64>().ok()
    });
    all.sum()
}

/// Whether a process has files where they cannot be added up: removed and only mapped, or, if it
/// can send any, on their way in a socket.
fn hides(pid: i32, device: u64, sends: bool) -> bool {
    let lines = |name: String| {
        let file = File::open(format!("/proc/{pid}/{name}")).ok();
        file.into_iter()
            .flat_map(|file| BufReader::new(file).split(b'\n').map_while(Result::ok))
    };
    let number = format!(
        " {:02x}:{:02x} ",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    let is_removed = |line: Vec<u8>| {
        line.ends_with(b" (deleted)") && String::from_utf8_lossy(&line).contains(&number)
    };
    if lines("maps".to_owned()).any(is_removed) {
        return true;
    }
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    let files = files.into_iter().filter(|_| sends);
    files.flatten().flatten().any(|file| {
        let is_socket = fs::read_link(file.path())
            .is_ok_and(|link| link.to_string_lossy().starts_with("socket:"));
        let info = format!("fdinfo/{}", file.file_name().to_string_lossy());
        is_socket
            && lines(info).any(|line| {
                line.strip_prefix(b"scm_fds:")
                    .is_some_and(|rest| rest.trim_ascii() != b"0")
            })
    })
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
