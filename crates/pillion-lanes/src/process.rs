//! A program on its way, from a slot or from an interpreter of its own: told what to run,
//! and heard at its end.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use pillion_catalogue::work;
use pillion_process::{Pipe, StreamTarget};
use pillion_sandbox::{
    BoxRole, Confine, InitMessage, Keepalive, OutputsSpec, Policy, WatchedLimits, message,
};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::runner_messages::Order;
use crate::runtime::Runtime;
use crate::zygote::{Slot, SlotInit, hear};

/// Orders up to this size fit into a socket's buffer.
const SMALL: usize = 64 << 10;
/// Milliseconds between two looks at what a program uses.
const EVERY_MS: u32 = 50;

/// What a program is watched for, and what is brought back.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) watch: WatchedLimits,
    pub(crate) outputs: OutputsSpec,
}

/// Our ends of a program's streams.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) result: OwnedFd,
    pub(crate) tools: Option<UnixStream>,
}

/// The program's ends.
#[derive(Debug)]
struct Theirs {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    result: OwnedFd,
    tools: Option<OwnedFd>,
}

fn ends(with_input: bool, with_tools: bool) -> io::Result<(Ends, Theirs)> {
    let (stdout, stderr, result) = (Pipe::new()?, Pipe::new()?, Pipe::new()?);
    let (stdin, their_stdin) = match with_input {
        true => {
            let pipe = Pipe::new()?;
            (Some(pipe.write), pipe.read)
        }
        false => (None, std::fs::File::open("/dev/null")?.into()),
    };
    let (tools, their_tools) = match with_tools {
        true => {
            let (ours, theirs) = UnixStream::pair()?;
            (Some(ours), Some(theirs.into()))
        }
        false => (None, None),
    };
    let ours = Ends {
        stdin,
        stdout: stdout.read,
        stderr: stderr.read,
        result: result.read,
        tools,
    };
    // Whoever opens `/dev/stdout` opens the pipe anew, and must be allowed to.
    if let Some(id) = pillion_sandbox::run_user() {
        let (uid, gid) = (rustix::fs::Uid::from_raw(id), rustix::fs::Gid::from_raw(id));
        for end in [&stdout.write, &stderr.write] {
            rustix::fs::fchown(end, Some(uid), Some(gid))?;
        }
    }
    let theirs = Theirs {
        stdin: their_stdin,
        stdout: stdout.write,
        stderr: stderr.write,
        result: result.write,
        tools: their_tools,
    };
    Ok((ours, theirs))
}

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) hold: Hold,
    pub(crate) ctl: InitStream,
}

/// Where an init says how its program ended.
type InitStream = tokio::net::UnixStream;

/// What keeps a program alive.
#[derive(Debug)]
pub(crate) enum Hold {
    Slot(SlotInit),
    Spawned(Keepalive),
}

impl Hold {
    /// Kill it, and everything that it started.
    pub(crate) fn kill(&mut self) {
        match self {
            Self::Slot(init) => init.kill(),
            Self::Spawned(held) => held.kill(),
        }
    }
}

impl Process {
    /// Give a slot its order.
    pub(crate) async fn in_slot(
        slot: Slot,
        order: &Order,
        files: Arc<Vec<Vec<u8>>>,
        with_input: bool,
        terms: &Terms,
    ) -> io::Result<(Self, Ends)> {
        let (ours, theirs) = ends(with_input, order.tools)?;
        let watch = json!({
            "watch": terms.watch,
            "every_ms": EVERY_MS,
            "folder": order.folder,
            "outputs": terms.outputs.names,
            "outputs_bytes": terms.outputs.bytes,
            "outputs_files": terms.outputs.files,
        });
        // It is small, and the socket empty: this does not wait.
        message::send(&slot.ctl, &watch, &[])?;
        let order = message::encode(order)?;
        let size = order.len() + files.iter().map(Vec::len).sum::<usize>();
        let run = slot.run.try_clone()?;
        let send = move || {
            let Theirs {
                stdin,
                stdout,
                stderr,
                result,
                tools,
            } = theirs;
            let mut fds = vec![
                stdin.as_fd(),
                stdout.as_fd(),
                stderr.as_fd(),
                result.as_fd(),
            ];
            fds.extend(tools.as_ref().map(OwnedFd::as_fd));
            write_order(run.as_fd(), &order, &files, &fds)
        };
        hand_over(size, send).await?;
        let hold = Hold::Slot(slot.init);
        Ok((
            Self {
                hold,
                ctl: slot.ctl,
            },
            ours,
        ))
    }

