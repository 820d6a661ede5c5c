//! Interrupting a cell: how a kernel is asked to end it, how long that is waited for, and what
//! becomes of a cell that nobody waits for any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_catalogue::Result;
use pillion_sandbox::message;
use serde_json::json;

use crate::client::CellProgress;
use crate::foreign::Program;
use crate::kernel::{Kernel, ReadyKernel, gone};
use crate::received::Channel;
use crate::specs::InterruptMode;
use crate::start::ANSWER_TIMEOUT;

/// How long a cell may take to end after it was interrupted, before its kernel is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(3);
/// How many such times a kernel has that shows in the meantime that it works on it.
const GRACES: u32 = 5;
/// How long an interrupt may take to be heard before it is sent again.
const HEARD: Duration = Duration::from_millis(700);
/// The same for a kernel that cannot tell whether it has heard it: a second one that comes while
/// it still ends the cell may leave it in a state that nobody thought of.
const HEARD_UNTOLD: Duration = Duration::from_millis(2500);
/// How often one is sent to a kernel that cannot tell whether it has heard it.
const SIGNALS: usize = 3;
/// How often it is looked whether a cell has ended.
const POLL_EVERY: Duration = Duration::from_millis(10);

impl Kernel {
    /// Interrupt what it does. It is sent again if the same cell goes on.
    pub async fn interrupt(&self, ready: &ReadyKernel) -> Result<()> {
        let cell = ready.client.running();
        self.ask_to_stop(ready, None).await?;
        let Some(cell) = cell else {
            return Ok(());
        };
        let goes_on = || ready.client.running().as_ref() == Some(&cell);
        for _ in 1..SIGNALS {
            if !within(self.heard(), || !goes_on() || ready.client.is_over()).await {
                self.ask_to_stop(ready, Some((&cell, true))).await?;
            }
        }
        Ok(())
    }

    /// How long it may take to hear an interrupt.
    fn heard(&self) -> Duration {
        match self.source() {
            Some(_) => HEARD,
            None => HEARD_UNTOLD,
        }
    }

    /// Interrupt this cell, and wait for its end. Says whether that came in time.
    pub(crate) async fn end_cell(&self, ready: &ReadyKernel, cell: &str) -> bool {
        let since = Instant::now();
        let mut shown = since;
        let mut sent = 0;
        while !has_ended(ready, cell) {
            if sent < SIGNALS || self.source().is_some() {
                let asked = self.ask_to_stop(ready, Some((cell, sent > 0)));
                match tokio::time::timeout(HEARD, asked).await {
                    Ok(Ok(true)) => shown = Instant::now(),
                    Ok(Ok(false)) | Err(_) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "a kernel was not interrupted"),
                }
                sent += 1;
            }
            if within(self.heard(), || has_ended(ready, cell)).await {
                break;
            }
            // Its end may be behind all that it said before.
            let shown = shown.max(ready.client.heard_last());
            if Instant::now() > (shown + GRACE).min(since + GRACES * GRACE) {
                return false;
            }
        }
        true
    }

    /// End a cell that nobody waits for any more, as soon as it runs, and the kernel with it if it
    /// does not listen. Who comes meanwhile waits until that is done.
    pub(crate) fn abandon(self: Arc<Self>, ready: ReadyKernel, cell: String) {
        // Who waits for this does not hold us up: he may wait for a cell that is behind ours.
        let quiet = Arc::clone(&self.quiet).try_read_owned();
        tokio::spawn(async move {
            // Those before it are other people's.
            while ready.client.progress(&cell) == CellProgress::Waiting && !ready.client.is_over() {
                tokio::time::sleep(POLL_EVERY).await;
            }
            if !self.end_cell(&ready, &cell).await {
                self.kill(&ready.hold).await;
            }
            drop(quiet);
        });
    }

    /// Ask it to end what it does, or one cell only, and say whether it was asked that before.
    /// The answer is whether that cell's code has ended already, as far as the kernel tells.
    async fn ask_to_stop(&self, ready: &ReadyKernel, cell: Option<(&str, bool)>) -> Result<bool> {
        let content = match &self.make.program {
            Program::Ipykernel(_) => match cell {
                Some((cell, again)) => json!({ "cell": cell, "again": again }),
                None => json!({}),
            },
            Program::Foreign(foreign) if foreign.interrupt_mode == InterruptMode::Signal => {
                // What started it sends the signal: it knows who that is for.
                let sent = message::send(ready.hold.channel(), &json!({ "interrupt": true }), &[]);
                return sent.map(|()| false).map_err(|error| gone(&error));
            }
            Program::Foreign(_) => json!({}),
        };
        let asked = ready
            .client
            .ask(Channel::Control, "interrupt_request", &content)
            .await;
        let answer = asked.map_err(|error| gone(&error))?;
        // A kernel that hangs in C answers on its control thread all the same.
        let reply = tokio::time::timeout(ANSWER_TIMEOUT, answer.reply()).await;
        let reply = reply.ok().flatten();
        Ok(reply.is_some_and(|reply| reply.content()["ending"] == true))
    }
}

/// Wait until something is so. Says whether it came to that in time.
async fn within(time: Duration, is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + time;
    while !is_so() && Instant::now() < until {
        tokio::time::sleep(POLL_EVERY).await;
    }
    is_so()
}

fn has_ended(ready: &ReadyKernel, cell: &str) -> bool {
    ready.client.progress(cell) == CellProgress::Ended || ready.client.is_over()
}

/// Ends a cell if it is dropped before that has ended.
#[derive(Debug)]
pub(crate) struct Unattended(Option<(Arc<Kernel>, ReadyKernel, String)>);

impl Unattended {
    pub(crate) fn new(kernel: &Arc<Kernel>, ready: &ReadyKernel, cell: &str) -> Self {
        Self(Some((Arc::clone(kernel), ready.clone(), cell.to_owned())))
    }

    /// It has ended, or its kernel has.
    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Unattended {
    fn drop(&mut self) {
        if let Some((kernel, ready, cell)) = self.0.take() {
            kernel.abandon(ready, cell);
        }
    }
}
