//! The command line as people see it: transcripts.

use pillion_testing::{CommandOutput, FILTERS, TestContext, processes, wait_for_file, wait_until};
use serde_json::{Value, json};

macro_rules! transcript {
    ($context:expr, $args:expr, @$expected:literal) => {
        insta::with_settings!({ filters => FILTERS.iter().copied() }, {
            insta::assert_snapshot!($context.transcript(&$args), @$expected);
        });
    };
}

/// A context in which one Python, and nothing else, is on `PATH`.
fn plain() -> TestContext {
    let mut context = TestContext::new();
    let bin = context.base.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let mut python = context.command("python3");
    python.args([
        "-c",
        "import os, sys; print(os.path.realpath(sys.executable))",
    ]);
    let real = CommandOutput::of(python).stdout;
    std::os::unix::fs::symlink(real.trim(), bin.join("python3")).unwrap();
    context.set_env("PATH", &bin);
    context
}

#[test]
fn help() {
    let context = TestContext::new();
    transcript!(context, ["--help"], @"
    exit: 0
    ----- stdout -----
    Python, already running: warm, supervised and in step with your files

    Usage: pillion [OPTIONS] <COMMAND>

    Commands:
      tour  Walk through pillion on this terminal, with real calls
      at  What is at this position: definition, source, documentation and uses in one
      answer
      defs  Where is the name at this position defined?
      refs  Who uses the name at this position?
      hover  What is the name at this position: its kind, signature and documentation?
      list  List what a file or a folder defines
      symbols  Find definitions by a part of their name
      grep  Search the text of the workspace's files
      occurrences  What would a rename of the name at this position touch?
      callers  Who calls the function at this position?
      callees  Whom does the function at this position call?
      implementations  Which classes derive from the one at this position, or which methods override
      it?
      type-hierarchy  What does the class at this position derive from, and what derives from it?
      read-symbol  Read the source of a definition by its name path, such as `Class/method`
      diagnostics  What do ty and ruff find wrong?
      map  Map a project: who calls whom, what a change reaches, what is never used
      rename  Rename what is at this position, everywhere
      move  Move a function, class or constant to another module, or a module to another
      place
      change-signature  Add, remove and order the parameters of a function, and rewrite all calls
      extract-method  Make a function or method of these lines
      extract-var  Give an expression a name
      inline  Put the function or variable at this position where it is used, and take it away
      replace-body  Replace a definition, named by its path, or only its body by new source
      insert-before  Insert source before a definition, named by its path
      insert-after  Insert source after a definition, named by its path
      safe-delete  Delete a definition that nobody uses; refuse with the list of users otherwise
      organize-imports  Sort and group the imports of a file, or of all files of a folder
      codemod  Find and rewrite code by ast-grep rules
      undo  Take back the last refactoring, or the one named
      history  List the refactorings that were applied and can be taken back
      call  Call a Python function in a warm worker
      describe  Describe the functions of a Python module, with schemas
      expose  Expose functions of Python modules as tools, methods, routes and commands
      exec  Run Python code in a lane: confined, limited, and gone without a trace
      repl  Type cells for a kernel behind walls, or pipe them into it
      chat  Talk about a chapter with its companion, in the terminal
      course  Make a course, check it, list what there is to learn
      job-start  Put Python code into the queue of jobs, with the parameters of `exec.run`
      jobs  List jobs, the newest first
      job  Show a job, with its result once it has ended
      job-stream  Follow a job: what it printed so far, what it prints, and its result
      job-cancel  Cancel a job, whether it waits or runs
      runs  Show the last runs of a session in the user lane, the newest first
      sessions  List sessions of the user lane with what their folders hold, the one used last
      first
      session-clear  Empty the folder of a session: all its files are removed for good
      lanes  Show what lanes guarantee on this machine, and by what it is enforced
      status  Show the daemon, its workspaces and their sidecars
      watch  Show clocks, engines and questions live
      workers  List the Python workers of all workspaces
      stats  Count requests and their times by operation
      events  Stream what happens: sidecar states and restarts, progress, log lines
      ping  Answer at once, without touching any sidecar
      stop  Stop the daemon; running requests finish
      restart  Stop the daemon and start it again
      logs  Show the daemon's log
      doctor  Say which Python is used and why, what is wrong and what to do
      trust  Trust a folder: let its `pillion.toml` run programs and open walls
      env  Show or rebuild the managed Python environment
      bundle  Make, check, install and repair bundles: runtimes and content
      registry  List artifacts for desktops, and serve them
      self  Check this installation, or write its completions and manual pages
      bench  Measure pillion against its baselines, in one run
      mcp  Serve agents: operations as MCP tools, on standard input and output
      serve  Serve HTTP on this machine, on an engine of its own
      stdio  Serve the line-JSON contract on standard input and output, or do one command
      rpc  Serve JSON-RPC on standard input and output
      daemon  Run the daemon in the foreground
      socket-path  Print the path of the daemon's socket
      operations  List every operation
      completions  Print a completion script for your shell
      code  All `code.*` operations
      kernel  All `kernel.*` operations
      notebook  All `notebook.*` operations
      py  All `py.*` operations
      session  All `session.*` operations
      sidecar  All `sidecar.*` operations
      system  All `system.*` operations
      help  Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help
      -V, --version  Print version

    Global options:
      --json  Print JSON: the whole result, or the whole error
      --socket <PATH>  Use the daemon at this socket [env: PILLION_SOCKET]
      --instance <NAME>  Use a daemon of its own, known by this name [env: PILLION_INSTANCE]
      --runtime <DIR>  Use the Python of the runtime bundle in this folder, where no other is
      named [env: PILLION_RUNTIME]
      --no-daemon  Run on an embedded engine instead of the daemon [env: PILLION_NO_DAEMON]
      -v, --verbose...  Say more about what happens; twice for even more
      --debug  Say everything about what happens
      --log-file <FILE>  Write the log to this file
      --log-json  Write the log as JSON lines
    ");
    transcript!(context, ["call", "-h"], @r"
    exit: 0
    ----- stdout -----
    Call a Python function in a warm worker

    Usage: pillion call [OPTIONS] <FUNCTION> [PARAMS]

    Arguments:
      <FUNCTION>  What to call: `module:name`
      [PARAMS]  Its arguments as JSON: an object for keywords, an array for positions

    Options:
      --idempotent  It has no effects that matter, so it may be repeated once after a crash
      --stream  Send the values of a generator one by one, and progress
      --path <DIR>  More folders to import from
      --root <DIR>  The project's folder; found from here if not given
      --python <PYTHON>  The Python to use: a path, an environment's folder, or a version such as
      `3.12` [env: PILLION_PYTHON]
      --timeout <S>  Seconds it may take
      --sidecar <NAME>  Send FUNCTION as a command to this sidecar of `pillion.toml`
      --project <PROJECT>  What the sidecar's command is about; the workspace root if not given
      --args <JSON>  Arguments of the sidecar's command: a JSON object
      -h, --help  Print help (see more with '--help')
      -V, --version  Print version

    Global options:
      --json  Print JSON: the whole result, or the whole error
      --socket <PATH>  Use the daemon at this socket [env: PILLION_SOCKET]
      --instance <NAME>  Use a daemon of its own, known by this name [env: PILLION_INSTANCE]
      --runtime <DIR>  Use the Python of the runtime bundle in this folder, where no other is
      named [env: PILLION_RUNTIME]
      --no-daemon  Run on an embedded engine instead of the daemon [env: PILLION_NO_DAEMON]
      -v, --verbose...  Say more about what happens; twice for even more
      --debug  Say everything about what happens
      --log-file <FILE>  Write the log to this file
      --log-json  Write the log as JSON lines
    ");
}

#[test]
fn usage_errors_exit_with_2() {
    let context = TestContext::new();
    transcript!(context, ["call"], @r"
    exit: 2
    ----- stderr -----
    error: the following required arguments were not provided:
      <FUNCTION>

    Usage: pillion call <FUNCTION> [PARAMS]

    For more information, try '--help'.
    ");
    transcript!(context, ["call", "things:add", "3"], @r"
    exit: 2
    ----- stderr -----
    error: invalid value '3' for '[PARAMS]': arguments are an object or an array, for example '[3, 4]'

    For more information, try '--help'.
    ");
    transcript!(context, ["statuss"], @r"
    exit: 2
    ----- stderr -----
    error: unrecognized subcommand 'statuss'

      tip: some similar subcommands exist: 'trust', 'stats', 'status'

    Usage: pillion [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    transcript!(context, ["daemon", "--idle-timeout", "1", "--no-timeout"], @r"
    exit: 2
    ----- stderr -----
    error: the argument '--idle-timeout <SECONDS>' cannot be used with '--no-timeout'

    Usage: pillion daemon --idle-timeout <SECONDS>

    For more information, try '--help'.
    ");
}

#[test]
fn call() {
    let context = plain();
    transcript!(context, ["call", "things:add", "[1, 2]"], @r"
    exit: 0
    ----- stdout -----
    3
    ");
    transcript!(context, ["call", "things:add", r#"{"a": 1}"#], @r"
    exit: 0
    ----- stdout -----
    1
    ");
    transcript!(context, ["--json", "call", "things:add", "[1, 2]"], @r#"
    exit: 0
    ----- stdout -----
    {"result":3,"worker":{"generation":1,"pid":[PID]},"elapsed_ms":[MS]}
    "#);
    transcript!(context, ["call", "things:echo", r#"["text"]"#], @r#"
    exit: 0
    ----- stdout -----
    "text"
    "#);
    transcript!(context, ["call", "--stream", "things:numbers", "[3]"], @r#"
    exit: 0
    ----- stdout -----
    0
    1
    2
    "done"
    "#);
    transcript!(context, ["call", "--stream", "things:steps", "[2]"], @r"
    exit: 0
    ----- stdout -----
    2
    ----- stderr -----
    [1/2] step 1
    [2/2] step 2
    ");
    transcript!(context, ["--json", "call", "--stream", "things:numbers", "[2]"], @r#"
    exit: 0
    ----- stdout -----
    {"item":0}
    {"item":1}
    {"result":"done","worker":{"generation":1,"pid":[PID]},"elapsed_ms":[MS]}
    "#);
}

#[test]
fn errors_have_hints() {
    let context = plain();
    transcript!(context, ["call", "things:raises", r#"["no way"]"#], @r#"
    exit: 1
    ----- stderr -----
    error: ValueError: no way
      Traceback (most recent call last):
      File "[BASE]/project/things.py", line 59, in raises
      raise ValueError(text)
      ValueError: no way
    "#);
    transcript!(context, ["call", "things:ad", "[1]"], @r"
    exit: 1
    ----- stderr -----
    error: module `things` has no function `ad`
    hint: did you mean `add`? It was looked for in `[BASE]/project` with `[BASE]/bin/python3` (`python3` on `PATH`).
    ");
    transcript!(context, ["call", "nosuch:f"], @r"
    exit: 1
    ----- stderr -----
    error: no module named `nosuch`
    hint: it was looked for in `[BASE]/project` with `[BASE]/bin/python3` (`python3` on `PATH`)
    ");
    transcript!(context, ["call", "things:add", r#"{"x": 1}"#], @r"
    exit: 1
    ----- stderr -----
    error: add(a: int, b: int = 0) -> int: missing a required argument: 'a'
    ");
    transcript!(context, ["call", "things:unwritable"], @r"
    exit: 1
    ----- stderr -----
    error: `result.a[0]` is an `object`, which has no JSON form
    ");
    transcript!(context, ["call", "things:os_exit"], @r"
    exit: 1
    ----- stderr -----
    last words
    error: `worker` exited with code 7 during the call: last words
    hint: it was not repeated because it may have had effects; a call that is safe to repeat can say `idempotent`
    ");
    transcript!(context, ["call", "--timeout", "0.2", "things:sleep", "[60]"], @r"
    exit: 1
    ----- stderr -----
    error: `worker` gave no answer within 0.2 s
    hint: the call was interrupted; give it more time with `timeout_ms` (`--timeout` on the command line, in seconds)
    ");
    transcript!(context, ["--json", "call", "things:sys_exit"], @r#"
    exit: 1
    ----- stdout -----
    {"code":"exception","kind":"worker","message":"the function called sys.exit(3)","recoverable":true,"data":{"type":"SystemExit","module":"builtins","traceback":[{"file":"[BASE]/project/things.py","line":64,"function":"sys_exit","code":"sys.exit(code)"}],"text":"Traceback (most recent call last):\n  File \"[BASE]/project/things.py\", line 64, in sys_exit\n  sys.exit(code)\nSystemExit: 3\n"}}
    "#);
    transcript!(context, ["call", "--sidecar", "map", "x"], @r"
    exit: 1
    ----- stderr -----
    error: no sidecar `map` in the `pillion.toml` of `[BASE]/project`
    hint: add a section `[sidecar.map]` with a `command`
    ");
    transcript!(context, ["logs", "--log-file", "nosuch.log"], @r"
    exit: 1
    ----- stderr -----
    error: no log at `nosuch.log`: No such file or directory (os error 2)
    hint: the daemon writes it; `pillion status` starts one
    ");
}

#[test]
fn status_and_its_neighbours() {
    let context = plain();
    transcript!(context, ["status"], @r"
    exit: 0
    ----- stdout -----
    pillion 0.1.0 (pid [PID]), up [TIME], [MB]
    socket  [BASE]/run/pillion/daemon.sock
    log  [BASE]/pillion/state/daemon.log
    no workspaces yet; try `pillion call math:hypot '[3, 4]'`
    ");
    transcript!(context, ["workers"], @r"
    exit: 0
    ----- stdout -----
    no workers yet; the first call starts one
    ");
    context.pillion(&["call", "things:add", "[1, 2]"]);
    transcript!(context, ["status"], @r"
    exit: 0
    ----- stdout -----
    pillion 0.1.0 (pid [PID]), up [TIME], [MB]
    socket  [BASE]/run/pillion/daemon.sock
    log  [BASE]/pillion/state/daemon.log

    [BASE]/project  (since [TIME], last used [TIME] ago)
      sidecar  state  gen  pid  memory  requests  p50  p99  crashes
      worker  ready  1  [PID]  [MB]  1  [MS]  [MS]  0
    ");
    transcript!(context, ["workers"], @r"
    exit: 0
    ----- stdout -----
    [BASE]/project  (since [TIME], last used [TIME] ago)
      sidecar  state  gen  pid  memory  requests  p50  p99  crashes
      worker  ready  1  [PID]  [MB]  1  [MS]  [MS]  0
    ");
    transcript!(context, ["stop"], @r"
    exit: 0
    ----- stdout -----
    stopped the daemon (pid [PID])
    ");
    transcript!(context, ["stop"], @r"
    exit: 0
    ----- stdout -----
    no daemon is running
    ");
}

#[test]
fn operations() {
    let context = TestContext::new();
    transcript!(context, ["operations"], @"
    exit: 0
    ----- stdout -----
    bundle.activate  Make an installed version the active one: the newest, unless one is named.
    bundle.gc  Remove versions that are not active, but for those that were so last, and leftovers.
    bundle.install  Check a bundle, install it and make it the active version.
    bundle.list  List the bundles that are installed.
    bundle.repair  Make damaged bundles whole again, from the archives that they came in.
    bundle.rollback  Make the version active that was so before.
    bundle.verify  Check an archive of a bundle, or every byte of those that are installed. Changes nothing.
    code.at  What is at this position: definition, source, documentation and uses in one answer.
    code.callees  Whom does the function at this position call?
    code.callers  Who calls the function at this position?
    code.change_signature Add, remove and order the parameters of a function, and rewrite all calls.
    code.codemod  Find and rewrite code by ast-grep rules.
    code.defs  Where is the name at this position defined?
    code.diagnostics  What do ty and ruff find wrong?
    code.extract_method Make a function or method of these lines.
    code.extract_var  Give an expression a name.
    code.grep  Search the text of the workspace's files.
    code.history  List the refactorings that were applied and can be taken back.
    code.hover  What is the name at this position: its kind, signature and documentation?
    code.implementations Which classes derive from the one at this position, or which methods override it?
    code.inline  Put the function or variable at this position where it is used, and take it away.
    code.insert_after  Insert source after a definition, named by its path.
    code.insert_before Insert source before a definition, named by its path.
    code.list  List what a file or a folder defines.
    code.move  Move a function, class or constant to another module, or a module to another place.
    code.occurrences  What would a rename of the name at this position touch?
    code.organize_imports Sort and group the imports of a file, or of all files of a folder.
    code.read_symbol  Read the source of a definition by its name path, such as `Class/method`.
    code.refs  Who uses the name at this position?
    code.rename  Rename what is at this position, everywhere.
    code.replace_body  Replace a definition, named by its path, or only its body by new source.
    code.safe_delete  Delete a definition that nobody uses; refuse with the list of users otherwise.
    code.symbols  Find definitions by a part of their name.
    code.type_hierarchy What does the class at this position derive from, and what derives from it?
    code.undo  Take back the last refactoring, or the one named.
    course.chapters  List the chapters of a course, or of all.
    course.check  Tell what is missing or wrong in a course, a chapter or an expert. Changes nothing.
    course.list  List the courses of the curriculum, with their chapters.
    course.new  Make a course with one chapter that can be tried at once.
    exec.cancel  Cancel a job, whether it waits or runs.
    exec.history  Show the last runs of a session in the user lane, the newest first.
    exec.job  Show a job, with its result once it has ended.
    exec.jobs  List jobs, the newest first.
    exec.lanes  Show what lanes guarantee on this machine, and by what it is enforced.
    exec.run  Run Python code in a lane: confined, limited, and gone without a trace.
    exec.session_clear Empty the folder of a session: all its files are removed for good.
    exec.sessions  List sessions of the user lane with what their folders hold, the one used last first.
    exec.start  Put Python code into the queue of jobs, with the parameters of `exec.run`.
    exec.stream  Follow a job: what it printed so far, what it prints, and its result.
    kernel.api  Tell which version of Jupyter's API for kernels is spoken.
    kernel.channels  Talk with a kernel in Jupyter's own messages, over a WebSocket.
    kernel.close_session Close a notebook; its kernel ends, if no other notebook has it.
    kernel.connect_file Write a connection file with which `jupyter console --existing` joins a session's kernel.
    kernel.install  Write a kernelspec, so that JupyterLab and other Jupyters offer a sandboxed Python.
    kernel.interrupt  Interrupt the cell that a kernel runs.
    kernel.launch  Be the kernel that a plain Jupyter wants, behind walls, until it or its Jupyter ends.
    kernel.list  List the kernels there are, with the ids that Jupyter's clients know them by.
    kernel.open_session Open a notebook, with a new kernel unless one is named.
    kernel.restart  End a kernel, and start a new one under the same id, which knows nothing of earlier cells.
    kernel.sessions  List the notebooks that Jupyter's clients have open, with their kernels.
    kernel.show  Tell about a kernel.
    kernel.show_session Tell about an open notebook.
    kernel.shutdown  End a kernel for good.
    kernel.spec  Tell about one kind of kernel.
    kernel.specs  Tell what kinds of kernels there are: pillion's own, and the kernelspecs of Jupyter.
    kernel.start  Start a kernel, in a session of its own unless one is named.
    kernel.update_session Give an open notebook another path, name or kernel.
    map.agents  Show which agents work on which projects.
    map.architecture  Show folders as layers, by who calls into whom, and which call each other.
    map.call_graph  Draw who calls whom, as edges from function to function.
    map.change_impact  Find the tests that a change can reach.
    map.cross_project  Show which of the projects below a folder uses which other.
    map.dead_code  Find functions that nobody reaches.
    map.diagnostics  Show what ty and ruff find wrong in a project.
    map.extract  Show the functions, classes and imports of one file.
    map.graph  Draw the packages of a project, its calls, or who is affected if a function changes.
    map.impact  Show who is affected if a function changes: its callers, and their callers.
    map.live_changes  Show what changed since a commit: lines, and the functions and classes they belong to.
    map.patterns  Find patterns in code: observers, registries, middleware, handlers, entry points and more.
    map.projects  List the projects at and below a folder.
    map.references  List definitions, and which of them uses which: by calls and by name.
    map.resolve  Say which project a path belongs to.
    map.structure  Show what is in a project: the functions, classes and imports of each file.
    notebook.add_cell  Add a cell to a notebook file.
    notebook.check  Tell what the format of notebooks does not allow in a file. Changes nothing.
    notebook.clear  Remove the outputs of a notebook file and the numbers of its runs.
    notebook.complete  Complete code at a position, with the names that live in the kernel.
    notebook.delete_cell Delete a cell of a notebook file.
    notebook.diff  Tell what differs between two notebook files, cell by cell.
    notebook.html  Make a page of a notebook file, to look at or to send: one file, no network, no scripts.
    notebook.input  Answer a cell that asks for input.
    notebook.inspect  Tell about the name at a position: its signature and documentation, as the kernel knows it.
    notebook.interrupt Interrupt the cell that a session's kernel runs.
    notebook.move_cell Move a cell of a notebook file to another place.
    notebook.new  Make a new notebook file, with a cell of code or text if they are given.
    notebook.read  Read the cells of a notebook file: sources, outputs as text, pictures.
    notebook.replace_cell Give a cell of a notebook file another text, and another kind if one is named.
    notebook.reset  Forget everything that cells of a session have defined.
    notebook.restart  End the kernel of a session, and start a new one that knows nothing of earlier cells.
    notebook.run  Run the cells of a notebook file, and write their outputs into it.
    notebook.run_cell  Run a cell on the kernel of a session, and wait for its end.
    notebook.shutdown  End the kernel of a session. The next cell starts a new one.
    notebook.status  Tell what kernels do: that of a session, or all of them.
    notebook.stream  Run a cell, and tell what happens as it comes: outputs, questions, and the reply at the end.
    notebook.variables Tell what cells of a session have defined: names, types, shapes, and how they look.
    py.call  Call a Python function in a warm worker.
    py.describe  Describe the functions of a Python module, with schemas.
    py.expose  List the functions of modules as tools, with the schemas of their arguments.
    py.invoke  Call an exposed function by its name, with arguments that are checked.
    py.restart  Restart the sidecars of a workspace, or of all.
    py.workers  List the Python workers of all workspaces.
    registry.build  Check every artifact of a folder, and write the `index.json` that a host serves with them.
    registry.choose  Tell which artifact of a folder a desktop would get.
    session.cancel  End the turn of a session: the model is not asked any further, and nothing of the turn stays.
    session.delete  Delete a session for good: its folder, and what was to be sent to a backend.
    session.end  End a session: its final report. The session can go on afterwards, and be ended again.
    session.export  Write a session into a file: a tar archive of its folder, without what is only for pillion.
    session.follow  Read on in the turn of a session: the one that runs, else the last one.
    session.history  The turns of a session, oldest first.
    session.known  Whether there is a session of this name; if not, that is an error.
    session.list  List sessions, the one that was used last first.
    session.message  Say something in a session, and hear the companion answer.
    session.new  Begin a session on a chapter.
    session.read_file  Read a file of a session's workspace.
    session.reattach  Take up a session that lies on the disk, also one that a desktop restored there.
    session.remove_file Remove a file of a session's workspace.
    session.remove_upload Remove a data file of a session.
    session.report  The learning report of a session, as it is now.
    session.skip_task  Leave a task of a session out: the current one, or the one that is named.
    session.state  The state of a session: its tasks, and where the learner is with them.
    session.upload  Give data files to a session: tables (csv, xlsx, xls) and JSON.
    session.uploads  List the data files of a session.
    session.workspace  List the files of a session's workspace.
    session.write_file Write a file of a session's workspace.
    sidecar.call  Send a command to a foreign sidecar of the project.
    system.health  Tell whether pillion is well, in a few words.
    system.operations  Find an operation by words of what it does, or describe the one of that name.
    system.ping  Answer at once, without touching any sidecar.
    system.shutdown  End pillion: requests finish, sidecars stop.
    system.stats  Count requests and their times by operation.
    system.status  Show the daemon, its workspaces and their sidecars.
    system.subscribe  Stream what happens: sidecar states and restarts, progress, log lines.
    system.version  Tell the version and what it speaks.
    ");
}

#[test]
fn describe() {
    let context = plain();
    context.write(
        "greet.py",
        "\"\"\"Greetings.\"\"\"\n\n\
         def hello(name: str, times: int = 1) -> str:\n    \"\"\"Say hello.\n\n    Often.\"\"\"\n\n\
         async def later(name: str) -> None:\n    \"\"\"Say it later.\"\"\"\n\n\
         def count(n: int):\n    \"\"\"Count.\"\"\"\n    yield n\n\n\
         def _private():\n    pass\n",
    );
    transcript!(context, ["describe", "greet"], @r"
    exit: 0
    ----- stdout -----
    greet  [BASE]/project/greet.py
      Greetings.

    greet:hello(name: str, times: int = 1) -> str
      Say hello.

    greet:later(name: str) -> None  (async)
      Say it later.

    greet:count(n: int)  (stream)
      Count.
    ");
    transcript!(context, ["describe", "nosuch"], @r"
    exit: 1
    ----- stderr -----
    error: no module named `nosuch`
    hint: it was looked for in `[BASE]/project` with `[BASE]/bin/python3` (`python3` on `PATH`)
    ");
}

#[test]
fn doctor() {
    let mut context = plain();
    transcript!(context, ["doctor"], @r"
    exit: 0
    ----- stdout -----
    root  [BASE]/project
    trust  not said; see `pillion trust --help`
    python  [BASE]/bin/python3 (3.X.Y), because it is `python3` on `PATH`
      - `python3` on `PATH`: chosen
    worker  [BASE]/pillion/cache/worker/[HASH]
    managed  path [BASE]/pillion/data/env/[HASH], state absent
    ipykernel [BASE]/pillion/data/env/[HASH] (state absent), because the project's Python has none, so pillion keeps one for it; cells see the project's packages first
    uv  not found; `python -m venv` is used
    daemon  not running; the first call starts it
    all is well
    ");
    context.write("pillion.toml", "[pyton]\n");
    transcript!(context, ["doctor"], @"
    exit: 1
    ----- stdout -----
    root  [BASE]/project
    trust  not said; see `pillion trust --help`
    python  [BASE]/bin/python3 (3.X.Y), because it is `python3` on `PATH`
      - `python3` on `PATH`: chosen
    worker  [BASE]/pillion/cache/worker/[HASH]
    managed  path [BASE]/pillion/data/env/[HASH], state absent
    ipykernel [BASE]/pillion/data/env/[HASH] (state absent), because the project's Python has none, so pillion keeps one for it; cells see the project's packages first
    uv  not found; `python -m venv` is used
    daemon  not running; the first call starts it

    problem: `[BASE]/project/pillion.toml` cannot be used: TOML parse error at line 1, column 2
      |
    1 | [pyton]
      |  ^^^^^
    unknown field `pyton`, expected one of `python`, `code`, `lanes`, `notebook`, `sidecar`

    hint: `pillion reference configuration` lists every key
    ");
    std::fs::remove_file(context.project.join("pillion.toml")).unwrap();
    let nowhere = context.base.join("nowhere");
    context.set_env("PATH", nowhere);
    transcript!(context, ["doctor"], @r"
    exit: 1
    ----- stdout -----
    root  [BASE]/project
    trust  not said; see `pillion trust --help`
    python  none that can be used
    worker  [BASE]/pillion/cache/worker/[HASH]
    managed  none without a Python
    uv  not found; `python -m venv` is used
    daemon  not running; the first call starts it

    problem: no usable Python was found
    hint: install Python 3.10 or newer (for example with `uv python install` or your system's packages), or name one with `--python PATH`
    ");
}

#[test]
fn the_current_folder_is_the_project() {
    let context = TestContext::new();
    context.write("sub/inner.py", "def f():\n    return 'inner'\n");
    let mut command = context.pillion_command(&["call", "inner:f"]);
    command.current_dir(context.project.join("sub"));
    let output = CommandOutput::of(command);
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), "\"inner\""),
        "{output}"
    );
}

#[test]
fn a_call_without_a_daemon_leaves_nothing_behind() {
    let context = TestContext::new();
    let output = context.pillion(&["--no-daemon", "call", "things:add", "[1, 2]"]);
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), "3"),
        "{output}"
    );
    wait_until("nothing to be left", || context.processes().is_empty());
    assert!(!context.socket().exists());
    let mut context = context;
    context.set_env("PILLION_NO_DAEMON", "1");
    assert_eq!(
        context
            .pillion(&["call", "things:add", "[1, 2]"])
            .stdout
            .trim(),
        "3"
    );
    assert!(!context.socket().exists());
}

#[test]
fn interrupting_a_call_cancels_it_in_the_daemon() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let started = context.path("started");
    let params = json!([started]).to_string();
    let mut child = context
        .pillion_command(&["call", "things:stubborn", &params])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_file(&started);
    processes::signal(child.id(), rustix::process::Signal::INT);
    wait_until("the function to see the cancel", || {
        wait_for_file(&started).ends_with("cancelled")
    });
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(daemon.sidecars()[0]["crashes"], 0);
}

#[test]
fn killing_a_client_cancels_its_call() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let started = context.path("started");
    let params = json!([started]).to_string();
    let mut child = context
        .pillion_command(&["call", "things:stubborn", &params])
        .spawn()
        .unwrap();
    wait_for_file(&started);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the function to see the cancel", || {
        wait_for_file(&started).ends_with("cancelled")
    });
    drop(daemon);
}

#[test]
fn a_stream_into_a_closed_pipe_ends() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let note = context.path("note");
    let script = format!(
        "'{}' call --stream things:forever '{}' | head -n 3",
        env!("CARGO_BIN_EXE_pillion"),
        json!([note]),
    );
    let mut shell = context.command("sh");
    shell.args(["-c", &script]);
    let output = CommandOutput::of(shell);
    assert_eq!(output.stdout, "0\n1\n2\n", "{output}");
    assert_eq!(wait_for_file(&note), "stopped");
    drop(daemon);
}

#[test]
fn events_and_logs_can_be_followed() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut events = pillion_testing::lines::LineProcess::start(context.pillion_command(&[
        "--json",
        "events",
        "--event",
        "sidecar_ended",
        "--max",
        "1",
    ]));
    assert_eq!(events.json()["item"]["event"], "subscribed");
    assert!(daemon.connect().py("things:os_exit", json!([])).is_err());
    assert_eq!(events.json()["item"]["cause"], "crash");
    assert_eq!(events.json()["events"], 1);
    assert!(events.finish().success());
    drop(daemon);
    // A daemon that a client starts writes its log where `pillion logs` finds it.
    context.pillion_json(&["--json", "ping"]);
    let output = context.pillion(&["logs"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("listening"), "{output}");
}

#[test]
fn completions_are_there_for_every_shell() {
    let context = TestContext::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = context.pillion(&["completions", shell]);
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stdout.contains("describe"), "{shell}");
    }
}

#[test]
fn json_is_json_for_every_command_that_asks() {
    let context = TestContext::new();
    context.pillion(&["call", "things:add", "[1]"]);
    for args in [
        &["status"][..],
        &["stats"],
        &["ping"],
        &["workers"],
        &["operations"],
        &["doctor"],
        &["describe", "things"],
        &["system", "version"],
        &["py", "restart"],
        &["env"],
        &["self", "check"],
        &["stop"],
    ] {
        let args: Vec<&str> = ["--json"].iter().chain(args).copied().collect();
        let output = context.pillion(&args);
        assert_eq!(output.code, Some(0), "{args:?}: {output}");
        let value: Value = output.json();
        assert!(value.is_object() || value.is_array(), "{args:?}");
    }
}

#[test]
fn what_a_function_prints_is_shown_beside_its_result() {
    let context = TestContext::new();
    context.write("talk.py", "import sys\n\n\ndef greet(n):\n    print('hello')\n    print(n, end='')\n    return n\n\n\ndef warn():\n    print('odd', file=sys.stderr)\n    return 1\n\n\ndef fail():\n    print('before')\n    raise ValueError('no')\n\n\ndef nan():\n    return [1, float('nan')]\n\n\ndef count(n):\n    for i in range(n):\n        print('at', i)\n        yield i\n");
    let said = context.pillion(&["call", "talk:greet", "[3]"]);
    assert_eq!(
        (said.stdout.as_str(), said.stderr.as_str()),
        ("3\n", "hello\n3")
    );
    let warned = context.pillion(&["call", "talk:warn"]);
    assert_eq!(
        (warned.stdout.as_str(), warned.stderr.as_str()),
        ("1\n", "odd\n")
    );
    let failed = context.pillion(&["call", "talk:fail"]);
    assert!(failed.stderr.starts_with("before\n"), "{failed}");
    let items = context.pillion(&["call", "--stream", "talk:count", "[2]"]);
    assert_eq!(
        (items.stdout.as_str(), items.stderr.as_str()),
        ("0\n1\n", "at 0\nat 1\n")
    );
    // For programs there is the answer alone.
    let json = context.pillion(&["call", "--json", "talk:greet", "[3]"]);
    assert_eq!(
        (json.json()["result"].as_i64(), json.stderr.as_str()),
        (Some(3), "")
    );
    assert_eq!(context.pillion(&["call", "talk:nan"]).stdout, "[1,null]\n");
}

/// The client that the guide shows is one that works.
#[test]
fn the_client_of_the_guide_works() {
    let context = TestContext::new();
    let guide = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/guides/calling.md"
    ))
    .unwrap();
    let client = guide
        .split("```python\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let file = context.write("client.py", client);
    let mut python = context.command("python3");
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_pillion"))
        .parent()
        .unwrap();
    let path = std::env::join_paths(
        [programs.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    python.arg(file).env("PATH", path.unwrap());
    let output = CommandOutput::of(python);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "5.0\n"),
        "{output}"
    );
}
