//! Runs followed to their end. A shell stands for the init and the program: it writes to the
//! streams of a run, and says how that ended on its control socket.

use std::fs::File;
use std::os::unix::net::UnixStream;

use pillion_process::{Launch, Pipe, Running, StreamTarget as Stdio};
use pillion_sandbox::message;
use serde_json::json;

use super::*;
use crate::process::Hold;
use crate::zygote::SlotInit;

/// Hears everything, in the order it comes.
#[derive(Default)]
struct Heard(Vec<(OutputStream, String)>);

impl OutputListener for Heard {
    async fn hear(&mut self, which: OutputStream, text: String) {
        self.0.push((which, text));
    }
}

impl Heard {
    fn all(&self, of: OutputStream) -> String {
        let pieces = self.0.iter().filter(|(which, _)| *which == of);
        pieces.map(|(_, text)| text.as_str()).collect()
    }
}

/// Takes the first piece and never comes back.
struct Stuck;

impl OutputListener for Stuck {
    async fn hear(&mut self, _: OutputStream, _: String) {
        std::future::pending::<()>().await;
    }
}

/// A shell that runs `script`, in which `$1` is a file with what an init says after an exit code
/// of 3, and its own input the socket for it. What goes on for long takes its place (`exec`), so
/// that it is the one that is killed.
struct World {
    _folder: tempfile::TempDir,
    shell: Running,
    process: Process,
    ends: Ends,
}

impl World {
    fn new(script: &str, result: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let said = InitMessage {
            exit: Some(3),
            processes: 2,
            ..InitMessage::default()
        };
        let file = folder.path().join("said");
        std::fs::write(&file, message::encode(&said).unwrap()).unwrap();
        let (ctl, theirs) = UnixStream::pair().unwrap();
        let (stdout, stderr) = (Pipe::new().unwrap(), Pipe::new().unwrap());
        let end = |end: OwnedFd| Stdio::File(File::from(end));
        let shell = Launch::new("sh")
            .args(["-c", script, "sh"])
            .arg(&file)
            .stdin(end(theirs.into()))
            .stdout(end(stdout.write))
            .stderr(end(stderr.write))
            .unguarded()
            .spawn()
            .unwrap();
        let ours = Pipe::new().unwrap();
        io::Write::write_all(&mut File::from(ours.write), result).unwrap();
        ctl.set_nonblocking(true).unwrap();
        let process = Process {
            hold: Hold::Slot(SlotInit::of_process(shell.id().unwrap())),
            ctl: tokio::net::UnixStream::from_std(ctl).unwrap(),
        };
        let ends = Ends {
            stdin: None,
            stdout: stdout.read,
            stderr: stderr.read,
            result: ours.read,
            tools: None,
        };
        Self {
            _folder: folder,
            shell,
            process,
            ends,
        }
    }

    /// Follow it; the shell is gone afterwards.
    async fn follow(mut self, bounds: &Bounds, listener: &mut impl OutputListener) -> Finished {
        let finished = follow(self.process, self.ends, None, bounds, listener).await;
        self.shell.wait().await;
        finished.unwrap()
    }
}

fn bounds() -> Bounds {
    Bounds {
        // Long enough for a busy machine, and an end for what should have ended before.
        deadline: Instant::now() + Duration::from_secs(120),
        output: 1 << 30,
        cancel: CancellationToken::new(),
    }
}

#[tokio::test]
async fn what_a_program_wrote_and_returned_is_brought_together() {
    let result = message::encode(&json!({"value": [1], "repr": null})).unwrap();
    let world = World::new("echo out; echo err >&2; cat $1 >&0", &result);
    let mut heard = Heard::default();
    let finished = world.follow(&bounds(), &mut heard).await;
    assert_eq!(
        (finished.outcome, finished.returncode),
        (RunOutcome::Error, 3)
    );
    assert_eq!(
        (finished.stdout.as_str(), finished.stderr.as_str()),
        ("out\n", "err\n")
    );
    assert!(!finished.truncated);
    assert_eq!(finished.ended.unwrap().value.unwrap().get(), "[1]");
    assert_eq!(finished.said.unwrap().processes, 2);
    assert_eq!(
        (
            heard.all(OutputStream::Stdout),
            heard.all(OutputStream::Stderr)
        ),
        ("out\n".into(), "err\n".into())
    );
}

