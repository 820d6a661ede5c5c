//! The one place where notebooks touch files.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pillion_protocol::error::{Code, Error, Result};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::notebook::{MAX_BYTES, Notebook, too_large};

/// What to do with a file that is no longer what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Refuse: somebody else saved it. A new notebook is not written over a file.
    Never,
    /// Write all the same.
    Always,
}

/// What to do with a name that is a link to a file elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// The file that it leads to is meant.
    Follow,
    /// It is no file: where code of others can make links, one could lead anywhere.
    Refuse,
}

/// Read a notebook from a file.
///
/// # Errors
///
/// `not_found` if there is none or it cannot be read, and those of [`Notebook::read`].
pub fn open(path: &Path) -> Result<Notebook> {
    open_at(path, Links::Follow)
}

/// Read a notebook from a file, with or without following a link.
///
/// # Errors
///
/// Those of [`open`].
pub fn open_at(path: &Path, links: Links) -> Result<Notebook> {
    Notebook::read(&bytes(path, links)?)
}

/// Write a notebook to a file, whole or not at all: the new text takes the place of the old
/// file in one step. A link stays one, and so do the permissions. Afterwards the notebook counts
/// as read from what was written. A file that has this text already is not touched; the answer
/// says whether it was.
///
/// # Errors
///
/// `conflict` if the file is no longer what was read, `write_failed` if it cannot be written.
pub fn save(notebook: &mut Notebook, path: &Path, overwrite: Overwrite) -> Result<bool> {
    save_at(notebook, path, overwrite, Links::Follow)
}

/// Write a notebook to a file as [`save`] does, with or without following a link.
///
/// # Errors
///
/// Those of [`save`].
pub fn save_at(
    notebook: &mut Notebook,
    path: &Path,
    overwrite: Overwrite,
    links: Links,
) -> Result<bool> {
    let text = notebook.text();
    let before = match overwrite {
        Overwrite::Always => Before::Anything,
        Overwrite::Never => match notebook.original() {
            // The copy of a notebook under a new name is a new file, too.
            Some(original) if fs::symlink_metadata(path).is_ok() => Before::Text(original),
            _ => Before::Nothing,
        },
    };
    let written = write(path, &text, before, links)?;
    notebook.is_saved(text);
    Ok(written)
}

/// Write a text to a file in the same way, whatever is there.
///
/// # Errors
///
/// `write_failed` if it cannot be written.
pub fn save_text(path: &Path, text: &str) -> Result<bool> {
    write(path, text, Before::Anything, Links::Follow)
}

/// What has to be there for a file to be written.
#[derive(Debug, Clone, Copy)]
enum Before<'a> {
    Nothing,
    Text(&'a str),
    Anything,
}

fn write(path: &Path, text: &str, before: Before<'_>, links: Links) -> Result<bool> {
    let place = match links {
        Links::Follow => fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
        Links::Refuse => path.to_owned(),
    };
    let found = bytes(&place, links).ok();
    let fits = match before {
        Before::Nothing => fs::symlink_metadata(&place).is_err(),
        Before::Text(original) => found.as_deref() == Some(original.as_bytes()),
        Before::Anything => true,
    };
    if !fits {
        return Err(conflict(path, before));
    }
    if found.as_deref() == Some(text.as_bytes()) {
        return Ok(false);
    }
    let draft = draft(&place);
    match put(&draft, &place, text, before, links) {
        Ok(true) => Ok(true),
        Ok(false) => Err(conflict(path, before)),
        Err(error) => {
            let what = format!("`{}` cannot be written: {error}", path.display());
            Err(Error::new(Code::WriteFailed, what)
                .hint("look at its folder's permissions and free space"))
        }
    }
}

fn conflict(path: &Path, before: Before<'_>) -> Error {
    if let Before::Nothing = before {
        let what = format!("there is a file `{}` already", path.display());
        return Error::new(Code::Conflict, what).hint("choose another name, or remove it first");
    }
    let what = format!("`{}` was changed by somebody else", path.display());
    Error::new(Code::Conflict, what)
        .hint("read it again and repeat the change, or write to another file")
}

fn bytes(path: &Path, links: Links) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| {
        let what = match error.kind() {
            ErrorKind::NotFound => format!("there is no file `{}`", path.display()),
            _ => format!("`{}` cannot be read: {error}", path.display()),
        };
        Error::new(Code::NotFound, what).hint("name a notebook file, relative to where you are")
    };
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC;
    // A pipe or a device would never end, and to open a pipe would wait for a writer.
    let metadata = match links {
        Links::Follow => fs::metadata(path).map_err(failed)?,
        Links::Refuse => {
            // It may become a link or a pipe after the look.
            flags |= OFlags::NOFOLLOW | OFlags::NONBLOCK;
            fs::symlink_metadata(path).map_err(failed)?
        }
    };
    if !metadata.is_file() {
        return Err(failed(std::io::Error::other("it is no regular file")));
    }
    if metadata.len() > MAX_BYTES as u64 {
        return Err(too_large(metadata.len()));
    }
    let file = rustix::fs::open(path, flags, Mode::empty());
    let file = File::from(file.map_err(|error| failed(error.into()))?);
    let mut bytes = Vec::new();
    // It may grow while it is read. One byte more than allowed is refused by the reader.
    let most = MAX_BYTES as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// A name beside the file that nobody else has.
fn draft(place: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let process = std::process::id();
    place.with_file_name(format!(".{name}.pillion-{process}-{count}"))
}

