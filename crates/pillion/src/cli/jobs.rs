//! What `pillion job-stream` shows: a job's output where the job wrote it, its end beside it.

use std::io::Write;

use pillion::Part;
use serde::Deserialize;

use super::output;

#[derive(Debug, Deserialize)]
#[serde(default)]
struct Item {
    stream: String,
    text: String,
    left_out: u64,
}

impl Default for Item {
    fn default() -> Self {
        Self {
            stream: "stdout".to_owned(),
            text: String::new(),
            left_out: 0,
        }
    }
}

/// Show a piece of output; says whether anybody reads.
pub(crate) fn print(part: &Part) -> bool {
    let Part::Item(item) = part else {
        return true;
    };
    let Ok(item) = serde_json::from_str::<Item>(item.get()) else {
        return output::try_say(item.get());
    };
    if item.left_out > 0 {
        output::note(&format!("... {} bytes left out ...", item.left_out));
    }
    let bytes = item.text.as_bytes();
    let written = match item.stream.as_str() {
        "stderr" => std::io::stderr().write_all(bytes),
        _ => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        }
    };
    written.is_ok()
}
