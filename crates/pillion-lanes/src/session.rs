//! Folders of sessions: one for each, below one root, and nothing in it leads out.

use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result};
use pillion_process::private_folder;
use pillion_process::stamp::Stamp;
use pillion_process::stat::Identity;
use pillion_sandbox::{Unseen, Walk, WalkEntry};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, Timespec, Timestamps, Uid, chownat, fstat,
};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sys;

/// How long a child that is just being started may have our locks, and the time between two
/// looks.
const CHILD_START: Duration = Duration::from_millis(500);
const POLL_EVERY: Duration = Duration::from_millis(2);
/// Files that are listed.
const MOST_LISTED: usize = 1000;
/// Files and folders that are looked at; a session cannot have more.
pub const MOST_NAMES: u64 = 1_000_000;
/// How often a folder is tried to be removed that is made to resist.
const ROUNDS: u32 = 2000;
/// How names of folders begin that are no session's.
const RUN: &str = ".run-";
/// The part of a session's folder that code in the user lane has. What else is in that folder
/// is the host's own, such as the turns of a conversation, and no code of others sees it.
pub const WORKSPACE: &str = "user_workspace";

/// A file that a run made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Artifact")]
pub struct ProducedFile {
    /// Its name in the folder.
    pub name: String,
    /// Its length.
    pub size_bytes: u64,
}

/// Whether this is the name of a session.
pub fn check_id(id: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    let fits = !id.is_empty() && id.len() <= 128 && id.chars().all(plain);
    if fits && ![".", ".."].contains(&id) && !id.starts_with(RUN) {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidParams,
        format!("`{id}` is no name of a session"),
    )
    .hint("letters, digits, `_`, `-` and `.`, at most 128"))
}

/// A name for the folder of a run that keeps nothing. No session can have it. It says whose
/// run that is: by pid and start, since a pid alone comes again.
pub fn name_of_run() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let pid = std::process::id();
    let start = Identity::of(pid).map_or(0, |identity| identity.start);
    format!("{RUN}{pid}.{start}-{number}")
}

/// Whether the process runs whose run has a folder of this name. A name that does not say its
/// start was given by an older pillion, and is nobody's unless somebody uses the folder.
fn owner_runs(name: &str) -> bool {
    let owner = name
        .strip_prefix(RUN)
        .and_then(|rest| rest.split('-').next());
    let identity = owner.and_then(|owner| {
        let (pid, start) = owner.split_once('.')?;
        let (pid, start) = (pid.parse().ok()?, start.parse().ok()?);
        Some(Identity { pid, start })
    });
    identity.is_some_and(|identity| identity.is_alive())
}

/// Where the workspace of a session is below the root of all sessions; a run that keeps nothing
/// has a whole folder there.
pub fn part(id: &str) -> PathBuf {
    match id.starts_with(RUN) {
        true => id.into(),
        false => Path::new(id).join(WORKSPACE),
    }
}

/// The workspace of a session or the folder of a run below `root`, made if it is not there.
pub fn folder(root: &Path, id: &str) -> Result<PathBuf> {
    if !id.starts_with(RUN) {
        check_id(id)?;
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(
            Code::StartFailed,
            format!("no folder for the session: {error}"),
        )
        .hint("set `PILLION_HOME` to a folder that you can write")
    };
    let folder = root.join(part(id));
    let above = folder.ancestors().skip(1);
    let above: Vec<_> = above.take_while(|path| path.starts_with(root)).collect();
    for path in above.into_iter().rev() {
        passage(path).map_err(|error| failed(&error))?;
    }
    private_for_lanes(&folder).map_err(|error| failed(&error))?;
    Ok(folder)
}

/// A folder of ours that leads to one of whoever runs code: nobody else can list it, and where
/// code runs as another user, that one can pass through.
pub fn passage(path: &Path) -> Result<(), private_folder::PrivateDirError> {
    let run_user = pillion_sandbox::run_user();
    let io = |source| private_folder::PrivateDirError::Io {
        path: path.to_owned(),
        source,
    };
    let mode = |path: &Path| {
        let meta = std::fs::symlink_metadata(path).ok()?;
        // An older pillion gave the root of all sessions away.
        let known = meta.uid() == pillion_process::effective_uid() || Some(meta.uid()) == run_user;
        (meta.is_dir() && known).then(|| meta.mode() & 0o777)
    };
    let wanted = if run_user.is_some() { 0o711 } else { 0o700 };
    if mode(path) == Some(wanted) {
        return Ok(());
    }
    if mode(path).is_none() {
        private_folder::ensure(path)?;
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(wanted)).map_err(io)
}