/// Put the text in its place; says whether what was there is what had to be.
fn put(
    draft: &Path,
    place: &Path,
    text: &str,
    before: Before<'_>,
    links: Links,
) -> std::io::Result<bool> {
    let step = |how| renameat_with(CWD, draft, CWD, place, how);
    let flags = match before {
        Before::Anything => RenameFlags::empty(),
        Before::Nothing => RenameFlags::NOREPLACE,
        // A look followed by a rename would lose what is written in between. So the two change
        // places, and what came out is looked at where nobody replaces it any more.
        Before::Text(_) => RenameFlags::EXCHANGE,
    };
    let done = write_draft(draft, place, text).and_then(|()| match (step(flags), before) {
        (Ok(()), _) => Ok(true),
        (Err(Errno::EXIST), Before::Nothing) | (Err(Errno::NOENT), Before::Text(_)) => Ok(false),
        // Some file systems of networks cannot do that: the look from before has to do.
        (Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP), _) => {
            fs::rename(draft, place).map(|()| true)
        }
        (Err(error), _) => Err(error.into()),
    });
    if let (Ok(true), Before::Text(original)) = (&done, before)
        && bytes(draft, links).ok().as_deref() != Some(original.as_bytes())
    {
        // What came out goes back before anything is thrown away.
        step(RenameFlags::EXCHANGE)?;
        fs::remove_file(draft)?;
        return Ok(false);
    }
    let _ = fs::remove_file(draft);
    done
}

fn write_draft(draft: &Path, place: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(draft)?;
    // Before there is something to read.
    if let Ok(metadata) = fs::metadata(place) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::notebook::KernelMetadata;
    use super::*;

    #[test]
    fn a_notebook_goes_to_a_file_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ipynb");
        let mut notebook = Notebook::new(&KernelMetadata::default());
        save(&mut notebook, &path, Overwrite::Never).unwrap();
        assert!(!notebook.is_changed());
        notebook.set_metadata("x", Some(1.into()));
        save(&mut notebook, &path, Overwrite::Never).unwrap();
        assert_eq!(open(&path).unwrap().text(), notebook.text());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_somebody_else_saved_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ipynb");
        let mut notebook = Notebook::new(&KernelMetadata::default());
        save(&mut notebook, &path, Overwrite::Never).unwrap();
        // A new notebook knows nothing of what is there.
        let mut other = Notebook::new(&KernelMetadata::default());
        let error = save(&mut other, &path, Overwrite::Never).unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        notebook = open(&path).unwrap();
        notebook.set_metadata("mine", Some(1.into()));
        fs::write(&path, notebook.text().replace("mine", "theirs")).unwrap();
        let error = save(&mut notebook, &path, Overwrite::Never).unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        assert!(fs::read_to_string(&path).unwrap().contains("theirs"));
        save(&mut notebook, &path, Overwrite::Always).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("mine"));
        let copy = folder.path().join("b.ipynb");
        save(&mut notebook, &copy, Overwrite::Never).unwrap();
    }

    #[test]
    fn what_is_written_between_the_look_and_the_swap_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ipynb");
        fs::write(&path, "theirs").unwrap();
        let draft = draft(&path);
        assert!(!put(&draft, &path, "ours", Before::Text("read"), Links::Follow).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert!(put(&draft, &path, "ours", Before::Text("theirs"), Links::Follow).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert!(!put(&draft, &path, "new", Before::Nothing, Links::Follow).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert!(!draft.exists());
    }

    #[test]
    fn a_link_is_no_file_where_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("a.ipynb"), folder.path().join("b.ipynb"));
        let mut notebook = Notebook::new(&KernelMetadata::default());
        save(&mut notebook, &outside, Overwrite::Never).unwrap();
        std::os::unix::fs::symlink(&outside, &inside).unwrap();
        assert!(open_at(&inside, Links::Follow).is_ok());
        let error = open_at(&inside, Links::Refuse).unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        // Nor is one that appeared after the file was read.
        let before = fs::read(&outside).unwrap();
        notebook.set_metadata("x", Some(1.into()));
        let error = save_at(&mut notebook, &inside, Overwrite::Never, Links::Refuse);
        assert_eq!(error.unwrap_err().code, Code::Conflict);
        assert_eq!(fs::read(&outside).unwrap(), before);
        fs::remove_file(&inside).unwrap();
        fs::copy(&outside, &inside).unwrap();
        save_at(&mut notebook, &inside, Overwrite::Never, Links::Refuse).unwrap();
        assert_eq!(
            open_at(&inside, Links::Refuse).unwrap().text(),
            notebook.text()
        );
        assert_eq!(fs::read(&outside).unwrap(), before);
    }

    #[test]
    fn a_file_that_has_the_text_already_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ipynb");
        let mut notebook = Notebook::new(&KernelMetadata::default());
        save(&mut notebook, &path, Overwrite::Never).unwrap();
        let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        let before = modified(&path);
        save(&mut notebook, &path, Overwrite::Always).unwrap();
        assert_eq!(modified(&path), before);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.ipynb"), folder.path().join("l.ipynb"));
        save(
            &mut Notebook::new(&KernelMetadata::default()),
            &path,
            Overwrite::Never,
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut notebook = open(&link).unwrap();
        notebook.set_metadata("x", Some(1.into()));
        save(&mut notebook, &link, Overwrite::Never).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(open(&path).unwrap().text(), notebook.text());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn what_is_no_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("missing")] {
            assert_eq!(open(&path).unwrap_err().code, Code::NotFound);
        }
        let error = save(
            &mut Notebook::new(&KernelMetadata::default()),
            &folder.path().join("no/folder"),
            Overwrite::Always,
        );
        assert_eq!(error.unwrap_err().code, Code::WriteFailed);
    }
}