#[tokio::test]
async fn nothing_is_lost_of_what_was_written_before_the_end_was_said() {
    let script = "printf %050000d 0; printf %050000d 0 >&2; cat $1 >&0";
    let mut heard = Heard::default();
    let finished = World::new(script, b"").follow(&bounds(), &mut heard).await;
    let zeros = "0".repeat(50_000);
    assert!(finished.stdout == zeros && finished.stderr == zeros);
    assert!(heard.all(OutputStream::Stdout) == zeros && heard.all(OutputStream::Stderr) == zeros);
}

#[tokio::test]
async fn a_program_that_writes_too_much_is_stopped() {
    let bounds = Bounds {
        output: 100_000,
        ..bounds()
    };
    let world = World::new("exec yes", b"");
    let finished = world.follow(&bounds, &mut Heard::default()).await;
    assert_eq!(
        (finished.outcome, finished.returncode),
        (RunOutcome::OutputLimit, -5)
    );
    assert!(finished.truncated && finished.stdout.starts_with("y\ny\n"));
}

#[tokio::test]
async fn output_and_errors_count_together() {
    let bounds = Bounds {
        output: 150_000,
        ..bounds()
    };
    let script = "printf %0100000d 0; printf %0100000d 0 >&2; exec sleep 600";
    let finished = World::new(script, b"")
        .follow(&bounds, &mut Heard::default())
        .await;
    assert_eq!(finished.outcome, RunOutcome::OutputLimit);
}

#[tokio::test]
async fn a_program_ends_with_its_time_and_when_nobody_wants_it() {
    let late = Bounds {
        deadline: Instant::now() + Duration::from_millis(50),
        ..bounds()
    };
    let world = World::new("echo begun; exec sleep 600", b"");
    let finished = world.follow(&late, &mut Heard::default()).await;
    assert_eq!(
        (finished.outcome, finished.returncode),
        (RunOutcome::Timeout, -1)
    );
    let unwanted = bounds();
    unwanted.cancel.cancel();
    let world = World::new("exec sleep 600", b"");
    let finished = world.follow(&unwanted, &mut Heard::default()).await;
    assert_eq!(
        (finished.outcome, finished.returncode),
        (RunOutcome::Cancelled, -2)
    );
}

#[tokio::test]
async fn a_listener_that_is_stuck_does_not_stop_the_clock() {
    let late = Bounds {
        deadline: Instant::now() + Duration::from_millis(50),
        ..bounds()
    };
    let world = World::new("echo begun; exec sleep 600", b"");
    let finished = world.follow(&late, &mut Stuck).await;
    assert_eq!(finished.outcome, RunOutcome::Timeout);
    assert!(finished.stdout.is_empty() || finished.stdout == "begun\n");
}

#[tokio::test]
async fn an_init_that_says_nothing_was_killed_whatever_its_program_said() {
    let result = message::encode(&json!({"value": 1})).unwrap();
    let finished = World::new("exit 0", &result)
        .follow(&bounds(), &mut Heard::default())
        .await;
    assert_eq!(
        (finished.outcome, finished.returncode),
        (RunOutcome::Killed, -109)
    );
    assert!(finished.said.is_none() && finished.outputs.is_empty());
}

#[tokio::test]
async fn a_result_that_is_none_is_none() {
    for bytes in [&b""[..], b"abc", b"\0\0\0\x02{", b"\0\0\0\x01x"] {
        let pipe = Pipe::new().unwrap();
        io::Write::write_all(&mut File::from(pipe.write), bytes).unwrap();
        assert!(read_result(pipe.read).await.is_none(), "{bytes:?}");
    }
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    let pipe = Pipe::new().unwrap();
    drop(pipe.read);
    feed(pipe.write, vec![1; 1 << 20]).await;
    let pipe = Pipe::new().unwrap();
    let reading = std::thread::spawn(move || {
        let mut all = Vec::new();
        io::Read::read_to_end(&mut File::from(pipe.read), &mut all).unwrap();
        all.len()
    });
    feed(pipe.write, vec![1; 1 << 20]).await;
    assert_eq!(
        reading.join().unwrap(),
        1 << 20,
        "all of it, and then its end"
    );
}
