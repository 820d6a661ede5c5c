//! `pillion exec`: code of others, as people and programs run it.

use pillion_testing::TestContext;
use serde_json::{Value, json};

/// The program that most tests run.
const REPORT: &str = r#"
import sys
print("out", sys.argv[1:], __name__)
print("err", file=sys.stderr)
open("made.txt", "w").write("made")
sys.exit(7)
"#;

fn reply(context: &TestContext, args: &[&str]) -> Value {
    let all: Vec<&str> = ["exec", "--json"].iter().chain(args).copied().collect();
    context.pillion(&all).json()
}

#[test]
fn a_file_runs_as_python_would_run_it() {
    let context = TestContext::new();
    context.write("report.py", REPORT);
    for lane in ["expert", "user"] {
        let args = ["exec", "report.py", "--lane", lane, "--", "a", "-b"];
        let output = context.pillion(&args);
        assert_eq!(output.code, Some(7), "{output}");
        assert_eq!(output.stdout, "out ['a', '-b'] __main__\n");
        assert_eq!(output.stderr, "err\n");
    }
}

#[test]
fn standard_streams_have_names() {
    let context = TestContext::new();
    let code = "open('/dev/stdout', 'w').write('named'); open('/dev/stderr', 'w').write('too')";
    for how in [&[][..], &["--fresh"]] {
        let reply = reply(&context, &[&["-c", code], how].concat());
        assert_eq!(
            (&reply["stdout"], &reply["stderr"]),
            (&json!("named"), &json!("too")),
            "{reply}"
        );
    }
}

#[test]
fn the_reply_has_the_contracts_shape() {
    let context = TestContext::new();
    for how in [&[][..], &["--fresh"]] {
        let args = [&["-c", "print('hi')", "--lane", "expert"], how].concat();
        let reply = reply(&context, &args);
        let expected = json!({
            "success": true, "stdout": "hi\n", "stderr": "", "returncode": 0,
            "cancelled": false, "outcome": "ok", "truncated": false,
        });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&reply[name], value, "{name}");
        }
        assert!(reply["execution_time_ms"].as_f64().unwrap() > 0.0);
        let limits = reply["limits"].as_array().unwrap();
        for what in ["time", "memory", "processes", "disk", "output", "network"] {
            let limit = limits.iter().find(|limit| limit["what"] == what).unwrap();
            assert!(!limit["by"].as_str().unwrap().is_empty());
        }
        assert!(["slot", "fork", "spawn"].contains(&reply["start"].as_str().unwrap()));
    }
}

#[test]
fn how_it_ended_is_one_word_and_a_number() {
    let context = TestContext::new();
    let cases = [
        ("raise SystemExit(3)", "error", 3, 3),
        ("1/0", "error", 1, 1),
        ("while True: pass", "timeout", -1, 124),
        ("x = bytearray(10**10)", "memory", -4, 137),
        ("while True: print('x' * 10000)", "output_limit", -5, 1),
        ("import os; os.kill(os.getpid(), 11)", "killed", -111, 139),
        (
            "open('f', 'wb').write(bytes(300 << 20))",
            "disk_limit",
            1,
            1,
        ),
    ];
    for (code, outcome, returncode, exit) in cases {
        let args = ["-c", code, "--lane", "expert", "--timeout", "3"];
        let all: Vec<&str> = ["exec", "--json"].iter().chain(&args).copied().collect();
        let output = context.pillion(&all);
        let reply = output.json();
        assert_eq!(reply["outcome"], outcome, "{code}: {reply}");
        assert_eq!(reply["returncode"], returncode, "{code}: {reply}");
        assert_eq!(output.code, Some(exit), "{code}");
        assert_eq!(reply["success"], false);
    }
}

#[test]
fn a_session_keeps_its_folder_and_no_other() {
    let context = TestContext::new();
    let write = "open('a.txt', 'w').write('kept')";
    let first = reply(&context, &["-c", write, "--session", "one"]);
    assert_eq!(
        first["artifacts"],
        json!([{"name": "a.txt", "size_bytes": 4}])
    );
    let read = "import os; print(os.listdir('.'))";
    for how in [&[][..], &["--fresh"]] {
        let again = reply(&context, &[&["-c", read, "--session", "one"], how].concat());
        assert_eq!(again["stdout"], "['a.txt']\n");
        let other = reply(&context, &[&["-c", read, "--session", "two"], how].concat());
        assert_eq!(other["stdout"], "[]\n");
        let expert = reply(&context, &[&["-c", read, "--lane", "expert"], how].concat());
        assert_eq!(expert["stdout"], "[]\n");
    }
}

