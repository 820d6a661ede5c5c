//! pillion's own Python tools: the managed environment, and workers that run in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_runtime::managed::Silent;
use pillion_runtime::{Dirs, Interpreter, Managed, bytecode, worker_dir};
use pillion_supervisor::{Dialect, Pool, SidecarKind, SidecarLimits, SidecarSpec, Supervisor};
use pillion_workspace::config::CodeConfig;

/// The environment with pillion's own tools.
pub async fn managed(dirs: &Dirs) -> Result<Managed> {
    Managed::of_machine(dirs)
        .await
        .map_err(|error| Error::new(Code::PythonNotFound, error.to_string()).hint(error.hint()))
}

/// Its Python, after building or repairing it if need be.
pub async fn python(dirs: &Dirs) -> Result<Interpreter> {
    let managed = managed(dirs).await?;
    let python = managed.ensure(&Silent).await;
    python.map_err(|error| Error::new(Code::StartFailed, error.to_string()).hint(error.hint()))
}

/// ruff of the managed environment.
pub async fn ruff(dirs: &Dirs) -> Result<PathBuf> {
    Ok(python(dirs).await?.prefix.join("bin").join("ruff"))
}

/// A worker of pillion's own for a workspace; it starts with its first question.
pub async fn worker(
    name: &str,
    root: &Path,
    limits: SidecarLimits,
    supervisor: &Supervisor,
    dirs: &Dirs,
) -> Result<Arc<Pool>> {
    let python = python(dirs).await?;
    Ok(
        supervisor.pool(&format!("{name}\0{}", root.display()), 1, || {
            let (folder, dirs) = (root.to_owned(), dirs.clone());
            SidecarSpec {
                name: name.into(),
                kind: SidecarKind::Engine,
                workspace: root.to_owned(),
                dialect: Dialect::Worker,
                limits,
                launch: Arc::new(move || {
                    let package = worker_dir(&dirs).map_err(|error| {
                        Error::new(Code::StartFailed, error.to_string()).hint(error.hint())
                    })?;
                    let mut launch = Launch::new(&python.executable).arg("-u");
                    if !bytecode::is_ready(&package, &python) {
                        launch = launch.arg("-B");
                        bytecode::compile_soon(package.clone(), python.clone());
                    }
                    // What they keep is pillion's: byte-code of the tools, parsed libraries.
                    let cache = dirs.usable_cache();
                    let kept = [python.prefix.clone(), cache.clone()];
                    Ok(launch
                        .arg(package)
                        .arg("worker")
                        .env("XDG_CACHE_HOME", cache)
                        .read_only(kept)
                        .cwd(&folder)
                        .into())
                }),
                opening: None,
            }
        }),
    )
}

/// What such a worker may use.
pub fn limits(config: &CodeConfig) -> SidecarLimits {
    SidecarLimits {
        memory_soft: Some(config.memory_soft_mb << 20),
        memory_hard: Some(config.memory_hard_mb << 20),
        idle: Some(Duration::from_secs_f64(config.idle_minutes * 60.0)),
        ..SidecarLimits::default()
    }
}
