//! Every environment variable that pillion reads. The reference page is made from this.

/// One variable.
#[derive(Debug, Clone, Copy)]
pub struct Var {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
}

macro_rules! vars {
    ($($ident:ident = $help:literal;)*) => {
        $(#[doc = $help] pub const $ident: &str = stringify!($ident);)*
        /// All of them.
        pub const ALL: &[Var] = &[$(Var { name: $ident, help: $help },)*];
    };
}

vars! {
    PILLION_HOME = "Folder for everything pillion keeps: cache, data and state. Without it the XDG folders are used.";
    PILLION_SOCKET = "Path of the daemon's socket, as `--socket`.";
    PILLION_INSTANCE = "Name of a separate daemon, as `--instance`.";
    PILLION_BIN = "The pillion program that clients start as daemon, if it is not on PATH.";
    PILLION_URL = "Address of a `pillion serve` that the Python client asks instead of the daemon.";
    PILLION_NO_DAEMON = "Set to 1: every command runs on an embedded engine, as `--no-daemon`.";
    PILLION_LOG = "What is logged, as a tracing filter such as `info` or `pillion=debug`.";
    PILLION_PYTHON = "The Python interpreter for calls, as `--python`.";
    PILLION_WHEELS = "A folder of wheels, as `pillion env vendor` fills it, that managed environments are built from instead of from a package index: without a network.";
    PILLION_RUNTIME = "The folder of a runtime bundle whose Python is used where no other is named, as `--runtime`.";
    SOURCE_DATE_EPOCH = "Seconds since 1970 that `pillion bundle build` takes for the time of the build, unless `--created-at` says another.";
    PILLION_WATCH = "Set to `off`: the files of a workspace are not watched; each is looked at before every read.";
    PILLION_LANES_LEVEL = "Set to `L2` or `L1`: lanes use no more walls than that, to see what is left then.";
    PILLION_JOBS_KEPT = "How many finished jobs are kept, 1000 if not set; older ones go.";
    PILLION_TOOL_PROFILE = "Which MCP tools are listed: `default`, `code`, `map`, `exec`, `full`, `core` or `minimal`, as `--profile`.";
    MCP_TOOL_PROFILE = "The same, where PILLION_TOOL_PROFILE is not set.";
    XDG_RUNTIME_DIR = "Folder of the daemon's socket, if set.";
    TMPDIR = "Folder of the daemon's socket where XDG_RUNTIME_DIR is not set.";
    VIRTUAL_ENV = "The caller's active virtual environment, used for its calls.";
    CONDA_PREFIX = "The caller's active conda environment, used for its calls.";
    INTERMUTE_URL = "Address of the service that knows which agents work where, for `map.agents`, such as `http://127.0.0.1:7338`.";
    HOST = "The address that `pillion serve --desktop` listens on, as `--host`.";
    PORT = "The port that `pillion serve --desktop` listens on, as `--port`.";
    LOG_FILE = "The file that `pillion serve --desktop` writes its log to, as `--log-file`.";
    PYTHON_RUNTIME_ROOT = "The folder of the Python that `pillion serve --desktop` runs code with, unless PILLION_PYTHON names one.";
    SESSIONS_DIR = "The folder that `pillion serve --desktop` keeps sessions in; among pillion's own data if not set.";
    CURRICULUM_DIR = "The folder of courses and chapters that sessions are about.";
    EXPERTS_DIR = "The folder of experts that sessions may consult.";
    MAIN_AGENTS_DIR = "The folder of prompts that take the place of pillion's own.";
    CURRICULUM_TEMPLATES_DIR = "The folder of texts for chapters that have none of their own.";
    LLM_PROVIDER = "Which kind of endpoint answers in sessions: `openai`, `anthropic`, `custom` or `scripted`. Without a key and an address it is `scripted`, which is offline.";
    LLM_API_KEY = "The key for it. It reaches no child process, log or error.";
    LLM_MODEL = "The model that is asked.";
    LLM_BASE_URL = "The address of the endpoint, such as `http://127.0.0.1:11434/v1` with `custom`.";
    PILLION_MODEL_SCRIPT = "The script of the scripted model; an embedded one if not set.";
    PILLION_MODEL_RECORD = "A file that questions to models and their answers are added to, without keys.";
    PILLION_MODEL_REPLAY = "Such a file, from which questions are answered instead of by a model.";
    NO_COLOR = "If set, no colours.";
    TERM = "The kind of terminal: `pillion repl` knows by it how pictures can be shown.";
    TERM_PROGRAM = "The program that draws the terminal, for the same reason.";
    LC_TERMINAL = "The same, from a machine that you came from.";
    KITTY_WINDOW_ID = "The window of kitty that you type in, for the same reason.";
    TMUX = "If set, there is a tmux between `pillion repl` and the terminal, which is asked itself.";
}
