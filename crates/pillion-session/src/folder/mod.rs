//! The folder of a session: the layout that desktops read and write themselves.
//!
//! The folder is the only record of a session: a second one elsewhere could contradict what a
//! desktop restored. What belongs together is written together ([`journal`]); what is read is
//! bounded, because others write here too.

pub(crate) mod journal;
mod turns;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_lanes::session;
use pillion_sync::Delivery;
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use journal::Record;
pub use turns::PastTurn;
pub(crate) use turns::{name as name_of_turn, offset, turns};

/// The names in the folder of a session.
pub(crate) mod names {
    pub(crate) const STATE: &str = "session_state.json";
    pub(crate) const PACKET: &str = "instruction_packet.json";
    pub(crate) const DIGEST: &str = "memo_digest.json";
    pub(crate) const MEMORY: &str = "memory_state.json";
    pub(crate) const REPORT: &str = "dynamic_report.md";
    pub(crate) const ERRORS: &str = "student_error_summary.md";
    pub(crate) const FINAL_REPORT: &str = "final_learning_report.md";
    pub(crate) const PATHS: &str = "session_paths.json";
    pub(crate) const SOURCES: &str = "workspace_sources.json";
    pub(crate) const EVENTS: &str = "system_events.jsonl";
    pub(crate) const TURNS: &str = "turns";
    pub(crate) const WORKING_FILES: &str = "working_files";
    pub(crate) const EXPERTS: &str = "expert_workspace";
}

/// The longest file that is read.
const LONGEST: u64 = 4 << 20;
/// What is kept of the log of events; the older half goes when it is full.
const EVENTS_BYTES: u64 = 1 << 20;

/// The folder of a session that there is.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    root: PathBuf,
    id: String,
}

/// This process alone changes the session while this is there.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    _folder: File,
    /// What was committed and may not be on its way to the backend yet.
    pub(crate) unsent: Vec<Delivery>,
    /// What was committed by its journal only: its files may not be on the disk.
    unsynced: Option<Record>,
}

impl Folder {
    /// The folder of the session `id` below `root`.
    pub(crate) fn find(root: &Path, id: &str) -> Result<Self> {
        let is_name = session::check_id(id).is_ok();
        let folder = Self {
            root: root.to_owned(),
            id: id.to_owned(),
        };
        // A link would lead to a folder that is no session of ours.
        let is_folder = || {
            folder
                .base()
                .symlink_metadata()
                .is_ok_and(|meta| meta.is_dir())
        };
        match is_name && is_folder() && folder.path(names::STATE).is_file() {
            true => Ok(folder),
            false => Err(no_session(id)),
        }
    }

