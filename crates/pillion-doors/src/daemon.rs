//! The life of the daemon: one per user, found by its socket.
//!
//! A lock file, held for the daemon's whole life, decides who owns the socket; the socket
//! itself is only ever replaced under it. So two daemons that start at once cannot remove
//! each other's socket, and a socket left by a killed one is never in the way.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::private_folder;
use pillion_protocol::endpoint::{Endpoint, MAX_PATH};
use tokio::net::UnixListener;

use crate::{DoorState, socket};

/// How long running requests may take to end after a signal or a shutdown. What is left of
/// the 2 s that clients are promised is for the sidecars.
pub const DRAIN: Duration = Duration::from_millis(1400);

/// Why a daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another daemon has the lock. Starters that lose a race end with code 75.
    #[error("another daemon listens on `{0}` already")]
    Taken(PathBuf),
    /// Anything else.
    #[error("{0}")]
    Other(Box<Error>),
}

impl From<Error> for BindError {
    fn from(error: Error) -> Self {
        Self::Other(Box::new(error))
    }
}

/// A socket that is listened on. Dropping it removes what is ours from the file system.
#[derive(Debug)]
pub struct BoundSocket {
    endpoint: Endpoint,
    listener: Option<UnixListener>,
    /// Device and inode of our socket: what is at the path later may be another's.
    identity: (u64, u64),
    _lock: File,
}

impl BoundSocket {
    /// Take the lock and listen.
    pub fn new(endpoint: Endpoint) -> Result<Self, BindError> {
        if !endpoint.fits() {
            return Err(too_long(&endpoint.socket).into());
        }
        prepare(endpoint.dir())?;
        let lock = lock(&endpoint)?;
        clear_stale(&endpoint.socket)?;
        let listener = bind_private(&endpoint.socket)?;
        let meta =
            fs::symlink_metadata(&endpoint.socket).map_err(|e| cannot(&endpoint.socket, &e))?;
        write_pid(&endpoint);
        let identity = (meta.dev(), meta.ino());
        Ok(Self {
            endpoint,
            listener: Some(listener),
            identity,
            _lock: lock,
        })
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Serve until a signal, a shutdown request or `idle` without activity ends it.
    pub async fn run(
        mut self,
        state: DoorState,
        idle: Option<Duration>,
        signalled: impl Future<Output = &'static str>,
    ) -> &'static str {
        let Some(listener) = self.listener.take() else {
            return "shutdown";
        };
        let shutdown = state.shutdown.clone();
        let activity = state.catalogue.activity().clone();
        let serving = socket::serve(listener, state);
        tokio::pin!(serving);
        let mut served = false;
        let cause = tokio::select! {
            () = &mut serving => {
                served = true;
                "shutdown"
            }
            () = shutdown.cancelled() => "shutdown",
            cause = signalled => cause,
            () = idle_for(idle, &activity) => "idle",
        };
        tracing::info!(cause, "ending");
        // Stop accepting; what runs may finish, but not for ever. The socket goes first, so
        // that a new client starts a new daemon instead of waiting for this one.
        self.unlink();
        shutdown.cancel();
        if !served {
            let _ = tokio::time::timeout(DRAIN, serving).await;
        }
        cause
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        self.unlink();
    }
}

impl BoundSocket {
    /// Remove what is ours, and only that, from the file system.
    fn unlink(&self) {
        let ours = fs::symlink_metadata(&self.endpoint.socket)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == self.identity);
        if ours {
            let _ = fs::remove_file(&self.endpoint.socket);
            let _ = fs::remove_file(self.endpoint.pid_file());
        }
    }
}

async fn idle_for(span: Option<Duration>, activity: &pillion_catalogue::Activity) {
    match span {
        Some(span) => activity.idle(span).await,
        None => std::future::pending().await,
    }
}

/// Which signal asks for the end. From this call on, not from the first poll, a signal no
/// longer kills: call it before anything is made that has to be tidied up.
pub fn signalled() -> impl Future<Output = &'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::hangup()),
    );
    async {
        let (Ok(mut term), Ok(mut int), Ok(mut hup)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
            _ = hup.recv() => "SIGHUP",
        }
    }
}

/// See to the folder that holds the socket.
fn prepare(dir: &Path) -> Result<()> {
    private_folder::ensure_socket_dir(dir).map_err(|error| {
        Error::new(Code::StartFailed, error.to_string()).hint(
            "set XDG_RUNTIME_DIR to a folder of your own, or name a socket with `--socket PATH`",
        )
    })
}

/// The lock that makes a daemon the only one. It goes with the process.
fn lock(endpoint: &Endpoint) -> Result<File, BindError> {
    let path = endpoint.lock();
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|e| cannot(&path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(BindError::Taken(endpoint.socket.clone())),
        Err(fs::TryLockError::Error(error)) => Err(cannot(&path, &error).into()),
    }
}

/// Remove a socket that nobody listens on. Only *refused* counts as nobody.
fn clear_stale(path: &Path) -> Result<(), BindError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot(path, &error).into()),
    };
    if !meta.file_type().is_socket() {
        let error = Error::new(
            Code::Conflict,
            format!("`{}` exists and is not a socket", path.display()),
        )
        .hint("move that file away, or name another place with `--socket PATH`");
        return Err(error.into());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        // Someone without our lock listens there: not ours to remove.
        Ok(_) => Err(BindError::Taken(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|e| cannot(path, &e).into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot(path, &error).into()),
    }
}

/// Bind so that the socket is 0600 from its first moment: under a private name first.
fn bind_private(path: &Path) -> Result<UnixListener> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let hidden = path.with_file_name(name);
    let fits = hidden.as_os_str().len() < MAX_PATH;
    let at = if fits { &hidden } else { path };
    let _ = fs::remove_file(&hidden);
    // The folder is 0700, so nobody can come in between these two calls either.
    let listener = UnixListener::bind(at).map_err(|e| cannot(path, &e))?;
    fs::set_permissions(at, fs::Permissions::from_mode(0o600)).map_err(|e| cannot(path, &e))?;
    if fits {
        fs::rename(&hidden, path).map_err(|e| cannot(path, &e))?;
    }
    Ok(listener)
}

/// For people; nothing depends on it.
fn write_pid(endpoint: &Endpoint) {
    let written = File::create(endpoint.pid_file())
        .and_then(|mut file| writeln!(file, "{}", std::process::id()));
    if let Err(error) = written {
        tracing::debug!(%error, "no pid file");
    }
}

fn too_long(path: &Path) -> Error {
    Error::new(
        Code::InvalidParams,
        format!(
            "the socket path `{}` is longer than {} bytes",
            path.display(),
            MAX_PATH - 1
        ),
    )
    .hint("name a shorter one with `--socket PATH`")
}

fn cannot(path: &Path, error: &io::Error) -> Error {
    Error::new(
        Code::StartFailed,
        format!("cannot use `{}`: {error}", path.display()),
    )
    .hint("`pillion socket-path` shows the place; `--socket PATH` names another")
}