/// A folder for whoever runs code, and nobody else.
fn private_for_lanes(path: &Path) -> Result<(), private_folder::PrivateDirError> {
    let run_user = pillion_sandbox::run_user();
    let given = |path: &Path| {
        let meta = std::fs::symlink_metadata(path);
        meta.is_ok_and(|meta| meta.is_dir() && Some(meta.uid()) == run_user)
    };
    if !given(path) {
        private_folder::ensure(path)?;
    }
    // A program may close its own folder.
    let io = |source| private_folder::PrivateDirError::Io {
        path: path.to_owned(),
        source,
    };
    let rights = std::fs::symlink_metadata(path).map_err(io)?.permissions();
    if rights.mode() & 0o777 != 0o700 {
        let open = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(path, open).map_err(io)?;
    }
    let Some(id) = run_user.filter(|_| !given(path)) else {
        return Ok(());
    };
    std::os::unix::fs::lchown(path, Some(id), Some(id)).map_err(io)
}

/// Where files go that are of no use after a run, where the folder is all there is to write in.
pub(crate) const TMP_IN_FOLDER: &str = ".tmp";

/// Somebody uses the folder of a session. While this is there, nobody empties it.
#[derive(Debug)]
pub(crate) struct InUse {
    _folder: OwnedFd,
}

/// Use a folder; `None` while somebody else has it for himself. This is known to all daemons,
/// and to no run: those cannot lock.
fn lock(folder: &Path, how: FlockOperation) -> io::Result<Option<InUse>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = rustix::fs::open(folder, flags, Mode::empty())?;
    match rustix::fs::flock(&open, how) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    // It may have been replaced meanwhile.
    let (ours, there) = (fstat(&open)?, rustix::fs::lstat(folder)?);
    let is_same = (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino);
    Ok(is_same.then_some(InUse { _folder: open }))
}

/// Take a lock that a child may have which is just being started: it has all our descriptors
/// until its `exec`, also of locks that were given back since. `None` if `attempt` gets none for
/// longer than a start takes.
pub fn lock_beside_starts<T, E>(
    mut attempt: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let until = Instant::now() + CHILD_START;
    loop {
        let held = attempt()?;
        if held.is_some() || Instant::now() >= until {
            return Ok(held);
        }
        std::thread::sleep(POLL_EVERY);
    }
}

/// Use a folder alone; `None` if somebody uses it for longer than a child takes to start.
fn lock_alone(folder: &Path) -> io::Result<Option<InUse>> {
    lock_beside_starts(|| lock(folder, FlockOperation::NonBlockingLockExclusive))
}

/// Use a folder for a run, beside others. Its time says when it was last used.
pub(crate) fn lock_for_run(folder: &Path) -> io::Result<Option<InUse>> {
    let held = lock(folder, FlockOperation::NonBlockingLockShared)?;
    if let Some(held) = &held {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        rustix::fs::futimens(&held._folder, &times)?;
    }
    Ok(held)
}

/// A session that there is.
#[derive(Debug)]
pub struct StoredSession {
    /// Its name.
    pub id: String,
    /// When it was last used, in seconds since 1970.
    pub used: i64,
}

/// All sessions, the one that was used last first.
pub fn all(root: &Path) -> Vec<StoredSession> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut all: Vec<StoredSession> = entries
        .filter_map(|entry| {
            let id = entry.file_name().into_string().ok()?;
            check_id(&id).ok()?;
            let meta = std::fs::symlink_metadata(entry.path().join(WORKSPACE)).ok();
            let meta = meta.filter(std::fs::Metadata::is_dir)?;
            let used = meta.mtime();
            Some(StoredSession { id, used })
        })
        .collect();
    all.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.id.cmp(&b.id)));
    all
}

/// Whether a run uses this folder.
pub fn is_running(folder: &Path) -> bool {
    matches!(
        lock(folder, FlockOperation::NonBlockingLockExclusive),
        Ok(None)
    )
}

/// Whether a run uses this folder, and not only for the moment in which a child is started.
pub fn stays_in_use(folder: &Path) -> bool {
    matches!(lock_alone(folder), Ok(None))
}

/// Empty the folder of a session, and say what was in it; `None` while it is used.
pub fn clear(root: &Path, id: &str) -> Result<Option<Survey>> {
    let folder = root.join(part(id));
    let failed = |error: io::Error| {
        let message = format!("cannot empty session `{id}`: {error}");
        match error.kind() {
            io::ErrorKind::NotFound => no_session(id),
            _ => Error::new(Code::Conflict, message),
        }
    };
    let Some(held) = lock_alone(&folder).map_err(failed)? else {
        return Ok(None);
    };
    let survey = survey(&folder, Purpose::Look).map_err(failed)?;
    // It is replaced, so that even a very large one is empty at once.
    let old = root.join(name_of_run());
    std::fs::rename(&folder, &old).map_err(failed)?;
    self::folder(root, id)?;
    drop(held);
    remove(&old);
    Ok(Some(survey))
}

