//! `cargo xtask test`: all that a contributor needs to see green, on a machine that has
//! only Rust, Python and git.

use std::ffi::OsString;
use std::path::Path;

use crate::again;
use crate::arguments::TestOptions;
use crate::chromium;
use crate::error::{Error, Result};
use crate::leftovers;
use crate::node;
use crate::python::{self, Environment, Python};
use crate::repository::Repository;
use crate::run::{Run, is_root};
use crate::steps::Steps;
use crate::tally::Tally;

/// The variable that tests look at for how often they repeat something, and its one value.
const LENGTH: (&str, &str) = ("PILLION_TESTS", "long");
/// pytest's word for "no test has this name".
const NO_TESTS: &str = "exit status: 5";

/// Set up, run everything, count.
pub(crate) fn test(repository: &Repository, options: &TestOptions) -> Result<()> {
    let mut steps = Steps::default();
    let mut tally = Tally::default();
    if options.quick {
        quick(repository, options, &mut steps, &mut tally);
    } else {
        everything(repository, options, &mut steps, &mut tally);
    }
    steps.step("nothing skipped", || tally.nothing_skipped(is_root()));
    let outcome = steps.finish("cargo xtask test");
    println!("\ntests: {tally}");
    for test in tally.unsteady_tests() {
        println!("unsteady: {test}: it failed, and passed when it was run again alone");
    }
    for what in tally.left_out() {
        println!("left out: {what}");
    }
    outcome
}

fn quick(repository: &Repository, options: &TestOptions, steps: &mut Steps, tally: &mut Tally) {
    steps.step("unit tests", || {
        cargo_test(repository)
            .args(["--lib", "--bins"])
            .args(&options.filter)
            .watch(|line| tally.see(line))
    });
}

fn everything(
    repository: &Repository,
    options: &TestOptions,
    steps: &mut Steps,
    tally: &mut Tally,
) {
    let environment = steps.step("set up Python", || Environment::set_up(repository));
    let node = steps.step_with("set up Node", environment.as_ref(), |environment| {
        node::set_up(repository, environment)
    });
    let browser = steps.step("set up Chromium", || chromium::set_up(repository));
    // Apart from running them, so that the times tell which of the two is slow.
    let built = steps.step("build tests", || {
        cargo_test(repository).args(["--no-run"]).show()
    });
    let ready = environment
        .as_ref()
        .filter(|_| built.is_some() && node.is_some() && browser.is_some());
    steps.step_with("Rust tests", ready, |environment| {
        let path = path_for_tests(repository, &environment.base)?;
        let tests = || {
            let tests = cargo_test(repository)
                .env("PATH", &path)
                .env(leftovers::MARK, leftovers::mark());
            if options.long {
                return tests.env(LENGTH.0, LENGTH.1);
            }
            tests
        };
        let all = tests()
            .args(&options.filter)
            .env("RUST_TEST_THREADS", threads());
        again::with_second_try(tally, options.steady, all, |failed| {
            // Doc tests are no targets: one that failed is not found again, which is a failure.
            let alone = tests()
                .args(["--all-targets", "--", "--exact"])
                .args(failed);
            Ok(alone.env("RUST_TEST_THREADS", "1"))
        })
    });
    std::thread::scope(|scope| {
        // They mostly wait, on one processor: beside them there is time to build what tests the
        // seeds. What goes wrong with that is told by the step that runs it.
        scope.spawn(|| fuzz_seeds(repository).args(["--no-run"]).output());
        steps.step_with("Python tests", environment.as_ref(), |environment| {
            pytest(repository, environment, options, tally)
        });
        steps.step_with("other Pythons", environment.as_ref(), |environment| {
            python::others(&environment.base)
                .iter()
                .try_for_each(|python| smoke(repository, python))
        });
    });
    steps.step("fuzz seeds", || {
        fuzz_seeds(repository)
            .args(&options.filter)
            .watch(|line| tally.see(line))
    });
    if leftovers::can_be_seen() {
        steps.step("nothing left behind", leftovers::none);
    }
}

/// How many tests run at once, unless the caller says it: most of them wait most of the time,
/// for processes that start and for what must not happen.
fn threads() -> OsString {
    std::env::var_os("RUST_TEST_THREADS").unwrap_or_else(|| {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        (2 * cores).to_string().into()
    })
}

