//! Where the bench takes place: a folder of its own with a project, baseline programs and
//! a `PILLION_HOME`, so that nothing of the user's is touched or measured.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result};
use pillion_process::{Launch, Running, StreamTarget};
use pillion_protocol::vars;
use pillion_runtime::discovery::{self, DiscoveryRequest};
use pillion_runtime::trust::TrustRecords;
use pillion_runtime::{Dirs, Interpreter, Managed};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::wire::Wire;

/// How long a server may take until it answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// How often a server that starts is asked.
const ASK_EVERY: Duration = Duration::from_micros(200);

/// What everybody calls.
pub(super) const FUNCTION: &str = "bench_target:echo";

const PROGRAMS: &[(&str, &str)] = &[
    ("pipe_echo.py", include_str!("pipe_echo.py")),
    ("asyncio_server.py", include_str!("asyncio_server.py")),
    ("python_client.py", include_str!("python_client.py")),
    ("notebook_client.py", include_str!("notebook_client.py")),
];
const TARGET: (&str, &str) = ("bench_target.py", include_str!("bench_target.py"));

/// The folder of one bench; removed with it.
pub(super) struct Stage {
    temp: TempDir,
    program: PathBuf,
    pub(super) interpreter: Interpreter,
}

impl Stage {
    /// Set it up, with the interpreter that pillion chooses here.
    pub(super) async fn new() -> Result<Self> {
        let temp = tempfile::Builder::new()
            .prefix("pillion-bench-")
            .tempdir()
            .map_err(|error| cannot(&error))?;
        let (here, active) = (
            std::env::current_dir().unwrap_or_else(|_| temp.path().to_owned()),
            std::env::var_os(vars::VIRTUAL_ENV).map(PathBuf::from),
        );
        let named = std::env::var_os(vars::PILLION_PYTHON).map(PathBuf::from);
        let request = DiscoveryRequest {
            explicit: named.as_deref(),
            virtual_env: active.as_deref(),
            ..DiscoveryRequest::new(&here)
        };
        let choice = discovery::find(request, &Dirs::from_env())
            .await
            .map_err(|error| {
                Error::new(Code::PythonNotFound, error.to_string()).hint(error.hint())
            })?;
        // A copy, as every installation is one: a program that lies as its linker wrote it starts
        // up to a quarter slower on Linux, which keeps such a file in memory page by page.
        let program = temp.path().join("pillion");
        std::env::current_exe()
            .and_then(|built| fs::copy(built, &program))
            .map_err(|error| cannot(&error))?;
        let stage = Self {
            temp,
            program,
            interpreter: choice.interpreter,
        };
        for (name, text) in PROGRAMS {
            fs::write(stage.path(name), text).map_err(|error| cannot(&error))?;
        }
        stage.project("project")?;
        Ok(stage)
    }

    /// A path in the stage's folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// The project that calls go to.
    pub(super) fn root(&self) -> PathBuf {
        self.path("project")
    }

    /// Folders for an engine.
    pub(super) fn dirs(&self) -> Dirs {
        Dirs::under(self.path("home"))
    }

    /// Let pillion find a managed environment where it looks for its own: building one
    /// takes longer than any bench. Whatever else it builds stays on the stage.
    pub(super) async fn share_tools(&self, managed: &Managed) -> Result<()> {
        let own = Managed::of_machine(&self.dirs()).await;
        let own = own.map_err(|error| {
            Error::new(Code::PythonNotFound, error.to_string()).hint(error.hint())
        })?;
        Self::share(managed, &own)
    }

    /// Let a managed environment be found where another is looked for.
    pub(super) fn share(managed: &Managed, own: &Managed) -> Result<()> {
        let above = own.path().parent().unwrap_or(own.path());
        fs::create_dir_all(above)
            .and_then(|()| std::os::unix::fs::symlink(managed.path(), own.path()))
            .map_err(|error| cannot(&error))
    }

    /// Make a project with the function that everybody calls, on this very interpreter.
    pub(super) fn project(&self, name: &str) -> Result<PathBuf> {
        let root = self.path(name);
        let executable = self.interpreter.executable.to_string_lossy();
        // A JSON string is a TOML string, too.
        let config = format!(
            "[python]\ninterpreter = {}\n",
            serde_json::to_string(&executable).map_err(Error::internal)?
        );
        fs::create_dir_all(&root)
            .and_then(|()| fs::write(root.join(TARGET.0), TARGET.1))
            .and_then(|()| fs::write(root.join("pillion.toml"), config))
            .map_err(|error| cannot(&error))?;
        self.trust(&root)?;
        Ok(root)
    }

    /// What we have written ourselves is trusted.
    pub(super) fn trust(&self, root: &Path) -> Result<()> {
        let given = TrustRecords::new(&self.dirs()).give(root, &root.join("pillion.toml"));
        given.map_err(|error| cannot(&io::Error::other(error)))
    }

