//! Several files of a session, written as one.
//!
//! The new texts go into one file first, which is synced and then renamed to [`JOURNAL`]: that
//! moment is the commit. Then each file is put in its place. Whoever finds a journal puts the
//! files in place again, which does no harm where that was done already, syncs them, and takes
//! the journal away. So a process that is killed at any point leaves a session from before or
//! from after. What happened before a commit is not undone: nothing was written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use pillion_sync::Delivery;
use serde::{Deserialize, Serialize};

/// The file of a commit whose files may not all be in place.
const JOURNAL: &str = ".commit.json";
/// It while it is being written.
const STAGED: &str = ".commit.json.new";

/// What is written together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    files: Vec<(String, String)>,
    /// What is to be sent to a backend because of it.
    #[serde(default)]
    pub(crate) deliveries: Vec<Delivery>,
}

impl Record {
    /// And this file, with this text.
    pub(crate) fn text(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.files.push((name.into(), text.into()));
    }

    /// And this file, with this value.
    pub(crate) fn json(
        &mut self,
        name: impl Into<String>,
        value: &impl Serialize,
    ) -> serde_json::Result<()> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        self.text(name, text);
        Ok(())
    }
}

/// Put in place what a process committed that was killed since, and say what of it may not be
/// on its way yet. The journal stays until that is.
pub(super) fn recover(folder: &Path) -> io::Result<Vec<Delivery>> {
    match fs::read(folder.join(JOURNAL)) {
        Ok(text) => match serde_json::from_slice::<Record>(&text) {
            Ok(record) if !record.deliveries.is_empty() => {
                put(folder, &record, true)?;
                Ok(record.deliveries)
            }
            _ => complete(folder).map(|()| Vec::new()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Write everything in a record, or nothing. What was committed before and is not yet synced to
/// the disk (`before`) goes along in the journal, which takes the place of the one before: so a
/// commit waits for the disk once, however many files it has. Gives what is not synced now.
pub(super) fn commit(
    folder: &Path,
    before: Option<&Record>,
    record: &Record,
) -> io::Result<Record> {
    let mut whole = record.clone();
    let earlier = before.into_iter().flat_map(|before| &before.files);
    let is_older = |file: &&(String, String)| record.files.iter().all(|(name, _)| *name != file.0);
    whole.files.extend(earlier.filter(is_older).cloned());
    let staged = folder.join(STAGED);
    let mut file = private(&staged)?;
    file.write_all(&serde_json::to_vec(&whole)?)?;
    file.sync_all()?;
    fs::rename(&staged, folder.join(JOURNAL))?;
    sync(folder)?;
    // From here on it is committed: an error would be a lie. The journal is there to try again.
    if let Err(error) = put(folder, record, false) {
        tracing::warn!(folder = %folder.display(), %error, "a commit is put in place later");
    }
    Ok(whole)
}

/// Put what was committed in place for good, if anything was.
pub(super) fn complete(folder: &Path) -> io::Result<()> {
    let journal = folder.join(JOURNAL);
    let text = match fs::read(&journal) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match serde_json::from_slice::<Record>(&text) {
        Ok(record) => put(folder, &record, true)?,
        // It was whole when it was renamed, so this is no commit of ours.
        Err(error) => {
            tracing::warn!(folder = %folder.display(), %error, "what is no journal is put aside");
            return fs::rename(&journal, folder.join(".commit.json.broken"));
        }
    }
    fs::remove_file(&journal)
}

fn put(folder: &Path, record: &Record, synced: bool) -> io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    for (name, text) in &record.files {
        let path = inside(folder, name)?;
        if let Some(parent) = path.parent().filter(|parent| *parent != folder) {
            fs::create_dir_all(parent)?;
            if !folders.iter().any(|known| known == parent) {
                folders.push(parent.to_owned());
            }
        }
        write(&path, text.as_bytes(), synced)?;
    }
    if synced {
        for folder in &folders {
            sync(folder)?;
        }
    }
    Ok(())
}

/// A new file for this user alone; one that a killed process left is gone.
pub(crate) fn private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// A file with these bytes, whole at any moment.
pub(super) fn write(path: &Path, bytes: &[u8], synced: bool) -> io::Result<()> {
    let mut staged = path.as_os_str().to_owned();
    staged.push(".new");
    let staged = PathBuf::from(staged);
    let mut file = private(&staged)?;
    file.write_all(bytes)?;
    if synced {
        file.sync_all()?;
    }
    fs::rename(&staged, path)
}

fn inside(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let path = Path::new(name);
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    match is_plain && !name.is_empty() {
        true => Ok(folder.join(path)),
        false => Err(io::Error::other("a name that leads out of the folder")),
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Record {
        let mut record = Record::default();
        record.text("a.json", text);
        record.text("turns/001_user.txt", text);
        record
    }

    fn texts(folder: &Path) -> Vec<String> {
        let names = ["a.json", "turns/001_user.txt"];
        let read = names.map(|name| fs::read_to_string(folder.join(name)).unwrap_or_default());
        read.into()
    }

    #[test]
    fn what_is_committed_is_there_at_once_and_the_journal_goes_later() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        commit(folder, None, &record("one")).unwrap();
        assert_eq!(texts(folder), ["one", "one"]);
        assert!(folder.join(JOURNAL).exists());
        complete(folder).unwrap();
        assert!(!folder.join(JOURNAL).exists());
        let two = commit(folder, None, &record("two")).unwrap();
        commit(folder, Some(&two), &record("three")).unwrap();
        assert_eq!(texts(folder), ["three", "three"]);
    }

    #[test]
    fn a_commit_carries_what_the_one_before_has_not_synced() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let one = commit(folder, None, &record("one")).unwrap();
        let mut more = Record::default();
        more.text("a.json", "two");
        commit(folder, Some(&one), &more).unwrap();
        assert_eq!(texts(folder), ["two", "one"]);
        // The machine lost what was not synced; the journal has all of it.
        fs::remove_file(folder.join("a.json")).unwrap();
        fs::write(folder.join("turns/001_user.txt"), "").unwrap();
        complete(folder).unwrap();
        assert_eq!(texts(folder), ["two", "one"]);
    }

    #[test]
    fn whoever_was_killed_leaves_a_session_from_before_or_after() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        commit(folder, None, &record("one")).unwrap();
        complete(folder).unwrap();
        // Killed before the rename: the staged file is nothing.
        fs::write(folder.join(STAGED), "{\"files\": [[\"a.js").unwrap();
        complete(folder).unwrap();
        assert_eq!(texts(folder), ["one", "one"]);
        // Killed after the rename, with one file in place.
        let journal = serde_json::to_vec(&record("two")).unwrap();
        fs::write(folder.join(JOURNAL), journal).unwrap();
        fs::write(folder.join("a.json"), "two").unwrap();
        complete(folder).unwrap();
        assert_eq!(texts(folder), ["two", "two"]);
        assert!(!folder.join(JOURNAL).exists());
    }

    #[test]
    fn no_name_leads_out_and_what_is_no_journal_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for name in ["", "..", "../a", "/etc/passwd", "a/../../b"] {
            assert!(inside(folder, name).is_err(), "{name}");
        }
        fs::write(folder.join(JOURNAL), "no json").unwrap();
        complete(folder).unwrap();
        assert!(!folder.join(JOURNAL).exists());
        assert!(folder.join(".commit.json.broken").exists());
    }
}
