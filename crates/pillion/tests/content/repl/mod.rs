//! `pillion repl`, through a real pseudo-terminal and through pipes, on real kernels.

mod existing;
pub(crate) mod terminal;

use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use pillion_testing::{CommandOutput, TestContext, set_up};
use terminal::Terminal;

/// A repl whose cells come from a pipe.
fn piped(context: &TestContext, args: &[&str], cells: &str) -> CommandOutput {
    let python = set_up("dev-python/bin/python");
    let mut all = vec!["repl", "--python", python.to_str().unwrap()];
    all.extend(args);
    CommandOutput::of(with_input(context.pillion_command(&all), cells))
}

pub(crate) fn with_input(mut command: Command, text: &str) -> Command {
    let mut input: File = tempfile::tempfile().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    input.rewind().unwrap();
    command.stdin(input);
    command
}

#[test]
fn what_is_typed_runs_and_is_remembered() {
    let context = TestContext::new();
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    terminal.enter("total = 40", "In [2]: ");
    terminal.enter("total + 2", "Out[2]: 42");
    terminal.until("In [3]: ");
    // Enter goes on where something is open, and indents.
    terminal.type_in("def doubled(x):");
    terminal.until("doubled(x):");
    terminal.enter("", "...:     ");
    terminal.type_in("return 2 * x");
    terminal.until("return 2 * x");
    terminal.enter("", "...: ");
    terminal.enter("", "In [4]: ");
    terminal.enter("doubled(21) + 1", "Out[4]: 43");
    terminal.until("In [5]: ");
    terminal.enter("len?", "Return the number of items in a container");
    terminal.until("In [6]: ");
    terminal.enter("1 / 0", "ZeroDivisionError");
    terminal.until("In [7]: ");
    // A paste is one cell, whatever lines it has.
    terminal.enter(
        "\u{1b}[200~x = 1\ny = x + 1\ny * 50\u{1b}[201~",
        "Out[7]: 100",
    );
    terminal.until("In [8]: ");
    terminal.enter("exit", "");
    assert_eq!(terminal.wait().code(), Some(0));
    let history = context.base.join("pillion/state/repl-history");
    let mode = history.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let remembered = std::fs::read_to_string(history).unwrap();
    assert!(remembered.contains("total + 2\n"), "{remembered}");
    // The next terminal has it, on a kernel of its own.
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    terminal.enter("total", "NameError");
    terminal.until("In [2]: ");
    terminal.type_in("\u{1b}[A\u{1b}[A");
    terminal.until("exit");
    terminal.type_in("\u{3}");
    terminal.until("In [2]: ");
    terminal.leave();
}

#[test]
fn tab_completes_what_lives_in_the_kernel() {
    let context = TestContext::new();
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    // Not by its name, which would be suggested as what was typed before.
    terminal.enter("globals()['particular' + '_name'] = 41", "In [2]: ");
    terminal.type_in("partic\t");
    terminal.until("particular_name");
    terminal.enter(" + 1", "Out[2]: 42");
    terminal.until("In [3]: ");
    // Names are made by code of others.
    let trick = "class Trick:\u{1b}\r    def __dir__(self): return ['fine_one', 'fine_two', \
                 'fine' + chr(27) + ']0;evil' + chr(7)]\r\r";
    terminal.type_in(trick);
    terminal.until("In [4]: ");
    terminal.enter("trick = Trick()", "In [5]: ");
    terminal.type_in("trick.fine\t");
    terminal.until("fine_two");
    terminal.type_in("\u{3}");
    terminal.until("In [5]: ");
    assert!(!terminal.raw().contains("\u{1b}]0;"));
    terminal.leave();
}

#[test]
fn control_c_stops_a_cell_and_clears_a_line() {
    let context = TestContext::new();
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    terminal.enter(
        "import time; kept = 7; print('go' + 'ing'); time.sleep(1000)",
        "going",
    );
    terminal.type_in("\u{3}");
    terminal.until("KeyboardInterrupt");
    terminal.until("In [2]: ");
    terminal.type_in("nonsense(");
    terminal.until("nonsense(");
    terminal.type_in("\u{3}");
    terminal.until("In [2]: ");
    terminal.enter("kept * 6", "Out[2]: 42");
    terminal.until("In [3]: ");
    // One that does not listen is ended with its kernel.
    let deaf =
        "import signal; signal.signal(2, signal.SIG_IGN); print('de' + 'af'); time.sleep(1000)";
    terminal.enter(deaf, "deaf");
    terminal.press_until("\u{3}", "one more Ctrl-C ends its kernel");
    terminal.press_until("\u{3}", "In [1]: ");
    terminal.enter("'kept' in globals()", "Out[1]: False");
    terminal.until("In [2]: ");
    terminal.leave();
}

#[test]
fn a_cell_asks_whoever_types() {
    let context = TestContext::new();
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    terminal.enter("who = input('what ' + 'name? ')", "what name? ");
    terminal.enter("Ada", "In [2]: ");
    terminal.enter("who + '!'", "Out[2]: 'Ada!'");
    terminal.until("In [3]: ");
    terminal.enter(
        "import getpass; len(getpass.getpass('pass' + 'word: '))",
        "password: ",
    );
    terminal.enter("quite-secret", "Out[3]: 12");
    assert!(!terminal.text().contains("quite-secret"));
    terminal.until("In [4]: ");
    terminal.enter("input('the' + ' end: ')", "the end: ");
    terminal.type_in("\u{4}");
    terminal.until("EOFError");
    terminal.until("In [5]: ");
    terminal.enter("input('stop' + ' me: ')", "stop me: ");
    terminal.type_in("\u{3}");
    terminal.until("KeyboardInterrupt");
    terminal.until("In [6]: ");
    terminal.leave();
}