    /// A project whose function has so many modules of its own behind it: each is looked
    /// at before each call, so that none of them is ever stale.
    pub(super) fn wide_project(&self, modules: usize) -> Result<PathBuf> {
        let root = self.project("wide")?;
        let mut target = String::new();
        for n in 0..modules {
            fs::write(root.join(format!("part{n}.py")), "VALUE = 1\n").map_err(|e| cannot(&e))?;
            let _ = writeln!(target, "import part{n}");
        }
        target.push_str(TARGET.1);
        fs::write(root.join(TARGET.0), target).map_err(|error| cannot(&error))?;
        Ok(root)
    }

    /// Python, about to run with these arguments.
    pub(super) fn python(&self) -> Launch {
        Launch::new(&self.interpreter.executable)
            .cwd(self.root())
            .env("PYTHONPATH", self.root())
    }

    /// One of the baseline programs.
    pub(super) fn baseline(&self, name: &str) -> Launch {
        self.python().arg(self.path(name))
    }

    /// This pillion, apart from the user's own.
    pub(super) fn pillion(&self) -> Launch {
        Launch::new(&self.program)
            .cwd(self.root())
            .env(vars::PILLION_HOME, self.path("home"))
            // What it says about itself is not what is measured.
            .env(vars::PILLION_LOG, "error")
    }

    /// A daemon on the socket of this name.
    pub(super) fn daemon(&self, name: &str) -> Launch {
        self.pillion()
            .args(["daemon", "--no-timeout", "--socket"])
            .arg(self.path(name))
    }

    /// The asyncio server on the socket of this name.
    pub(super) fn asyncio(&self, name: &str) -> Launch {
        self.baseline("asyncio_server.py").arg(self.path(name))
    }

    /// Start a server on the socket of this name.
    pub(super) fn start(&self, launch: Launch, name: &str) -> Result<Server> {
        Ok(Server {
            socket: self.path(name),
            running: launch.spawn().map_err(Error::internal)?,
        })
    }

    /// A child with a line-JSON conversation on its standard streams.
    pub(super) fn conversation(launch: Launch) -> Result<(Running, Wire)> {
        let launch = launch
            .stdin(StreamTarget::Piped)
            .stdout(StreamTarget::Piped);
        let mut running = launch.spawn().map_err(Error::internal)?;
        let (Some(input), Some(output)) = (running.take_stdin(), running.take_stdout()) else {
            return Err(Error::internal("a child was started without its pipes"));
        };
        let input = input.into_owned_fd().map_err(|error| cannot(&error))?;
        let output = output.into_owned_fd().map_err(|error| cannot(&error))?;
        Ok((running, Wire::pipes(output.into(), input.into())))
    }

    /// `pillion serve`, and the port that it listens on. Dropping it ends it.
    pub(super) async fn serve(&self) -> Result<(Running, u16)> {
        let launch = self.pillion().args(["serve", "--port", "0"]);
        let mut server = launch
            .stdout(StreamTarget::Piped)
            .spawn()
            .map_err(Error::internal)?;
        let mut said = String::new();
        if let Some(stdout) = server.take_stdout() {
            let mut lines = BufReader::new(stdout);
            lines
                .read_line(&mut said)
                .await
                .map_err(|error| cannot(&error))?;
        }
        let port = said.trim().rsplit(':').next();
        let port = port.and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| {
            Error::new(Code::StartFailed, format!("`pillion serve` said `{said}`"))
        })?;
        Ok((server, port))
    }
}

/// A server on a Unix socket. Dropping it ends it.
pub(super) struct Server {
    pub(super) socket: PathBuf,
    running: Running,
}

impl Server {
    /// Its process, or that of its guard.
    pub(super) fn pid(&self) -> Option<u32> {
        self.running.id()
    }

    /// Connect, while it may still be starting.
    pub(super) fn wire(&self) -> Result<Wire> {
        connect(&self.socket)
    }

    /// End it and wait until it is gone.
    pub(super) async fn stop(mut self) {
        self.running.kill();
        self.running.wait().await;
    }
}

fn connect(socket: &Path) -> Result<Wire> {
    let until = Instant::now() + ANSWER_TIMEOUT;
    loop {
        match Wire::unix(socket) {
            Ok(wire) => return Ok(wire),
            Err(error) if Instant::now() > until => {
                return Err(Error::new(
                    Code::StartFailed,
                    format!("no server answers on `{}`: {error}", socket.display()),
                ));
            }
            Err(_) => std::thread::sleep(ASK_EVERY),
        }
    }
}

/// The bench cannot go on.
pub(super) fn cannot(error: &io::Error) -> Error {
    Error::internal(format!("the bench cannot go on: {error}"))
}
