//! `pillion logs`.

use std::io::{Read, Seek, SeekFrom};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pillion::{Code, Error, Result};

use super::{Global, backend, output};

/// How far back the last lines are looked for.
const TAIL: u64 = 1 << 20;

/// Show the daemon's log.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// How many lines.
    #[arg(long, short = 'n', default_value_t = 50)]
    lines: usize,
    /// Go on showing lines as they are written.
    #[arg(long, short)]
    follow: bool,
}

impl Logs {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let path = backend::log_file(global);
        let mut file = std::fs::File::open(&path).map_err(|error| {
            Error::new(
                Code::NotFound,
                format!("no log at `{}`: {error}", path.display()),
            )
            .hint("the daemon writes it; `pillion status` starts one")
        })?;
        let read = |file: &mut std::fs::File| {
            let mut bytes = Vec::new();
            let _ = file.take(TAIL).read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let length = file.metadata().map_or(0, |meta| meta.len());
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(TAIL)));
        let text = read(&mut file);
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines[lines.len().saturating_sub(self.lines)..] {
            output::say(line);
        }
        if self.follow {
            follow(file, read).await;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Show what is appended, until Ctrl-C.
async fn follow(mut file: std::fs::File, read: impl Fn(&mut std::fs::File) -> String) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(200)) => output::print(&read(&mut file)),
            _ = tokio::signal::ctrl_c() => return,
        }
    }
}
