//! The files of a session that its learner sees: those of the workspace, which the learner's
//! code has too, and those that were uploaded or came with the chapter.
//!
//! Code of the learner can put anything into the workspace, so nothing there is followed: a
//! name is one part, a link is no file, and what is open is what was looked at.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use jiff::Timestamp;
use pillion_catalogue::{Code, Error, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a file in the workspace.
pub(crate) const LONGEST: usize = 1 << 20;
/// Files that are listed.
const MOST: usize = 1000;
/// Bytes and files of one upload.
pub(crate) const UPLOAD_BYTES: usize = 5_000_000;
pub(crate) const UPLOAD_FILES: usize = 10;
/// Bytes of all uploads of a session.
const ALL_UPLOADS: u64 = 200_000_000;
/// What files of the workspace may be called, and what uploads may.
const WORKSPACE_ENDINGS: &[&str] = &["py", "ipynb", "txt", "md"];
const UPLOAD_ENDINGS: &[&str] = &["csv", "xlsx", "xls", "json"];

/// Where a file came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Source")]
pub enum FileSource {
    /// The chapter.
    Bundle,
    /// The learner.
    User,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Its length.
    pub size_bytes: u64,
    /// When it was last changed, in UTC, as ISO 8601.
    pub modified_at: String,
    /// Where it came from.
    pub source: FileSource,
}

/// Which of the two kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Workspace,
    Upload,
}

impl Kind {
    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Workspace => WORKSPACE_ENDINGS,
            Self::Upload => UPLOAD_ENDINGS,
        }
    }

    /// Whether a file can have this name.
    pub(crate) fn check(self, name: &str) -> Result<()> {
        let ending = Path::new(name).extension().and_then(|e| e.to_str());
        let known = ending.is_some_and(|ending| {
            let ending = ending.to_ascii_lowercase();
            self.endings().contains(&ending.as_str())
        });
        let plain = !name.starts_with('.')
            && name.len() <= 200
            && !name.contains(['/', '\\', ':', '\0'])
            && !name.chars().any(char::is_control);
        if plain && known {
            return Ok(());
        }
        let shown: String = name.chars().take(200).collect();
        let endings = self.endings().join(", .");
        Err(Error::new(
            Code::InvalidRequest,
            format!("`{}` is no name for a file here", shown.escape_debug()),
        )
        .hint(format!("one name without folders, ending in .{endings}")))
    }
}

/// The files of a kind in `folder`; `bundled` names those that came with the chapter.
pub(crate) fn list(folder: &Path, kind: Kind, bundled: &[String]) -> Result<Vec<FileInfo>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("list the files", &error)),
    };
    let mut all: Vec<FileInfo> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            kind.check(&name).ok()?;
            let meta = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let modified = meta.modified().ok()?;
            Some(FileInfo {
                size_bytes: meta.len(),
                modified_at: Timestamp::try_from(modified).ok()?.to_string(),
                source: match bundled.contains(&name) {
                    true => FileSource::Bundle,
                    false => FileSource::User,
                },
                name,
            })
        })
        .take(MOST)
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The data files in `folder`, with the time of each.
pub(crate) fn times(folder: &Path) -> Result<BTreeMap<String, String>> {
    let all = list(folder, Kind::Upload, &[])?.into_iter();
    Ok(all.map(|file| (file.name, file.modified_at)).collect())
}

/// The text of a file.
pub(crate) fn read(folder: &Path, kind: Kind, name: &str) -> Result<String> {
    kind.check(name)?;
    let file = open(folder, name)?;
    let mut text = Vec::new();
    let most = LONGEST as u64;
    let read = file.take(most + 1).read_to_end(&mut text);
    read.map_err(|error| failed(&format!("read `{name}`"), &error))?;
    if text.len() as u64 > most {
        let what = format!("`{name}` has more than {LONGEST} bytes");
        return Err(Error::new(Code::ResponseTooLarge, what));
    }
    String::from_utf8(text)
        .map_err(|_| Error::new(Code::InvalidRequest, format!("`{name}` is no text")))
}

