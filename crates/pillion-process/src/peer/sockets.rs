//! The socket at the other end of a TCP connection on this machine.
//!
//! The kernel is asked for it by its addresses (netlink, `sock_diag`), which takes
//! microseconds. Where that cannot be had, its table of all sockets is read
//! (`/proc/net/tcp`, `tcp6`): that takes milliseconds even if the table is nearly empty,
//! because the kernel walks through a hash table made for a million connections.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

use super::ConnectionEnd;

/// States in which both ends are still held: established, and one direction closed.
const OPEN_HERE: [u8; 2] = [0x01, 0x08];
const OPEN_THERE: [u8; 3] = [0x01, 0x04, 0x05];

/// `SOCK_DIAG_BY_FAMILY`: the type of the question and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`, without the flag that would ask for all sockets.
const REQUEST: u16 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// The header of every message: length, type, flags, number, sender.
const HEADER: usize = 16;
/// `inet_diag_req_v2`: family, protocol, 2 unused, states, and the 48 bytes of an id.
const QUESTION: usize = HEADER + 56;
/// Where in an answer (`inet_diag_msg`) the state, the user and the inode are.
const STATE: usize = HEADER + 1;
const UID: usize = HEADER + 64;
const INODE: usize = HEADER + 68;
/// Bytes of an answer that are read: it is 88 long, and attributes may follow.
const ANSWER: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) uid: u32,
    pub(super) inode: u64,
}

/// The socket at the other end, while both are open.
pub(super) fn other_socket(end: &ConnectionEnd) -> Option<Socket> {
    // What the kernel does not find that way may be for want of its module: the table decides.
    asked(end).or_else(|| tabled(end))
}

/// The same by two exact questions to the kernel.
fn asked(end: &ConnectionEnd) -> Option<Socket> {
    let here = ask(end.local, end.remote).ok()?;
    if here.inode != end.inode || !OPEN_HERE.contains(&here.state) {
        return None;
    }
    let there = ask(end.remote, end.local).ok()?;
    let is_open = there.inode != 0 && OPEN_THERE.contains(&there.state);
    is_open.then_some(Socket {
        uid: there.uid,
        inode: there.inode,
    })
}

/// What the kernel answers about a socket.
#[derive(Debug, PartialEq)]
struct Known {
    state: u8,
    uid: u32,
    inode: u64,
}

/// Ask for the socket that has these addresses.
fn ask(local: SocketAddr, remote: SocketAddr) -> io::Result<Known> {
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(
        &socket,
        &question(local, remote),
        SendFlags::empty(),
        &kernel,
    )?;
    // The kernel answers while it is asked, so nothing is waited for.
    let mut answer = [0; ANSWER];
    let (_, length) = recv(&socket, &mut answer, RecvFlags::DONTWAIT)?;
    let answer = answer.get(..length).unwrap_or_default();
    known(answer).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn question(local: SocketAddr, remote: SocketAddr) -> [u8; QUESTION] {
    let mut bytes = [0; QUESTION];
    let mut at = 0;
    let mut put = |part: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
        at += part.len();
    };
    let length = u32::try_from(QUESTION).unwrap_or(0);
    put(&length.to_ne_bytes());
    put(&BY_FAMILY.to_ne_bytes());
    put(&REQUEST.to_ne_bytes());
    put(&[0; 8]);
    let (local_ip, remote_ip) = (local.ip().to_canonical(), remote.ip().to_canonical());
    let family = match local_ip {
        IpAddr::V4(_) => AF_INET,
        IpAddr::V6(_) => AF_INET6,
    };
    put(&[family, IPPROTO_TCP, 0, 0]);
    put(&u32::MAX.to_ne_bytes());
    put(&local.port().to_be_bytes());
    put(&remote.port().to_be_bytes());
    put(&words(local_ip));
    put(&words(remote_ip));
    // No interface is meant, and no cookie is known.
    put(&[0; 4]);
    put(&[0xff; 8]);
    bytes
}

/// An address in the 16 bytes that are there for both kinds.
fn words(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(ip) => {
            let mut bytes = [0; 16];
            let (first, _) = bytes.split_at_mut(4);
            first.copy_from_slice(&ip.octets());
            bytes
        }
    }
}

/// Read an answer. One that is about an error, such as an unknown socket, has another type.
fn known(answer: &[u8]) -> Option<Known> {
    let word = |at: usize| Some(u32::from_ne_bytes(*answer.get(at..)?.first_chunk()?));
    let kind = u16::from_ne_bytes(*answer.get(4..)?.first_chunk()?);
    (kind == BY_FAMILY).then_some(())?;
    Some(Known {
        state: *answer.get(STATE)?,
        uid: word(UID)?,
        inode: word(INODE)?.into(),
    })
}

