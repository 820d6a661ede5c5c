//! Describing a child and starting it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use crate::environment::{self, ChildVariables};
use crate::{Exit, Pipe, Running, guard, sys};

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("no program `{0}` was found")]
    NotFound(PathBuf),
    /// The system refused.
    #[error("cannot start `{program}`: {source}")]
    Refused {
        /// What was to be started.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It ran longer than allowed and was killed.
    #[error("`{program}` did not finish within {seconds} s and was stopped")]
    TooSlow {
        /// What was started.
        program: PathBuf,
        /// Its limit.
        seconds: u64,
    },
}

/// Where one of a child's standard streams goes.
#[derive(Debug)]
pub enum StreamTarget {
    /// Nowhere.
    Null,
    /// To the owner, as a pipe.
    Piped,
    /// Where ours goes.
    Inherit,
    /// Into an open file.
    File(File),
}

impl From<StreamTarget> for Stdio {
    fn from(stream: StreamTarget) -> Self {
        match stream {
            StreamTarget::Null => Self::null(),
            StreamTarget::Piped => Self::piped(),
            StreamTarget::Inherit => Self::inherit(),
            StreamTarget::File(file) => file.into(),
        }
    }
}

/// A child about to be started.
#[derive(Debug)]
pub struct Launch {
    program: PathBuf,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    pass_env: Vec<String>,
    variables: Option<ChildVariables>,
    writable: Option<Vec<PathBuf>>,
    stdin: StreamTarget,
    stdout: StreamTarget,
    stderr: StreamTarget,
    inherit: Vec<OwnedFd>,
    guarded: bool,
    life: Option<OwnedFd>,
    name: Option<String>,
    bare: bool,
}

