//! Who is at the other end of a TCP connection on this machine, as the kernel knows it.
//!
//! A connection over loopback has two sockets, and the kernel knows both (`sockets.rs`): of
//! the other one it tells the user who made it and its inode.
//! A process that has this inode among its descriptors (`/proc/PID/fd`) is an end of the
//! connection. That it belongs to our user is not enough: a confined program of an ordinary
//! user does too. So the process must be shown to be outside of every confinement:
//!
//! - it lives in our user and pid namespace, which no program behind namespaces does, and
//! - it lacks one of the marks that every confined program bears and nobody can take off
//!   again: a filter of system calls, `no_new_privs`, a hard limit of its data segment.
//!
//! One such process is proof enough. A confined program cannot hand a socket of its own to a
//! process outside, for it cannot make the Unix sockets that descriptors travel by.
//!
//! Everything is looked at by a handle of the process, not by its number, and the kernel is
//! asked again at the end: the same two sockets must still be connected then. What cannot be
//! seen (other systems, a `/proc` that hides, a process that has ended) is [`ConnectionPeer::Unknown`].

#[cfg(target_os = "linux")]
mod sockets;

use std::net::SocketAddr;

/// What the kernel says about the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionPeer {
    /// A process of our user that nothing confines.
    Ours {
        /// Which one.
        pid: u32,
    },
    /// Another user made the connection.
    OtherUser,
    /// It cannot be told; or a program of our user that may be confined.
    Unknown,
}

/// One end of a connection: ours.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionEnd {
    /// The inode of our socket.
    pub inode: u64,
    /// Our address.
    pub local: SocketAddr,
    /// The address at the other end.
    pub remote: SocketAddr,
}

