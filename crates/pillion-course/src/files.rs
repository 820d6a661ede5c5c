//! The only way to a file of a bundle: bounded, and never out of the bundle.
//!
//! A path is resolved first, with all its links, and used only if it is still below the
//! bundle's own resolved folder. The resolved path is then opened without following a link, so
//! that a named pipe, a device or a link that was put there meanwhile is refused. Whoever may
//! write to a bundle while it is read can still swap a folder above the file: bundles are
//! trusted that far, since whoever installs them can read what the user can.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::Error;

/// The largest text: prompts, tasks, configuration, knowledge.
pub(crate) const TEXT_BYTES: u64 = 512 << 10;
/// The largest starter file, as for files that a learner writes.
pub(crate) const SCRIPT_BYTES: u64 = 1 << 20;
/// The largest dataset.
pub(crate) const DATASET_BYTES: u64 = 32 << 20;
/// Names in one folder.
pub(crate) const FOLDER_NAMES: usize = 1000;

/// A folder that content is read from, and that nothing leads out of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bundle {
    /// The folder as it was named.
    pub(crate) root: PathBuf,
    /// The same without links.
    real: PathBuf,
}

/// A text and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// The file, as it is told to people.
    pub(crate) path: PathBuf,
    /// Its text.
    pub(crate) text: String,
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Its name.
    pub(crate) name: String,
    /// Where it is, links resolved.
    pub(crate) path: PathBuf,
    /// Whether it is a folder.
    pub(crate) is_folder: bool,
    /// The length of a file.
    pub(crate) size: u64,
}

impl Bundle {
    /// The bundle at `root`; `None` if there is no such folder.
    pub(crate) fn open(root: &Path) -> Result<Option<Self>, Error> {
        match root.canonicalize() {
            Ok(real) if real.is_dir() => Ok(Some(Self {
                root: root.to_owned(),
                real,
            })),
            Ok(_) => Err(Error::invalid(root, None, "this is no folder")),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(Error::unreadable(root, error)),
        }
    }

    /// The path as it is told to people.
    pub(crate) fn shown(&self, relative: &Path) -> PathBuf {
        match relative.as_os_str().is_empty() {
            true => self.root.clone(),
            false => self.root.join(relative),
        }
    }

