//! What a project's Python workers are made of.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_process::environment::Variables;
use pillion_runtime::{Dirs, bytecode, worker_dir};
use pillion_supervisor::{Dialect, Kind, Limits, Spec};

use crate::project::PythonProject;

/// The make of a worker for `project` that imports from `path` as well, and gets `variables`.
pub(crate) fn spec(
    project: &Arc<PythonProject>,
    path: Vec<PathBuf>,
    variables: Variables,
    dirs: &Dirs,
) -> Spec {
    let config = &project.common.config.python;
    let limits = Limits {
        queue: config.queue,
        memory_soft: Some(config.memory_soft_mb << 20),
        memory_hard: Some(config.memory_hard_mb << 20),
        idle: Some(Duration::from_secs_f64(config.idle_minutes * 60.0)),
        ..Limits::default()
    };
    let (for_launch, dirs) = (Arc::clone(project), dirs.clone());
    Spec {
        name: "worker".into(),
        kind: Kind::Worker,
        workspace: project.common.root.clone(),
        dialect: Dialect::Worker,
        limits,
        launch: Arc::new(move || launch(&for_launch, &path, &variables, &dirs).map(Into::into)),
        opening: None,
    }
}

fn launch(
    project: &PythonProject,
    path: &[PathBuf],
    variables: &Variables,
    dirs: &Dirs,
) -> Result<Launch> {
    let choice = project.python()?;
    let interpreter = &choice.interpreter;
    let package = worker_dir(dirs)
        .map_err(|error| Error::new(Code::StartFailed, error.to_string()).hint(error.hint()))?;
    let (root, config) = (&project.common.root, &project.common.config.python);
    let mut launch = Launch::new(&interpreter.executable).arg("-u");
    if !bytecode::is_ready(&package, interpreter) {
        // Only what was compiled as a whole may be left in there.
        launch = launch.arg("-B");
        bytecode::compile_soon(package.clone(), interpreter.clone());
    }
    launch = launch
        .arg(package)
        .args(["worker", "--root"])
        .arg(root)
        .cwd(root)
        .variables(variables.clone());
    for dir in config.path.iter().chain(path) {
        launch = launch.arg("--path").arg(root.join(dir));
    }
    for module in &config.preload {
        launch = launch.arg("--preload").arg(module);
    }
    if interpreter.is_environment() {
        let path = search_path(&interpreter.prefix.join("bin"), variables);
        launch = launch
            .env("VIRTUAL_ENV", &interpreter.prefix)
            .env("PATH", path);
    }
    for (name, value) in &config.env {
        launch = launch.env(name, value);
    }
    Ok(launch)
}

/// Programs of the environment first, as in an activated one.
fn search_path(bin: &std::path::Path, variables: &Variables) -> std::ffi::OsString {
    let inherited = variables.get("PATH").unwrap_or_default().to_owned();
    let mut all: Vec<PathBuf> = vec![bin.to_owned()];
    all.extend(std::env::split_paths(&inherited));
    std::env::join_paths(all).unwrap_or(inherited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn programs_of_the_environment_come_first() {
        let own = [("PATH".into(), "/usr/bin:/bin".into())].into();
        let variables = Variables::for_worker(None, &own, &[]);
        let path = search_path(Path::new("/env/bin"), &variables);
        assert_eq!(path, "/env/bin:/usr/bin:/bin");
        let none = Variables::for_worker(None, &[].into(), &[]);
        let path = search_path(Path::new("/env/bin"), &none);
        assert!(path.to_string_lossy().starts_with("/env/bin"));
    }
}
