//! The one place where this tool starts programs.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How long output may still come after its program has ended: a process that was left
/// behind holds the pipe open, and must not hold up the run that will report it.
const AFTER_END: Duration = Duration::from_secs(5);

/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(7 * 24 * 3600);

/// Whether root runs this, who can do everything that tests do. Whoever cannot be found out is
/// taken for root, so that nothing is left out unseen.
#[cfg(unix)]
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(true, |own| own.uid() == 0)
}

#[cfg(not(unix))]
pub(crate) fn is_root() -> bool {
    true
}

/// What happens while a program is watched.
enum Event {
    /// It wrote a line.
    Line(String),
    /// Nobody can write any more.
    Closed,
    /// It ended.
    Ended(std::io::Result<ExitStatus>),
}

/// A program to run.
#[derive(Debug)]
pub(crate) struct Run {
    command: Command,
    program: OsString,
}

/// What a program that ended has written.
#[derive(Debug)]
pub(crate) struct Output {
    name: String,
    status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Run `program`.
    #[expect(
        clippy::disallowed_methods,
        reason = "the ban is for pillion's own children; this tool runs cargo and git, and must build without pillion"
    )]
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(&program);
        command.stdin(Stdio::null());
        Self {
            command,
            program: program.as_ref().to_owned(),
        }
    }

    /// With these arguments.
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// In this folder.
    pub(crate) fn cwd(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// With this environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With what it writes shown to the user.
    pub(crate) fn show(mut self) -> Result<()> {
        self.flush();
        let name = self.name();
        let status = self
            .command
            .status()
            .map_err(|error| cannot_run(&name, &error))?;
        succeeded(&name, status)
    }

    /// With what it writes shown to the user, and each line of its standard output given
    /// to `see`.
    pub(crate) fn watch(mut self, mut see: impl FnMut(&str)) -> Result<()> {
        self.flush();
        let name = self.name();
        self.command.stdout(Stdio::piped());
        let mut child = self
            .command
            .spawn()
            .map_err(|error| cannot_run(&name, &error))?;
        let (tell, events) = mpsc::channel();
        follow_output(&mut child, tell.clone());
        std::thread::spawn(move || tell.send(Event::Ended(child.wait())));
        let (mut status, mut closed, mut timeout) = (None, false, FOREVER);
        while !closed || status.is_none() {
            let since = Instant::now();
            match events.recv_timeout(timeout) {
                Ok(Event::Line(line)) => {
                    print!("{line}");
                    self.flush();
                    see(line.trim_end());
                }
                Ok(Event::Closed) => closed = true,
                Ok(Event::Ended(ended)) => {
                    status = Some(ended);
                    timeout = AFTER_END;
                }
                Err(_) => break,
            }
            if status.is_some() {
                timeout = timeout.saturating_sub(since.elapsed());
            }
        }
        match status {
            Some(Ok(status)) => succeeded(&name, status),
            Some(Err(error)) => Err(cannot_run(&name, &error)),
            None => Err(Error::new(format!("lost sight of `{name}`"))),
        }
    }

    /// With what it writes kept.
    pub(crate) fn output(self) -> Result<Output> {
        self.answer("")
    }

    /// With `input` to read, and what it writes kept.
    pub(crate) fn answer(mut self, input: &str) -> Result<Output> {
        let name = self.name();
        let failed = |error: &std::io::Error| cannot_run(&name, error);
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(|error| failed(&error))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not want its input may have ended already.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| failed(&error))?;
        Ok(Output {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            name,
        })
    }

    /// What it is called in messages: the program and its first word, `cargo test`.
    fn name(&self) -> String {
        let program = PathBuf::from(&self.program);
        let name = program.file_stem().unwrap_or(&self.program).display();
        let mut words = self.command.get_args().map(OsStr::to_string_lossy);
        match words.find(|word| !word.starts_with('-')) {
            Some(word) => format!("{name} {word}"),
            None => name.to_string(),
        }
    }

    /// What was printed comes before what the program prints.
    fn flush(&self) {
        let _ = std::io::stdout().flush();
    }
}

impl Output {
    /// Whether it ended well.
    pub(crate) fn ended_well(&self) -> bool {
        self.status.success()
    }

    /// What it wrote, if it ended well.
    pub(crate) fn success(self) -> Result<String> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        let said = format!("{}{}", self.stdout, self.stderr);
        let Self { name, status, .. } = self;
        Err(Error::new(format!(
            "`{name}`: {status}\n{}",
            said.trim_end()
        )))
    }
}

/// Tell of each line of a child's standard output, as it comes.
fn follow_output(child: &mut Child, tell: mpsc::Sender<Event>) {
    let Some(stdout) = child.stdout.take() else {
        return;
    };
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line).into_owned();
            if tell.send(Event::Line(text)).is_err() {
                return;
            }
            line.clear();
        }
        let _ = tell.send(Event::Closed);
    });
}

fn cannot_run(name: &str, error: &std::io::Error) -> Error {
    Error::new(format!("cannot run `{name}`: {error}"))
}

fn succeeded(name: &str, status: ExitStatus) -> Result<()> {
    if status.success() {
        Ok(())
    } else {
        Err(Error::new(format!("`{name}`: {status}")))
    }
}
