//! Building for other platforms from this machine: `cargo xtask cross`.
//!
//! A compiler that can build its own standard library comes from Debian's packages, and a
//! linker for every platform from PyPI ([`tools`]); what macOS's linker needs to know of its
//! frameworks is written down here ([`frameworks`]). What was built for arm64 Linux can be run
//! under qemu ([`emulate`]); macOS and Windows programs cannot be run here.

mod emulate;
mod frameworks;
mod tools;

use std::path::PathBuf;

use crate::arguments::CrossOptions;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::run::Run;
use crate::steps::Steps;

use tools::Tools;

/// A platform, and what is made for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    triple: &'static str,
    makes: Makes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Makes {
    /// The program.
    Program,
    /// Only what a client is made of, and that is only checked: no daemon runs there.
    Client,
}

/// In the order in which they are most likely to fail.
const TARGETS: &[Target] = &[
    program("aarch64-apple-darwin"),
    program("x86_64-apple-darwin"),
    Target {
        triple: "x86_64-pc-windows-gnu",
        makes: Makes::Client,
    },
    program("x86_64-unknown-linux-musl"),
    program(emulate::TRIPLE),
    program("aarch64-unknown-linux-musl"),
];

const fn program(triple: &'static str) -> Target {
    Target {
        triple,
        makes: Makes::Program,
    }
}

/// The profile of programs that are shipped.
pub(crate) const SHIPPED: &str = "dist";

/// What leaves out of them what only a checkout is for.
pub(crate) const WITHOUT_BENCHES: [&str; 1] = ["--no-default-features"];

/// What a client on another platform is made of.
const CLIENT: &[&str] = &["pillion-protocol", "pillion-catalogue", "pillion-client"];

/// Check, build and run for other platforms.
pub(crate) fn cross(repository: &Repository, options: &CrossOptions) -> Result<()> {
    let targets = chosen(options)?;
    let mut steps = Steps::default();
    let tools = steps.step("tools", || Tools::set_up(repository));
    let mut built = Vec::new();
    let mut runs = None;
    for target in targets {
        let links = !options.check && target.makes == Makes::Program;
        let verb = if links { "build" } else { "check" };
        let name = format!("{verb} {}", target.triple);
        let program = steps.step_with(&name, tools.as_ref(), |tools| {
            make(repository, tools, target, options)
        });
        let program = program.flatten();
        if target.triple == emulate::TRIPLE {
            runs = program.as_ref().map(|(program, _)| program.clone());
        }
        built.extend(program);
    }
    if options.run {
        emulate::run(repository, tools.as_ref(), runs, options, &mut steps);
    }
    let outcome = steps.finish("cargo xtask cross");
    for (program, bytes) in &built {
        println!("{:>6} MB  {}", bytes / 1_000_000, program.display());
    }
    outcome
}

/// The program for one platform as it is shipped.
pub(crate) fn shipped(repository: &Repository, triple: &str) -> Result<PathBuf> {
    let options = CrossOptions {
        release: true,
        targets: vec![triple.to_owned()],
        ..CrossOptions::default()
    };
    let tools = Tools::set_up(repository)?;
    for target in chosen(&options)? {
        if let Some((program, _)) = make(repository, &tools, target, &options)? {
            return Ok(program);
        }
    }
    Err(Error::new(format!("no program is made for `{triple}`")))
}

/// The targets that are meant: all, those that are named, or the one that is to be run.
fn chosen(options: &CrossOptions) -> Result<Vec<Target>> {
    if options.targets.is_empty() {
        let all = TARGETS.iter().copied();
        return Ok(match options.run {
            true => all.filter(|one| one.triple == emulate::TRIPLE).collect(),
            false => all.collect(),
        });
    }
    let named = options.targets.iter().map(|name| {
        let found = TARGETS.iter().find(|target| target.triple == name.as_str());
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
            Error::usage(format!("there is no target `{name}`"))
                .hint(format!("these are known: {}", known.join(", ")))
        })
    });
    let named: Vec<Target> = named.collect::<Result<_>>()?;
    if options.run && named.iter().all(|one| one.triple != emulate::TRIPLE) {
        let why = format!("only `{}` can be run here", emulate::TRIPLE);
        return Err(Error::usage(why));
    }
    Ok(named)
}

/// Check or build for one target; the program and its size, if one was linked.
fn make(
    repository: &Repository,
    tools: &Tools,
    target: Target,
    options: &CrossOptions,
) -> Result<Option<(PathBuf, u64)>> {
    let Target { triple, makes } = target;
    let links = !options.check && makes == Makes::Program;
    // `rustc` builds as `build` does, and takes words for the linker of the program alone.
    let verb = if links { "rustc" } else { "check" };
    let mut run = cargo(repository, tools, verb, triple);
    if options.release {
        run = run.args(["--profile", SHIPPED]).args(WITHOUT_BENCHES);
    }
    run = match makes {
        Makes::Program => run.args(["-p", "pillion", "--bin", "pillion"]),
        Makes::Client => run.args(CLIENT.iter().flat_map(|name| ["-p", name])),
    };
    if links && triple.ends_with("-apple-darwin") {
        let stubs = tools.folder.join("frameworks");
        frameworks::write(repository, &stubs)?;
        run = run.args(["--".to_owned(), format!("-Lframework={}", stubs.display())]);
    }
    if links && triple.ends_with("-musl") {
        // What a static program starts with comes from zig: Debian's compiler brings none of it.
        run = run.args(["--", "-Clink-self-contained=no"]);
    }
    run.show()?;
    if !links {
        return Ok(None);
    }
    let profile = if options.release { SHIPPED } else { "debug" };
    let program = tools.build.join(triple).join(profile).join("pillion");
    let bytes = std::fs::metadata(&program).map_err(|error| Error::file(&program, &error))?;
    Ok(Some((program, bytes.len())))
}

/// Cargo with everything that it needs to build for `triple`.
fn cargo(repository: &Repository, tools: &Tools, verb: &str, triple: &str) -> Run {
    tools
        .cargo()
        .cwd(&repository.root)
        .args([verb, "--locked", "-Zbuild-std=std,panic_abort"])
        .args(["--target", triple])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(run: bool, names: &[&str]) -> Result<Vec<&'static str>> {
        let options = CrossOptions {
            run,
            targets: names.iter().map(|name| (*name).to_owned()).collect(),
            ..CrossOptions::default()
        };
        Ok(chosen(&options)?.iter().map(|one| one.triple).collect())
    }

    #[test]
    fn all_targets_are_meant_unless_some_are_named() {
        assert_eq!(named(false, &[]).unwrap().len(), TARGETS.len());
        let one = ["x86_64-apple-darwin"];
        assert_eq!(named(false, &one).unwrap(), one);
        let error = named(false, &["sparc-sun-solaris"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(
            error.to_string().contains("x86_64-unknown-linux-musl"),
            "{error}"
        );
    }

    #[test]
    fn only_what_can_be_run_here_is_run() {
        assert_eq!(named(true, &[]).unwrap(), [emulate::TRIPLE]);
        assert!(named(true, &["aarch64-apple-darwin"]).is_err());
        let both = ["aarch64-apple-darwin", emulate::TRIPLE];
        assert_eq!(named(true, &both).unwrap(), both);
    }
}
