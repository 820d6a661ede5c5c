//! Jupyter's connection files: where the sockets of a kernel are, or are expected, and what its
//! messages are signed with.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_process::Secret;
use serde::Deserialize;

/// Bytes of a connection file.
const LARGEST: u64 = 64 << 10;
/// The only way of signing that is known here, and in practice.
pub(crate) const SCHEME: &str = "hmac-sha256";

/// What a connection file says.
#[derive(Debug)]
pub struct ConnectionFile {
    pub(crate) places: SocketAddresses,
    /// What messages are signed with.
    pub key: Arc<Secret>,
    /// What and where the kernel is, in a few words.
    pub(crate) about: String,
}

/// Where the sockets of a kernel are.
#[derive(Debug)]
pub(crate) struct SocketAddresses {
    pub(crate) shell: SocketAddress,
    pub(crate) iopub: SocketAddress,
    pub(crate) stdin: SocketAddress,
    pub(crate) control: SocketAddress,
    pub(crate) heartbeat: SocketAddress,
}

/// Where a socket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SocketAddress {
    /// A file.
    Ipc(PathBuf),
    /// A port of a host.
    Tcp(String, u16),
}

#[derive(Debug, Deserialize)]
struct Written {
    #[serde(default)]
    transport: Transport,
    ip: String,
    shell_port: u16,
    iopub_port: u16,
    stdin_port: u16,
    control_port: u16,
    hb_port: u16,
    #[serde(default)]
    key: String,
    #[serde(default)]
    signature_scheme: String,
    #[serde(default)]
    kernel_name: String,
    /// Its sockets are encrypted, which is not spoken here.
    #[serde(default)]
    curve_publickey: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    #[default]
    Tcp,
    Ipc,
}

impl ConnectionFile {
    /// Read one.
    ///
    /// # Errors
    /// If it is none, or asks for what is not done here.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        file.take(LARGEST).read_to_string(&mut text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder)
    }

    fn parse(text: &str, folder: &Path) -> io::Result<Self> {
        let written: Written = serde_json::from_str(text).map_err(|error| {
            io::Error::other(format!("it is no connection file of Jupyter's: {error}"))
        })?;
        if !["", SCHEME].contains(&written.signature_scheme.as_str()) {
            let scheme = &written.signature_scheme;
            return Err(io::Error::other(format!(
                "its messages are signed by `{scheme}`, and only `{SCHEME}` is known here"
            )));
        }
        if written.curve_publickey.is_some() {
            return Err(io::Error::other(
                "its sockets are encrypted (CurveZMQ), which is not known here",
            ));
        }
        let place = |port: u16| match written.transport {
            Transport::Tcp => SocketAddress::Tcp(written.ip.clone(), port),
            Transport::Ipc => {
                let path = PathBuf::from(format!("{}-{port}", written.ip));
                SocketAddress::Ipc(folder.join(path))
            }
        };
        let places = SocketAddresses {
            shell: place(written.shell_port),
            iopub: place(written.iopub_port),
            stdin: place(written.stdin_port),
            control: place(written.control_port),
            heartbeat: place(written.hb_port),
        };
        let name = match written.kernel_name.as_str() {
            "" => "a kernel",
            name => name,
        };
        let about = match written.transport {
            Transport::Tcp => format!("{name} at {}:{}", written.ip, written.shell_port),
            Transport::Ipc => format!("{name} at {}", written.ip),
        };
        Ok(Self {
            places,
            key: Arc::new(Secret::new(written.key)),
            about,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &str) -> io::Result<ConnectionFile> {
        let written = format!(
            "{{\"shell_port\": 1, \"iopub_port\": 2, \"stdin_port\": 3, \"control_port\": 4, \
             \"hb_port\": 5, \"key\": \"k\", {more}}}"
        );
        ConnectionFile::parse(&written, Path::new("/run/x"))
    }

    #[test]
    fn a_connection_file_says_where_and_how() {
        let tcp = parse("\"ip\": \"127.0.0.1\", \"signature_scheme\": \"hmac-sha256\"").unwrap();
        assert_eq!(
            tcp.places.iopub,
            SocketAddress::Tcp("127.0.0.1".to_owned(), 2)
        );
        assert_eq!(
            tcp.places.heartbeat,
            SocketAddress::Tcp("127.0.0.1".to_owned(), 5)
        );
        assert_eq!(tcp.key.expose(), "k");
        let ipc = parse("\"ip\": \"kernel-ipc\", \"transport\": \"ipc\"").unwrap();
        assert_eq!(
            ipc.places.control,
            SocketAddress::Ipc("/run/x/kernel-ipc-4".into())
        );
        let ipc = parse("\"ip\": \"/tmp/k\", \"transport\": \"ipc\"").unwrap();
        assert_eq!(ipc.places.shell, SocketAddress::Ipc("/tmp/k-1".into()));
    }

    #[test]
    fn what_is_not_done_here_is_refused() {
        let other = parse("\"ip\": \"x\", \"signature_scheme\": \"hmac-md5\"").unwrap_err();
        assert!(other.to_string().contains("hmac-md5"), "{other}");
        assert!(parse("\"ip\": \"x\", \"transport\": \"udp\"").is_err());
        assert!(parse("\"ip\": \"x\", \"curve_publickey\": \"p\"").is_err());
        assert!(parse("\"port\": 1").is_err(), "no address");
    }
}