#[test]
fn a_terminal_gets_text_and_colours_and_no_commands() {
    let context = TestContext::new();
    let mut terminal = Terminal::repl(&context, &["--pictures", "file"]);
    terminal.until("In [1]: ");
    terminal.enter("e = chr(27); bell = chr(7)", "In [2]: ");
    let title = "print(e + ']0;evil' + bell + e + '[31mred' + e + '[0m' + e + '[2J' + e + '[6n.')";
    terminal.enter(title, "\\u001b]0;evil\\u0007");
    terminal.until("red.");
    terminal.until("In [3]: ");
    terminal.enter(
        "class Evil:\u{1b}\r    def __repr__(self): return e + ']52;c;eA==' + bell\r",
        "In [4]: ",
    );
    terminal.enter("Evil()", "\\u001b]52;c;eA==\\u0007");
    terminal.until("In [5]: ");
    terminal.enter("raise ValueError(e + 'Pq' + e)", "ValueError: \\u001bPq");
    terminal.until("In [6]: ");
    terminal.enter("x = input(e + ']0;asked' + bell)", "\\u001b]0;asked\\u0007");
    terminal.enter("", "In [7]: ");
    terminal.leave();
    let raw = terminal.raw();
    assert!(raw.contains("\u{1b}[31mred\u{1b}[0m."), "{raw}");
    for forbidden in ["\u{1b}]0;", "\u{1b}]52", "\u{1b}Pq", "\u{7}"] {
        assert!(!raw.contains(forbidden), "{forbidden:?} in {raw:?}");
    }
}

#[test]
fn pictures_are_drawn_or_written_to_files() {
    let context = TestContext::new();
    let plot = "import matplotlib.pyplot as plt; _ = plt.plot([1, 4, 9]); plt.show()";
    // By default: this terminal says that it can do nothing of the kind.
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    terminal.enter(plot, "picture: ");
    let path = terminal.until(".png");
    let picture = std::fs::read(path.trim()).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    terminal.until("In [2]: ");
    terminal.leave();
    for (way, begin) in [
        ("kitty", "\u{1b}_Ga=T,f=100,q=2,m=1;iVBOR"),
        ("iterm2", "\u{1b}]1337;File=inline=1;"),
        ("sixel", "\u{1b}P0;1q\"1;1;"),
    ] {
        let mut terminal = Terminal::repl(&context, &["--pictures", way]);
        terminal.until("In [1]: ");
        terminal.enter(plot, "In [2]: ");
        assert!(terminal.raw().contains(begin), "{way}: {}", terminal.raw());
        terminal.leave();
    }
}

#[test]
fn what_was_shown_is_cleared_and_changed_in_its_place() {
    let context = TestContext::new();
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    terminal.enter(
        "from IPython.display import clear_output, display",
        "In [2]: ",
    );
    terminal.enter(
        "print('fi' + 'rst'); clear_output(); print('sec' + 'ond')",
        "second",
    );
    terminal.until("In [3]: ");
    assert!(
        terminal.raw().contains("\r\u{1b}[1A\u{1b}[Jsecond"),
        "{:?}",
        terminal.raw()
    );
    terminal.enter(
        "h = display('on' + 'e', display_id=True); h.update('tw' + 'o')",
        "'two'",
    );
    terminal.until("In [4]: ");
    assert!(
        terminal.raw().contains("\r\u{1b}[1A\u{1b}[J'two'"),
        "{:?}",
        terminal.raw()
    );
    terminal.leave();
}

#[test]
fn a_kernel_that_dies_is_told_and_the_next_cell_has_another() {
    let context = TestContext::new();
    let mut terminal = Terminal::repl(&context, &[]);
    terminal.until("In [1]: ");
    terminal.enter(
        "gone = 1; import os; os._exit(3)",
        "the next cell starts a new one",
    );
    terminal.until("In [1]: ");
    terminal.enter("'gone' in globals()", "Out[1]: False");
    terminal.until("In [2]: ");
    terminal.leave();
}

#[test]
fn cells_come_from_a_pipe_too() {
    let context = TestContext::new();
    let cells = "import sys\nx = 20\n\ndef f(y):\n    return x + y\n\nf(1)\nprint('out')\n\
                 print('err', file=sys.stderr)\nprint(chr(27) + '[31m')\n'last'\n";
    let output = piped(&context, &[], cells);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.stdout, "21\nout\n\u{1b}[31m\n'last'\n");
    assert_eq!(output.stderr, "err\n");
    let failed = piped(&context, &[], "print(1)\n1 / 0\nprint(2)\n");
    assert_eq!(failed.code, Some(1), "{failed}");
    assert_eq!(failed.stdout, "1\n");
    assert!(
        failed
            .stderr
            .contains("ZeroDivisionError: division by zero"),
        "{failed}"
    );
    assert!(!failed.stderr.contains('\u{1b}'), "{failed}");
    let left = piped(
        &context,
        &[],
        "# %% one\nimport sys\nsys.exit(7)\n# %% two\nprint(2)\n",
    );
    assert_eq!(left.code, Some(7), "{left}");
    assert_eq!(left.stdout, "");
    let asked = piped(&context, &[], "input('who? ')\n");
    assert_eq!(asked.code, Some(1), "{asked}");
    assert!(asked.stderr.contains("EOFError"), "{asked}");
    let empty = piped(&context, &[], "");
    assert_eq!(empty.code, Some(0), "{empty}");
}
