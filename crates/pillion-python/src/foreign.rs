//! What a project's foreign sidecars are made of.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_process::environment::ChildVariables;
use pillion_project::Project;
use pillion_supervisor::{Dialect, SidecarKind, SidecarLimits, SidecarSpec};
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
pub(crate) fn spec(
    project: &Project,
    name: &str,
    foreign: &Foreign,
    variables: ChildVariables,
) -> SidecarSpec {
    let limits = SidecarLimits {
        hello: Duration::from_secs_f64(foreign.ready_s),
        grace: GRACE,
        memory_hard: foreign.memory_hard_mb.map(|mb| mb << 20),
        ..SidecarLimits::default()
    };
    let (root, made) = (project.root.clone(), foreign.clone());
    SidecarSpec {
        name: name.to_owned(),
        kind: SidecarKind::Foreign,
        workspace: project.root.clone(),
        dialect: Dialect::Line,
        limits,
        launch: Arc::new(move || launch(&root, &made, &variables).map(Into::into)),
        opening: None,
    }
}

fn launch(root: &Path, foreign: &Foreign, variables: &ChildVariables) -> Result<Launch> {
    let Some((program, args)) = foreign.command.split_first() else {
        return Err(Error::new(Code::InvalidConfig, "an empty `command`"));
    };
    let cwd = foreign
        .cwd
        .as_ref()
        .map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
    // A path with a slash is meant from where it starts, a bare name from PATH.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{World, map};
    use pillion_supervisor::StartMode;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn variables() -> ChildVariables {
        let own = map(&[("PATH", "/usr/bin:/bin"), ("SECRET", "x"), ("LANG", "C")]);
        ChildVariables::for_worker(None, &own, &[])
    }

    /// What a sidecar of this configuration prints when it is started.
    async fn printed(world: &World, name: &str, config: &str) -> Result<String> {
        let root = world.folder(name, &format!("[sidecar.it]\n{config}"));
        fs::create_dir_all(root.join("sub")).unwrap();
        for folder in [&root, &root.join("sub")] {
            let program = folder.join("tool");
            fs::write(&program, "#!/bin/sh\necho $0 $@\npwd\nenv\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let project = world.project(root).await;
        let made = find(&project, "it").unwrap();
        match (spec(&project, "it", made, variables()).launch)()? {
            StartMode::Plain(launch) => {
                let output = launch.output(Duration::from_secs(60)).await.unwrap();
                Ok(output.stdout)
            }
            StartMode::Confined { .. } => panic!("a sidecar of the user's own is not confined"),
        }
    }

    #[tokio::test]
    async fn a_sidecar_that_is_not_there_is_answered_with_those_that_are() {
        let world = World::new();
        let none = world.project(world.folder("none", "")).await;
        let error = find(&none, "map").unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert!(error.message.contains("`map`"));
        assert!(error.hint.unwrap().contains("[sidecar.map]"));
        let config = "[sidecar.one]\ncommand = ['a']\n[sidecar.two]\ncommand = ['b']\n";
        let some = world.project(world.folder("some", config)).await;
        assert_eq!(find(&some, "two").unwrap().command, ["b"]);
        let error = find(&some, "map").unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("there is: one, two"));
    }

    #[tokio::test]
    async fn a_sidecar_has_the_limits_of_its_configuration() {
        let world = World::new();
        let config = "[sidecar.it]\ncommand = ['a']\nready_s = 1.5\nmemory_hard_mb = 3\n\
            [sidecar.usual]\ncommand = ['a']\n";
        let project = world.project(world.folder("one", config)).await;
        let made = |name| spec(&project, name, find(&project, name).unwrap(), variables());
        let it = made("it");
        assert_eq!((it.name.as_str(), it.kind), ("it", SidecarKind::Foreign));
        assert!(matches!(it.dialect, Dialect::Line));
        assert_eq!(it.workspace, project.root);
        assert_eq!(it.limits.hello, Duration::from_millis(1500));
        assert_eq!(it.limits.memory_hard, Some(3 << 20));
        assert_eq!(it.limits.grace, GRACE, "it cannot be told to stop one call");
        assert_eq!(made("usual").limits.memory_hard, None);
    }

    #[tokio::test]
    async fn a_program_with_a_slash_is_meant_from_where_it_starts() {
        let world = World::new();
        let printed = |name, config| printed(&world, name, config);
        let text = printed("one", "command = ['./tool', 'a b']").await.unwrap();
        let root = world.folder("one", "");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("{}/./tool a b", root.display()));
        assert_eq!(lines[1], root.to_string_lossy());
        let text = printed("two", "command = ['./tool']\ncwd = 'sub'")
            .await
            .unwrap();
        let sub = world.folder("two", "").join("sub");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("{}/./tool", sub.display()));
        assert_eq!(lines[1], sub.to_string_lossy());
        // A bare name is never one in the folder.
        let text = printed("three", "command = ['echo', 'from', 'PATH']").await;
        assert_eq!(text.unwrap(), "from PATH\n");
    }

    #[tokio::test]
    async fn a_sidecar_gets_the_variables_that_were_chosen_for_it() {
        let world = World::new();
        let text = printed(&world, "one", "command = ['./tool']")
            .await
            .unwrap();
        assert!(
            text.contains("\nLANG=C\n") && text.contains("\nPATH=/usr/bin:/bin\n"),
            "{text}"
        );
        assert!(!text.contains("SECRET"), "{text}");
    }

    #[test]
    fn an_empty_command_starts_nothing() {
        let foreign: Foreign = serde_json::from_str(r#"{"command": []}"#).unwrap();
        let error = launch(Path::new("/"), &foreign, &variables()).unwrap_err();
        assert_eq!(error.code, Code::InvalidConfig);
    }
}
