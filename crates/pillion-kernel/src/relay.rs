//! A kernel's sockets where other programs find them.
//!
//! The sockets of a kernel lie in a folder that only its own box has. For programs that speak
//! ZeroMQ themselves, such as `jupyter console --existing`, pillion listens elsewhere (in a
//! private folder, or on the ports that a plain Jupyter chose) and passes bytes on, as they are:
//! who wants to be heard signs with the kernel's key. Nothing is kept; who reads slowly makes the
//! kernel wait, as with any Jupyter. It ends with the process of the kernel, and takes its
//! files along.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pillion_catalogue::{Code, Error, Result};
use pillion_process::stat::Identity;
use pillion_process::{Secret, private_folder};
use pillion_protocol::endpoint;
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

use crate::client::KernelClient;
use crate::connection::{ConnectionFile, SCHEME, SocketAddress, SocketAddresses};
use crate::kernel::{Kernel, ReadyKernel};

/// The sockets of a kernel, in the order of their numbers, from 1.
const SOCKETS: [&str; 5] = ["shell", "iopub", "stdin", "control", "hb"];
/// Connections at once. A client has five.
const CONNECTIONS: usize = 100;
/// Where the folders with sockets are, within the folder for what lives as long as pillion.
const FOLDER: &str = "kernels";
const FILE: &str = "connection.json";
const PREFIX: &str = "k";

/// Where programs come for the sockets of a kernel.
#[derive(Debug)]
pub struct Listeners {
    all: Vec<Listener>,
    /// Gone with us.
    _folder: Option<Folder>,
}

#[derive(Debug)]
enum Listener {
    Port(TcpListener),
    Path(UnixListener),
}

impl ConnectionFile {
    /// Listen where it says.
    ///
    /// # Errors
    /// If somebody else does, or others than this machine would hear it.
    pub async fn listen(&self) -> io::Result<Listeners> {
        let SocketAddresses {
            shell,
            iopub,
            stdin,
            control,
            heartbeat,
        } = &self.places;
        let mut all = Vec::new();
        for place in [shell, iopub, stdin, control, heartbeat] {
            all.push(match place {
                SocketAddress::Tcp(host, port) => {
                    let address = SocketAddr::new(loopback(host)?, *port);
                    Listener::Port(TcpListener::bind(address).await?)
                }
                SocketAddress::Ipc(path) => Listener::Path(UnixListener::bind(path)?),
            });
        }
        Ok(Listeners { all, _folder: None })
    }
}

/// An address of this machine: whoever reaches the ports hears what cells print.
fn loopback(host: &str) -> io::Result<IpAddr> {
    let ip = match host {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        host => host
            .parse()
            .map_err(|_| wrong(format!("`{host}` is no address")))?,
    };
    match ip.is_loopback() {
        true => Ok(ip),
        false => Err(wrong(format!("`{ip}` can be reached from elsewhere"))),
    }
}

/// A process that a kernel lives for.
#[derive(Debug, Clone, Copy)]
pub struct Parent(Identity);

impl Parent {
    /// The process that has this pid now.
    pub fn of(pid: u32) -> Option<Self> {
        Identity::of(pid).map(Self)
    }

    /// Whether that very process still runs.
    pub fn is_alive(&self) -> bool {
        self.0.is_alive()
    }
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Listeners {
    /// Listen in a new folder that only our user can enter, with a file in it that says where
    /// and what messages are signed with.
    pub(crate) fn private(key: &Secret) -> io::Result<(Self, PathBuf)> {
        let folder = Folder::new()?;
        let prefix = folder.0.join(PREFIX);
        let mut all = Vec::new();
        let mut connection = json!({
            "transport": "ipc",
            "ip": prefix,
            "key": key.expose(),
            "signature_scheme": SCHEME,
            "kernel_name": "python3",
        });
        for (number, name) in (1..).zip(SOCKETS) {
            let path = folder.0.join(format!("{PREFIX}-{number}"));
            all.push(Listener::Path(UnixListener::bind(path)?));
            connection[format!("{name}_port")] = number.into();
        }
        let file = folder.0.join(FILE);
        let mut options = fs::File::options();
        let mut open = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&file)?;
        writeln!(open, "{connection:#}")?;
        let listeners = Self {
            all,
            _folder: Some(folder),
        };
        Ok((listeners, file))
    }

