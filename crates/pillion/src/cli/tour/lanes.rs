//! The stop at which code of others runs.

use std::time::Duration;

use pillion::{Code, Result};
use pillion_lanes::Reply;
use serde_json::json;

use super::Walk;
use super::guide::Stop;

/// What people need to read so far.
const PAUSE: Duration = Duration::from_millis(500);
/// What somebody might try.
const CURIOUS: &str = r#"
import os, socket
for what, attempt in [
    ("your home", lambda: os.listdir("/home") or os.listdir("/root")),
    ("/etc/shadow", lambda: open("/etc/shadow")),
    ("the network", lambda: socket.create_connection(("127.0.0.1", 22))),
    ("another process", lambda: os.kill(1, 9) or open("/proc/1/environ").read()),
]:
    try:
        attempt()
        print(what, "was reached")
    except OSError as error:
        print(f"{what}: {error.strerror}")
"#;

impl Walk {
    pub(super) async fn code_of_others(&self) -> Result<()> {
        let stop = Stop::new("Code of others, behind walls");
        let run = |code: &str| json!({ "code": code, "lane": "expert", "root": self.root, "python": self.python });
        let first: Result<Reply> = self.backend.ask("exec.run", run(CURIOUS)).await;
        let first = match first {
            Ok(reply) => reply,
            // Not every machine lets ordinary users build walls.
            Err(error) if error.code == Code::StartFailed => {
                stop.say(&error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for line in first.stdout.lines() {
            stop.say(line);
        }
        // The next interpreter is being confined meanwhile.
        tokio::time::sleep(PAUSE).await;
        let next: Reply = self.backend.ask("exec.run", run("print(6 * 7)")).await?;
        stop.say(&format!(
            "the next run, from a {}: {} in {:.1} ms",
            next.start,
            next.stdout.trim(),
            next.execution_time_ms
        ));
        Ok(())
    }
}
