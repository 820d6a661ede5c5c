//! Opening the file: private, one process at a time, a broken one set aside.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pillion_process::private_folder::{self, PrivateDirError};
use rusqlite::{Connection, OpenFlags};

use crate::{StoreError, schema, time};

/// How long a transaction waits for one of another process, and an opening for another.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A file up to this size is read through when it is opened, which takes milliseconds.
const CHECKED_BYTES: u64 = 4 << 20;

/// The write-ahead log is cut back to this size after a checkpoint.
const LOG_BYTES: i64 = 16 << 20;

/// What tells the file from another one of the same name.
pub(crate) type FileId = (u64, u64);

/// A connection, and what was found on the way to it.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) file: FileId,
    /// Where a broken file was put.
    pub(crate) set_aside: Option<PathBuf>,
}

/// Open the file for writing, as it must be: private, whole, with the tables of today.
pub(crate) fn for_writing(path: &Path) -> Result<Opened, StoreError> {
    let _alone = prepare(path)?;
    open_or_begin_anew(path)
}

/// Open the file for reading only.
pub(crate) fn for_reading(path: &Path) -> Result<Opened, StoreError> {
    let _alone = prepare(path)?;
    // Whoever reads may be the first to see that the file is gone.
    if file_id(path).is_none() {
        open_or_begin_anew(path)?;
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    Ok(Opened {
        connection,
        file: require_file_id(path)?,
        set_aside: None,
    })
}

/// Which file has that name now.
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Note that the file was found damaged in use, so that whoever opens it next reads it
/// through, whatever its size.
pub(crate) fn suspect(path: &Path) {
    tracing::warn!(path = %path.display(), "the store is damaged");
    if let Err(error) = File::create(with_suffix(path, ".suspect")) {
        tracing::warn!(%error, "cannot note that the store is damaged");
    }
}

/// The folder is made, and others wait until the lock is dropped.
fn prepare(path: &Path) -> Result<File, StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder::ensure(folder).map_err(|error| match error {
        PrivateDirError::Io { path, source } => StoreError::file(&path, source),
        other => StoreError::Folder(other.into()),
    })?;
    lock(path)
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let lock_path = with_suffix(path, ".lock");
    let failed = |error| StoreError::file(&lock_path, error);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&lock_path)
        .map_err(failed)?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            // A stopped process must not stop all others for ever.
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => {
                return Err(StoreError::Locked { path: lock_path });
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn open_or_begin_anew(path: &Path) -> Result<Opened, StoreError> {
    let (connection, set_aside) = match open_whole(path) {
        Ok(connection) => (connection, None),
        Err(StoreError::Corrupt { .. }) => {
            let aside = put_aside(path)?;
            (open_whole(path)?, Some(aside))
        }
        Err(error) => return Err(error),
    };
    Ok(Opened {
        connection,
        file: require_file_id(path)?,
        set_aside,
    })
}

fn open_whole(path: &Path) -> Result<Connection, StoreError> {
    make_private(path).map_err(|error| StoreError::file(path, error))?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    check(&connection, path)?;
    set_up(&connection).map_err(|error| StoreError::sqlite(path, error))?;
    schema::migrate(&mut connection, path)?;
    Ok(connection)
}

/// A file that only this user can read; SQLite gives the mode to its companions.
///
/// An existing one is not opened here: closing it would drop the locks that another store of
/// this process has on it.
fn make_private(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.mode() & 0o077 == 0 => Ok(()),
        Ok(_) => fs::set_permissions(path, fs::Permissions::from_mode(0o600)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o600)
                .open(path)?;
            // The name, too, must be there after a power loss.
            File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
        }
        Err(error) => Err(error),
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    // Each connection stays on one thread.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(LOCK_TIMEOUT)?;
        Ok(connection)
    };
    let connection = open().map_err(|error| StoreError::sqlite(path, error))?;
    let wanted = access.contains(OpenFlags::SQLITE_OPEN_READ_WRITE);
    // SQLite falls back to reading without a word.
    if wanted && connection.is_readonly("main").unwrap_or(true) {
        return Err(StoreError::ReadOnly {
            path: path.to_owned(),
        });
    }
    Ok(connection)
}

/// Read what says that the file is broken: its head always, all of it if it is small or
/// was found damaged before.
fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::sqlite(path, error);
    let mark = with_suffix(path, ".suspect");
    let size = fs::metadata(path).map_or(0, |found| found.len());
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(failed)?;
    if size <= CHECKED_BYTES || mark.exists() {
        let verdict: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(failed)?;
        if verdict != "ok" {
            return Err(StoreError::Corrupt {
                path: path.to_owned(),
            });
        }
        let _ = fs::remove_file(&mark);
    }
    Ok(())
}

/// `synchronous = FULL` syncs the log at every commit. Without it (`NORMAL`) a commit would
/// survive a kill of the process, since the kernel has it, but not a loss of power.
/// `fullfsync` makes it true where a plain sync only reaches the disk's cache (macOS).
fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    // Before the first page is written, else it has no effect.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.query_row(
        &format!("PRAGMA journal_size_limit = {LOG_BYTES}"),
        [],
        |_| Ok(()),
    )
}

/// Rename the file and its companions; the new names still belong together.
fn put_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let aside = with_suffix(path, &format!(".corrupt-{}", time::for_name()));
    // First the file itself: SQLite drops a log beside a file that is new and empty.
    fs::rename(path, &aside).map_err(|error| StoreError::file(path, error))?;
    for companion in ["-wal", "-shm"] {
        let from = with_suffix(path, companion);
        match fs::rename(&from, with_suffix(&aside, companion)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::file(&from, error));
            }
            _ => {}
        }
    }
    let _ = fs::remove_file(with_suffix(path, ".suspect"));
    tracing::warn!(path = %path.display(), aside = %aside.display(), "a damaged store was set aside");
    Ok(aside)
}

fn require_file_id(path: &Path) -> Result<FileId, StoreError> {
    file_id(path).ok_or_else(|| StoreError::file(path, io::ErrorKind::NotFound.into()))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