    /// What a path in the bundle leads to; `None` if nothing is there.
    pub(crate) fn find(&self, relative: &Path) -> Result<Option<PathBuf>, Error> {
        let shown = self.shown(relative);
        let normal = |part| matches!(part, std::path::Component::Normal(_));
        if !relative.components().all(normal) {
            return Err(self.outside(shown));
        }
        match self.real.join(relative).canonicalize() {
            Ok(found) if found.starts_with(&self.real) => Ok(Some(found)),
            Ok(_) => Err(self.outside(shown)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(Error::unreadable(&shown, error)),
        }
    }

    fn outside(&self, path: PathBuf) -> Error {
        Error::Outside {
            path,
            root: self.root.clone(),
        }
    }

    /// Whether there is a folder at a path.
    pub(crate) fn has_folder(&self, relative: &Path) -> Result<bool, Error> {
        Ok(self.find(relative)?.is_some_and(|found| found.is_dir()))
    }

    /// The text at a path; `None` if nothing is there.
    pub(crate) fn text(&self, relative: &Path) -> Result<Option<Text>, Error> {
        let Some(found) = self.find(relative)? else {
            return Ok(None);
        };
        let path = self.shown(relative);
        let renamed = |error| rename(error, &path);
        let bytes = read_bytes(&found, TEXT_BYTES).map_err(renamed)?;
        let text = decode(&path, bytes)?;
        Ok(Some(Text { path, text }))
    }

    /// What is in a folder, sorted by name: nothing if there is no such folder. Names that
    /// begin with a dot and caches of Python are left out.
    pub(crate) fn list(&self, relative: &Path) -> Result<Vec<Item>, Error> {
        self.each(relative)?.into_iter().collect()
    }

    /// The same, with what is wrong with each of them; that comes last.
    pub(crate) fn each(&self, relative: &Path) -> Result<Vec<Result<Item, Error>>, Error> {
        let shown = self.shown(relative);
        let Some(found) = self.find(relative)?.filter(|found| found.is_dir()) else {
            return Ok(Vec::new());
        };
        let unreadable = |error| Error::unreadable(&shown, error);
        let mut items = Vec::new();
        for (count, entry) in found.read_dir().map_err(unreadable)?.enumerate() {
            if count >= FOLDER_NAMES {
                return Err(Error::TooLarge {
                    path: shown,
                    limit: FOLDER_NAMES as u64,
                    unit: "files",
                });
            }
            let name = entry.map_err(unreadable)?.file_name();
            items.extend(self.item(relative, &name).transpose());
        }
        items.sort_by(|a, b| match (a, b) {
            (Ok(a), Ok(b)) => a.name.cmp(&b.name),
            (Err(a), Err(b)) => a.path().cmp(&b.path()),
            (a, b) => a.is_err().cmp(&b.is_err()),
        });
        Ok(items)
    }

    /// Something in a folder, if it is for anybody.
    fn item(&self, folder: &Path, name: &OsStr) -> Result<Option<Item>, Error> {
        let shown = self.shown(folder);
        let Some(name) = name.to_str().filter(|name| is_name(name)) else {
            let message = format!("`{}` is no name for a file here", name.to_string_lossy());
            return Err(Error::invalid(&shown, None, message));
        };
        if name.starts_with('.') || name == "__pycache__" {
            return Ok(None);
        }
        // A link that leads nowhere is nothing.
        let Some(path) = self.find(&folder.join(name))? else {
            return Ok(None);
        };
        let unreadable = |error| Error::unreadable(&shown.join(name), error);
        let meta = path.symlink_metadata().map_err(unreadable)?;
        Ok(Some(Item {
            name: name.to_owned(),
            path,
            is_folder: meta.is_dir(),
            size: meta.len(),
        }))
    }
}

/// Whether a name can be a file's in a session's folders: text without control characters.
fn is_name(name: &str) -> bool {
    name.len() <= 255 && !name.contains(['\\', ':']) && !name.chars().any(char::is_control)
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// The same error about the path that people know.
fn rename(mut error: Error, shown: &Path) -> Error {
    match &mut error {
        Error::Unreadable { path, .. }
        | Error::Invalid { path, .. }
        | Error::TooLarge { path, .. } => *path = shown.to_owned(),
        _ => {}
    }
    error
}

/// The bytes of a regular file that is no link.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let unreadable = |error| Error::unreadable(path, error);
    let (file, size) = open(path)?;
    let too_large = || Error::TooLarge {
        path: path.to_owned(),
        limit,
        unit: "bytes",
    };
    if size > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // The file may grow meanwhile.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(bytes)
}

/// A regular file that is no link, and its length. A pipe is not waited for.
pub(crate) fn open(path: &Path) -> Result<(File, u64), Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let unreadable = |error: io::Error| Error::unreadable(path, error);
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|error| unreadable(error.into()))?;
    let meta = file.metadata().map_err(unreadable)?;
    match meta.is_file() {
        true => Ok((file, meta.len())),
        false => Err(Error::invalid(path, None, "this is no regular file")),
    }
}

