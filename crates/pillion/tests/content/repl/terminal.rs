//! A terminal with somebody in front of it: a pseudo-terminal whose other side is the test.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pillion_testing::{DEADLINE, TestContext, set_up, wait_for};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Starts a program as whose terminal this is: Ctrl-C is a signal to it.
const TAKE: &str = "import fcntl, os, sys, termios\n\
                    os.setsid()\n\
                    fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n\
                    os.execv(sys.argv[1], sys.argv[1:])";

/// A terminal.
pub(crate) struct Terminal {
    keys: File,
    written: Arc<Mutex<Vec<u8>>>,
    /// What was looked at so far, of the text without its sequences.
    seen: usize,
    child: Child,
}

impl Terminal {
    /// `pillion repl` with the Python that has ipykernel.
    pub(crate) fn repl(context: &TestContext, args: &[&str]) -> Self {
        let python = set_up("dev-python/bin/python");
        let mut all = vec!["repl", "--python", python.to_str().unwrap()];
        all.extend(args);
        Self::open(context, &all)
    }

    /// pillion with these arguments.
    pub(crate) fn open(context: &TestContext, args: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).unwrap();
        let theirs = || {
            let mut open = OpenOptions::new();
            open.read(true).write(true);
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut open, 0o400);
            open.open(name.to_str().unwrap()).unwrap()
        };
        let pillion = context.pillion_command(&[]);
        let mut command = context.command("python3");
        command
            .args(["-c", TAKE])
            .arg(pillion.get_program())
            .args(args)
            .env("TERM", "xterm-256color")
            .stdin(theirs())
            .stdout(theirs())
            .stderr(theirs());
        let child = command.spawn().unwrap();
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let screen = File::from(ours);
        let keys = screen.try_clone().unwrap();
        let answers = screen.try_clone().unwrap();
        let into = Arc::clone(&written);
        std::thread::spawn(move || draw(screen, answers, &into));
        Self {
            keys,
            written,
            seen: 0,
            child,
        }
    }

    /// Type.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Type a cell, and wait for what it leads to.
    pub(crate) fn enter(&mut self, code: &str, expected: &str) -> String {
        self.type_in(code);
        self.type_in("\r");
        self.until(expected)
    }

    /// Press a key again and again until this is on the screen: signals that come at once are one.
    pub(crate) fn press_until(&mut self, key: &str, expected: &str) {
        let seen = self.seen;
        wait_for(DEADLINE, &format!("`{expected}` on the screen"), || {
            let text = self.text();
            if text.get(seen..).unwrap_or_default().contains(expected) {
                return Ok(());
            }
            self.type_in(key);
            std::thread::sleep(Duration::from_millis(300));
            Err(text)
        });
        self.until(expected);
    }

    /// Wait until this is on the screen, behind what was looked at before.
    pub(crate) fn until(&mut self, expected: &str) -> String {
        let found = wait_for(DEADLINE, &format!("`{expected}` on the screen"), || {
            let text = self.text();
            let new = text.get(self.seen..).unwrap_or_default();
            match new.find(expected) {
                Some(at) => Ok(self.seen + at + expected.len()),
                None => Err(format!("there is:\n{new}")),
            }
        });
        let text = self.text();
        let passed = text[self.seen..found].to_owned();
        self.seen = found;
        passed
    }

    /// Everything that was written so far, as it is.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// The same without sequences.
    pub(crate) fn text(&self) -> String {
        plain(&self.raw())
    }

    /// Wait for the end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait_for(DEADLINE, "pillion to leave", || {
            match self.child.try_wait().unwrap() {
                Some(status) => Ok(status),
                None => Err(format!("there is:\n{}", self.text())),
            }
        })
    }

    /// Ctrl-D, and the end of it.
    pub(crate) fn leave(&mut self) {
        self.type_in("\u{4}");
        let status = self.wait();
        assert_eq!(status.code(), Some(0), "{}", self.text());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keep what is written, and answer as a terminal does: where its cursor is, and what it can do.
fn draw(mut screen: File, mut answers: File, into: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    let mut answered = 0;
    while let Ok(read @ 1..) = screen.read(&mut bytes) {
        let mut written = into.lock().unwrap();
        written.extend_from_slice(&bytes[..read]);
        let text = String::from_utf8_lossy(&written[answered..]).into_owned();
        let mut answer = String::new();
        for (question, reply) in [("\u{1b}[6n", "\u{1b}[1;1R"), ("\u{1b}[c", "\u{1b}[?62;22c")] {
            for _ in text.matches(question) {
                answer.push_str(reply);
            }
        }
        // A question that was cut in two is answered when the rest of it is there.
        let keep = (1..4).find(|tail| {
            let from = written.len().saturating_sub(*tail);
            from >= answered && written[from..].starts_with(b"\x1b")
        });
        answered = written.len() - keep.filter(|_| answer.is_empty()).unwrap_or(0);
        drop(written);
        if answers.write_all(answer.as_bytes()).is_err() {
            break;
        }
    }
}

/// A text without the sequences in it.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = match rest.chars().next() {
            Some('[') => rest[1..]
                .find(|c: char| ('@'..='~').contains(&c))
                .map(|at| at + 2),
            Some(']' | '_' | 'P') => {
                let bell = rest.find('\u{7}').map(|at| at + 1);
                let mark = rest.find("\u{1b}\\").map(|at| at + 2);
                bell.into_iter().chain(mark).min()
            }
            _ => Some(1),
        };
        rest = &rest[end.unwrap_or(rest.len()).min(rest.len())..];
    }
    plain.push_str(rest);
    plain.replace('\r', "")
}
