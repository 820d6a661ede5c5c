//! How to reach the daemon, and how to start it.

use std::path::PathBuf;
use std::time::Duration;

use pillion_protocol::endpoint::Endpoint;

use crate::sys::effective_uid;

/// How to reach the daemon, how long to wait, and whether and how to start it.
///
/// ```
/// use std::time::Duration;
/// use pillion_client::Options;
///
/// let options = Options::new()
///     .instance("ci")
///     .timeout(Duration::from_secs(5))
///     .idle_timeout(Some(Duration::from_secs(60)));
/// assert!(options.start);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where the daemon listens. By default this user's daemon.
    pub endpoint: Endpoint,
    /// The pillion program. By default `$PILLION_BIN`, else `pillion` on `PATH`.
    pub program: Option<PathBuf>,
    /// Whether a daemon is started if none listens. By default it is.
    pub start: bool,
    /// How long a started daemon may take until it answers. By default 5 s.
    pub start_timeout: Duration,
    /// How long a request may take unless it says otherwise. By default 30 s.
    pub timeout: Duration,
    /// When a started daemon ends by itself: `None` is the usual 5 min after it was last
    /// used, `Some(None)` is never.
    pub idle_timeout: Option<Option<Duration>>,
    /// Where a started daemon writes its log. By default beside the socket.
    pub log_file: Option<PathBuf>,
    /// The version of the program that uses this client, if it is to be compared with the
    /// daemon's: an older daemon that is idle is then replaced.
    pub version: Option<String>,
}

impl Options {
    /// This user's daemon, started if need be.
    pub fn new() -> Self {
        Self::at(resolve(None))
    }

    /// The daemon at this endpoint, started if need be.
    pub fn at(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            program: None,
            start: true,
            start_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            idle_timeout: None,
            log_file: None,
            version: None,
        }
    }

    /// The daemon that listens on this socket.
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.endpoint = Endpoint {
            socket: path.into(),
        };
        self
    }

    /// The daemon of this name, separate from the user's usual one.
    #[must_use]
    pub fn instance(mut self, name: &str) -> Self {
        self.endpoint = resolve(Some(name));
        self
    }

    /// The pillion program to start.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Whether a daemon is started if none listens.
    #[must_use]
    pub fn start(mut self, start: bool) -> Self {
        self.start = start;
        self
    }

    /// How long a started daemon may take until it answers.
    #[must_use]
    pub fn start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// How long a request may take unless it says otherwise.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long a started daemon lives on without being used; `None` is for ever.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Where a started daemon writes its log.
    #[must_use]
    pub fn log_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.log_file = Some(path.into());
        self
    }

    /// The version of the program that uses this client, to be compared with the daemon's.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

fn resolve(instance: Option<&str>) -> Endpoint {
    Endpoint::resolve(
        None,
        instance,
        pillion_process::private_folder::variable,
        effective_uid(),
    )
}
