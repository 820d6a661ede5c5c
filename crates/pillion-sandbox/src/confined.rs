//! The owner's side: starting a confined program, and hearing how it ended.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use pillion_process::{Launch, LaunchError, Pipe, Running, StreamTarget};
use tokio::io::AsyncReadExt;

use crate::level::Level;
use crate::policy::Policy;
use crate::spec::{BoxRole, InitMessage, OutputsSpec, Spec, WatchedLimits};
use crate::{NAME, message, sys};

/// Milliseconds between two looks at what a program uses.
const EVERY_MS: u32 = 50;

/// Why a program could not be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The program that embeds pillion does not serve as box.
    #[error("this program cannot confine others: it does not call `pillion::init` in `main`")]
    NoBox,
    /// The box could not be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The box could not be told what to do.
    #[error("cannot speak with the box: {0}")]
    Io(#[from] io::Error),
    /// A wall could not be put up.
    #[error("cannot confine the program: {0}")]
    Refused(String),
}

/// A program about to be confined.
#[derive(Debug)]
pub struct Confine {
    spec: Spec,
    stdio: [StreamTarget; 3],
    kept: Vec<OwnedFd>,
}

impl Confine {
    /// Confine `program` by `policy` at this level.
    pub fn new(role: BoxRole, level: Level, policy: Policy, program: impl Into<PathBuf>) -> Self {
        let watch = WatchedLimits {
            memory: Some(policy.limits.memory),
            processes: Some(policy.limits.processes),
            disk: None,
        };
        Self {
            spec: Spec {
                role,
                level,
                policy,
                run_user: sys::run_user(),
                program: program.into(),
                args: Vec::new(),
                env: Vec::new(),
                cwd: "/".into(),
                keep: Vec::new(),
                handed: None,
                naming: -1,
                watch,
                outputs: OutputsSpec::default(),
                every_ms: EVERY_MS,
            },
            stdio: [StreamTarget::Null, StreamTarget::Null, StreamTarget::Null],
            kept: Vec::new(),
        }
    }

    /// Its arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.spec.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// All variables of its environment.
    #[must_use]
    pub fn env(mut self, env: Vec<(String, String)>) -> Self {
        self.spec.env = env;
        self
    }

    /// Where it starts.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.spec.cwd = cwd.into();
        self
    }

    /// Its standard streams.
    #[must_use]
    pub fn stdio(mut self, streams: [StreamTarget; 3]) -> Self {
        self.stdio = streams;
        self
    }

    /// A descriptor that it keeps under the same number.
    #[must_use]
    pub fn keep(mut self, fd: OwnedFd) -> Self {
        self.spec.keep.push(fd.as_raw_fd());
        self.kept.push(fd);
        self
    }

    /// The folder whose parts a zygote hands on to its children.
    #[must_use]
    pub fn hand(mut self, folder: Option<PathBuf>) -> Self {
        self.spec.handed = folder;
        self
    }

    /// Its folder ([`Folder::Later`](crate::Folder::Later)) is named on the other end of this socket: see
    /// [`crate::Named`].
    #[must_use]
    pub fn name_later(mut self, naming: OwnedFd) -> Self {
        self.spec.naming = naming.as_raw_fd();
        self.kept.push(naming);
        self
    }

    /// What is watched while it runs, instead of memory and processes as in the policy.
    #[must_use]
    pub fn watch(mut self, watch: WatchedLimits) -> Self {
        self.spec.watch = watch;
        self
    }

    /// What is brought back from its folder.
    #[must_use]
    pub fn outputs(mut self, outputs: OutputsSpec) -> Self {
        self.spec.outputs = outputs;
        self
    }

    /// Start it. It lives no longer than the handle.
    pub fn spawn(self) -> Result<Confined, ConfineError> {
        if !crate::available() {
            return Err(ConfineError::NoBox);
        }
        let (ours, theirs) = UnixStream::pair()?;
        let life = Pipe::new()?;
        let theirs = OwnedFd::from(theirs);
        let [stdin, stdout, stderr] = self.stdio;
        let mut launch = Launch::ourselves(NAME)
            .arg(theirs.as_raw_fd().to_string())
            .arg(life.read.as_raw_fd().to_string())
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr)
            .inherit(theirs)
            .inherit(life.read)
            // It buries what is below it, which nobody else could do as well.
            .life(life.write);
        for fd in self.kept {
            launch = launch.inherit(fd);
        }
        let running = launch.spawn()?;
        message::send(ours.as_fd(), &self.spec, &[])?;
        ours.set_nonblocking(true)?;
        Ok(Confined {
            held: Keepalive { running },
            control: tokio::net::UnixStream::from_std(ours)?,
        })
    }
}

