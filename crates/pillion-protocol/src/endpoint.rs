//! Where the daemon listens: the one place that decides it.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::vars;

/// A socket's path must fit into this many bytes, with the final NUL.
pub const MAX_PATH: usize = if cfg!(target_os = "macos") { 104 } else { 108 };

/// The places of one daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The socket itself.
    pub socket: PathBuf,
}

impl Endpoint {
    /// The daemon of this user: an explicit path, else a place by name of the instance.
    ///
    /// `env` looks up environment variables, `uid` is the user's number.
    pub fn resolve(
        explicit: Option<&Path>,
        instance: Option<&str>,
        env: impl Fn(&str) -> Option<OsString>,
        uid: u32,
    ) -> Self {
        let set = |name| env(name).filter(|value| !value.is_empty());
        if let Some(path) = explicit
            .map(PathBuf::from)
            .or_else(|| set(vars::PILLION_SOCKET).map(PathBuf::from))
        {
            return Self { socket: path };
        }
        let instance = instance
            .map(str::to_owned)
            .or_else(|| set(vars::PILLION_INSTANCE)?.into_string().ok());
        let name = instance.as_deref().unwrap_or("daemon");
        if cfg!(windows) {
            let user = set(USERNAME).unwrap_or_default();
            return Self {
                socket: pipe(&user.to_string_lossy(), name),
            };
        }
        let socket = runtime_dir(env, uid).join(format!("{}.sock", file_name(name)));
        if fits(&socket) {
            return Self { socket };
        }
        // Too deep for a socket: a short name in a place that is always short.
        let short = format!("{:016x}.sock", fnv(socket.as_os_str().as_encoded_bytes()));
        Self {
            socket: PathBuf::from(format!("/tmp/pillion-{uid}")).join(short),
        }
    }

    /// Held by the running daemon for its whole life.
    pub fn lock(&self) -> PathBuf {
        self.beside("lock")
    }

    /// Held by a client while it starts a daemon.
    pub fn start_lock(&self) -> PathBuf {
        self.beside("start")
    }

    /// Tells people, not programs, who listens.
    pub fn pid_file(&self) -> PathBuf {
        self.beside("pid")
    }

    /// The folder that holds them all.
    pub fn dir(&self) -> &Path {
        match self.socket.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        }
    }

    /// Whether a socket can be bound at this path at all.
    pub fn fits(&self) -> bool {
        fits(&self.socket)
    }

    fn beside(&self, extension: &str) -> PathBuf {
        let mut path = self.socket.clone().into_os_string();
        path.push(".");
        path.push(extension);
        path.into()
    }
}

/// The folder of what lives only as long as pillion runs: sockets, tokens. Private to the
/// user, once it is made.
pub fn runtime_dir(env: impl Fn(&str) -> Option<OsString>, uid: u32) -> PathBuf {
    let set = |name| env(name).filter(|value| !value.is_empty());
    match set(vars::XDG_RUNTIME_DIR) {
        Some(dir) => Path::new(&dir).join("pillion"),
        None => {
            let temp = set(vars::TMPDIR).map_or_else(|| "/tmp".into(), PathBuf::from);
            temp.join(format!("pillion-{uid}"))
        }
    }
}

/// Who the user is on Windows.
const USERNAME: &str = "USERNAME";

/// The pipe of a daemon on Windows: they are in one place for all users.
fn pipe(user: &str, instance: &str) -> PathBuf {
    let (user, instance) = (file_name(user), file_name(instance));
    format!(r"\\.\pipe\pillion-{user}-{instance}").into()
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() < MAX_PATH
}

/// An instance's name as part of a file name: nothing that leads out of the folder.
fn file_name(instance: &str) -> String {
    let safe = instance.len() <= 40
        && !instance.starts_with('.')
        && instance
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if safe {
        return instance.to_owned();
    }
    let mut name = String::from("i-");
    let _ = write!(name, "{:016x}", fnv(instance.as_bytes()));
    name
}

/// FNV-1a: short, stable across versions, and nothing here needs to resist an attacker,
/// since every path lies in a folder that only this user can write.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(env: &[(&str, &str)], explicit: Option<&str>, instance: Option<&str>) -> String {
        let lookup = |name: &str| {
            env.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| OsString::from(v))
        };
        let endpoint = Endpoint::resolve(explicit.map(Path::new), instance, lookup, 7);
        endpoint.socket.to_string_lossy().into_owned()
    }

    #[test]
    fn the_order_of_places() {
        let run = ("XDG_RUNTIME_DIR", "/run/user/7");
        assert_eq!(at(&[run], None, None), "/run/user/7/pillion/daemon.sock");
        assert_eq!(
            at(&[("XDG_RUNTIME_DIR", "")], None, None),
            "/tmp/pillion-7/daemon.sock"
        );
        assert_eq!(
            at(&[("TMPDIR", "/t")], None, None),
            "/t/pillion-7/daemon.sock"
        );
        assert_eq!(at(&[run], None, Some("ci")), "/run/user/7/pillion/ci.sock");
        assert_eq!(at(&[run, ("PILLION_SOCKET", "/s")], None, None), "/s");
        assert_eq!(at(&[run], Some("/x.sock"), Some("ci")), "/x.sock");
    }

    #[test]
    fn a_deep_folder_gets_a_short_socket() {
        let deep = format!("/{}", "d".repeat(120));
        let path = at(&[("XDG_RUNTIME_DIR", &deep)], None, None);
        assert!(
            path.starts_with("/tmp/pillion-7/") && path.len() < MAX_PATH,
            "{path}"
        );
        assert_ne!(
            path,
            at(&[("XDG_RUNTIME_DIR", &format!("{deep}e"))], None, None)
        );
    }

    #[test]
    fn every_user_of_windows_has_pipes_of_their_own() {
        let name = |user, instance| pipe(user, instance).to_string_lossy().into_owned();
        assert_eq!(name("ann", "daemon"), r"\\.\pipe\pillion-ann-daemon");
        assert_ne!(name("ann", "ci"), name("bob", "ci"));
        let odd = name(r"a\b", r"..\x");
        assert_eq!(odd.matches('\\').count(), 4, "{odd}");
    }

    #[test]
    fn an_instance_cannot_leave_the_folder() {
        let path = at(&[("XDG_RUNTIME_DIR", "/r")], None, Some("../../etc/x"));
        assert!(path.starts_with("/r/pillion/i-"), "{path}");
    }
}