/// The same from the table of all sockets.
fn tabled(end: &ConnectionEnd) -> Option<Socket> {
    let (mut here, mut there) = (false, None);
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        // A machine without IPv6 has no second table.
        let Ok(table) = fs::read_to_string(table) else {
            continue;
        };
        for row in table.lines().skip(1).filter_map(Row::read) {
            let ours = (row.local, row.remote) == (end.local, end.remote);
            let theirs = (row.local, row.remote) == (end.remote, end.local);
            here |= ours && row.inode == end.inode && OPEN_HERE.contains(&row.state);
            if theirs && row.inode != 0 && OPEN_THERE.contains(&row.state) {
                there = Some(Socket {
                    uid: row.uid,
                    inode: row.inode,
                });
            }
        }
        if here && there.is_some() {
            break;
        }
    }
    there.filter(|_| here)
}

/// A row of the kernel's table.
#[derive(Debug, PartialEq)]
struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    state: u8,
    uid: u32,
    inode: u64,
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace().skip(1);
        let local = address(words.next()?)?;
        let remote = address(words.next()?)?;
        let state = u8::from_str_radix(words.next()?, 16).ok()?;
        // Behind the queues, the timer and the retransmissions.
        let uid = words.nth(3)?.parse().ok()?;
        let inode = words.nth(1)?.parse().ok()?;
        Some(Self {
            local,
            remote,
            state,
            uid,
            inode,
        })
    }
}

/// `0100007F:1F90`: words as the machine has them in memory, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let mut bytes = [0; 16];
            bytes.copy_from_slice(words.as_flattened());
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    fn end(stream: &TcpStream) -> ConnectionEnd {
        let file = File::from(stream.as_fd().try_clone_to_owned().unwrap());
        let canonical =
            |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        ConnectionEnd {
            inode: file.metadata().unwrap().ino(),
            local: canonical(stream.local_addr().unwrap()),
            remote: canonical(stream.peer_addr().unwrap()),
        }
    }

    /// Both ways give the same, for connections of each family and for what is no connection.
    #[test]
    fn the_kernel_answers_what_its_table_says() {
        let listens = ["127.0.0.1:0", "[::1]:0", "[::]:0"];
        for listen in listens {
            // A machine may have no IPv6.
            let Ok(listener) = TcpListener::bind(listen) else {
                assert_ne!(listen, "127.0.0.1:0");
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let to = match listen {
                "[::1]:0" => format!("[::1]:{port}"),
                _ => format!("127.0.0.1:{port}"),
            };
            let there = TcpStream::connect(to).unwrap();
            let (here, _) = listener.accept().unwrap();
            let ours = end(&here);
            let found = asked(&ours);
            assert_eq!(found.map(|socket| socket.inode), Some(end(&there).inode));
            assert_eq!(found, tabled(&ours), "{listen}");
            there.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(asked(&ours), found, "half open: {listen}");
            let wrong = ConnectionEnd { inode: 1, ..ours };
            assert_eq!((asked(&wrong), tabled(&wrong)), (None, None), "{listen}");
            drop(there);
            assert_eq!((asked(&ours), tabled(&ours)), (None, None), "{listen}");
            // A listener is no end of a connection.
            assert_eq!(asked(&end_of_nobody(ours)), None);
        }
    }

    fn end_of_nobody(end: ConnectionEnd) -> ConnectionEnd {
        let remote = SocketAddr::new(end.remote.ip(), 1);
        ConnectionEnd { remote, ..end }
    }

    #[test]
    fn an_answer_that_is_cut_or_an_error_is_none() {
        let mut answer = [0; 88];
        answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        answer[STATE] = 1;
        answer[UID..UID + 4].copy_from_slice(&1000_u32.to_ne_bytes());
        answer[INODE..INODE + 4].copy_from_slice(&4711_u32.to_ne_bytes());
        let (state, uid, inode) = (1, 1000, 4711);
        let whole = known(&answer).unwrap();
        assert_eq!(whole, Known { state, uid, inode });
        for length in 0..INODE + 4 {
            assert_eq!(known(&answer[..length]), None, "{length}");
        }
        answer[4] = 2;
        assert_eq!(known(&answer), None, "an error");
    }

    #[test]
    fn rows_of_both_tables_are_read() {
        let v4 = "   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20 4 30 10 -1";
        let v6 = "  12: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20 4 30 10 -1";
        if cfg!(target_endian = "little") {
            let row = Row::read(v4).unwrap();
            assert_eq!(row.local, "127.0.0.1:8080".parse().unwrap());
            assert_eq!((row.uid, row.inode, row.state), (1000, 4711, 1));
            assert_eq!(Row::read(v6).unwrap(), row, "a mapped address");
        }
        for bad in [
            "",
            "x",
            "1: 0100007F 0100007F:1 01",
            "1: 01:1 01:1 01 a b c 0 0 0",
        ] {
            assert_eq!(Row::read(bad), None, "{bad}");
        }
    }
}
