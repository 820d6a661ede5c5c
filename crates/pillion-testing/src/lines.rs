//! `pillion stdio` and other programs that speak in lines.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::{DEADLINE, TestContext, wait_for};

/// A child that speaks in lines.
pub struct LineProcess {
    /// The process.
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

impl TestContext {
    /// `pillion stdio`, ready.
    pub fn stdio(&self) -> LineProcess {
        let mut host = LineProcess::start(self.pillion_command(&["stdio"]));
        let ready = host.json();
        assert_eq!(ready["status"], "ready", "{ready}");
        host
    }
}

impl LineProcess {
    /// Start a program that speaks in lines.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().unwrap();
        let errors = Some(read_all(child.stderr.take().unwrap()));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if line.is_ok_and(|line| sender.send(line).is_err()) {
                    return;
                }
            }
        });
        Self {
            child,
            input,
            lines,
            errors,
        }
    }

    /// Write bytes as they are.
    pub fn write(&mut self, text: &[u8]) {
        let input = self.input.as_mut().expect("the input is closed");
        input.write_all(text).unwrap();
        input.flush().unwrap();
    }

    /// Send a message as a line.
    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Send and read the next line.
    pub fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.json()
    }

    /// The next line; `None` at the end.
    pub fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line came"),
        }
    }

    /// The next line as JSON.
    pub fn json(&mut self) -> Value {
        let Some(line) = self.line() else {
            panic!("no more lines; stderr: {}", self.errors());
        };
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("`{line}`: {error}"))
    }

    /// Say that nothing more will be sent.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Close the input and wait for the end; what was still written must be nothing.
    pub fn finish(mut self) -> ExitStatus {
        self.close_input();
        assert_eq!(self.line(), None, "more was written than was asked for");
        self.wait()
    }

    /// Wait for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let child = &mut self.child;
        wait_for(DEADLINE, "the child's end", || {
            child.try_wait().unwrap().ok_or("it runs")
        })
    }

    /// All of its standard error, once it has ended.
    pub fn errors(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.errors
            .take()
            .map(|e| e.join().unwrap())
            .unwrap_or_default()
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        self.input = None;
        if std::thread::panicking() {
            eprintln!("----- stderr -----\n{}", self.errors());
            return;
        }
        self.wait();
    }
}

/// Read a stream to its end in a thread.
pub fn read_all(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