/// Who is at the other end of this connection. `likely` are processes to look at first.
///
/// Reads a good part of `/proc`: for a thread that may block.
pub fn of(end: &ConnectionEnd, likely: &[u32]) -> ConnectionPeer {
    #[cfg(target_os = "linux")]
    return linux::of(end, likely);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (end, likely);
        ConnectionPeer::Unknown
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::fs::{CWD, Dir, Mode, OFlags, openat, readlinkat};

    use super::sockets::other_socket;
    use super::{ConnectionEnd, ConnectionPeer};
    use crate::effective_uid;

    pub(super) fn of(end: &ConnectionEnd, likely: &[u32]) -> ConnectionPeer {
        if !end.remote.ip().to_canonical().is_loopback() {
            return ConnectionPeer::Unknown;
        }
        let Some(socket) = other_socket(end) else {
            return ConnectionPeer::Unknown;
        };
        if socket.uid != effective_uid() {
            return ConnectionPeer::OtherUser;
        }
        match holder(socket.inode, likely) {
            // A row that is still there belonged to this connection all the time.
            Some(pid) if other_socket(end) == Some(socket) => ConnectionPeer::Ours { pid },
            _ => ConnectionPeer::Unknown,
        }
    }

    /// A process that has the socket open and is confined by nothing.
    fn holder(inode: u64, likely: &[u32]) -> Option<u32> {
        let name = format!("socket:[{inode}]");
        let others = || {
            let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
            let mut all: Vec<u32> = entries
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
                .collect();
            // Who connects has often just been started.
            all.sort_unstable_by(|a, b| b.cmp(a));
            all
        };
        let holds = |pid: &u32| Process::open(*pid).filter(|process| process.holds(&name));
        let found = likely.iter().find_map(|pid| holds(pid).map(|p| (*pid, p)));
        let (pid, process) = found.or_else(|| {
            let mut others = others().into_iter();
            others.find_map(|pid| holds(&pid).map(|p| (pid, p)))
        })?;
        process.is_free_and_ours().then_some(pid)
    }

    /// A process by its folder in `/proc`. When the process has ended, nothing can be read
    /// there any more, whoever has its number then.
    struct Process(OwnedFd);

    impl Process {
        fn open(pid: u32) -> Option<Self> {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = openat(CWD, format!("/proc/{pid}"), flags, Mode::empty());
            folder.ok().map(Self)
        }

        /// Whether it has a file of this name open. Says no where it may not be asked.
        fn holds(&self, name: &str) -> bool {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let Ok(folder) = openat(&self.0, "fd", flags, Mode::empty()) else {
                return false;
            };
            let Ok(entries) = Dir::read_from(&folder) else {
                return false;
            };
            let mut entries = entries.flatten();
            entries.any(|entry| {
                readlinkat(folder.as_fd(), entry.file_name(), Vec::new())
                    .is_ok_and(|link| link.as_bytes() == name.as_bytes())
            })
        }

        /// Whether it belongs to our user in every respect, and nothing confines it.
        fn is_free_and_ours(&self) -> bool {
            let Some(us) = Self::open(std::process::id()) else {
                return false;
            };
            let namespace = |process: &Self, name: &str| {
                readlinkat(&process.0, format!("ns/{name}"), Vec::new()).ok()
            };
            let same_namespaces = ["user", "pid"]
                .iter()
                .all(|name| matches!((namespace(self, name), namespace(&us, name)), (Some(a), Some(b)) if a == b));
            let (Some(status), Some(limits)) = (self.read("status"), self.read("limits")) else {
                return false;
            };
            same_namespaces
                && has_user(&status, effective_uid())
                && !bears_all_marks(&status, &limits)
        }

        fn read(&self, name: &str) -> Option<String> {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let file = openat(&self.0, name, flags, Mode::empty()).ok()?;
            let mut text = String::new();
            File::from(file).read_to_string(&mut text).ok()?;
            Some(text)
        }
    }

    /// The value of a line of `/proc/PID/status`.
    fn value<'a>(status: &'a str, key: &str) -> Option<&'a str> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.strip_prefix(':').map(str::trim)
    }

    /// Whether its real, effective, saved and file system user are all this one.
    fn has_user(status: &str, uid: u32) -> bool {
        let users = value(status, "Uid").unwrap_or_default();
        let mut users = users.split_ascii_whitespace().peekable();
        users.peek().is_some() && users.all(|user| user.parse() == Ok(uid))
    }

    /// Whether it has everything that a confined program has for ever. What cannot be read
    /// counts as a mark.
    fn bears_all_marks(status: &str, limits: &str) -> bool {
        let filtered = value(status, "Seccomp") != Some("0");
        let no_new_privs = value(status, "NoNewPrivs") != Some("0");
        let data = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max data size"));
        let hard = data.and_then(|data| data.split_ascii_whitespace().nth(1));
        filtered && no_new_privs && hard != Some("unlimited")
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::net::{TcpListener, TcpStream};
        use std::os::unix::fs::MetadataExt;

        fn end(stream: &TcpStream) -> ConnectionEnd {
            let file = File::from(stream.as_fd().try_clone_to_owned().unwrap());
            ConnectionEnd {
                inode: file.metadata().unwrap().ino(),
                local: stream.local_addr().unwrap(),
                remote: stream.peer_addr().unwrap(),
            }
        }

        fn pair() -> (TcpStream, TcpStream) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (listener.accept().unwrap().0, there)
        }

        /// A child that another test just forks has our sockets, too, until it is a program.
        fn asked(here: &TcpStream, hints: &[u32], pid: u32) {
            while of(&end(here), hints) != (ConnectionPeer::Ours { pid }) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }

        #[test]
        fn we_know_ourselves_and_nobody_whose_socket_is_closed() {
            let (here, there) = pair();
            let me = std::process::id();
            asked(&here, &[], me);
            asked(&here, &[1, me], me);
            there.shutdown(std::net::Shutdown::Write).unwrap();
            asked(&here, &[], me);
            let ours = end(&here);
            drop(there);
            assert_eq!(of(&ours, &[]), ConnectionPeer::Unknown);
        }

        /// Another socket with the same addresses is another connection.
        #[test]
        fn our_own_end_must_be_the_one_that_was_accepted() {
            let (here, _there) = pair();
            let wrong = ConnectionEnd {
                inode: 1,
                ..end(&here)
            };
            assert_eq!(of(&wrong, &[]), ConnectionPeer::Unknown);
        }

        #[test]
        fn one_missing_mark_is_proof() {
            let status = |seccomp: u8, privs: u8| {
                format!(
                    "Name:\tx\nUid:\t7\t7\t7\t7\nNoNewPrivs:\t{privs}\nSeccomp:\t{seccomp}\nSeccomp_filters:\t1\n"
                )
            };
            let limit =
                "Max data size             33554432             33554432             bytes     \n";
            let none =
                "Max data size             33554432             unlimited            bytes     \n";
            assert!(bears_all_marks(&status(2, 1), limit));
            assert!(!bears_all_marks(&status(0, 1), limit));
            assert!(!bears_all_marks(&status(2, 0), limit));
            assert!(!bears_all_marks(&status(2, 1), none));
            assert!(bears_all_marks("", ""), "what cannot be read is no proof");
            assert!(has_user(&status(0, 0), 7) && !has_user(&status(0, 0), 8));
            assert!(!has_user("Uid:\t7\t0\t7\t7\n", 7) && !has_user("", 7));
        }
    }
}
