//! One run, from the order to the reply.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use pillion_sandbox::InitMessage;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use crate::outcome::{RunOutcome, Stopped};
use crate::output::ProgramStream;
use crate::process::{self, Ends, Process};
use crate::runner_messages::Ended;

/// What a runner may say about its result.
const RESULT: u64 = 8 << 20;
/// How long the rest of the output may take, once nobody can write any more.
const DRAIN: Duration = Duration::from_secs(2);

/// Which of its streams a program wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Its output.
    Stdout,
    /// Its error stream.
    Stderr,
}

impl OutputStream {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Somebody who wants the output as it comes.
pub trait OutputListener {
    /// A piece of output. Waits while the listener is slow.
    fn hear(&mut self, which: OutputStream, text: String) -> impl Future<Output = ()> + Send;
}

/// The bounds that the daemon itself keeps.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) deadline: Instant,
    pub(crate) output: u64,
    pub(crate) cancel: CancellationToken,
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: RunOutcome,
    pub(crate) returncode: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) truncated: bool,
    pub(crate) said: Option<InitMessage>,
    pub(crate) outputs: Vec<Vec<u8>>,
    pub(crate) ended: Option<Ended>,
}

/// Follow a program to its end.
pub(crate) async fn follow(
    process: Process,
    ends: Ends,
    input: Option<Vec<u8>>,
    bounds: &Bounds,
    listener: &mut impl OutputListener,
) -> io::Result<Finished> {
    let mut stdout = ProgramStream::new(ends.stdout)?;
    let mut stderr = ProgramStream::new(ends.stderr)?;
    let result = tokio::spawn(read_result(ends.result));
    let feeding = ends
        .stdin
        .zip(input)
        .map(|(end, input)| tokio::spawn(feed(end, input)));
    let (mut out_open, mut err_open) = (true, true);
    let mut stopped = None;
    let Process { mut hold, ctl } = process;
    let mut ending = std::pin::pin!(process::end(ctl));
    let mut end = None;
    while end.is_none() {
        let heard = tokio::select! {
            biased;
            () = bounds.cancel.cancelled(), if stopped.is_none() => { stopped = Some(Stopped::Cancelled); None }
            () = tokio::time::sleep_until(bounds.deadline.into()), if stopped.is_none() => { stopped = Some(Stopped::Timeout); None }
            text = stdout.next(), if out_open && stopped.is_none() => { out_open = text.is_some(); text.map(|text| (OutputStream::Stdout, text)) }
            text = stderr.next(), if err_open && stopped.is_none() => { err_open = text.is_some(); text.map(|text| (OutputStream::Stderr, text)) }
            said = &mut ending => { end = Some(said.ok()); None }
        };
        if stopped.is_none() && stdout.total() + stderr.total() > bounds.output {
            stopped = Some(Stopped::Output);
        }
        if stopped.is_some() {
            hold.kill();
        } else if let Some((which, text)) = heard {
            // A slow listener stops the program, but not the clock.
            tokio::select! {
                () = listener.hear(which, text) => {}
                () = tokio::time::sleep_until(bounds.deadline.into()) => {}
                () = bounds.cancel.cancelled() => {}
            }
        }
    }
    drop(hold);
    // Nobody writes any more: what is in the pipes is all there is.
    if stopped != Some(Stopped::Output) {
        let rest = async {
            while let Some(text) = stdout.next().await {
                listener.hear(OutputStream::Stdout, text).await;
            }
            while let Some(text) = stderr.next().await {
                listener.hear(OutputStream::Stderr, text).await;
            }
        };
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }
    if let Some(feeding) = feeding {
        feeding.abort();
    }
    let ended = tokio::time::timeout(DRAIN, result).await;
    let ended = ended.ok().and_then(Result::ok).flatten();
    let (said, outputs) = end
        .flatten()
        .map_or((None, Vec::new()), |(said, outputs)| (Some(said), outputs));
    let (outcome, returncode) = RunOutcome::of(stopped, said.as_ref(), ended.as_ref());
    let ((stdout, cut_out), (stderr, cut_err)) = (stdout.finish(), stderr.finish());
    Ok(Finished {
        outcome,
        returncode,
        stdout,
        stderr,
        truncated: cut_out || cut_err || outcome == RunOutcome::OutputLimit,
        said,
        outputs,
        ended,
    })
}

/// What the runner says at the end, if it still could.
async fn read_result(end: OwnedFd) -> Option<Ended> {
    let reader = pipe::Receiver::from_owned_fd(end).ok()?;
    let mut bytes = Vec::new();
    reader.take(RESULT).read_to_end(&mut bytes).await.ok()?;
    pillion_sandbox::message::decode(bytes.get(4..)?).ok()
}

/// Write the program's input; it need not read it.
async fn feed(end: OwnedFd, input: Vec<u8>) {
    if let Ok(mut writer) = pipe::Sender::from_owned_fd(end) {
        let _ = writer.write_all(&input).await;
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