/// All tests of the workspace; examples are built, doc tests run.
fn cargo_test(repository: &Repository) -> Run {
    repository
        .cargo()
        .args(["test", "--workspace", "--all-features", "--no-fail-fast"])
}

/// `PATH` for the Rust tests: they run `python3`, some of them hundreds of times. That may be too
/// old, as on some systems, or a script that looks for the Python first, as that of a manager of
/// versions, so the one that was found stands in for it. Folders of such scripts are left out: it
/// takes seconds to ask them all, as `pillion doctor` does.
fn path_for_tests(repository: &Repository, base: &Python) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if cfg!(windows) {
        return Ok(path);
    }
    let folder = repository.root.join("target/dev-python/stand-in");
    link(&base.executable, &folder, "python3").map_err(|error| Error::file(&folder, &error))?;
    let others = std::env::split_paths(&path).filter(|folder| !has_script(folder, "python3"));
    let folders = std::iter::once(folder).chain(others);
    std::env::join_paths(folders).map_err(|error| Error::new(format!("PATH: {error}")))
}

/// Whether the program of this name is a script there.
fn has_script(folder: &Path, name: &str) -> bool {
    use std::io::Read;
    let mut start = [0; 2];
    let file = std::fs::File::open(folder.join(name));
    file.and_then(|mut file| file.read_exact(&mut start))
        .is_ok_and(|()| start == *b"#!")
}

#[cfg(unix)]
fn link(target: &Path, folder: &Path, name: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let place = folder.join(name);
    if place.read_link().is_ok_and(|old| old != target) {
        std::fs::remove_file(&place)?;
    }
    match std::os::unix::fs::symlink(target, &place) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path, _: &str) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

fn pytest(
    repository: &Repository,
    environment: &Environment,
    options: &TestOptions,
    tally: &mut Tally,
) -> Result<()> {
    let tests = || {
        Run::new(environment.program("python"))
            .args(["-m", "pytest", "-q"])
            .cwd(&repository.root.join("python"))
            .env(leftovers::MARK, leftovers::mark())
    };
    let all = tests().args(options.filter.iter().flat_map(|filter| ["-k", filter]));
    let outcome =
        again::with_second_try(
            tally,
            options.steady,
            all,
            |failed| Ok(tests().args(failed)),
        );
    match outcome {
        Err(error) if options.filter.is_some() && error.message().ends_with(NO_TESTS) => Ok(()),
        outcome => outcome,
    }
}

/// One call through a worker of that Python.
fn smoke(repository: &Repository, python: &Python) -> Result<()> {
    const CALL: &str =
        r#"{"id":1,"method":"call","params":{"function":"math:hypot","params":[3,4]}}"#;
    let (major, minor) = python.version;
    let said = Run::new(&python.executable)
        .args(["-B", "-u"])
        .args([repository.root.join("python")])
        .args(["worker", "--root", "."])
        .cwd(&repository.root.join("target/dev-python"))
        .answer(&format!("{CALL}\n"))?
        .success()?;
    if said.lines().any(|line| line == r#"{"id":1,"result":5.0}"#) {
        println!("a worker of Python {major}.{minor} answers");
        return Ok(());
    }
    Err(Error::new(format!(
        "a worker of Python {major}.{minor} said:\n{said}"
    )))
}

/// The inputs that fuzzing starts from, and those that once broke something, as tests.
fn fuzz_seeds(repository: &Repository) -> Run {
    repository
        .cargo()
        .args(["test", "--manifest-path", "fuzz/Cargo.toml"])
        .args(["--no-default-features", "--test", "seeds"])
        .args(["--test", "near_seeds", "--target-dir"])
        .args([&repository.target])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_told_from_a_program() {
        let folder = std::env::temp_dir().join(format!("xtask-script-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("script"), "#!/bin/sh\n").unwrap();
        std::fs::write(folder.join("program"), "\x7fELF").unwrap();
        assert!(has_script(&folder, "script"));
        assert!(!has_script(&folder, "program"));
        assert!(!has_script(&folder, "nothing"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
