//! What a project's Python workers are made of.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_process::environment::ChildVariables;
use pillion_runtime::{Dirs, bytecode, worker_dir};
use pillion_supervisor::{Dialect, SidecarKind, SidecarLimits, SidecarSpec};

use crate::project::PythonProject;

/// The make of a worker for `project` that imports from `path` as well, and gets `variables`.
pub(crate) fn spec(
    project: &Arc<PythonProject>,
    path: Vec<PathBuf>,
    variables: ChildVariables,
    dirs: &Dirs,
) -> SidecarSpec {
    let config = &project.common.config.python;
    let limits = SidecarLimits {
        queue: config.queue,
        memory_soft: Some(config.memory_soft_mb << 20),
        memory_hard: Some(config.memory_hard_mb << 20),
        idle: Some(Duration::from_secs_f64(config.idle_minutes * 60.0)),
        ..SidecarLimits::default()
    };
    let (for_launch, dirs) = (Arc::clone(project), dirs.clone());
    SidecarSpec {
        name: "worker".into(),
        kind: SidecarKind::Worker,
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
    variables: &ChildVariables,
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
fn search_path(bin: &std::path::Path, variables: &ChildVariables) -> std::ffi::OsString {
    let Some(inherited) = variables.get("PATH").filter(|path| !path.is_empty()) else {
        return bin.into();
    };
    let mut all: Vec<PathBuf> = vec![bin.to_owned()];
    all.extend(std::env::split_paths(inherited));
    std::env::join_paths(all).unwrap_or_else(|_| inherited.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{World, map};
    use std::path::Path;

    #[test]
    fn programs_of_the_environment_come_first() {
        let own = [("PATH".into(), "/usr/bin:/bin".into())].into();
        let variables = ChildVariables::for_worker(None, &own, &[]);
        let path = search_path(Path::new("/env/bin"), &variables);
        assert_eq!(path, "/env/bin:/usr/bin:/bin");
        // An empty entry would mean the folder that the worker is in.
        for own in [map(&[]), map(&[("PATH", "")])] {
            let none = ChildVariables::for_worker(None, &own, &[]);
            assert_eq!(search_path(Path::new("/env/bin"), &none), "/env/bin");
        }
    }

    /// The command line, folder and variables of a worker that was really started.
    struct Started {
        args: Vec<String>,
        cwd: PathBuf,
        variables: Vec<String>,
    }

    fn started(spec: &SidecarSpec) -> Started {
        let pillion_supervisor::StartMode::Plain(launch) = (spec.launch)().unwrap() else {
            panic!("a worker is not confined");
        };
        let launch = launch
            .stdin(pillion_process::StreamTarget::Piped)
            .unguarded();
        let running = launch.spawn().unwrap();
        let process = format!("/proc/{}", running.id().unwrap());
        let texts = |name: &str| -> Vec<String> {
            let bytes = std::fs::read(format!("{process}/{name}")).unwrap();
            let texts = bytes
                .split(|byte| *byte == 0)
                .filter(|text| !text.is_empty());
            texts
                .map(|text| String::from_utf8_lossy(text).into_owned())
                .collect()
        };
        Started {
            args: texts("cmdline"),
            cwd: std::fs::read_link(format!("{process}/cwd")).unwrap(),
            variables: texts("environ"),
        }
    }

    /// What a worker of this project is made of, with these variables of its caller.
    fn made(world: &World, project: &Arc<PythonProject>, path: &[&str]) -> SidecarSpec {
        let own = map(&[("PATH", "/usr/bin:/bin"), ("LANG", "C"), ("SECRET", "x")]);
        let variables = ChildVariables::for_worker(None, &own, &[]);
        let path = path.iter().map(PathBuf::from).collect();
        spec(project, path, variables, world.projects.dirs())
    }

    #[tokio::test]
    async fn a_worker_has_the_limits_of_its_project() {
        let world = World::new();
        let config = "[python]\nqueue = 3\nmemory_soft_mb = 5\nmemory_hard_mb = 7\n\
            idle_minutes = 0.5\n";
        let project = world.with_python(world.folder("one", config)).await;
        let spec = made(&world, &project, &[]);
        assert_eq!(
            (spec.name.as_str(), spec.kind),
            ("worker", SidecarKind::Worker)
        );
        assert!(matches!(spec.dialect, Dialect::Worker) && spec.opening.is_none());
        assert_eq!(spec.workspace, project.common.root);
        let SidecarLimits {
            queue,
            memory_soft,
            memory_hard,
            idle,
            in_flight,
            ..
        } = spec.limits;
        assert_eq!((queue, in_flight), (3, 1), "one call at a time");
        assert_eq!((memory_soft, memory_hard), (Some(5 << 20), Some(7 << 20)));
        assert_eq!(idle, Some(Duration::from_secs(30)));
    }

    #[tokio::test]
    async fn a_worker_imports_from_the_folders_of_its_project_and_then_of_the_call() {
        let world = World::new();
        let config = "[python]\npath = ['lib', '/abs']\npreload = ['json', 'os.path']\n\
            [python.env]\nMODE = 'test'\nLANG = 'de'\n";
        let project = world.with_python(world.folder("one", config)).await;
        let root = project.common.root.clone();
        let started = started(&made(&world, &project, &["more"]));
        let args: Vec<&str> = started.args.iter().map(String::as_str).collect();
        let from = args.iter().position(|arg| *arg == "worker").unwrap();
        assert_eq!(args[1], "-u", "what it says comes at once");
        let (lib, more) = (root.join("lib"), root.join("more"));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let expected = [
            "worker",
            "--root",
            &text(&root),
            "--path",
            &text(&lib),
            "--path",
            "/abs",
            "--path",
            &text(&more),
            "--preload",
            "json",
            "--preload",
            "os.path",
        ];
        assert_eq!(args[from..], expected);
        assert_eq!(started.cwd, root);
        let has = |variable: &str| started.variables.iter().any(|one| one == variable);
        assert!(
            has("MODE=test") && has("LANG=de"),
            "what the project sets counts"
        );
        assert!(!has("SECRET=x"));
    }

    #[tokio::test]
    async fn a_worker_of_an_environment_finds_it_active() {
        let world = World::new();
        let root = world.folder("one", "");
        let base = world.with_python(root.clone()).await;
        let environment = root.join(".venv");
        let made_it = Launch::new(base.interpreter().unwrap())
            .args(["-m", "venv", "--without-pip"])
            .arg(&environment)
            .output(Duration::from_secs(120))
            .await
            .unwrap();
        assert!(made_it.exit.success(), "{}", made_it.stderr);
        let project = world.with_python(root).await;
        let started = started(&made(&world, &project, &[]));
        let shown = environment.display();
        for expected in [
            format!("VIRTUAL_ENV={shown}"),
            format!("PATH={shown}/bin:/usr/bin:/bin"),
        ] {
            assert!(
                started.variables.contains(&expected),
                "{:?}",
                started.variables
            );
        }
        assert!(Path::new(&started.args[0]).starts_with(&environment));
    }
}
