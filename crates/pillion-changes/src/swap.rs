//! Changing what a name stands for without losing what others wrote there meanwhile.
//!
//! A look at a file followed by a rename over it loses whatever was written in between. So
//! nothing is renamed over: the new file and the old one change places in one step, and the
//! old one is looked at when it has come out, where nobody can replace it any more. If it is
//! not what was read, it goes back, and then the new one is looked at: it had the name for a
//! moment, and somebody may have begun to write to it. What came out is looked at once more
//! before it is thrown away, and only once nobody has it open for writing: a program may have
//! opened it under its name and write to it later.
//!
//! Where the file system cannot let two files change places (`RENAME_EXCHANGE`: some network
//! and FUSE file systems), a last look and a rename have to do, as everywhere else in the world.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use pillion_process::is_open_for_writing;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::content::{Content, PathState, held_at};

/// How long a program that has a file open may take to close it.
const WRITER_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a program may take from finding a file under its name to having it open.
pub(super) const OPENING: Duration = Duration::from_millis(10);
/// How often that is looked at.
const POLL_EVERY: Duration = Duration::from_millis(2);
/// How often somebody may be quicker while a file is put back.
const TRIES: usize = 1_000;

/// What came of a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swapped {
    /// What came out is what was expected. It lies where the new one waited.
    Done,
    /// Something else was there, and is there again.
    Changed,
    /// Something else was there, and something newer by now. What came out first lies where
    /// the new one waited.
    Overtaken,
}

/// How names are changed here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swap {
    /// Whether two files can change places; if the file system cannot, that shows as well.
    pub(super) can_exchange: bool,
}

impl Swap {
    /// Put the file that waits at `new` in the place of the one at `path`, which is to hold
    /// `before`.
    pub(super) fn replace(self, new: &Path, path: &Path, before: &Content) -> io::Result<Swapped> {
        let ours = held_at(new)?;
        if !self.exchange(new, path)? {
            if !held_at(path)?.is(Some(before)) {
                return Ok(Swapped::Changed);
            }
            return fs::rename(new, path).map(|()| Swapped::Done);
        }
        let mut came_out = look(new);
        if came_out.is(Some(before)) {
            return Ok(Swapped::Done);
        }
        // What is put back must not push out what came since: whatever comes out is the
        // newest, unless it is what was put in.
        let mut put_in = ours;
        for turn in 0..TRIES {
            if !matches!(self.exchange(new, path), Ok(true)) {
                break;
            }
            // It had the name for a moment, so somebody may have it open to write to it.
            let Some(next) = at_rest(new) else {
                break;
            };
            if next.is_like(&put_in) {
                return Ok(match turn {
                    0 => Swapped::Changed,
                    _ => Swapped::Overtaken,
                });
            }
            put_in = std::mem::replace(&mut came_out, next);
        }
        Ok(Swapped::Overtaken)
    }

    /// Give the file that waits at `new` a name that is free; whether it was.
    pub(super) fn place(self, new: &Path, path: &Path) -> io::Result<bool> {
        match rename_free(new, path, self.can_exchange) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Take the file at `path`, which is to hold `before`, away to `aside`.
    pub(super) fn remove(self, path: &Path, aside: &Path, before: &Content) -> io::Result<Swapped> {
        rename_free(path, aside, self.can_exchange)?;
        if look(aside).is(Some(before)) {
            return Ok(Swapped::Done);
        }
        match self.place(aside, path) {
            Ok(true) => Ok(Swapped::Changed),
            Ok(false) | Err(_) => Ok(Swapped::Overtaken),
        }
    }

    /// Let two files change places; nothing happens where that cannot be.
    fn exchange(self, one: &Path, other: &Path) -> io::Result<bool> {
        if !self.can_exchange {
            return Ok(false);
        }
        match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(error) if is_unknown(error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// What became of a file that was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is what it was, and nobody can write to it.
    Same,
    /// Somebody wrote to it.
    Changed,
    /// Somebody has it open for writing, and may yet.
    Open,
}

/// Whether a file that was taken away still holds what it held, for good.
pub(super) fn settled(aside: &Path, known: &[Option<&Content>]) -> io::Result<Settled> {
    let began = Instant::now();
    let is_known = || {
        let found = look(aside);
        known.iter().any(|known| found.is(*known))
    };
    loop {
        if matches!(held_at(aside)?, PathState::Nothing) {
            return Ok(Settled::Same);
        }
        if !is_known() {
            return Ok(Settled::Changed);
        }
        if is_open_for_writing(&File::open(aside)?) != Some(true) {
            // From here on nobody can write to it; until here somebody could.
            return Ok(match is_known() {
                true => Settled::Same,
                false => Settled::Changed,
            });
        }
        if began.elapsed() > WRITER_TIMEOUT {
            return Ok(Settled::Open);
        }
        std::thread::sleep(POLL_EVERY);
    }
}

/// What a file holds once nobody can write to it any more; nothing if somebody still can.
fn at_rest(path: &Path) -> Option<PathState> {
    let closed = || {
        let began = Instant::now();
        while File::open(path).is_ok_and(|file| is_open_for_writing(&file) == Some(true)) {
            if began.elapsed() > WRITER_TIMEOUT {
                return false;
            }
            std::thread::sleep(POLL_EVERY);
        }
        true
    };
    // Whoever was about to open it has it open a moment later.
    let is_closed = closed() && {
        std::thread::sleep(OPENING);
        closed()
    };
    is_closed.then(|| look(path))
}

/// What is at a path. What cannot be read is nothing that anybody knows.
fn look(path: &Path) -> PathState {
    held_at(path).unwrap_or(PathState::Other)
}

/// Rename to a name that must be free.
fn rename_free(from: &Path, to: &Path, can_exchange: bool) -> io::Result<()> {
    if can_exchange {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(error) if is_unknown(error) => {}
            other => return Ok(other?),
        }
    }
    // A second name is refused if there is one already, which a rename would replace.
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

/// Whether an error says that the file system does not know such a rename.
fn is_unknown(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP].contains(&error)
}

impl PathState {
    /// Whether two looks saw the same.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(two)) => one.is_same(two),
            (Self::Nothing, Self::Nothing) => true,
            _ => false,
        }
    }
}
