//! Bringing back the files that a program was asked for. Whatever it left there, and whatever
//! others do in the folder meanwhile, only plain files below it are read, and no more than was
//! agreed: each step is from an open folder to what is in it, never through a link.
//!
//! What a pattern means: `*`, `?` and `[a-z]` (`[!a-z]`: none of these) stand for letters of one
//! name, and `**` as a whole part for any number of folders. A name that begins with a dot is
//! only meant by a part that begins with one too. A name that is the pattern itself is always
//! meant. `python/pillion/lane/outputs.py` does the same for runs from a zygote, and
//! `patterns.json` is the table of cases that both are tested with.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use crate::message::{self, SocketStream};
use crate::spec::{InitMessage, LeftOut, OutputFile, OutputsSpec};

/// How many names are looked at, and how many refusals are reported.
const MOST_NAMES: usize = 100_000;
const MOST_LEFT_OUT: usize = 1000;
/// Deeper than any folder that people make.
const DEPTH: usize = 200;
const ANY_FOLDERS: &str = "**";
const OPEN: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const FOLDER: OFlags = OPEN.union(OFlags::DIRECTORY);

/// A file, read.
pub(crate) struct Collected {
    name: String,
    pub(crate) contents: Vec<u8>,
}

impl Collected {
    pub(crate) fn listed(&self) -> OutputFile {
        OutputFile {
            name: self.name.clone(),
            size: self.contents.len() as u64,
        }
    }
}

/// Read what `wanted` names below `folder`, in the order of the patterns, then of names.
pub(crate) fn collect(folder: &Path, wanted: &OutputsSpec) -> (Vec<Collected>, Vec<LeftOut>) {
    let mut collecting = Collecting {
        left: wanted.bytes,
        most_files: wanted.files as usize,
        ..Collecting::default()
    };
    for pattern in &wanted.names {
        let mut parts: Vec<&str> = pattern.split('/').collect();
        if parts.iter().any(|part| ["", ".", ".."].contains(part)) {
            collecting.leave_out(pattern, "outside of the folder");
            continue;
        }
        if parts.last() == Some(&ANY_FOLDERS) {
            parts.push("*");
        }
        collecting.meant = 0;
        if let Ok(root) = openat(CWD, folder, FOLDER, Mode::empty()) {
            collecting.find(root.as_fd(), &parts, "");
        }
        if collecting.names > MOST_NAMES {
            collecting.leave_out(pattern, "too many names to look through");
        } else if collecting.meant == 0 {
            collecting.leave_out(pattern, "no such file");
        }
    }
    (collecting.found, collecting.left_out)
}

/// Tell the owner how the program ended, what it used, and what it leaves in its folder.
/// Everything that it started has been reaped.
pub(crate) fn report(ctl: impl AsFd, folder: &Path, wanted: &OutputsSpec, end: InitMessage) {
    let (cpu_ms, peak) = pillion_process::used_by_children();
    let (files, left_out) = collect(folder, wanted);
    let said = InitMessage {
        cpu_ms,
        peak_bytes: end.peak_bytes.max(peak),
        processes: end.processes.max(1),
        outputs: files.iter().map(Collected::listed).collect(),
        outputs_left_out: left_out,
        ..end
    };
    if message::send(&ctl, &said, &[]).is_ok() {
        send(SocketStream(ctl.as_fd()), &files);
    }
}

/// Send their contents, one after the other.
fn send(mut stream: impl Write, files: &[Collected]) {
    let _ = files
        .iter()
        .try_for_each(|file| stream.write_all(&file.contents));
}

#[derive(Default)]
struct Collecting {
    found: Vec<Collected>,
    left_out: Vec<LeftOut>,
    /// Bytes that still fit.
    left: u64,
    most_files: usize,
    seen: HashSet<String>,
    names: usize,
    /// Files that the pattern in question was seen to mean.
    meant: usize,
}

impl Collecting {
    fn leave_out(&mut self, name: &str, why: &str) {
        if self.left_out.len() < MOST_LEFT_OUT {
            self.left_out.push(LeftOut {
                name: name.to_owned(),
                why: why.to_owned(),
            });
        }
    }

    /// Add what `parts` mean in an open folder, whose name is `before`.
    fn find(&mut self, folder: BorrowedFd<'_>, mut parts: &[&str], before: &str) {
        let Some((mut first, mut rest)) = parts.split_first() else {
            return;
        };
        if *first == ANY_FOLDERS {
            while let Some((next, more)) =
                rest.split_first().filter(|_| rest.first() == Some(first))
            {
                (parts, first, rest) = (rest, next, more);
            }
            self.find(folder, rest, before);
            for name in self.names(folder, "*") {
                self.find_below(folder, &name, parts, before);
            }
            return;
        }
        let is_named = !first.contains(['*', '?', '[']);
        let names = match is_named {
            true => vec![first.as_bytes().to_vec()],
            false => self.names(folder, first),
        };
        for name in names {
            match rest.is_empty() {
                true => self.add(folder, &name, before, is_named),
                false => self.find_below(folder, &name, rest, before),
            }
        }
    }