#[test]
fn files_go_in_and_come_out() {
    let context = TestContext::new();
    context.write("numbers.csv", "1\n2\n3\n");
    let code = "import os; total = sum(int(line) for line in open('numbers.csv'))\n\
        os.mkdir('out'); open('out/sum.txt', 'w').write(str(total)); open('raw', 'wb').write(b'\\xff')\n\
        os.symlink('/etc/passwd', 'out/link.txt')";
    for how in [&[][..], &["--fresh"]] {
        let args = ["-c", code, "--lane", "expert", "--with", "numbers.csv"];
        let outputs = ["--output", "out/*.txt", "--output", "raw", "--output", "no"];
        let reply = reply(&context, &[&args[..], &outputs, how].concat());
        assert_eq!(reply["outcome"], "ok", "{reply}");
        let expected = json!([
            {"name": "out/sum.txt", "size_bytes": 1, "text": "6"},
            {"name": "raw", "size_bytes": 1, "base64": "/w=="},
        ]);
        assert_eq!(reply["outputs"], expected);
        let left_out = reply["outputs_left_out"].as_array().unwrap();
        let names: Vec<&str> = left_out
            .iter()
            .map(|l| l["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), 2, "{left_out:?}");
        assert!(names.contains(&"no") && names.contains(&"out/link.txt"));
    }
    let args = [
        "exec",
        "-c",
        "open('o.txt','w').write('hi')",
        "--output",
        "o.txt",
    ];
    assert_eq!(context.pillion(&args).code, Some(0));
    let written = std::fs::read_to_string(context.project.join("o.txt"));
    assert_eq!(written.unwrap(), "hi");
}

#[test]
fn runs_of_experts_are_alike() {
    let context = TestContext::new();
    let code = "import random, time, datetime\n\
        print(hash('x'), random.random(), time.time(), datetime.datetime.now().year)";
    let args = [
        "-c", code, "--lane", "expert", "--seed", "7", "--clock", "86400",
    ];
    let first = reply(&context, &args);
    assert_eq!(first["outcome"], "ok", "{first}");
    let again = reply(&context, &args);
    let fresh = reply(&context, &[&args[..], &["--fresh"]].concat());
    assert_eq!(first["stdout"], again["stdout"]);
    assert_eq!(first["stdout"], fresh["stdout"]);
    assert!(
        first["stdout"]
            .as_str()
            .unwrap()
            .ends_with(" 86400.0 1970\n")
    );
}

#[test]
fn a_function_gives_its_value() {
    let context = TestContext::new();
    context.write("shop.py", "def add(a, b):\n    return {'sum': a + b}\n");
    for how in [&[][..], &["--fresh"]] {
        let code = std::fs::read_to_string(context.project.join("shop.py")).unwrap();
        let params = json!({
            "function": "shop:add", "arguments": [1, 2], "lane": "expert",
            "files": [{"name": "shop.py", "text": code}], "fresh": !how.is_empty(),
        });
        let reply = context.rpc_stdio().call("exec.run", params).unwrap();
        assert_eq!(reply["value"], json!({"sum": 3}), "{reply}");
    }
}

#[test]
fn input_is_handed_on_where_that_is_asked_for() {
    let context = TestContext::new();
    let ask = json!({"code": "print(input().upper())", "stdin": "hello\n", "lane": "expert"});
    for fresh in [false, true] {
        let mut ask = ask.clone();
        ask["fresh"] = json!(fresh);
        let reply = context.rpc_stdio().call("exec.run", ask).unwrap();
        assert_eq!(reply["stdout"], "HELLO\n");
    }
    let none = reply(&context, &["-c", "input()"]);
    assert_eq!(none["exception"]["type"], "EOFError");
}

#[test]
fn wrong_requests_are_refused_in_words() {
    let context = TestContext::new();
    let cases = [
        json!({}),
        json!({"code": "1", "module": "x"}),
        json!({"code": "1", "session": "../x"}),
        json!({"code": "1", "session": "s", "lane": "expert"}),
        json!({"code": "1", "timeout_seconds": 0}),
        json!({"code": "1", "memory_limit_mb": 1}),
        json!({"code": "1", "outputs": ["/etc/passwd"]}),
        json!({"code": "1", "files": [{"name": "../x", "text": ""}]}),
        json!({"file": "a/../../b"}),
        json!({"function": "nothing"}),
    ];
    let mut rpc = context.rpc_stdio();
    for case in cases {
        let error = rpc.call("exec.run", case.clone()).unwrap_err();
        assert_eq!(error["data"]["code"], "invalid_params", "{case}: {error}");
    }
}

#[test]
fn what_holds_here_is_shown() {
    let mut context = TestContext::new();
    let lanes = context.pillion(&["lanes"]);
    assert!(lanes.stdout.starts_with("level L3"), "{lanes}");
    assert!(!lanes.stdout.contains("NO "), "{lanes}");
    // The same machine with fewer walls says so, and what is weaker is refused.
    context.set_env("PILLION_LANES_LEVEL", "L1");
    let weak = context.pillion(&["lanes", "--no-daemon"]);
    assert!(weak.stdout.starts_with("level L1"), "{weak}");
    let refused = context.pillion(&["exec", "--no-daemon", "-c", "1", "--lane", "expert"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("allow_weaker"), "{refused}");
}

/// What `--output` means, for runs from a zygote and for those without.
const PATTERNS: &str = include_str!("../../../pillion-sandbox/src/patterns.json");

#[test]
fn patterns_mean_the_same_in_a_slot_and_in_a_new_interpreter() {
    let context = TestContext::new();
    let cases: Vec<Value> = serde_json::from_str(PATTERNS).unwrap();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let code = "import os, sys\nfor name in sys.argv[1:]:\n    \
        os.makedirs(os.path.dirname(name) or '.', exist_ok=True)\n    open(name, 'w').close()";
    for case in &cases {
        for fresh in [false, true] {
            let params = json!({"code": code, "lane": "expert", "fresh": fresh,
                "args": case["files"], "outputs": case["patterns"], "root": context.project});
            let reply = rpc.call("exec.run", params).unwrap();
            assert_eq!(reply["outcome"], "ok", "{reply}");
            assert_eq!(reply["start"] == "spawn", fresh, "{reply}");
            let outputs = reply["outputs"].as_array().cloned().unwrap_or_default();
            let names: Vec<&Value> = outputs.iter().map(|file| &file["name"]).collect();
            assert_eq!(json!(names), case["found"], "fresh {fresh}: {case}");
            if let Some(expected) = case["left_out"].as_array() {
                let left = reply["outputs_left_out"].as_array().unwrap().iter();
                let left: Vec<Value> = left.map(|l| json!([l["name"], l["why"]])).collect();
                assert_eq!(&left, expected, "fresh {fresh}: {case}");
            }
        }
    }
}

#[test]
fn what_comes_back_is_said_in_the_same_words() {
    let context = TestContext::new();
    let code = "import os\nos.symlink('/etc/passwd', 'link.x')\nos.mkfifo('pipe.x')\n\
        open(b'\\xff.x', 'w').close()\nopen('plain.x', 'w').close()\nos.mkdir('folder.x')\n\
        open('large.x', 'wb').truncate(20 << 20)";
    let mut said = Vec::new();
    for how in [&[][..], &["--fresh"]] {
        let args = ["-c", code, "--lane", "expert", "--output", "*.x"];
        let reply = reply(&context, &[&args[..], how].concat());
        assert_eq!(reply["outcome"], "ok", "{reply}");
        assert_eq!(reply["outputs"][0]["name"], "plain.x");
        assert_eq!(reply["outputs"].as_array().unwrap().len(), 1, "{reply}");
        said.push(reply["outputs_left_out"].clone());
    }
    let expected = json!([
        {"name": "large.x", "why": "too large"},
        {"name": "link.x", "why": "a link"},
        {"name": "pipe.x", "why": "not a plain file"},
        {"name": "\u{fffd}.x", "why": "its name is not text"},
    ]);
    assert_eq!(said, [expected.clone(), expected]);
}

/// What ordinary programs do, behind a filter that refuses what others do.
const ORDINARY: &str = r#"
import asyncio, concurrent.futures, mmap, multiprocessing, os, selectors, shutil, socket
import sqlite3, subprocess, sys, tempfile, threading
from multiprocessing import shared_memory

def square(x):
    return x * x

def database():
    for mode in ("delete", "wal"):
        if os.path.exists(f"{mode}.db"):
            os.unlink(f"{mode}.db")
        with sqlite3.connect(f"{mode}.db", timeout=5) as db:
            db.execute(f"pragma journal_mode = {mode}")
            db.execute("create table t (x)")
            db.executemany("insert into t values (?)", [(n,) for n in range(100)])
        assert sqlite3.connect(f"{mode}.db").execute("select sum(x) from t").fetchone() == (4950,)

def processes():
    fork = multiprocessing.get_context("fork")
    with fork.Pool(2) as pool:
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=fork) as pool:
        assert list(pool.map(square, range(3))) == [0, 1, 4]
    queue = fork.Queue()
    child = fork.Process(target=queue.put, args=("x" * 300_000,))
    child.start()
    assert len(queue.get()) == 300_000
    child.join()
    assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\n"

def shared():
    block = shared_memory.SharedMemory(create=True, size=4096)
    block.buf[0] = 1
    block.close()
    block.unlink()

async def streams():
    one, other = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=one)
    reader, _ = await asyncio.open_connection(sock=other)
    writer.writelines([b"x" * 400_000, b"y" * 400_000])
    writer.write(b"z")
    assert len(await reader.readexactly(800_001)) == 800_001
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print(input())", stdin=-1, stdout=-1)
    assert (await child.communicate(b"hi\n"))[0] == b"hi\n"
    await asyncio.gather(*[asyncio.to_thread(square, n) for n in range(4)])

def files():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
        file.write(b"x" * 5000)
        file.flush()
        assert mmap.mmap(file.fileno(), 5000)[:1] == b"x"
        with open(f"{folder}/a", "wb") as made:
            made.write(b"y" * 100_000)
        if given_level == "L3":
            shutil.copy2(f"{folder}/a", f"{folder}/b")
            shutil.copytree(folder, "tree", dirs_exist_ok=True)
        shutil.copyfile(f"{folder}/a", f"{folder}/c")
        with open(f"{folder}/c", "r+b") as made:
            os.posix_fallocate(made.fileno(), 0, 200_000)
            assert os.fstat(made.fileno()).st_size == 200_000
            os.fsync(made.fileno())
    os.sync()
    os.path.realpath(sys.executable)

given_level = sys.argv[1]
database()
processes()
if given_level == "L3":
    shared()
asyncio.run(streams())
files()
selectors.DefaultSelector().register(os.pipe()[0], selectors.EVENT_READ)
threading.Thread(target=square, args=(1,)).start()
print("all of it")
"#;

#[test]
fn ordinary_programs_notice_nothing_of_the_filter() {
    let context = TestContext::new();
    for lane in ["user", "expert"] {
        for how in [&[][..], &["--fresh"]] {
            let args = ["-c", ORDINARY, "--lane", lane, "--timeout", "60"];
            let reply = reply(&context, &[&args[..], how, &["--", "L3"]].concat());
            assert_eq!(reply["stdout"], "all of it\n", "{lane} {how:?}: {reply}");
        }
    }
}

#[test]
fn two_files_of_one_name_are_refused() {
    let context = TestContext::new();
    let daemon = context.daemon();
    context.write("a/x.txt", "first");
    context.write("b/x.txt", "second");
    let cases: [&[&str]; 2] = [
        &["-c", "pass", "--with", "a/x.txt", "--with", "b/x.txt"],
        &["a/x.txt", "--with", "b/x.txt"],
    ];
    for args in cases {
        let all: Vec<&str> = ["exec"].iter().chain(args).copied().collect();
        let output = context.pillion(&all);
        assert_ne!(output.code, Some(0), "{output}");
        assert!(
            output.stderr.contains("two files are called `x.txt`"),
            "{output}"
        );
    }
    let mut rpc = daemon.connect();
    for names in [["x", "x"], ["x", "x/y"], ["x/y/z", "x/y"]] {
        let files = names.map(|name| json!({"name": name, "text": ""}));
        let params = json!({"code": "pass", "files": files, "root": context.project});
        let error = rpc.call("exec.run", params).unwrap_err();
        assert_eq!(
            error["data"]["code"], "invalid_params",
            "{names:?}: {error}"
        );
    }
    let files = ["x/y", "x/z"].map(|name| json!({"name": name, "text": ""}));
    let params = json!({"code": "pass", "files": files, "root": context.project});
    assert_eq!(rpc.call("exec.run", params).unwrap()["outcome"], "ok");
}

#[test]
fn names_and_code_of_others_are_no_commands_to_a_terminal() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let evil = "\u{1b}]0;evil\u{7}\u{9b}31m\u{202e}";
    let code = format!("open('{evil}.x', 'w').close() # {evil}");
    let clean = |args: &[&str]| {
        let output = context.pillion(args);
        let all = format!("{}{}", output.stdout, output.stderr);
        let raw = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'];
        assert!(!all.contains(raw), "{args:?}: {all:?}");
        assert!(all.contains("evil"), "{args:?}: {all:?}");
    };
    clean(&[
        "exec",
        "-c",
        &code,
        "--session",
        "s",
        "--output",
        "*.x",
        "--output",
        evil,
    ]);
    clean(&["runs", "s"]);
    let started = context
        .pillion(&["job-start", "-c", &code, "--json"])
        .json();
    let job = started["job_id"].as_str().unwrap();
    clean(&["jobs"]);
    clean(&["job", job]);
    clean(&["exec", evil]);
    context.write(&format!("{evil}.py"), "def found(): pass\n");
    clean(&["grep", "def found", "--text"]);
    clean(&["list", ".", "--text"]);
    clean(&["call", &format!("{evil}:f")]);
    // JSON stays what it was.
    let past = context.pillion(&["runs", "s", "--json"]).json();
    assert_eq!(past["runs"][0]["code"], code, "{past}");
    // What a program prints is its own.
    let print = context.pillion(&["exec", "-c", "print('\\x1b[31mred')"]);
    assert_eq!(print.stdout, "\u{1b}[31mred\n");
    drop(daemon);
}