impl Launch {
    /// A child that runs `program`, with no input and its output dropped.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            pass_env: Vec::new(),
            variables: None,
            writable: None,
            stdin: StreamTarget::Null,
            stdout: StreamTarget::Null,
            stderr: StreamTarget::Null,
            inherit: Vec::new(),
            guarded: true,
            life: None,
            name: None,
            bare: false,
        }
    }

    /// This same executable again, in another role: it finds `name` as its own name, and no
    /// variables in its environment. There is no guard: it looks after its life itself.
    pub fn ourselves(name: impl Into<String>) -> Self {
        Self {
            guarded: false,
            name: Some(name.into()),
            bare: true,
            ..Self::new(sys::program().unwrap_or_else(|_| "pillion".into()))
        }
    }

    /// What it lives by: it ends itself, and everything below it, when this is closed. That is
    /// then how it is killed.
    #[must_use]
    pub fn life(mut self, end: OwnedFd) -> Self {
        self.life = Some(end);
        self
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// The folder it starts in.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// All of its variables, instead of those that pillion's own tools get.
    #[must_use]
    pub fn variables(mut self, variables: ChildVariables) -> Self {
        self.variables = Some(variables);
        self
    }

    /// One more variable; see [`environment`] for those that it has without it.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// ChildVariables of our own to hand on besides.
    #[must_use]
    pub fn pass_env(mut self, names: &[String]) -> Self {
        self.pass_env.extend_from_slice(names);
        self
    }

    /// It may write only at or below these paths, as far as the kernel can see to that: for
    /// programs that are asked something, and whose configuration may want more. Paths that
    /// are not there yet stay closed.
    #[must_use]
    pub fn read_only(mut self, but: impl IntoIterator<Item = PathBuf>) -> Self {
        self.writable.get_or_insert_default().extend(but);
        self
    }

    /// Where its standard input comes from.
    #[must_use]
    pub fn stdin(mut self, stream: StreamTarget) -> Self {
        self.stdin = stream;
        self
    }

    /// Where its standard output goes.
    #[must_use]
    pub fn stdout(mut self, stream: StreamTarget) -> Self {
        self.stdout = stream;
        self
    }

    /// Where its standard error goes.
    #[must_use]
    pub fn stderr(mut self, stream: StreamTarget) -> Self {
        self.stderr = stream;
        self
    }

    /// A descriptor that the child keeps under the same number.
    #[must_use]
    pub fn inherit(mut self, fd: OwnedFd) -> Self {
        self.inherit.push(fd);
        self
    }

    /// Start it without a guard: one process less, for a program whose own start or memory
    /// is measured. It then outlives an owner that is killed with SIGKILL.
    #[must_use]
    pub fn unguarded(mut self) -> Self {
        self.guarded = false;
        self
    }

    /// The program as it was named.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Start it. The child lives no longer than the handle.
    pub fn spawn(mut self) -> Result<Running, LaunchError> {
        let program = self.resolve()?;
        let mut command;
        let is_guarded = self.guarded && guard::available();
        let life = if is_guarded {
            let life = Pipe::new().map_err(|e| self.refused(e))?;
            let writable = self.writable.as_deref();
            command = guard::command(&program, life.read.as_raw_fd(), writable)
                .map_err(|e| self.refused(e))?;
            self.inherit.push(life.read);
            Some(life.write)
        } else {
            command = plain(&program);
            self.life.take()
        };
        if let Some(name) = &self.name {
            command.arg0(name);
        }
        // The guard, or else the child, leads a group that the terminal's Ctrl-C passes by.
        command.process_group(0);
        let named = self.program.clone();
        self.apply(&mut command, is_guarded);
        let mut command = tokio::process::Command::from(command);
        let child = command.spawn().map_err(|source| LaunchError::Refused {
            program: named,
            source,
        })?;
        Ok(Running::new(child, life))
    }

    /// Start it in a session of its own, to live on after us. Only daemons are.
    pub fn detach(mut self) -> Result<Detached, LaunchError> {
        let program = self.resolve()?;
        let mut command = plain(&program);
        self.variables = Some(environment::for_daemon());
        let named = self.program.clone();
        self.apply(&mut command, false);
        sys::new_session(&mut command);
        let child = command.spawn().map_err(|source| LaunchError::Refused {
            program: named,
            source,
        })?;
        Ok(Detached::new(child))
    }

    fn apply(self, command: &mut Command, guarded: bool) {
        let kept = guarded.then(|| {
            command
                .get_envs()
                .filter_map(|(k, v)| Some((k.to_owned(), v?.to_owned())))
                .collect::<Vec<_>>()
        });
        let inherited = match (self.bare, self.variables) {
            (true, _) => ChildVariables::default(),
            (false, Some(variables)) => variables,
            (false, None) => environment::for_tool(&self.pass_env),
        };
        command
            .args(self.args)
            .env_clear()
            .envs(inherited)
            .envs(kept.into_iter().flatten())
            .envs(self.env)
            .stdin(self.stdin)
            .stdout(self.stdout)
            .stderr(self.stderr);
        if let Some(cwd) = self.cwd {
            command.current_dir(cwd);
        }
        sys::inherit(command, self.inherit);
    }

    /// Find the program now, so that a missing one is told apart from a child that failed.
    fn resolve(&self) -> Result<PathBuf, LaunchError> {
        let path = self.variables.as_ref().and_then(|all| all.get("PATH"));
        let path = path
            .map(OsStr::to_owned)
            .or_else(|| std::env::var_os("PATH"));
        find_program(&self.program, path.as_deref())
            .ok_or_else(|| LaunchError::NotFound(self.program.clone()))
    }

    fn refused(&self, source: io::Error) -> LaunchError {
        LaunchError::Refused {
            program: self.program.clone(),
            source,
        }
    }
}

fn plain(program: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "this is the one door")]
    Command::new(program)
}

/// `program` itself if it names a path, else the first executable of that name on `path`.
fn find_program(program: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return is_executable(program).then(|| program.to_owned());
    }
    std::env::split_paths(path?)
        // An entry such as `.` would mean whatever lies in the folder that the child starts in.
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// A process that was started to live on without us.
#[derive(Debug)]
pub struct Detached {
    pid: u32,
    exit: Arc<OnceLock<Exit>>,
}

impl Detached {
    fn new(mut child: std::process::Child) -> Self {
        let (pid, exit) = (child.id(), Arc::<OnceLock<Exit>>::default());
        let told = Arc::clone(&exit);
        // Should it end before us, it must not stay a zombie until we do.
        let reaper = move || {
            if let Ok(status) = child.wait() {
                let _ = told.set(status.into());
            }
        };
        // Without the thread it is a zombie at worst, once it has ended.
        let _ = std::thread::Builder::new()
            .name("reaper".into())
            .spawn(reaper);
        Self { pid, exit }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// How it ended, if it already has.
    pub fn ended(&self) -> Option<Exit> {
        self.exit.get().copied()
    }
}