/// Take away the folder of a session that nobody will use again, if nothing of anybody's is in
/// it. Says whether it is gone.
pub fn remove_unless_used(root: &Path, id: &str) -> io::Result<bool> {
    let folder = root.join(part(id));
    let Some(held) = lock(&folder, FlockOperation::NonBlockingLockExclusive)? else {
        return Ok(false);
    };
    for entry in std::fs::read_dir(&folder)? {
        if entry?.file_name() != TMP_IN_FOLDER {
            return Ok(false);
        }
    }
    let old = root.join(name_of_run());
    std::fs::rename(&folder, &old)?;
    drop(held);
    remove(&old);
    // What else is there is somebody's conversation, and stays.
    let _ = std::fs::remove_dir(root.join(id));
    Ok(true)
}

/// There is no such session.
pub fn no_session(id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no session `{id}`"))
        .hint("`pillion sessions` lists them")
}

/// Why a folder is looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A run will use it: it is made ready for that.
    Run,
    /// Nothing is changed.
    Look,
}

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Survey {
    /// Bytes on its disk.
    pub bytes: u64,
    /// Names of files and folders.
    pub names: u64,
    /// Bytes and files that are left of its file system.
    pub left: (u64, u64),
    /// What each file is, as far as that can be told without reading it.
    known: HashSet<u64>,
    /// What could not be looked at.
    pub unseen: Option<&'static str>,
}

/// Look through a folder. For a run it is made ready: where pillion is root, what is in it is
/// given to whoever runs code, and what a program closed to itself is opened again. Another run
/// may be changing it meanwhile.
pub fn survey(folder: &Path, purpose: Purpose) -> io::Result<Survey> {
    let mut survey = Survey::default();
    let id = pillion_sandbox::run_user().filter(|_| purpose == Purpose::Run);
    let owner = id.map(|id| (Uid::from_raw(id), Gid::from_raw(id)));
    let mut walk = Walk::open(folder)?;
    if let Some((uid, gid)) = owner
        && walk.root().st_uid != uid.as_raw()
        && let Some(root) = walk.folder()
    {
        rustix::fs::fchown(root, Some(uid), Some(gid))?;
    }
    if let Some(root) = walk.folder() {
        let stat = rustix::fs::fstatvfs(root)?;
        survey.left = (stat.f_bfree * stat.f_frsize, stat.f_ffree);
    }
    survey.bytes = u64::try_from(walk.root().st_blocks).unwrap_or(0) * 512;
    let mut linked = HashSet::new();
    let mut closed = None;
    while let Some(step) = walk.next() {
        let mut found = match step {
            Ok(found) => found,
            Err(Unseen::TooDeep) => {
                survey.unseen = Some("its folders are too deep");
                continue;
            }
            Err(Unseen::Closed) => {
                if purpose == Purpose::Look || !open_up(&mut walk, closed.take()) {
                    survey.unseen = Some("one of its folders cannot be opened");
                }
                continue;
            }
        };
        survey.names += 1;
        if survey.names > MOST_NAMES {
            survey.unseen = Some("it holds too many files");
            break;
        }
        let kind = found.kind();
        let is_folder = kind == FileType::Directory;
        if is_folder || found.stat.st_nlink < 2 || linked.insert(found.stat.st_ino) {
            survey.bytes += found.bytes();
        }
        if let Some((uid, gid)) = owner
            && found.stat.st_uid != uid.as_raw()
            && let Some(at) = walk.folder()
        {
            // What is gone by now needs no owner.
            let (name, flags) = (&found.name, AtFlags::SYMLINK_NOFOLLOW);
            let _ = chownat(at, name, Some(uid), Some(gid), flags);
            // That is a change, and ours.
            if let Ok(now) = rustix::fs::statat(at, name, flags) {
                found.stat = now;
            }
        }
        if kind == FileType::RegularFile {
            survey.known.insert(mark(&walk, &found));
        }
        closed = is_folder.then_some(found.name);
    }
    Ok(survey)
}

/// A file that is the same has the same mark. A run may set its times as it likes, but for the
/// one of the last change.
fn mark(walk: &Walk, found: &WalkEntry) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    walk.path(&found.name).hash(&mut hasher);
    Stamp::from(&found.stat).hash(&mut hasher);
    hasher.finish()
}

/// Let the owner of a folder that was met last into it, once; says whether that can be.
fn open_up(walk: &mut Walk, met: Option<CString>) -> bool {
    let Some(name) = met else { return false };
    let opened = walk
        .folder()
        .is_some_and(|at| sys::let_in(at, &name).is_ok());
    if opened {
        walk.retry(name);
    }
    opened
}

