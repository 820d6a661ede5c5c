//! What a caller gets to know about a run.

use pillion_catalogue::{Code, Error};
use pillion_sandbox::LeftOut;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::lane::Lane;
use crate::outcome::RunOutcome;
use crate::runner_messages::Exception;
use crate::session::ProducedFile;

/// How a run ended, and what it left.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// It ended with code 0.
    pub success: bool,
    /// What it wrote to its output; head and tail if that was very much.
    pub stdout: String,
    /// What it wrote to its error stream.
    pub stderr: String,
    /// Its own return code; -1 after a timeout, -2 cancelled, -3 not started, -4 memory, -5
    /// output; below -100 the signal that ended it.
    pub returncode: i32,
    /// Milliseconds from the request to its end.
    pub execution_time_ms: f64,
    /// Somebody cancelled it.
    pub cancelled: bool,
    /// How it ended, in one word.
    pub outcome: RunOutcome,
    /// The limits that were in force, and by what.
    pub limits: Vec<Limit>,
    /// Something of its output was left out.
    pub truncated: bool,
    /// The lane it ran in.
    pub lane: String,
    /// How strong its walls were: `L3`, `L2` or `L1`.
    pub level: String,
    /// Where it came from: a `slot` that waited, a `fork`, or a new interpreter (`spawn`).
    pub start: String,
    /// What a function returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
    /// What a function returned, where that is no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_repr: Option<String>,
    /// The exception that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<Exception>,
    /// The files that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<FileOut>,
    /// Files that were asked for and are not here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs_left_out: Vec<LeftOut>,
    /// Files of the session's folder that are new or different.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ProducedFile>,
    /// What it used.
    pub used: Used,
    /// The name of this run in the log.
    #[serde(default)]
    pub run_id: String,
}

impl Reply {
    /// What a function returned, as text: JSON where it is.
    pub fn returned(&self) -> Option<&str> {
        let value = self.value.as_ref().map(|value| value.get());
        value.or(self.value_repr.as_deref())
    }

    /// Of a run that never came to be.
    pub fn never_ran(lane: Lane, error: &Error) -> Self {
        let (outcome, returncode) = match error.code {
            Code::Cancelled => (RunOutcome::Cancelled, -2),
            Code::Timeout => (RunOutcome::Timeout, -1),
            _ => (RunOutcome::StartFailed, -3),
        };
        let hint = error.hint.as_deref().map(|hint| format!("hint: {hint}\n"));
        Self {
            success: false,
            stdout: String::new(),
            stderr: format!("{}\n{}", error.message, hint.unwrap_or_default()),
            returncode,
            execution_time_ms: 0.0,
            cancelled: outcome == RunOutcome::Cancelled,
            outcome,
            limits: Vec::new(),
            truncated: false,
            lane: lane.name().to_owned(),
            level: String::new(),
            start: "none".to_owned(),
            value: None,
            value_repr: None,
            exception: None,
            outputs: Vec::new(),
            outputs_left_out: Vec::new(),
            artifacts: Vec::new(),
            used: Used::default(),
            run_id: String::new(),
        }
    }
}

/// A limit that was in force.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Of what: `time`, `memory`, `processes`, `disk`, `output`, `open_files`, `network`.
    pub what: String,
    /// How much: seconds, bytes or a number.
    pub value: f64,
    /// By what it is kept.
    pub by: String,
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Milliseconds of processor time, of all its processes.
    pub cpu_ms: f64,
    /// The most memory that was seen, in bytes.
    pub peak_bytes: u64,
    /// The most processes and threads that were seen.
    pub processes: u32,
}