/// A confined program. Dropping it kills it, and everything it started.
#[derive(Debug)]
pub struct Confined {
    /// What keeps it alive.
    pub held: Keepalive,
    /// Where its init speaks: [`InitMessage`], twice.
    pub control: tokio::net::UnixStream,
}

/// What keeps a confined program alive.
#[derive(Debug)]
pub struct Keepalive {
    running: Running,
}

impl Keepalive {
    /// Kill it, and everything it started.
    pub fn kill(&mut self) {
        self.running.kill();
    }

    /// The box, for who looks after it as after any child.
    pub fn into_running(self) -> Running {
        self.running
    }

    /// The process id of the box.
    pub fn id(&self) -> Option<u32> {
        self.running.id()
    }
}

impl Confined {
    /// What its init says next. Not to be given up half way.
    pub async fn said(&mut self) -> io::Result<InitMessage> {
        let mut head = [0; 4];
        self.control.read_exact(&mut head).await?;
        let mut body = vec![0; message::length(head)?];
        self.control.read_exact(&mut body).await?;
        message::decode(&body)
    }

    /// Wait until it runs, or hear why it does not.
    pub async fn ready(&mut self) -> Result<(), ConfineError> {
        let said = self.said().await;
        match said {
            Ok(InitMessage {
                failed: Some(why), ..
            }) => Err(ConfineError::Refused(why)),
            Ok(_) => Ok(()),
            Err(error) => Err(ConfineError::Refused(format!("the box ended: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Folder, Limits};

    fn confine(memory: u64, processes: u32) -> Confine {
        let policy = Policy {
            view: Vec::new(),
            programs: false,
            folder: Folder::Throwaway,
            runs_own_files: false,
            terminals: false,
            network: false,
            limits: Limits {
                memory,
                processes,
                ..Limits::default()
            },
        };
        Confine::new(BoxRole::Program, Level::L3, policy, "/bin/true")
    }

    #[test]
    fn a_program_has_no_variables_and_is_watched_as_its_policy_says() {
        let Confine { spec, kept, .. } = confine(7, 3);
        assert!(spec.env.is_empty() && spec.args.is_empty() && spec.keep.is_empty());
        assert!(kept.is_empty());
        assert_eq!(spec.cwd, PathBuf::from("/"));
        let WatchedLimits {
            memory,
            processes,
            disk,
        } = spec.watch;
        assert_eq!(
            (memory, processes, disk.is_none()),
            (Some(7), Some(3), true)
        );
        assert!(spec.outputs.names.is_empty() && spec.handed.is_none());
    }

    #[test]
    fn arguments_are_added_and_variables_replaced() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let confine = confine(1, 1)
            .args(["-s"])
            .args(["-S".to_owned()])
            .env(vec![pair("A", "1")])
            .env(vec![pair("B", "2")]);
        assert_eq!(confine.spec.args, ["-s", "-S"]);
        assert_eq!(confine.spec.env, [pair("B", "2")]);
    }

    #[test]
    fn a_descriptor_is_kept_open_under_the_number_that_the_box_is_told() {
        let (one, _other) = UnixStream::pair().unwrap();
        let number = one.as_raw_fd();
        let confine = confine(1, 1).keep(one.into());
        assert_eq!(confine.spec.keep, [number]);
        assert_eq!(confine.kept[0].as_raw_fd(), number);
    }

    #[tokio::test]
    async fn a_program_that_serves_as_no_box_confines_nothing() {
        // The one that runs the tests never called `init`.
        let error = confine(1, 1).spawn().unwrap_err();
        assert!(matches!(error, ConfineError::NoBox), "{error}");
        let means = crate::probe(Level::L3).await;
        assert_eq!(means.level, Level::L1);
        assert!(means.namespaces.is_err() && !means.seccomp);
    }

    #[test]
    fn a_spec_comes_back_from_its_text() {
        let text = message::encode(&confine(1 << 30, 9).cwd("/lane/work").spec).unwrap();
        let spec: Spec = message::decode(&text[4..]).unwrap();
        assert_eq!((spec.role, spec.level), (BoxRole::Program, Level::L3));
        assert_eq!(spec.policy, confine(1 << 30, 9).spec.policy);
        assert_eq!(spec.cwd, PathBuf::from("/lane/work"));
    }
}
