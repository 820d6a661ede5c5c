//! How much can be enforced on this machine, found out by doing it.

use std::time::Duration;

use crate::confined::{Confine, ConfineError};
use crate::level::{Level, Means};
use crate::policy::{Folder, Limits, Policy};
use crate::spec::{BoxRole, InitMessage};

/// How long a trial may take.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Find out what can be enforced here, at `most` so much. It is tried, so it is true; and
/// takes some milliseconds.
pub async fn probe(most: Level) -> Means {
    let mut means = Means::none("not supported on this system");
    try_out(&mut means).await;
    means.settle(most)
}

#[cfg(target_os = "linux")]
async fn try_out(means: &mut Means) {
    means.landlock = crate::walls::landlock::version();
    means.namespaces = trial(Level::L3).await;
    means.seccomp = match &means.namespaces {
        Ok(()) => true,
        Err(_) => trial(Level::L2).await.is_ok(),
    };
}

/// Checked and linked by `cargo xtask cross`; not run by us.
#[cfg(target_os = "macos")]
async fn try_out(means: &mut Means) {
    means.namespaces = Err("macOS has no namespaces".to_owned());
    means.seatbelt = trial(Level::L2).await.is_ok();
}

/// Confine nothing at all, at this level.
async fn trial(level: Level) -> Result<(), String> {
    let policy = Policy {
        view: Vec::new(),
        programs: false,
        folder: Folder::Throwaway,
        runs_own_files: false,
        terminals: false,
        network: false,
        limits: Limits::default(),
    };
    let tried = async {
        let mut confined = Confine::new(BoxRole::Trial, level, policy, "/").spawn()?;
        let said = confined.said().await?;
        match said {
            InitMessage {
                failed: Some(why), ..
            } => Err(ConfineError::Refused(why)),
            InitMessage { exit: Some(0), .. } => Ok(()),
            InitMessage { .. } => Err(ConfineError::Refused("the trial was ended".to_owned())),
        }
    };
    match tokio::time::timeout(TRIAL_TIMEOUT, tried).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the trial did not end".to_owned()),
    }
}