/// A file that a run brought back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileOut {
    /// Its name in the folder.
    pub name: String,
    /// Its length.
    pub size_bytes: u64,
    /// Its text, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl FileOut {
    /// Its bytes.
    pub fn contents(&self) -> std::io::Result<Vec<u8>> {
        use base64::Engine as _;
        match (&self.text, &self.base64) {
            (Some(text), _) => Ok(text.clone().into_bytes()),
            (None, Some(text)) => base64::prelude::BASE64_STANDARD
                .decode(text)
                .map_err(std::io::Error::other),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// A file with these contents.
    pub fn new(name: String, contents: Vec<u8>) -> Self {
        let size_bytes = contents.len() as u64;
        let (text, base64) = text_or_base64(contents);
        Self {
            name,
            size_bytes,
            text,
            base64,
        }
    }
}

/// How contents travel in JSON: as text if they are text, else in base64.
pub fn text_or_base64(contents: Vec<u8>) -> (Option<String>, Option<String>) {
    use base64::Engine as _;
    match String::from_utf8(contents) {
        Ok(text) => (Some(text), None),
        Err(other) => {
            let text = base64::prelude::BASE64_STANDARD.encode(other.as_bytes());
            (None, Some(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_never_came_to_be_says_why() {
        for (code, outcome, returncode) in [
            (Code::Cancelled, RunOutcome::Cancelled, -2),
            (Code::Timeout, RunOutcome::Timeout, -1),
            (Code::Busy, RunOutcome::StartFailed, -3),
            (Code::InternalError, RunOutcome::StartFailed, -3),
        ] {
            let error = Error::new(code, "no room").hint("come back");
            let reply = Reply::never_ran(Lane::Expert, &error);
            assert_eq!((reply.outcome, reply.returncode), (outcome, returncode));
            assert_eq!(reply.cancelled, outcome == RunOutcome::Cancelled);
            assert!(!reply.success);
            assert_eq!(reply.stderr, "no room\nhint: come back\n");
            assert_eq!(
                (reply.lane.as_str(), reply.start.as_str()),
                ("expert", "none")
            );
        }
        let reply = Reply::never_ran(Lane::User, &Error::new(Code::Busy, "x"));
        assert!(reply.stderr.starts_with("x\n"));
    }

    #[test]
    fn what_there_is_nothing_of_is_not_written() {
        let reply = Reply::never_ran(Lane::User, &Error::new(Code::Busy, "x"));
        let written = serde_json::to_value(&reply).unwrap();
        for name in [
            "value",
            "value_repr",
            "exception",
            "outputs",
            "outputs_left_out",
            "artifacts",
        ] {
            assert!(written.get(name).is_none(), "{name}");
        }
        for name in [
            "success",
            "stdout",
            "stderr",
            "returncode",
            "outcome",
            "limits",
            "used",
        ] {
            assert!(written.get(name).is_some(), "{name}");
        }
        let read: Reply = serde_json::from_value(written).unwrap();
        assert_eq!(read.outcome, reply.outcome);
    }

    #[test]
    fn text_is_shown_as_text_and_bytes_as_base64() {
        let text = FileOut::new("a".to_owned(), "ü\0".into());
        assert_eq!(
            (text.text.as_deref(), text.base64.as_deref()),
            (Some("ü\0"), None)
        );
        assert_eq!(text.size_bytes, 3);
        let bytes = FileOut::new("a".to_owned(), vec![0xff, 0]);
        assert_eq!(
            (bytes.text.as_deref(), bytes.base64.as_deref()),
            (None, Some("/wA="))
        );
        assert_eq!(bytes.size_bytes, 2);
        let broken = FileOut {
            base64: Some("no base64!".to_owned()),
            ..bytes
        };
        assert!(broken.contents().is_err());
    }

    proptest::proptest! {
        #[test]
        fn a_file_comes_back_as_it_was(contents: Vec<u8>) {
            let file = FileOut::new("name".to_owned(), contents.clone());
            let text = serde_json::to_string(&file).unwrap();
            let read: FileOut = serde_json::from_str(&text).unwrap();
            assert_eq!(read.contents().unwrap(), contents);
            assert_eq!(read.size_bytes, contents.len() as u64);
        }
    }
}
