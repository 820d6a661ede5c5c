//! The managed environment of this machine, which pillion's own tools live in.

use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_runtime::managed::{ManagedError, ProgressListener};
use pillion_runtime::{Dirs, Interpreter, Managed};

use crate::Spinner;

/// The managed environment on the Python that this machine has.
pub async fn managed() -> Result<Managed> {
    Managed::of_machine(&Dirs::from_env())
        .await
        .map_err(|error| Error::new(Code::PythonNotFound, error.to_string()).hint(error.hint()))
}

/// Build it if need be, and show what is done.
pub async fn ensure(managed: &Managed) -> Result<Interpreter> {
    let spinner = Spinner::start();
    let mut built = managed.ensure(&spinner).await;
    if built.as_ref().is_err_and(ManagedError::lacks_venv) && install_venv(&spinner).await {
        built = managed.ensure(&spinner).await;
    }
    spinner.0.finish_and_clear();
    built.map_err(|error| failed(&error))
}

/// Debian packs Python's `venv` apart. Where we may install it, we do.
async fn install_venv(spinner: &Spinner) -> bool {
    if pillion_process::effective_uid() != 0 {
        return false;
    }
    spinner.step("installing python3-venv");
    let apt = |words: &'static [&'static str]| {
        let launch = Launch::new("apt-get")
            .args(words)
            .env("DEBIAN_FRONTEND", "noninteractive");
        launch.output(Duration::from_secs(300))
    };
    let _ = apt(&["update", "-qq"]).await;
    apt(&["install", "-y", "-qq", "python3-venv"])
        .await
        .is_ok_and(|done| done.exit.success())
}

/// Why it could not be built.
pub fn failed(error: &ManagedError) -> Error {
    Error::new(Code::StartFailed, error.to_string()).hint(error.hint())
}