    /// Pass on what comes until the process of the kernel is gone. Who is connected keeps it
    /// from going idle.
    pub async fn pass_on(self, kernel: Arc<Kernel>, client: Arc<KernelClient>) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.accept() => match accepted {
                    Ok((number, stream)) if connections.len() < CONNECTIONS => {
                        let (kernel, client) = (Arc::clone(&kernel), Arc::clone(&client));
                        connections.spawn(async move {
                            if let Err(error) = carry(number, stream, &kernel, &client).await {
                                tracing::debug!(%error, "a client of a kernel left");
                            }
                        });
                    }
                    Ok(_) => tracing::warn!("a kernel has too many clients"),
                    Err(error) => {
                        // Such as no descriptors being left.
                        tracing::debug!(%error, "a client of a kernel did not get in");
                        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = client.hung_up() => return,
            }
        }
    }

    /// The next that comes, with the number of the socket it wants.
    async fn accept(&self) -> io::Result<(u8, Stream)> {
        let one = |at: usize| async move {
            match self.all.get(at) {
                Some(Listener::Port(listener)) => {
                    let (stream, _) = listener.accept().await?;
                    let _ = stream.set_nodelay(true);
                    io::Result::Ok(Box::new(stream) as Stream)
                }
                Some(Listener::Path(listener)) => {
                    Ok(Box::new(listener.accept().await?.0) as Stream)
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            stream = one(0) => Ok((1, stream?)),
            stream = one(1) => Ok((2, stream?)),
            stream = one(2) => Ok((3, stream?)),
            stream = one(3) => Ok((4, stream?)),
            stream = one(4) => Ok((5, stream?)),
        }
    }
}

impl Kernel {
    /// A connection file with which other programs of this user join a kernel that is ready.
    /// It is gone when the process of the kernel is.
    pub async fn connection_file(self: &Arc<Self>, ready: &ReadyKernel) -> Result<PathBuf> {
        let mut known = self.file.lock().await;
        let process = ready.hold.process();
        match &*known {
            Some((of, file)) if *of == process => return Ok(file.clone()),
            _ => {}
        }
        let (listeners, file) = Listeners::private(ready.client.key()).map_err(|error| {
            let what = format!("cannot listen for clients of a kernel: {error}");
            Error::new(Code::WriteFailed, what)
                .hint("set `XDG_RUNTIME_DIR` to a folder of your own")
        })?;
        *known = Some((process, file.clone()));
        tokio::spawn(listeners.pass_on(Arc::clone(self), Arc::clone(&ready.client)));
        Ok(file)
    }
}

/// What bytes come and go by.
trait Bytes: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send> Bytes for T {}
type Stream = Box<dyn Bytes>;

/// Carry bytes between somebody and a socket of the kernel.
async fn carry(
    number: u8,
    mut stream: Stream,
    kernel: &Kernel,
    client: &Arc<KernelClient>,
) -> io::Result<()> {
    let ready = kernel.running().await;
    let ready = ready.filter(|ready| Arc::ptr_eq(&ready.client, client));
    let ready = ready.ok_or(io::ErrorKind::NotConnected)?;
    let mut socket = ready.client.reach(number).await?;
    copy_bidirectional(&mut stream, &mut socket).await?;
    Ok(())
}

/// A folder for the sockets of one kernel. It goes with us.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let uid = pillion_process::effective_uid();
        let pid = std::process::id();
        let start = Identity::of(pid).map_or(0, |identity| identity.start);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{pid}.{start}-{number}");
        let usual = endpoint::runtime_dir(private_folder::variable, uid);
        let fits = |runtime: &Path| {
            let longest = runtime.join(FOLDER).join(&name).join("k-1");
            longest.as_os_str().len() < endpoint::MAX_PATH
        };
        // Too deep for a socket: a place that is always short.
        let runtime = match fits(&usual) {
            true => usual,
            false => PathBuf::from(format!("/tmp/pillion-{uid}")),
        };
        private_folder::ensure(&runtime).map_err(io::Error::other)?;
        let all = runtime.join(FOLDER);
        private_folder::ensure(&all).map_err(io::Error::other)?;
        sweep(&all);
        let folder = all.join(name);
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Remove the folders of processes that are gone.
fn sweep(all: &Path) {
    let folders = fs::read_dir(all).into_iter().flatten().flatten();
    for folder in folders {
        let name = folder.file_name();
        let owner = name.to_str().and_then(|name| {
            let (owner, _) = name.split_once('-')?;
            let (pid, start) = owner.split_once('.')?;
            Some(Identity {
                pid: pid.parse().ok()?,
                start: start.parse().ok()?,
            })
        });
        if owner.is_some_and(|owner| !owner.is_alive()) {
            let _ = fs::remove_dir_all(folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_elsewhere_is_listened_to() {
        assert!(loopback("127.0.0.1").is_ok() && loopback("localhost").is_ok());
        assert!(loopback("::1").is_ok());
        for host in ["0.0.0.0", "10.0.0.1", "elsewhere", ""] {
            assert!(loopback(host).is_err(), "{host}");
        }
    }

    #[test]
    fn folders_of_processes_that_are_gone_are_swept() {
        let all = tempfile::tempdir().unwrap();
        let pid = std::process::id();
        let start = Identity::of(pid).unwrap().start;
        let ours = format!("{pid}.{start}-0");
        for name in [&ours, &format!("{pid}.1-0"), "other"] {
            fs::create_dir(all.path().join(name)).unwrap();
        }
        sweep(all.path());
        let mut left: Vec<_> = fs::read_dir(all.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [ours, "other".to_owned()]);
    }
}
