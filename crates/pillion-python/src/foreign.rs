//! What a project's foreign sidecars are made of.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_process::environment::Variables;
use pillion_project::Project;
use pillion_supervisor::{Dialect, Kind, Limits, Spec};
use pillion_workspace::config::Foreign;

/// A foreign sidecar cannot be told to stop one call, so a hanging one is given longer.
const GRACE: Duration = Duration::from_secs(5);

/// The sidecar of that name in the project's configuration.
pub(crate) fn find<'a>(project: &'a Project, name: &str) -> Result<&'a Foreign> {
    project.config.sidecar.get(name).ok_or_else(|| {
        let known: Vec<_> = project.config.sidecar.keys().map(String::as_str).collect();
        let error = Error::new(
            Code::NotFound,
            format!(
                "no sidecar `{name}` in the `pillion.toml` of `{}`",
                project.root.display()
            ),
        );
        if known.is_empty() {
            error.hint(format!("add a section `[sidecar.{name}]` with a `command`"))
        } else {
            error.hint(format!("there is: {}", known.join(", ")))
        }
    })
}

/// Its make, with the variables that it gets.
pub(crate) fn spec(project: &Project, name: &str, foreign: &Foreign, variables: Variables) -> Spec {
    let limits = Limits {
        hello: Duration::from_secs_f64(foreign.ready_s),
        grace: GRACE,
        memory_hard: foreign.memory_hard_mb.map(|mb| mb << 20),
        ..Limits::default()
    };
    let (root, made) = (project.root.clone(), foreign.clone());
    Spec {
        name: name.to_owned(),
        kind: Kind::Foreign,
        workspace: project.root.clone(),
        dialect: Dialect::Line,
        limits,
        launch: Arc::new(move || launch(&root, &made, &variables).map(Into::into)),
        opening: None,
    }
}

fn launch(root: &Path, foreign: &Foreign, variables: &Variables) -> Result<Launch> {
    let Some((program, args)) = foreign.command.split_first() else {
        return Err(Error::new(Code::InvalidConfig, "an empty `command`"));
    };
    let cwd = foreign
        .cwd
        .as_ref()
        .map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
    // A path with a slash is meant from the project, a bare name from PATH.
    let program = if program.contains('/') {
        cwd.join(program)
    } else {
        program.into()
    };
    Ok(Launch::new(program)
        .args(args)
        .cwd(cwd)
        .variables(variables.clone()))
}