    fn find_below(&mut self, folder: BorrowedFd<'_>, name: &[u8], parts: &[&str], before: &str) {
        if before.matches('/').count() >= DEPTH {
            return;
        }
        if let Ok(below) = openat(folder, name, FOLDER, Mode::empty()) {
            let before = format!("{before}{}/", String::from_utf8_lossy(name));
            self.find(below.as_fd(), parts, &before);
        }
    }

    /// The names in a folder that a part means, sorted.
    fn names(&mut self, folder: BorrowedFd<'_>, part: &str) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let entries = Dir::read_from(folder).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_bytes();
            if [&b"."[..], b".."].contains(&name) {
                continue;
            }
            self.names += 1;
            if self.names > MOST_NAMES {
                break;
            }
            if matches(&String::from_utf8_lossy(name), part) {
                found.push(name.to_vec());
            }
        }
        found.sort();
        found
    }

    /// Read one file, or say why not. A folder is only meant if it is named.
    fn add(&mut self, folder: BorrowedFd<'_>, last: &[u8], before: &str, is_named: bool) {
        let Ok(stat) = statat(folder, last, AtFlags::SYMLINK_NOFOLLOW) else {
            return;
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory && !is_named {
            return;
        }
        self.meant += 1;
        let name = format!("{before}{}", String::from_utf8_lossy(last));
        if !self.seen.insert(name.clone()) {
            return;
        }
        let is_text = std::str::from_utf8(last).is_ok() && !before.contains('\u{fffd}');
        let read = match is_text {
            true => self.read(folder, last),
            false => Err("its name is not text"),
        };
        match read {
            Ok(contents) => {
                self.left -= contents.len() as u64;
                self.found.push(Collected { name, contents });
            }
            Err(why) => self.leave_out(&name, why),
        }
    }

    fn read(&self, folder: BorrowedFd<'_>, last: &[u8]) -> Result<Vec<u8>, &'static str> {
        let file: OwnedFd = match openat(folder, last, OPEN, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::LOOP) => return Err("a link"),
            Err(Errno::ACCESS | Errno::PERM) => return Err("it cannot be read"),
            Err(_) => return Err("not a plain file"),
        };
        let stat = fstat(&file).map_err(|_| "it cannot be read")?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err("not a plain file");
        }
        if self.found.len() >= self.most_files {
            return Err("too many files");
        }
        if u64::try_from(stat.st_size).is_ok_and(|size| size > self.left) {
            return Err("too large");
        }
        let mut contents = Vec::new();
        let read = File::from(file).take(self.left).read_to_end(&mut contents);
        read.map(|_| contents).map_err(|_| "it cannot be read")
    }
}

/// Whether a name is meant by one part of a pattern.
fn matches(name: &str, part: &str) -> bool {
    if name == part {
        return true;
    }
    if name.starts_with('.') && !part.starts_with('.') {
        return false;
    }
    let (name, part): (Vec<char>, Vec<char>) = (name.chars().collect(), part.chars().collect());
    let (mut at, mut step) = (0, 0);
    // The last star, and where what it stands for ends.
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = name.get(at) {
        if part.get(step) == Some(&'*') {
            star = Some((step, at));
            step += 1;
            continue;
        }
        match fits(*letter, part.get(step..).unwrap_or_default()) {
            Some(taken) => {
                at += 1;
                step += taken;
            }
            None => match &mut star {
                Some((star, end)) => {
                    *end += 1;
                    (at, step) = (*end, *star + 1);
                }
                None => return false,
            },
        }
    }
    let mut rest = part.iter().skip(step);
    rest.all(|letter| *letter == '*')
}

/// How much of a pattern means this letter, if its beginning does.
fn fits(letter: char, part: &[char]) -> Option<usize> {
    let (first, rest) = part.split_first()?;
    match first {
        '?' => return Some(1),
        '[' => {}
        _ => return (*first == letter).then_some(1),
    }
    let (is_not, among) = match rest.split_first() {
        Some(('!', rest)) => (true, rest),
        _ => (false, rest),
    };
    // The first may be the bracket itself.
    let close = among.iter().skip(1).position(|letter| *letter == ']');
    let Some(close) = close.map(|close| close + 1) else {
        return (letter == '[').then_some(1);
    };
    let mut left = among.get(..close).unwrap_or_default();
    let mut is_among = false;
    while let Some((from, rest)) = left.split_first() {
        left = match rest {
            ['-', to, rest @ ..] => {
                is_among |= (*from..=*to).contains(&letter);
                rest
            }
            rest => {
                is_among |= *from == letter;
                rest
            }
        };
    }
    (is_among != is_not).then_some(1 + usize::from(is_not) + close + 1)
}

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