    /// Start an interpreter behind walls for it.
    pub(crate) async fn spawn(
        (runtime, policy, level): (&Runtime, Policy, pillion_sandbox::Level),
        mut order: Order,
        files: Arc<Vec<Vec<u8>>>,
        (with_input, fixed_hashes): (bool, bool),
        terms: &Terms,
    ) -> io::Result<(Self, Ends)> {
        let (ours, theirs) = ends(with_input, order.tools)?;
        let (orders, their_orders) = UnixStream::pair()?;
        let their_orders = OwnedFd::from(their_orders);
        let mut numbers = [("result".to_owned(), theirs.result.as_raw_fd())].to_vec();
        numbers.extend(
            theirs
                .tools
                .as_ref()
                .map(|tools| ("tools".to_owned(), tools.as_raw_fd())),
        );
        order.descriptors = Some(numbers.into_iter().collect());
        let mut env = order.env.clone();
        if fixed_hashes {
            env.insert("PYTHONHASHSEED".to_owned(), "0".to_owned());
        }
        let script = runtime.worker.join("pillion/lane/runner.py");
        let mut confine = Confine::new(BoxRole::Program, level, policy, &runtime.executable)
            .args(["-s", "-S", "-B", "-X", "utf8"])
            .args([
                script.to_string_lossy().into_owned(),
                their_orders.as_raw_fd().to_string(),
            ])
            .env(env.into_iter().collect())
            .cwd(&order.folder)
            .stdio(
                [theirs.stdin, theirs.stdout, theirs.stderr]
                    .map(|fd| StreamTarget::File(fd.into())),
            )
            .watch(terms.watch.clone())
            .outputs(terms.outputs.clone())
            .keep(their_orders)
            .keep(theirs.result);
        if let Some(tools) = theirs.tools {
            confine = confine.keep(tools);
        }
        let mut confined = confine.spawn().map_err(io::Error::other)?;
        let order = message::encode(&order)?;
        let size = order.len() + files.iter().map(Vec::len).sum::<usize>();
        let send = move || write_order(orders.as_fd(), &order, &files, &[]);
        hand_over(size, send).await?;
        confined.ready().await.map_err(io::Error::other)?;
        let hold = Hold::Spawned(confined.held);
        let ctl = confined.control;
        Ok((Self { hold, ctl }, ours))
    }
}

/// How a program ended, and the files it leaves. An error if it was killed.
pub(crate) async fn end(mut ctl: InitStream) -> io::Result<(InitMessage, Vec<Vec<u8>>)> {
    let said: InitMessage = hear(&mut ctl).await?;
    let mut contents = Vec::new();
    for file in &said.outputs {
        let mut bytes = Vec::new();
        (&mut ctl).take(file.size).read_to_end(&mut bytes).await?;
        if (bytes.len() as u64) < file.size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        contents.push(bytes);
    }
    Ok((said, contents))
}

fn write_order(
    socket: BorrowedFd<'_>,
    order: &[u8],
    files: &[Vec<u8>],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    use std::io::Write;
    let sent = message::send_first(socket, order, fds)?;
    let mut stream = message::SocketStream(socket);
    stream.write_all(order.get(sent..).unwrap_or_default())?;
    files.iter().try_for_each(|file| stream.write_all(file))
}