#[test]
fn a_function_of_the_folder_one_is_in_is_found_and_takes_arguments() {
    let context = TestContext::new();
    context.write("here/tax.py", "RATE = 2\n");
    context.write(
        "here/shop.py",
        "import tax\n\n\ndef total(a, b=0):\n    return (a + b) * tax.RATE\n",
    );
    context.write("here/pkg/__init__.py", "");
    context.write("here/pkg/deep.py", "def one():\n    return 1\n");
    let said = |args: &[&str]| {
        let mut command = context.pillion_command(args);
        command.current_dir(context.project.join("here"));
        pillion_testing::CommandOutput::of(command)
    };
    let output = said(&["exec", "--function", "shop:total", "--arguments", "[3, 4]"]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "14\n"),
        "{output}"
    );
    let output = said(&[
        "exec",
        "--function",
        "shop:total",
        "--arguments",
        "{\"a\": 3}",
    ]);
    assert_eq!(output.stdout, "6\n", "{output}");
    let output = said(&["exec", "--function", "pkg.deep:one"]);
    assert_eq!(output.stdout, "1\n", "{output}");
    // As `pillion call` takes them, and where it looks: the root of the project, and `src`.
    let output = said(&["exec", "--function", "shop:total", "[3, 4]"]);
    assert_eq!(output.stdout, "14\n", "{output}");
    context.write("pyproject.toml", "[project]\nname = 'here'\n");
    context.write("src/lib/__init__.py", "from lib._own.part import seven\n");
    context.write("src/lib/_own/part.py", "def seven():\n    return 7\n");
    for (function, value) in [("lib:seven", "7\n"), ("lib._own.part:seven", "7\n")] {
        let output = said(&["exec", "--function", function]);
        assert_eq!(output.stdout, value, "{function}: {output}");
    }
    context.write("other/deep.py", "def five():\n    return 5\n");
    context.write(
        "above.py",
        "from other.deep import five\n\n\ndef six():\n    return five() + 1\n",
    );
    let output = said(&["exec", "--function", "above:six"]);
    assert_eq!(output.stdout, "6\n", "{output}");
    let wrong = said(&["exec", "--function", "shop:total", "text"]);
    assert!(wrong.stderr.contains("an object or an array"), "{wrong}");
    let wrong = said(&["exec", "--function", "shop:total", "--arguments", "3"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    let job = said(&[
        "job-start",
        "--function",
        "shop:total",
        "--arguments",
        "[1, 1]",
    ]);
    assert_eq!(job.code, Some(0), "{job}");
    let id = job.stdout.trim().to_owned();
    pillion_testing::wait_until("the job to be done", || {
        let report = context.pillion_json(&["job", &id, "--json"]);
        !["queued", "running"].contains(&report["status"].as_str().unwrap_or_default())
    });
    let report = context.pillion_json(&["job", &id, "--json"]);
    assert_eq!(report["result"]["value"], 4, "{report:#}");
}
