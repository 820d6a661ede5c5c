//! A program on its way, from a slot or from an interpreter of its own: told what to run,
//! and heard at its end.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use pillion_catalogue::work;
use pillion_process::{Pipe, Stream};
use pillion_sandbox::{Confine, Held, Outputs, Policy, Role, Said, Watch, message};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::order::Order;
use crate::runtime::Runtime;
use crate::zygote::{Slot, SlotInit, hear};

/// Orders up to this size fit into a socket's buffer.
const SMALL: usize = 64 << 10;
/// Milliseconds between two looks at what a program uses.
const EVERY_MS: u32 = 50;

/// What a program is watched for, and what is brought back.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) watch: Watch,
    pub(crate) outputs: Outputs,
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
    if let Some(id) = pillion_sandbox::stranger() {
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
pub(crate) struct Body {
    pub(crate) hold: Hold,
    pub(crate) ctl: InitStream,
}

/// Where an init says how its program ended.
type InitStream = tokio::net::UnixStream;

/// What keeps a program alive.
#[derive(Debug)]
pub(crate) enum Hold {
    Slot(SlotInit),
    Spawned(Held),
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

impl Body {
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
        let mut confine = Confine::new(Role::Program, level, policy, &runtime.executable)
            .args(["-s", "-S", "-B", "-X", "utf8"])
            .args([
                script.to_string_lossy().into_owned(),
                their_orders.as_raw_fd().to_string(),
            ])
            .env(env.into_iter().collect())
            .cwd(&order.folder)
            .stdio([theirs.stdin, theirs.stdout, theirs.stderr].map(|fd| Stream::File(fd.into())))
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
pub(crate) async fn end(mut ctl: InitStream) -> io::Result<(Said, Vec<Vec<u8>>)> {
    let said: Said = hear(&mut ctl).await?;
    let mut contents = Vec::new();
    for file in &said.outputs {
        let mut bytes = Vec::new();
        (&mut ctl).take(file.size).read_to_end(&mut bytes).await?;
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
    let mut stream = message::Stream(socket);
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
