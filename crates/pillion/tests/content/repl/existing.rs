//! Terminals on kernels that are there already: of sessions, and of Jupyter.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use pillion_testing::{TestContext, set_up};

use super::piped;
use super::terminal::Terminal;

/// Starts a kernel as Jupyter does, says where its connection file is, and ends it when nobody
/// listens any more.
const JUPYTER: &str = "import sys\n\
    from jupyter_client import KernelManager\n\
    kernel = KernelManager(kernel_name='python3', transport=sys.argv[1], connection_file=sys.argv[2])\n\
    kernel.start_kernel()\n\
    client = kernel.blocking_client()\n\
    client.start_channels()\n\
    client.wait_for_ready(timeout=60)\n\
    client.execute('theirs = named_' + sys.argv[1] + ' = 20', reply=True)\n\
    client.complete('the', reply=True, timeout=60)\n\
    client.stop_channels()\n\
    print(kernel.connection_file, flush=True)\n\
    sys.stdin.read()\n\
    kernel.shutdown_kernel(now=True)\n";

/// A kernel that Jupyter started.
struct Jupyter {
    child: Child,
    file: String,
}

impl Jupyter {
    fn start(context: &TestContext, transport: &str) -> Self {
        let mut command: Command = context.command(set_up("dev-python/bin/python"));
        let file = context.path(&format!("kernel-{transport}.json"));
        command.args(["-c", JUPYTER, transport, &file]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut file = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut file).unwrap();
        let file = file.trim().to_owned();
        assert!(!file.is_empty(), "no kernel");
        Self { child, file }
    }
}

impl Drop for Jupyter {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
fn a_session_is_joined_and_goes_on() {
    let context = TestContext::new();
    let none = piped(&context, &["--existing", "shared"], "1\n");
    assert_eq!(none.code, Some(1), "{none}");
    assert!(
        none.stderr
            .contains("session `shared` has no kernel that runs"),
        "{none}"
    );
    let first = piped(&context, &["--session", "shared"], "x = 20\n");
    assert_eq!(first.code, Some(0), "{first}");
    let joined = piped(&context, &["--existing", "shared"], "x + 1\n");
    assert_eq!(joined.stdout, "21\n", "{joined}");
    let mut terminal = Terminal::repl(&context, &["--existing", "shared"]);
    terminal.until("In [3]: ");
    terminal.enter("x + 2", "Out[3]: 22");
    terminal.until("In [4]: ");
    terminal.leave();
    let status = context.pillion_json(&["notebook", "status", "--json"]);
    assert_eq!(status["kernels"][0]["state"], "idle", "{status}");
    // What had no name of its own is gone with its terminal.
    let own = piped(&context, &[], "1\n");
    assert_eq!(own.code, Some(0), "{own}");
    let status = context.pillion_json(&["notebook", "status", "repl", "--json"]);
    assert_ne!(status["kernels"][0]["state"], "idle", "{status}");
}

#[test]
fn a_kernel_of_jupyters_is_joined_by_its_connection_file() {
    let context = TestContext::new();
    for transport in ["tcp", "ipc"] {
        let jupyter = Jupyter::start(&context, transport);
        let output = piped(
            &context,
            &["--existing", &jupyter.file],
            "theirs + 1\nours = 5\n",
        );
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(0), "21\n"),
            "{output}"
        );
        let mut terminal = Terminal::repl(&context, &["--existing", &jupyter.file]);
        terminal.until("there are no walls around it");
        terminal.until("In [");
        terminal.enter("theirs * ours", "]: 100");
        terminal.until("In [");
        terminal.type_in("named_\t");
        terminal.until(&format!("named_{transport}"));
        terminal.enter(" + 2", "]: 22");
        terminal.until("In [");
        terminal.enter("said = input('as' + 'ked: ')", "asked: ");
        terminal.enter("yes", "In [");
        terminal.enter(
            "import time; print('go' + 'ing'); time.sleep(1000)",
            "going",
        );
        terminal.type_in("\u{3}");
        terminal.until("KeyboardInterrupt");
        terminal.until("In [");
        terminal.leave();
        // It is theirs, and goes on.
        let again = piped(&context, &["--existing", &jupyter.file], "said\n");
        assert_eq!(again.stdout, "'yes'\n", "{again}");
    }
    let missing = piped(&context, &["--existing", "./no-such.json"], "1\n");
    assert_eq!(missing.code, Some(1), "{missing}");
    assert!(missing.stderr.contains("leads to no kernel"), "{missing}");
}
