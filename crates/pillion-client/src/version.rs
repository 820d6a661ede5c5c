//! The version of a daemon, and what to do when it is another than that of the client.

use std::sync::Arc;
use std::time::Duration;

use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Code, Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::connect::dial;
use crate::connection::Connection;
use crate::launch::{Launched, Reached, connect_or_start};
use crate::no_connection::NoConnection;
use crate::options::Options;
use crate::polling::Pauses;
use crate::wire;

/// How long an old daemon may take to go.
const RETIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// What the daemon says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonVersion {
    /// Its version, such as `0.1.0`.
    pub version: String,
    /// `json-rpc-2.0`.
    #[serde(default)]
    pub protocol: String,
    /// `unix-socket`.
    #[serde(default)]
    pub transport: String,
    /// The hash of its operations' schemas.
    #[serde(default)]
    pub contract: String,
}

/// What follows from two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// They understand each other.
    GoOn,
    /// Stop the daemon and start ours.
    Replace,
    /// They do not, and the daemon must not be stopped.
    Mismatch,
}

/// An idle daemon that is older than us is replaced; otherwise major and minor must agree.
fn decide(ours: &str, theirs: &str, may_replace: bool) -> Decision {
    match (numbers(ours), numbers(theirs)) {
        _ if ours == theirs => Decision::GoOn,
        (Some(ours), Some(theirs)) if ours > theirs && may_replace => Decision::Replace,
        (Some(ours), Some(theirs)) if ours[..2] == theirs[..2] => Decision::GoOn,
        _ => Decision::Mismatch,
    }
}

/// `1.2.3`, also with something behind it such as `-beta.1`.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.split(['-', '+']).next()?;
    let mut parts = core.split('.').map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

fn is_newer(ours: &str, theirs: &str) -> bool {
    matches!((numbers(ours), numbers(theirs)), (Some(ours), Some(theirs)) if ours > theirs)
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    idle: bool,
}

/// Connect or start, and see to it that the versions fit if the options name ours.
pub(crate) async fn reach(options: &Options) -> Result<Reached> {
    let (connection, launched) = connect_or_start(options).await?;
    let Some(ours) = options.version.as_deref() else {
        return Ok((connection, launched));
    };
    let theirs = version(&connection, options.timeout).await?;
    // What was started just now will not become newer by starting it again.
    let replaceable = options.start && launched.is_none() && is_newer(ours, &theirs);
    let idle = replaceable
        && ask::<Status>(&connection, "system.status", options.timeout)
            .await?
            .idle;
    match decide(ours, &theirs, idle) {
        Decision::GoOn => return Ok((connection, launched)),
        Decision::Mismatch => return Err(refuse(launched, ours, &theirs)),
        Decision::Replace => {}
    }
    retire(&connection, &options.endpoint).await?;
    drop(connection);
    let (connection, launched) = connect_or_start(options).await?;
    let theirs = version(&connection, options.timeout).await?;
    match decide(ours, &theirs, false) {
        Decision::GoOn => Ok((connection, launched)),
        _ => Err(refuse(launched, ours, &theirs)),
    }
}

async fn version(connection: &Arc<Connection>, limit: Duration) -> Result<String> {
    let version: DaemonVersion = ask(connection, "system.version", limit).await?;
    Ok(version.version)
}

/// Ask a daemon to go, and wait until it no longer listens.
async fn retire(connection: &Arc<Connection>, endpoint: &Endpoint) -> Result<()> {
    let gone = async {
        let asked: Result<serde_json::Value> =
            ask(connection, "system.shutdown", RETIRE_TIMEOUT).await;
        match asked {
            // Somebody else may have asked at the same time.
            Err(e) if !matches!(e.code, Code::Unreachable | Code::ShuttingDown) => return Err(e),
            _ => connection.closed().await,
        }
        let mut pauses = Pauses::default();
        loop {
            match dial(endpoint).await {
                Err(NoConnection::Absent) => return Ok(()),
                Ok(next) if next.peer.is_some() && next.peer != connection.peer => return Ok(()),
                _ => pauses.next().await,
            }
        }
    };
    timeout(RETIRE_TIMEOUT, gone).await.unwrap_or_else(|_| {
        let message = "an older daemon was asked to stop, and has not";
        Err(Error::new(Code::VersionMismatch, message).hint("try again in a moment"))
    })
}

async fn ask<T: DeserializeOwned>(
    connection: &Arc<Connection>,
    method: &str,
    limit: Duration,
) -> Result<T> {
    let frame = wire::request(0, method, &())?;
    let asked = async { connection.send(0, frame).await?.outcome().await };
    let result = timeout(limit, asked)
        .await
        .unwrap_or_else(|_| Err(crate::stream::timed_out(method, limit)))?;
    serde_json::from_str(result.get()).map_err(|error| {
        let message = format!("the daemon's answer to `{method}` cannot be read: {error}");
        Error::new(Code::VersionMismatch, message)
            .hint("stop the daemon, and the next call starts a fitting one")
    })
}

/// A daemon that was started just now and does not fit is of no use to anybody.
fn refuse(launched: Option<Launched>, ours: &str, theirs: &str) -> Error {
    if let Some(mut launched) = launched {
        launched.terminate();
    }
    mismatch(ours, theirs)
}

fn mismatch(ours: &str, theirs: &str) -> Error {
    let hint = if is_newer(ours, theirs) {
        "the daemon is older and at work; wait until it is idle, or stop it, and a new one is started"
    } else {
        "the daemon is of another version; update this program, or use a daemon of its own with `--instance`"
    };
    Error::new(
        Code::VersionMismatch,
        format!("this program is pillion {ours}, and the daemon is {theirs}"),
    )
    .hint(hint)
    .data(serde_json::json!({"client": ours, "daemon": theirs}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        use Decision::{GoOn, Mismatch, Replace};
        for (ours, theirs, may_replace, expected) in [
            ("0.1.0", "0.1.0", true, GoOn),
            ("odd", "odd", false, GoOn),
            ("0.1.10", "0.1.9", true, Replace),
            ("0.1.10", "0.1.9", false, GoOn),
            ("0.1.9", "0.1.10", true, GoOn),
            ("0.2.0", "0.1.9", true, Replace),
            ("0.2.0", "0.1.9", false, Mismatch),
            ("0.1.9", "0.2.0", true, Mismatch),
            ("1.0.0", "0.9.9", true, Replace),
            ("0.1.0-beta.2", "0.1.0", true, GoOn),
            ("0.1.0", "odd", true, Mismatch),
            ("0.1", "0.1.0", true, Mismatch),
        ] {
            let decision = decide(ours, theirs, may_replace);
            assert_eq!(decision, expected, "{ours} and {theirs}");
        }
    }
}
