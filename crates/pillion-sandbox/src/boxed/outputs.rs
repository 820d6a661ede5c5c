//! Bringing back the files that a program was asked for. Whatever it left there, only plain
//! files below its folder are read, and no more than was agreed.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::{LeftOut, OutputFile, Outputs};

/// Files and folders that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// A file, read.
pub(super) struct Collected {
    name: String,
    pub(super) contents: Vec<u8>,
}

impl Collected {
    pub(super) fn listed(&self) -> OutputFile {
        OutputFile {
            name: self.name.clone(),
            size: self.contents.len() as u64,
        }
    }
}

/// Read what `wanted` names below `folder`.
pub(super) fn collect(folder: &Path, wanted: &Outputs) -> (Vec<Collected>, Vec<LeftOut>) {
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    if wanted.names.is_empty() {
        return (found, left_out);
    }
    let mut left = wanted.bytes;
    let mut leave = |name: &str, why: &str| {
        left_out.push(LeftOut {
            name: name.to_owned(),
            why: why.to_owned(),
        });
    };
    let names = matching(folder, &wanted.names);
    for pattern in wanted
        .names
        .iter()
        .filter(|name| !names.iter().any(|found| matches(name, found)))
    {
        leave(pattern, "there is no such file");
    }
    for name in names {
        if found.len() >= wanted.files as usize {
            leave(&name, "too many files");
            continue;
        }
        match read(folder, &name, left) {
            Ok(contents) => {
                left -= contents.len() as u64;
                found.push(Collected { name, contents });
            }
            Err(why) => leave(&name, &why),
        }
    }
    (found, left_out)
}

/// Send their contents, one after the other.
pub(super) fn send(mut stream: impl Write, files: &[Collected]) {
    let _ = files
        .iter()
        .try_for_each(|file| stream.write_all(&file.contents));
}

fn globs(names: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for name in names {
        if let Ok(glob) = GlobBuilder::new(name).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern == name || globs(&[pattern.to_owned()]).is_match(name)
}

/// The names below `folder` that are wanted, sorted.
fn matching(folder: &Path, wanted: &[String]) -> Vec<String> {
    let set = globs(wanted);
    let mut names = Vec::new();
    let mut open = vec![PathBuf::new()];
    let mut seen = 0;
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(folder.join(&inside))
            .into_iter()
            .flatten()
            .flatten()
        {
            seen += 1;
            if seen > MOST_ENTRIES {
                return names;
            }
            let place = inside.join(entry.file_name());
            let Some(name) = place.to_str() else {
                continue;
            };
            // A link is neither: it is never followed.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(place),
                Ok(_) if set.is_match(name) || wanted.iter().any(|w| w == name) => {
                    names.push(name.to_owned());
                }
                _ => {}
            }
        }
    }
    names.sort();
    names
}

fn read(folder: &Path, name: &str, most: u64) -> Result<Vec<u8>, String> {
    let folder = File::open(folder).map_err(|error| error.to_string())?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let file = openat2(&folder, name, flags, Mode::empty(), resolve);
    let file = File::from(file.map_err(|error| error.to_string())?);
    let meta = file.metadata().map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("not a plain file".to_owned());
    }
    if meta.len() > most {
        return Err(format!("too large ({} bytes)", meta.len()));
    }
    let mut contents = Vec::new();
    let done = file.take(most).read_to_end(&mut contents);
    done.map(|_| contents).map_err(|error| error.to_string())
}