    /// All sessions below `root`, in no order.
    pub(crate) fn all(root: &Path) -> Vec<Self> {
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|id| Self::find(root, &id).ok()).collect()
    }

    /// The name of the session.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The folder itself.
    pub(crate) fn base(&self) -> PathBuf {
        self.root.join(&self.id)
    }

    /// Something in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(&self.id).join(name)
    }

    /// The part that the learner's code has, made if it is not there.
    pub(crate) fn workspace(&self) -> Result<PathBuf> {
        session::folder(&self.root, &self.id)
    }

    /// Change the session; `None` while another process does. What a process that was killed
    /// left half written is completed first.
    pub(crate) fn hold(&self) -> Result<Option<LockedFolder>> {
        let failed = |error: io::Error| unusable(&self.id, &error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = rustix::fs::open(self.base(), flags, Mode::empty());
        let open = open.map_err(|error| failed(error.into()))?;
        match rustix::fs::flock(&open, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(failed(error.into())),
        }
        let unsent = journal::recover(&self.base()).map_err(failed)?;
        Ok(Some(LockedFolder {
            _folder: open.into(),
            unsent,
            unsynced: None,
        }))
    }

    /// Write what belongs together: all of it is there afterwards, whatever happens meanwhile,
    /// or nothing is.
    pub(crate) fn commit(&self, held: &mut LockedFolder, mut record: Record) -> Result<()> {
        // What could not be put on its way before goes with this journal.
        record.deliveries.splice(0..0, held.unsent.iter().cloned());
        let written = journal::commit(&self.base(), held.unsynced.as_ref(), &record);
        let written = written.map_err(|error| {
            Error::new(
                Code::WriteFailed,
                format!("cannot write session `{}`: {error}", self.id),
            )
            .hint("make room on the disk, or check who owns the folder of sessions")
        })?;
        held.unsynced = Some(written);
        held.unsent = record.deliveries;
        Ok(())
    }

    /// Sync what was committed to the disk and take the journal away, unless something of it is
    /// not on its way yet. This may be left to a moment when nobody waits.
    pub(crate) fn settle(&self, held: &mut LockedFolder) -> Result<()> {
        if !held.unsent.is_empty() {
            return Ok(());
        }
        journal::complete(&self.base()).map_err(|error| unusable(&self.id, &error))?;
        held.unsynced = None;
        Ok(())
    }

    /// A file as text; `None` if it is not there.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(
                Code::ParseError,
                format!("`{name}` of session `{}` cannot be read: {error}", self.id),
            )
            .hint("restore the session, or delete it")
        };
        let file = match File::open(self.path(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let mut text = String::new();
        let read = file.take(LONGEST + 1).read_to_string(&mut text);
        read.map_err(|error| failed(&error))?;
        if text.len() as u64 > LONGEST {
            return Err(failed(&format!("it has more than {LONGEST} bytes")));
        }
        // Some programs that write text files put a byte order mark first.
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Ok(Some(text))
    }

    /// A file as JSON; `None` if it is not there or holds nothing.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        // A desktop may write what it does not have as `null`.
        let says_something = |text: &String| !matches!(text.trim(), "" | "null");
        let Some(text) = self.text(name)?.filter(says_something) else {
            return Ok(None);
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Error::new(
                Code::ParseError,
                format!("`{name}` of session `{}` is broken: {error}", self.id),
            )
            .hint("restore the session, or delete it")
        })
    }

    /// Write down that something happened. The log is for people: a line that is lost is no
    /// reason to fail.
    pub(crate) fn note(&self, event: &impl Serialize) {
        let noted = || -> io::Result<()> {
            use std::io::Write;
            let path = self.path(names::EVENTS);
            let mut line = serde_json::to_string(event)?;
            line.push('\n');
            let mut options = File::options();
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.create(true).append(true).open(&path)?;
            if file.metadata()?.len() > EVENTS_BYTES {
                let old = std::fs::read(&path)?;
                let half = old.get(old.len() / 2..).unwrap_or_default();
                let from = half.iter().position(|byte| *byte == b'\n');
                let kept = half.get(from.map_or(0, |at| at + 1)..).unwrap_or_default();
                journal::write(&path, kept, false)?;
                file = File::options().append(true).open(&path)?;
            }
            file.write_all(line.as_bytes())
        };
        if let Err(error) = noted() {
            tracing::warn!(session = self.id, %error, "an event is not in the log");
        }
    }
}

/// This process alone changes the session, or says that another does.
pub(crate) fn hold(folder: &Folder) -> Result<LockedFolder> {
    session::lock_beside_starts(|| folder.hold())?.ok_or_else(|| {
        let what = format!("another process works on session `{}`", folder.id());
        Error::new(Code::Conflict, what).hint("wait until it is done, or end that process")
    })
}

/// There is no such session.
pub(crate) fn no_session(id: &str) -> Error {
    let shown: String = id.chars().take(128).collect();
    Error::new(Code::NotFound, format!("there is no session `{shown}`"))
        .hint("`session.list` shows those there are")
}

fn unusable(id: &str, error: &io::Error) -> Error {
    Error::new(
        Code::WriteFailed,
        format!("the folder of session `{id}` cannot be used: {error}"),
    )
    .hint("check who owns the folder of sessions, and that its disk has room")
}