/// Text from bytes. Other encodings than UTF-8 are told, not guessed.
pub(crate) fn decode(path: &Path, mut bytes: Vec<u8>) -> Result<String, Error> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "this is UTF-16: save it as UTF-8";
        return Err(Error::invalid(path, Some(1), message));
    }
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
    }
    let line_of = |at: usize, bytes: &[u8]| 1 + bytes[..at].iter().filter(|b| **b == b'\n').count();
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let line = line_of(at, &bytes);
        return Err(Error::invalid(
            path,
            Some(line),
            "a zero byte: this is no text",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = line_of(error.utf8_error().valid_up_to(), error.as_bytes());
        Error::invalid(path, Some(line), "this is not UTF-8: save it as UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn bundle() -> (tempfile::TempDir, Bundle) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("bundle");
        fs::create_dir_all(root.join("a")).unwrap();
        fs::write(root.join("a/x.md"), "hello").unwrap();
        fs::write(temp.path().join("secret.md"), "secret").unwrap();
        let bundle = Bundle::open(&root).unwrap().unwrap();
        (temp, bundle)
    }

    #[test]
    fn links_may_stay_in_and_not_lead_out() {
        let (temp, bundle) = bundle();
        symlink("x.md", bundle.root.join("a/inside.md")).unwrap();
        symlink("../../secret.md", bundle.root.join("a/out.md")).unwrap();
        symlink(temp.path(), bundle.root.join("up")).unwrap();
        symlink("nowhere", bundle.root.join("a/dangling.md")).unwrap();
        let text = |path: &str| bundle.text(Path::new(path));
        assert_eq!(text("a/inside.md").unwrap().unwrap().text, "hello");
        assert!(text("a/dangling.md").unwrap().is_none());
        assert!(text("a/none.md").unwrap().is_none());
        assert!(text("a/x.md/none.md").unwrap().is_none());
        for out in ["a/out.md", "up/secret.md", "../secret.md", "/etc/passwd"] {
            assert!(matches!(text(out), Err(Error::Outside { .. })), "{out}");
        }
        assert!(matches!(
            bundle.list(Path::new("a")),
            Err(Error::Outside { .. })
        ));
        assert!(Bundle::open(&temp.path().join("none")).unwrap().is_none());
        assert!(Bundle::open(&temp.path().join("secret.md")).is_err());
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let (_temp, bundle) = bundle();
        let pipe = bundle.root.join("a/pipe.md");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(matches!(
            bundle.text(Path::new("a/pipe.md")),
            Err(Error::Invalid { .. })
        ));
        assert!(matches!(
            bundle.text(Path::new("a")),
            Err(Error::Invalid { .. })
        ));
    }

    #[test]
    fn sizes_and_counts_have_an_end() {
        let (_temp, bundle) = bundle();
        let file = File::create(bundle.root.join("a/big.md")).unwrap();
        file.set_len(TEXT_BYTES + 1).unwrap();
        assert!(matches!(
            bundle.text(Path::new("a/big.md")),
            Err(Error::TooLarge { .. })
        ));
        fs::create_dir(bundle.root.join("many")).unwrap();
        for number in 0..=FOLDER_NAMES {
            fs::write(bundle.root.join(format!("many/{number}")), "").unwrap();
        }
        let error = bundle.list(Path::new("many")).unwrap_err();
        assert!(matches!(error, Error::TooLarge { unit: "files", .. }));
    }

    #[test]
    fn encodings_are_told() {
        let path = Path::new("x.md");
        let line = |bytes: &[u8]| match decode(path, bytes.to_vec()) {
            Err(Error::Invalid { line, .. }) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(decode(path, b"\xef\xbb\xbfhi".to_vec()).unwrap(), "hi");
        assert_eq!(line(b"\xff\xfeh\0i\0"), Some(1));
        assert_eq!(line(b"one\ntwo\nthr\xe9e"), Some(3));
        assert_eq!(line(b"one\n\0"), Some(2));
    }

    proptest! {
        #[test]
        fn no_path_leads_out(relative in "([.]{1,2}|a|x.md|up|/|~){0,8}") {
            let (temp, bundle) = bundle();
            symlink(temp.path(), bundle.root.join("up")).unwrap();
            if let Ok(Some(found)) = bundle.find(Path::new(&relative)) {
                prop_assert!(found.starts_with(bundle.root.canonicalize().unwrap()));
            }
        }
    }
}
