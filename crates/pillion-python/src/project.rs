//! A project as calls see it: with the Python that they run in.

use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_project::{Project, Proven, Walls};
use pillion_runtime::discovery::Choice;

/// A project whose Python was looked for.
#[derive(Debug)]
pub(crate) struct PythonProject {
    pub(crate) common: Arc<Project>,
    python: Arc<Proven>,
}

impl PythonProject {
    /// Look for its Python, if the project may have what it asks for.
    pub(crate) async fn new(common: Arc<Project>) -> Result<Self> {
        demand(&common)?;
        // A call runs this Python with all rights anyway: that is what is asked for.
        let python = common.python(Walls::None).await;
        Ok(Self { common, python })
    }

    /// The interpreter for its workers, and why it was chosen.
    pub(crate) fn python(&self) -> Result<&Choice> {
        self.python.choice()
    }

    /// The interpreter's executable.
    pub(crate) fn interpreter(&self) -> Result<&Path> {
        Ok(&self.python()?.interpreter.executable)
    }
}

/// Refuse what its workers would get, unless the folder is trusted.
pub(crate) fn demand(project: &Project) -> Result<()> {
    let python = &project.config.python;
    project.demand(&python.demands(project.is_python_named()))
}

/// Refuse a foreign sidecar of the folder, unless it is trusted.
pub(crate) fn demand_sidecar(project: &Project, name: &str) -> Result<()> {
    match project.config.sidecar.contains_key(name) {
        true => project.demand(&[format!("sidecar.{name}")]),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;
    use pillion_catalogue::Code;
    use pillion_project::Whereabouts;

    #[tokio::test]
    async fn a_folder_that_nobody_trusts_gets_no_python_and_no_variables_of_its_choice() {
        let world = World::new();
        for (name, config) in [
            ("interpreter", "[python]\ninterpreter = 'bin/python'\n"),
            ("pass_env", "[python]\npass_env = ['TOKEN']\n"),
        ] {
            let project = world.project(world.folder(name, config)).await;
            let error = demand(&project).unwrap_err();
            assert_eq!(error.code, Code::Untrusted, "{name}");
            assert!(
                format!("{error:?}").contains(&format!("python.{name}")),
                "{error:?}"
            );
            let refused = PythonProject::new(project).await.unwrap_err();
            assert_eq!(refused.code, Code::Untrusted, "{name}");
            let trusted = world.trusted(&format!("trusted-{name}"), config);
            assert!(demand(&*world.project(trusted).await).is_ok(), "{name}");
        }
        let harmless = "[python]\nworkers = 3\n[python.env]\nA = '1'\n";
        assert!(demand(&*world.project(world.folder("harmless", harmless)).await).is_ok());
    }

    #[tokio::test]
    async fn who_names_the_python_himself_does_not_ask_for_that_of_the_folder() {
        let world = World::new();
        let config = "[python]\ninterpreter = 'bin/python'\n";
        let place = Whereabouts {
            root: world.folder("one", config),
            python: Some("/usr/bin/python3".into()),
            ..Whereabouts::default()
        };
        let project = world.projects.open(place).await.unwrap();
        assert!(demand(&project).is_ok());
    }

    #[tokio::test]
    async fn each_sidecar_of_a_folder_has_to_be_trusted_and_one_that_is_not_there_has_not() {
        let world = World::new();
        let config = "[sidecar.map]\ncommand = ['x']\n";
        let project = world.project(world.folder("one", config)).await;
        let error = demand_sidecar(&project, "map").unwrap_err();
        assert_eq!(error.code, Code::Untrusted);
        assert!(format!("{error:?}").contains("sidecar.map"), "{error:?}");
        assert!(
            demand_sidecar(&project, "other").is_ok(),
            "it is not found later"
        );
        let trusted = world.project(world.trusted("two", config)).await;
        assert!(demand_sidecar(&trusted, "map").is_ok());
    }
}
