//! `cargo xtask fuzz`: each fuzz target for a while.

use crate::arguments::FuzzOptions;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::run::Run;
use crate::steps::Steps;

/// Longer than the longest header, so that its limit is reached.
const LONGEST: &str = "-max_len=20000";

/// Run the targets one after the other.
pub(crate) fn fuzz(repository: &Repository, options: &FuzzOptions) -> Result<()> {
    let targets = targets(repository)?;
    if let Some(wanted) = &options.target
        && !targets.contains(wanted)
    {
        let known = targets.join("`, `");
        return Err(Error::usage(format!("there is no target `{wanted}`"))
            .hint(format!("the targets are `{known}`")));
    }
    needs()?;
    let mut steps = Steps::default();
    for target in targets {
        if options
            .target
            .as_ref()
            .is_none_or(|wanted| *wanted == target)
        {
            steps.step(&target, || run(repository, &target, options.seconds));
        }
    }
    steps.finish("cargo xtask fuzz")
}

/// The names of the targets, which are those of their files.
fn targets(repository: &Repository) -> Result<Vec<String>> {
    let folder = repository.root.join("fuzz/fuzz_targets");
    let entries = folder
        .read_dir()
        .map_err(|error| Error::file(&folder, &error))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// What is needed beyond what tests need.
fn needs() -> Result<()> {
    let there = |run: Run| run.output().is_ok_and(|output| output.ended_well());
    if !there(nightly().args(["--version"])) {
        return Err(Error::new("fuzzing needs a nightly toolchain")
            .hint("`rustup toolchain install nightly --profile minimal` installs one"));
    }
    if !there(nightly().args(["fuzz", "--version"])) {
        return Err(
            Error::new("fuzzing needs cargo-fuzz").hint("`cargo install cargo-fuzz` installs it")
        );
    }
    Ok(())
}

/// Cargo by its name, not by the path that `CARGO` has: rustup must choose the toolchain.
fn nightly() -> Run {
    Run::new("cargo").env("RUSTUP_TOOLCHAIN", "nightly")
}

fn run(repository: &Repository, target: &str, seconds: u32) -> Result<()> {
    let corpus = format!("fuzz/corpus/{target}");
    let folder = repository.root.join(&corpus);
    std::fs::create_dir_all(&folder).map_err(|error| Error::file(&folder, &error))?;
    nightly()
        .args(["fuzz", "run", target, &corpus])
        .args([format!("fuzz/seeds/{target}")])
        .args(["--", LONGEST, &format!("-max_total_time={seconds}")])
        .cwd(&repository.root)
        .show()
        .map_err(|error| {
            error.hint(format!(
                "the input is in fuzz/artifacts/{target}; once it is mended, keep it in fuzz/seeds/{target}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The lines of all sections of the profile that tests are built with.
    fn profile(manifest: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = std::fs::read_to_string(root.join(manifest)).unwrap();
        let mut inside = false;
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .filter(|line| {
                if line.starts_with('[') {
                    inside = line.starts_with("[profile.dev");
                }
                inside
            })
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn seeds_are_tested_with_what_was_built_for_the_other_tests() {
        let wanted = profile("Cargo.toml");
        assert!(wanted.iter().any(|line| line.starts_with("opt-level")));
        assert_eq!(profile("fuzz/Cargo.toml"), wanted);
    }
}
