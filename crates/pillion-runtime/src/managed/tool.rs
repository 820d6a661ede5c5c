//! Running one tool of a build: its lines go to the listener, its end is kept for errors.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use pillion_process::{Launch, StreamTarget, environment};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::{Attempt, ProgressListener};

/// Nothing that works takes longer, even over a slow line.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// How many lines are kept to explain a failure.
const KEEP: usize = 12;
/// How much of a line is kept.
const WIDTH: usize = 400;

/// Settings of pip that are meant for somebody's own packages and would lead ours astray.
/// Pip takes an empty value as none. All other `PIP_` and `UV_` settings are respected.
const PIP_OVERRIDES: [(&str, &str); 6] = [
    ("PIP_USER", "0"),
    ("PIP_TARGET", ""),
    ("PIP_PREFIX", ""),
    ("PIP_ROOT", ""),
    ("PIP_REQUIREMENT", ""),
    ("PIP_CONSTRAINT", ""),
];

/// What uv calls a setting that pip knows by another name: whoever told pip where packages
/// come from means uv, too.
const UV_LIKE_PIP: [(&str, &str, &[&str]); 2] = [
    (
        "PIP_INDEX_URL",
        "UV_DEFAULT_INDEX",
        &["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX"],
    ),
    (
        "PIP_CERT",
        "SSL_CERT_FILE",
        &["SSL_CERT_FILE", "SSL_CERT_DIR"],
    ),
];

/// What somebody says who has decided which certificates uv trusts.
const TRUSTS: [&str; 5] = [
    "UV_SYSTEM_CERTS",
    "UV_NATIVE_TLS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "PIP_CERT",
];

/// Where systems have the certificates that they trust, in a file for all programs.
const STORES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A tool about to run.
pub(super) struct ToolRun<'a> {
    what: &'a str,
    launch: Launch,
}

impl<'a> ToolRun<'a> {
    /// `what` names it in errors; `folder` is one without anybody's project settings.
    pub(super) fn new(what: &'a str, program: &Path, folder: &Path) -> Self {
        let mut launch = Launch::new(program)
            .cwd(folder)
            .env("NO_COLOR", "1")
            .pass_env(&package_settings());
        for (name, value) in PIP_OVERRIDES {
            launch = launch.env(name, value);
        }
        for (pip, uv, known) in UV_LIKE_PIP {
            if let Some(value) = set(pip)
                && !known.iter().any(|name| set(name).is_some())
            {
                launch = launch.env(uv, value);
            }
        }
        let has_store = cfg!(target_os = "macos") || STORES.iter().any(|p| Path::new(p).is_file());
        if trusts_the_system(|name| set(name).is_some(), has_store) {
            launch = launch.env("UV_SYSTEM_CERTS", "true");
        }
        Self { what, launch }
    }

    pub(super) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.launch = self.launch.args(args);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.launch = self.launch.env(name, value);
        self
    }

    /// Run to the end; the error holds the tool's last words.
    pub(super) async fn run(self, progress: &dyn ProgressListener) -> Result<(), Attempt> {
        let kept = Mutex::new(VecDeque::new());
        let failed = |how: String, kept: &Mutex<VecDeque<String>>| {
            let lines = kept
                .lock()
                .map(|lines| lines.iter().cloned().collect::<Vec<_>>());
            let output = lines.unwrap_or_default().join("\n");
            Attempt {
                what: self.what.to_owned(),
                how,
                output,
            }
        };
        let mut running = self
            .launch
            .stdout(StreamTarget::Piped)
            .stderr(StreamTarget::Piped)
            .spawn()
            .map_err(|error| failed(error.to_string(), &kept))?;
        let (stdout, stderr) = (running.take_stdout(), running.take_stderr());
        let work = async {
            tokio::join!(read(stdout, progress, &kept), read(stderr, progress, &kept));
            running.wait().await
        };
        match tokio::time::timeout(LIMIT, work).await {
            Ok(exit) if exit.success() => Ok(()),
            Ok(exit) => Err(failed(exit.to_string(), &kept)),
            Err(_) => Err(failed(
                format!("did not finish in {} s", LIMIT.as_secs()),
                &kept,
            )),
        }
    }
}

async fn read(
    stream: Option<impl AsyncRead + Unpin>,
    progress: &dyn ProgressListener,
    kept: &Mutex<VecDeque<String>>,
) {
    let Some(stream) = stream else { return };
    let mut lines = BufReader::new(stream).split(b'\n');
    while let Ok(Some(bytes)) = lines.next_segment().await {
        let line: String = String::from_utf8_lossy(&bytes)
            .trim_end()
            .chars()
            .take(WIDTH)
            .collect();
        if line.is_empty() {
            continue;
        }
        progress.line(&line);
        if let Ok(mut kept) = kept.lock() {
            if kept.len() == KEEP {
                kept.pop_front();
            }
            kept.push_back(line);
        }
    }
}

/// Settings of package tools by name, with the credentials that they need.
fn package_settings() -> Vec<String> {
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| environment::is_of_package_tools(name))
        .collect()
}

fn set(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether uv is told to trust whom the system trusts, as pip and our own downloads do: where a
/// company looks into all connections, nobody else vouches for them. Where the system has no
/// certificates, those that come with uv are better than none.
fn trusts_the_system(is_set: impl Fn(&str) -> bool, has_store: bool) -> bool {
    has_store && !TRUSTS.into_iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uv_trusts_whom_the_system_trusts_unless_somebody_said_otherwise() {
        assert!(trusts_the_system(|_| false, true));
        assert!(!trusts_the_system(|_| false, false));
        for said in TRUSTS {
            assert!(!trusts_the_system(|name| name == said, true), "{said}");
        }
    }
}