/// Send an order: on a thread of its own if it may have to wait for its reader.
async fn hand_over(
    size: usize,
    send: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    match size <= SMALL {
        true => send(),
        false => work(|_| send()).await.map_err(io::Error::other)?,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// Whether a descriptor leads to this path.
    fn leads_to(fd: &OwnedFd, path: &str) -> bool {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
        link.unwrap() == std::path::Path::new(path)
    }

    /// What an init says, and the bytes behind it, as a daemon hears them.
    async fn heard(said: &InitMessage, bytes: &[u8]) -> io::Result<(InitMessage, Vec<Vec<u8>>)> {
        let (ours, mut theirs) = UnixStream::pair()?;
        message::send(&theirs, said, &[])?;
        theirs.write_all(bytes)?;
        drop(theirs);
        ours.set_nonblocking(true)?;
        end(InitStream::from_std(ours)?).await
    }

    fn with_outputs(sizes: &[u64]) -> InitMessage {
        let file = |size: &u64| pillion_sandbox::OutputFile {
            name: "file".to_owned(),
            size: *size,
        };
        InitMessage {
            outputs: sizes.iter().map(file).collect(),
            ..InitMessage::default()
        }
    }

    #[test]
    fn a_program_has_input_and_tools_only_if_it_was_given_some() {
        let (ours, theirs) = ends(false, false).unwrap();
        assert!(ours.stdin.is_none() && ours.tools.is_none() && theirs.tools.is_none());
        assert!(leads_to(&theirs.stdin, "/dev/null"));
        let (ours, theirs) = ends(true, true).unwrap();
        std::fs::File::from(ours.stdin.unwrap())
            .write_all(b"in")
            .unwrap();
        let mut read = String::new();
        std::fs::File::from(theirs.stdin)
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, "in");
        assert!(ours.tools.is_some() && theirs.tools.is_some());
    }

    #[test]
    fn what_a_program_writes_ends_when_its_ends_are_closed() {
        let (ours, theirs) = ends(false, false).unwrap();
        for (end, text) in [
            (theirs.stdout, "out"),
            (theirs.stderr, "err"),
            (theirs.result, "res"),
        ] {
            std::fs::File::from(end).write_all(text.as_bytes()).unwrap();
        }
        for (end, text) in [
            (ours.stdout, "out"),
            (ours.stderr, "err"),
            (ours.result, "res"),
        ] {
            let mut read = String::new();
            std::fs::File::from(end).read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
        }
    }

    #[test]
    fn an_order_is_followed_by_its_files_and_brings_the_descriptors() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let order = message::encode(&"order").unwrap();
        // More than a socket takes at once.
        let files = vec![b"one".to_vec(), Vec::new(), vec![7; 1 << 20]];
        let sent = files.concat();
        let writer = std::thread::spawn(move || {
            let null = std::fs::File::open("/dev/null").unwrap();
            write_order(ours.as_fd(), &order, &files, &[null.as_fd(); 2]).unwrap();
        });
        let (said, fds): (String, _) = message::receive(&theirs).unwrap();
        assert_eq!((said.as_str(), fds.len()), ("order", 2));
        let mut rest = Vec::new();
        (&theirs).read_to_end(&mut rest).unwrap();
        assert!(rest == sent, "the files as they are, one after the other");
        writer.join().unwrap();
    }

    #[tokio::test]
    async fn outputs_are_told_apart_by_their_sizes() {
        let said = with_outputs(&[3, 0, 2]);
        let (heard_said, contents) = heard(&said, b"abcde").await.unwrap();
        assert_eq!(heard_said, said);
        assert_eq!(contents, [b"abc".to_vec(), Vec::new(), b"de".to_vec()]);
    }

    #[tokio::test]
    async fn an_init_that_was_killed_while_it_sent_a_file_is_an_error() {
        for bytes in ["abc", "ab", ""] {
            let error = heard(&with_outputs(&[2, 2]), bytes.as_bytes())
                .await
                .unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn an_order_is_sent_whole_whether_it_waits_for_its_reader_or_not() {
        for size in [1, SMALL, SMALL + 1, 4 << 20] {
            let (mut ours, mut theirs) = UnixStream::pair().unwrap();
            let reader = std::thread::spawn(move || {
                let mut all = Vec::new();
                theirs.read_to_end(&mut all).unwrap();
                all.len()
            });
            hand_over(size, move || ours.write_all(&vec![1; size]))
                .await
                .unwrap();
            assert_eq!(reader.join().unwrap(), size);
        }
        let failed = hand_over(1, || Err(io::ErrorKind::BrokenPipe.into())).await;
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
