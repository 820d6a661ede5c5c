//! The token of a server, and the file that holds it.
//!
//! A server that is killed leaves its file. What it holds lets nobody in any more, and the next
//! server removes it. That the other is gone is not told by a pid: a server keeps the lock of its
//! file for as long as it runs, and it listens on the port that the file is called after.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::{Secret, private_folder};
use rustix::fs::OFlags;

/// Bytes of a file with a token.
const MOST_TOKEN: u64 = 4096;
/// So long a port of this machine may take to say whether anybody listens.
const LOOK: Duration = Duration::from_millis(500);

/// A new token.
pub(super) fn random() -> Result<Secret> {
    Secret::random().map_err(|error| {
        Error::new(
            Code::StartFailed,
            format!("`/dev/urandom` gives nothing: {error}"),
        )
    })
}

/// The token, and the file that holds it. Dropping it removes the file, if it is ours and holds
/// no other.
#[derive(Debug)]
pub(super) struct TokenFile {
    pub(super) path: PathBuf,
    pub(super) token: Secret,
    /// The file, locked, if it is ours.
    ours: Option<File>,
}

impl TokenFile {
    /// A token of our own, in a file of this folder.
    pub(super) fn write(folder: &Path, port: u16, token: Secret) -> Result<Self> {
        let failed = |path: &Path, error: &dyn fmt::Display| {
            let what = format!("cannot keep the token in `{}`: {error}", path.display());
            Error::new(Code::WriteFailed, what)
                .hint("set `XDG_RUNTIME_DIR` to a folder of your own, or serve with `--no-token`")
        };
        private_folder::ensure(folder).map_err(|error| failed(folder, &error))?;
        remove_stale(folder);
        let path = folder.join(format!("http-{port}.token"));
        let file = keep(&path, &token).map_err(|error| failed(&path, &error))?;
        Ok(Self {
            path,
            token,
            ours: Some(file),
        })
    }

    /// A token that somebody has chosen, from a file that nobody else can read.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unfit = |why: &str| {
            Error::new(
                Code::InvalidParams,
                format!("the token file `{shown}` {why}"),
            )
            .hint("one line with the token, in a file of your own: `chmod 600 FILE`")
        };
        let unreadable = |error: io::Error| unfit(&format!("cannot be read: {error}"));
        let file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(unfit("is no file"));
        }
        if about.mode() & 0o077 != 0 || about.uid() != pillion_process::effective_uid() {
            return Err(unfit("can be read by others"));
        }
        let mut text = String::new();
        let mut file = file.take(MOST_TOKEN + 1);
        file.read_to_string(&mut text).map_err(unreadable)?;
        let token = text.trim();
        let fits = token.bytes().all(|byte| byte.is_ascii_graphic());
        if token.is_empty() || !fits || text.len() as u64 > MOST_TOKEN {
            return Err(unfit("holds no token"));
        }
        Ok(Self {
            path: path.to_owned(),
            token: Secret::new(token.to_owned()),
            ours: None,
        })
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        if self.ours.is_none() {
            return;
        }
        let kept = fs::read_to_string(&self.path);
        if kept.is_ok_and(|kept| self.token.is(kept.trim())) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Write a token to a file of its own, and lock that.
fn keep(path: &Path, token: &Secret) -> io::Result<File> {
    loop {
        // Whoever listened on this port before is gone: it is ours now.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        // Somebody who removes stale files may look at it just now.
        file.lock()?;
        if is_at(&file, path) {
            writeln!(file, "{}", token.expose())?;
            return Ok(file);
        }
    }
}

/// Remove the files of servers that are gone. One that may still be of use stays: what cannot be
/// told is no reason not to start.
fn remove_stale(folder: &Path) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let port = name.to_str().and_then(|name| {
            let port = name.strip_prefix("http-")?.strip_suffix(".token")?;
            let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| port.parse::<u16>().ok()).flatten()
        });
        if let Some(port) = port {
            match remove_if_stale(&entry.path(), port) {
                Ok(true) => tracing::info!(port, "removed the token of a server that is gone"),
                Ok(false) => {}
                Err(error) => tracing::warn!(port, %error, "cannot remove a token"),
            }
        }
    }
}

/// Remove a file of a server that is gone; says whether it was one.
fn remove_if_stale(path: &Path, port: u16) -> io::Result<bool> {
    // A link is not followed, and nobody waits for a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut options = File::options();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Ok(file) => file,
        // It is a link, it is not ours, or it went by itself.
        Err(_) => return Ok(false),
    };
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != pillion_process::effective_uid() {
        return Ok(false);
    }
    // A server that runs holds it, whatever it does besides.
    if file.try_lock().is_err() || is_listened_on(port) || !is_at(&file, path) {
        return Ok(false);
    }
    fs::remove_file(path)?;
    Ok(true)
}

/// Whether anybody listens on a port of this machine. What cannot be told counts as yes.
fn is_listened_on(port: u16) -> bool {
    let here = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    here.into_iter().any(|ip| {
        let tried = TcpStream::connect_timeout(&SocketAddr::new(ip, port), LOOK);
        match tried {
            Ok(_) => true,
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::AddrNotAvailable
                    | io::ErrorKind::NetworkUnreachable
                    | io::ErrorKind::Unsupported
            ),
        }
    })
}

/// Whether a file that is open is the one at a path.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A port on which nobody listens now.
    fn free_port() -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.local_addr().unwrap().port()
    }

    #[test]
    fn tokens_of_servers_that_are_gone_go_and_all_else_stays() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("pillion");
        let write = |port| TokenFile::write(&folder, port, random().unwrap()).unwrap();
        let at = |port: u16| folder.join(format!("http-{port}.token"));
        let living = write(free_port());
        // It was killed: nobody holds its file.
        let killed = at(free_port());
        fs::write(&killed, "token").unwrap();
        // It is of another release, which holds no file, and serves.
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let serving = at(listener.local_addr().unwrap().port());
        fs::write(&serving, "token").unwrap();
        let elsewhere = base.path().join("elsewhere");
        fs::write(&elsewhere, "precious").unwrap();
        let (link, folder_of_that_name) = (at(free_port()), at(free_port()));
        symlink(&elsewhere, &link).unwrap();
        fs::create_dir(&folder_of_that_name).unwrap();
        let others = [
            "http-70000.token",
            "http-+7.token",
            "http-.token",
            "http-7.token.bak",
        ];
        let others = others.map(|name| folder.join(name));
        for other in &others {
            fs::write(other, "mine").unwrap();
        }
        let started = write(free_port());
        assert!(!killed.exists());
        for kept in [
            &living.path,
            &started.path,
            &serving,
            &elsewhere,
            &folder_of_that_name,
        ] {
            assert!(kept.exists(), "{}", kept.display());
        }
        assert!(link.symlink_metadata().is_ok() && others.iter().all(|other| other.exists()));
        // What is stale now goes with the next start, and nobody's own before.
        drop(listener);
        let last = write(free_port());
        assert!(!serving.exists() && living.path.exists() && started.path.exists());
        drop((living, started, last));
    }
}
