//! `cargo xtask check`: what can be said about the code without running it.

use crate::error::Result;
use crate::python::Environment;
use crate::repository::Repository;
use crate::run::Run;
use crate::steps::Steps;
use crate::{generate, hygiene, layering, links, names, type_names};

/// Check everything.
pub(crate) fn check(repository: &Repository) -> Result<()> {
    let mut steps = Steps::default();
    steps.step("layering", || layering::check(repository));
    steps.step("operations by name", || names::check(repository));
    steps.step("names of types", || type_names::check(repository));
    steps.step("hygiene", || hygiene::check(repository));
    steps.step("links", || links::check(repository));
    steps.step("format", || format(repository));
    let environment = steps.step("set up Python", || Environment::set_up(repository));
    steps.step_with("Python format", environment.as_ref(), |environment| {
        ruff(repository, environment, &["format", "--check"])
    });
    steps.step_with("Python lints", environment.as_ref(), |environment| {
        ruff(repository, environment, &["check"])
    });
    steps.step("lints", || clippy(repository));
    steps.step("documentation", || documentation(repository));
    steps.step("generated pages", || generate::generate(repository, true));
    steps.finish("cargo xtask check")
}

fn format(repository: &Repository) -> Result<()> {
    let fmt = |more: &[&str]| {
        repository
            .cargo()
            .args(["fmt"])
            .args(more)
            .args(["--check"])
            .show()
            .map_err(|error| error.hint("`cargo fmt --all` formats the code"))
    };
    fmt(&["--all"])?;
    fmt(&["--manifest-path", "fuzz/Cargo.toml"])
}

fn clippy(repository: &Repository) -> Result<()> {
    repository
        .cargo()
        .args(["clippy", "--workspace", "--all-targets", "--all-features"])
        .args(["--", "-D", "warnings"])
        .show()
}

/// The pages of the libraries. With the examples, so that the features are the same as for
/// the lints, and no dependency is checked twice.
fn documentation(repository: &Repository) -> Result<()> {
    repository
        .cargo()
        .args(["doc", "--no-deps", "--workspace", "--all-features"])
        .args(["--lib", "--examples"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .show()
}

/// Run ruff over all Python of ours. Each folder goes by the rules of the worker package, or
/// by its own, which say what is different.
fn ruff(repository: &Repository, environment: &Environment, command: &[&str]) -> Result<()> {
    let ruff = || Run::new(environment.program("ruff")).args(command);
    ruff().cwd(&repository.root.join("python")).show()?;
    for folder in ["clients", "examples", "packaging"] {
        let own = format!("{folder}/ruff.toml");
        let config = if repository.root.join(&own).is_file() {
            own.as_str()
        } else {
            "python/pyproject.toml"
        };
        if repository.root.join(folder).is_dir() {
            ruff()
                .args(["--config", config, folder])
                .cwd(&repository.root)
                .show()?;
        }
    }
    Ok(())
}