/// Open a file that is one, and no link to another.
fn open(folder: &Path, name: &str) -> Result<File> {
    // A pipe would keep whoever opens it waiting.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open = rustix::fs::open(folder.join(name), flags, Mode::empty());
    let open = open.map_err(|error| match error {
        rustix::io::Errno::NOENT | rustix::io::Errno::LOOP => no_file(name),
        error => failed(&format!("open `{name}`"), &error.into()),
    })?;
    let stat = rustix::fs::fstat(&open);
    let stat = stat.map_err(|error| failed(&format!("open `{name}`"), &error.into()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(open.into()),
        _ => Err(no_file(name)),
    }
}

/// Write a file, whole at any moment; says what it is now.
pub(crate) fn write(folder: &Path, kind: Kind, name: &str, bytes: &[u8]) -> Result<FileInfo> {
    kind.check(name)?;
    let failed = |error: io::Error| failed(&format!("write `{name}`"), &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let staged = format!(".{}.new", pillion_lanes::session::name_of_run());
    // The learner's code may have put a link to a folder of somebody else's in its place.
    let flags = pillion_process::HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let at = rustix::fs::open(folder, flags, Mode::empty());
    let at = at.map_err(|error| failed(error.into()))?;
    if is_folder(&at, name) {
        return Err(Error::new(
            Code::Conflict,
            format!("a folder is called `{name}`"),
        ));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let written = || -> io::Result<()> {
        let file = rustix::fs::openat(&at, &staged, flags, Mode::from_raw_mode(0o644))?;
        let mut file = File::from(file);
        file.write_all(bytes)?;
        file.sync_all()?;
        rustix::fs::renameat(&at, &staged, &at, name)?;
        Ok(())
    };
    if let Err(error) = written() {
        let _ = rustix::fs::unlinkat(&at, &staged, AtFlags::empty());
        return Err(failed(error));
    }
    Ok(FileInfo {
        name: name.to_owned(),
        size_bytes: bytes.len() as u64,
        modified_at: Timestamp::now().to_string(),
        source: FileSource::User,
    })
}

fn is_folder(at: &rustix::fd::OwnedFd, name: &str) -> bool {
    let stat = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// Remove a file.
pub(crate) fn remove(folder: &Path, kind: Kind, name: &str) -> Result<()> {
    kind.check(name)?;
    match std::fs::remove_file(folder.join(name)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(no_file(name)),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Err(no_file(name)),
        Err(error) => Err(failed(&format!("remove `{name}`"), &error)),
    }
}

/// Whether so many bytes more fit among the uploads of a session.
pub(crate) fn check_room(folder: &Path, more: usize) -> Result<()> {
    let there: u64 = list(folder, Kind::Upload, &[])?
        .iter()
        .map(|file| file.size_bytes)
        .sum();
    match there + more as u64 > ALL_UPLOADS {
        true => Err(Error::new(
            Code::WriteFailed,
            format!("a session holds {ALL_UPLOADS} bytes of uploads at most"),
        )
        .hint("delete some of its files first")),
        false => Ok(()),
    }
}

fn no_file(name: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no file `{name}`"))
}

fn failed(what: &str, error: &io::Error) -> Error {
    Error::new(Code::WriteFailed, format!("cannot {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_a_kind_and_lead_nowhere_else() {
        for name in ["a.py", "my notes.md", "Übung 1.ipynb", "x.y.txt"] {
            assert!(Kind::Workspace.check(name).is_ok(), "{name}");
        }
        for name in [
            "", "a", ".py", ".a.py", "../a.py", "a/b.py", "/a.py", "a\\b.py", "c:a.py", "a.exe",
            "a.py\0", "a\n.py", "a.csv",
        ] {
            let error = Kind::Workspace.check(name).unwrap_err();
            assert_eq!(error.code, Code::InvalidRequest, "{name}");
        }
        assert!(Kind::Upload.check("sales.CSV").is_ok());
        assert!(Kind::Upload.check("a.py").is_err());
    }

    #[test]
    fn files_are_written_read_listed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let kind = Kind::Workspace;
        write(folder, kind, "a.py", b"print(1)").unwrap();
        write(folder, kind, "a.py", b"print(2)").unwrap();
        write(folder, kind, "b.md", b"").unwrap();
        assert_eq!(read(folder, kind, "a.py").unwrap(), "print(2)");
        let listed = list(folder, kind, &["b.md".to_owned()]).unwrap();
        let listed: Vec<_> = listed.iter().map(|f| (f.name.as_str(), f.source)).collect();
        assert_eq!(
            listed,
            [("a.py", FileSource::User), ("b.md", FileSource::Bundle)]
        );
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2);
        remove(folder, kind, "a.py").unwrap();
        assert_eq!(
            remove(folder, kind, "a.py").unwrap_err().code,
            Code::NotFound
        );
        assert_eq!(read(folder, kind, "a.py").unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn links_and_pipes_of_a_learners_code_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "key").unwrap();
        let inside = folder.path().join("workspace");
        std::fs::create_dir_all(inside.join("d.py")).unwrap();
        std::os::unix::fs::symlink(&secret, inside.join("l.py")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            inside.join("p.py"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let kind = Kind::Workspace;
        for name in ["l.py", "p.py", "d.py"] {
            assert_eq!(read(&inside, kind, name).unwrap_err().code, Code::NotFound);
        }
        assert!(list(&inside, kind, &[]).unwrap().is_empty());
        // A file takes the place of the link, and what that led to stays.
        write(&inside, kind, "l.py", b"mine").unwrap();
        assert_eq!(read(&inside, kind, "l.py").unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "key");
        let error = write(&inside, kind, "d.py", b"").unwrap_err();
        assert_eq!(error.code, Code::Conflict);
    }
}
