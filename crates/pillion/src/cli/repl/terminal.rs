//! The terminal apart from its lines: how it was set, and what is typed for a cell that asks.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Between two looks whether something was typed: a terminal is nothing that tokio can wait for
/// without unsafe code, and nobody types faster.
const POLL_EVERY: Duration = Duration::from_millis(15);
/// Bytes of one answer.
const LONGEST: usize = 64 << 10;

/// Sets the terminal as it was, at the end.
#[derive(Debug)]
pub(crate) struct AsBefore(Option<Termios>);

impl AsBefore {
    pub(crate) fn now() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }
}

impl Drop for AsBefore {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// While it lives, what is typed is not shown: it is kept for the next line.
#[derive(Debug)]
pub(crate) struct Silent(#[expect(dead_code, reason = "dropping it sets the echo back")] AsBefore);

impl Silent {
    /// Begin, if that is wanted and this is a terminal.
    pub(crate) fn begin(is_wanted: bool) -> Option<Self> {
        if !is_wanted {
            return None;
        }
        let before = AsBefore::now();
        let mut silent = tcgetattr(io::stdin()).ok()?;
        silent.local_modes -= LocalModes::ECHO;
        tcsetattr(io::stdin(), OptionalActions::Now, &silent).ok()?;
        Some(Self(before))
    }
}

/// A line that is typed for a cell. Dropping it stops listening.
#[derive(Debug)]
pub(crate) struct TypedAnswer {
    input: File,
    bytes: Vec<u8>,
    /// Sets the echo back.
    _before: AsBefore,
}

impl TypedAnswer {
    /// Begin to read; `hidden` is not shown.
    pub(crate) fn begin(hidden: bool) -> io::Result<Self> {
        let before = AsBefore::now();
        if hidden {
            let mut silent = tcgetattr(io::stdin())?;
            silent.local_modes -= LocalModes::ECHO;
            tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        }
        // Not by the standard library's own buffer, in which later lines would be lost.
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Self {
            input,
            bytes: Vec::new(),
            _before: before,
        })
    }

    /// The line without its end; `None` if there is none, as after Ctrl-D. Cancel-safe.
    pub(crate) async fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            let mut polled = [PollFd::new(&self.input, PollFlags::IN)];
            if poll(&mut polled, Some(&Timespec::default()))? == 0 {
                tokio::time::sleep(POLL_EVERY).await;
                continue;
            }
            let mut bytes = [0; 4096];
            // A terminal that is ready has a whole line, so this does not wait.
            let read = self.input.read(&mut bytes)?;
            self.bytes.extend_from_slice(&bytes[..read]);
            let is_whole = self.bytes.ends_with(b"\n") || self.bytes.len() >= LONGEST;
            if is_whole || read == 0 {
                let text = String::from_utf8_lossy(&self.bytes);
                let line = text.strip_suffix('\n');
                let is_end = read == 0 && self.bytes.is_empty();
                return Ok((!is_end).then(|| line.unwrap_or(&text).to_owned()));
            }
        }
    }
}
