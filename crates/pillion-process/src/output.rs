//! Running a program to its end, with a deadline and bounded output.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{Exit, Launch, LaunchError, StreamTarget};

/// How much of each output stream is kept.
const KEEP: usize = 4 << 20;

/// What a finished program left.
#[derive(Debug)]
pub struct ProgramOutput {
    /// How it ended.
    pub exit: Exit,
    /// The first 4 MiB of its standard output, bytes that are no UTF-8 replaced.
    pub stdout: String,
    /// The first 4 MiB of its standard error.
    pub stderr: String,
    /// Whether there was more on its standard output.
    pub is_cut: bool,
}

impl Launch {
    /// Run to the end, at most `limit`; then it is killed with all its children.
    pub async fn output(self, limit: Duration) -> Result<ProgramOutput, LaunchError> {
        let program = self.program().to_owned();
        let mut running = self
            .stdout(StreamTarget::Piped)
            .stderr(StreamTarget::Piped)
            .spawn()?;
        let stdout = running.take_stdout();
        let stderr = running.take_stderr();
        let all = async {
            let (stdout, stderr) = tokio::join!(read(stdout), read(stderr));
            let exit = running.wait().await;
            ProgramOutput {
                exit,
                is_cut: stdout.1,
                stdout: stdout.0,
                stderr: stderr.0,
            }
        };
        tokio::time::timeout(limit, all)
            .await
            .map_err(|_| LaunchError::TooSlow {
                program,
                seconds: limit.as_secs(),
            })
    }
}

/// Keep the head of a stream and drain the rest, so that its writer never blocks.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> (String, bool) {
    let (mut kept, mut rest) = (Vec::new(), 0);
    if let Some(mut stream) = stream {
        let _ = (&mut stream).take(KEEP as u64).read_to_end(&mut kept).await;
        let drained = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        rest = drained.unwrap_or_default();
    }
    (String::from_utf8_lossy(&kept).into_owned(), rest > 0)
}