/// Remove a folder, with folders in it that are closed to their own owner, and with folders that
/// are too deep to be removed from above: those are brought up first.
pub fn remove(folder: &Path) {
    for _ in 0..ROUNDS {
        if std::fs::remove_dir_all(folder).is_ok() || !flatten(folder) {
            break;
        }
    }
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "a folder is left");
        }
        _ => {}
    }
}

/// Open what is closed, and bring up what is too deep; says whether there was any of it.
fn flatten(folder: &Path) -> bool {
    let flags = pillion_process::HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (Ok(root), Ok(mut walk)) = (
        rustix::fs::open(folder, flags, Mode::empty()),
        Walk::open(folder),
    ) else {
        return false;
    };
    let mut last = None;
    let mut done = false;
    while let Some(step) = walk.next() {
        match step {
            Ok(found) => last = (found.kind() == FileType::Directory).then_some(found.name),
            Err(Unseen::Closed) => done |= open_up(&mut walk, last.take()),
            Err(Unseen::TooDeep) => {
                let Some((at, name)) = walk.folder().zip(last.take()) else {
                    continue;
                };
                let _ = sys::let_in(at, &name);
                done |= rustix::fs::renameat(at, &name, &root, name_of_run()).is_ok();
            }
        }
    }
    done
}

/// Remove what runs of daemons left that were killed.
pub(crate) fn sweep(root: &Path) {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(RUN)) else {
            continue;
        };
        // Its process may be one that cannot be seen from here; its lock can.
        if !owner_runs(name) && !is_running(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// Files of a folder that are new or different since it was looked through.
pub(crate) fn made(folder: &Path, before: &Survey) -> Vec<ProducedFile> {
    let Ok(mut walk) = Walk::open(folder) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut seen = 0;
    while let Some(step) = walk.next() {
        seen += 1;
        if seen > MOST_NAMES || all.len() >= MOST_LISTED {
            break;
        }
        let Ok(found) = step else { continue };
        let is_new = || !before.known.contains(&mark(&walk, &found));
        if found.kind() == FileType::RegularFile && is_new() {
            all.push(ProducedFile {
                name: walk.path(&found.name).to_string_lossy().into_owned(),
                size_bytes: u64::try_from(found.stat.st_size).unwrap_or(0),
            });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sessions_stay_below_their_root() {
        for name in ["a", "default", "a-b_c.d", &"x".repeat(128)] {
            assert!(check_id(name).is_ok(), "{name}");
        }
        let long = "x".repeat(129);
        for name in ["", ".", "..", "a/b", "a b", "\u{e4}", &long, &name_of_run()] {
            assert!(check_id(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_a_reused_pid_seems_to_own_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str| std::fs::create_dir(root.path().join(name)).unwrap();
        let own = name_of_run();
        let pid = std::process::id();
        let reused = format!("{RUN}{pid}.1-0");
        let (old, in_use) = (format!("{RUN}{pid}-0"), format!("{RUN}{pid}-1"));
        for name in [&own, &reused, &old, &in_use] {
            make(name);
        }
        make("session");
        let held = lock_for_run(&root.path().join(&in_use)).unwrap();
        assert!(held.is_some());
        sweep(root.path());
        let is_there = |name: &str| root.path().join(name).exists();
        assert!(is_there(&own), "its process runs");
        assert!(is_there(&in_use), "somebody uses it");
        assert!(is_there("session"));
        assert!(!is_there(&reused), "another process had that pid");
        assert!(!is_there(&old));
    }

    #[test]
    fn a_session_in_use_is_not_emptied_and_an_empty_one_is_new() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().join("sessions");
        let folder = folder(&root, "s").unwrap();
        std::fs::write(folder.join("a"), "text").unwrap();
        let held = lock_for_run(&folder).unwrap().unwrap();
        assert!(is_running(&folder));
        assert!(clear(&root, "s").unwrap().is_none());
        drop(held);
        assert!(!stays_in_use(&folder));
        let was = clear(&root, "s").unwrap().unwrap();
        assert_eq!(was.names, 1);
        let now = survey(&folder, Purpose::Look).unwrap();
        assert_eq!(now.names, 0);
        let error = clear(&root, "other").unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert_eq!(all(&root).len(), 1, "nothing else is left");
    }

    #[test]
    fn what_a_run_made_is_what_is_new_or_different() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        write("same", "1");
        write("grown", "1");
        let before = survey(root.path(), Purpose::Look).unwrap();
        write("grown", "12");
        write("new", "123");
        let made = made(root.path(), &before);
        let names: Vec<_> = made
            .iter()
            .map(|m| (m.name.as_str(), m.size_bytes))
            .collect();
        assert_eq!(names, [("grown", 2), ("new", 3)]);
    }
}
