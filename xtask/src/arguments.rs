//! The command line.

use crate::error::{Error, Result};

const HELP: &str = "\
Test, check and generate pillion

Usage: cargo xtask <COMMAND>

Commands:
  test      Run all tests; sets up what they need
  check     Formatting, lints, documentation, layering, generated files, hygiene
  layering  Check that dependencies between crates and modules only point down
  generate  Write the generated pages: docs/reference/ and the skill's
  fuzz      Run the fuzz targets
  cross     Check, build and run for other platforms
  dist      Make what people install: archives, wheels, npm and Debian packages

`cargo xtask <COMMAND> --help` says more about one.
";

const TEST: &str = "\
Run all tests; sets up what they need

Needs Rust, Python 3.10 or newer, and git. The first run makes a Python environment in
target/dev-python from python/requirements/dev.txt. All steps run, also after a failure. Where
no more than three tests fail, they are run once more, alone; what passes then is told in the
summary as unsteady.

Usage: cargo xtask test [--quick | --long] [--steady] [-- FILTER]

Options:
  --quick   Only the unit tests of the crates: no Python, no doc tests, no tests/ folders
  --long    Tests that do the same again and again (kills, edits, refactorings of real
            projects) do it four times as often
  --steady  A test that fails has failed: none is run again

Arguments:
  FILTER    Only tests with this text in their name (for pytest: an expression for `-k`)
";

const CHECK: &str = "\
Formatting, lints, documentation, layering, generated files, hygiene

What CI runs after the tests. All steps run, also after a failure.

Usage: cargo xtask check
";

const LAYERING: &str = "\
Check that dependencies between the crates only point down

The table is in xtask/src/layering.rs. No two modules beside each other may use each other,
not even through others: the places that do are named.

Usage: cargo xtask layering
";

const GENERATE: &str = "\
Write the generated pages: docs/reference/ and the skill's

Usage: cargo xtask generate [--check]

Options:
  --check   Write nothing; fail if a page is not what would be written
";

const FUZZ: &str = "\
Run the fuzz targets

Needs cargo-fuzz and a nightly toolchain. Starts from fuzz/seeds/ and what earlier runs
found, which is kept in fuzz/corpus/.

Usage: cargo xtask fuzz [SECONDS] [TARGET]

Arguments:
  SECONDS   How long each target runs (60)
  TARGET    Only this one
";

const CROSS: &str = "\
Check, build and run for other platforms

macOS (linked, not run), static and arm64 Linux, and what a client on Windows is made of
(checked). Needs a machine of Debian's on x86-64, which it fetches its tools for: nothing is
installed, all of it goes to target/cross and stays there. docs/guides/platforms.md says more.

Usage: cargo xtask cross [--check] [--release] [--run [--tests]] [TARGET...]

Options:
  --check     Link nothing
  --release   As it is shipped
  --run       Show the program for arm64 Linux at work under qemu, and build it before
  --tests     Run the tests of some crates there, too

Arguments:
  TARGET      Only these, such as aarch64-apple-darwin
";

const DIST: &str = "\
Make what people install: archives, wheels, npm and Debian packages

Builds this machine's program with the profile `dist`, and packs it into
target/packages with completions, manual pages, a bill of materials and checksums.
docs/releasing.md says more.

Usage: cargo xtask dist [OPTIONS]

Options:
  --target TRIPLE       A platform; may be said for several. The program of another than
                        this machine's is built by the tools of `cargo xtask cross`
  --binary TRIPLE=FILE  A program that is ready; may be said for several
  --glibc VERSION       Link this machine's program for that glibc or newer, by
                        cargo-zigbuild
  --key FILE            Sign the checksums with this key of minisign
";

/// Reads what follows a command.
type Parse = fn(&[&str]) -> Result<Task>;

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Print a help text.
    Help(&'static str),
    /// `test`
    Test(TestOptions),
    /// `check`
    Check,
    /// `layering`
    Layering,
    /// `generate`
    Generate {
        /// Only compare.
        check: bool,
    },
    /// `fuzz`
    Fuzz(FuzzOptions),
    /// `cross`
    Cross(CrossOptions),
    /// `dist`
    Dist(DistOptions),
}

/// Options of `test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Only unit tests.
    pub(crate) quick: bool,
    /// Tests that repeat something do it as often as they can.
    pub(crate) long: bool,
    /// No test has a second try.
    pub(crate) steady: bool,
    /// Only tests with this in their name.
    pub(crate) filter: Option<String>,
}

/// Options of `cross`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CrossOptions {
    /// Link nothing.
    pub(crate) check: bool,
    /// As it is shipped.
    pub(crate) release: bool,
    /// Run what can be run under qemu.
    pub(crate) run: bool,
    /// And tests, too.
    pub(crate) tests: bool,
    /// Only these.
    pub(crate) targets: Vec<String>,
}

/// Options of `dist`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DistOptions {
    /// Platforms whose programs are built.
    pub(crate) targets: Vec<String>,
    /// Programs that are ready, each with its platform.
    pub(crate) binaries: Vec<(String, String)>,
    /// The oldest glibc that this machine's program is to run with.
    pub(crate) glibc: Option<String>,
    /// What to sign with.
    pub(crate) key: Option<String>,
}

/// Options of `fuzz`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FuzzOptions {
    /// How long each target runs.
    pub(crate) seconds: u32,
    /// Only this one.
    pub(crate) target: Option<String>,
}

impl Task {
    /// Read the command line, without the program's name.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut arguments = arguments.into_iter();
        let Some(command) = arguments.next() else {
            return Ok(Self::Help(HELP));
        };
        let rest: Vec<String> = arguments.collect();
        let (help, parse): (_, Parse) = match command.as_str() {
            "-h" | "--help" | "help" => return Ok(Self::Help(HELP)),
            "test" => (TEST, parse_test),
            "check" => (CHECK, |rest| nothing_more(rest).map(|()| Self::Check)),
            "layering" => (LAYERING, |rest| nothing_more(rest).map(|()| Self::Layering)),
            "generate" => (GENERATE, parse_generate),
            "fuzz" => (FUZZ, parse_fuzz),
            "cross" => (CROSS, parse_cross),
            "dist" => (DIST, parse_dist),
            other => return Err(Error::usage(format!("there is no command `{other}`"))),
        };
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        match rest.first() {
            Some(&("-h" | "--help")) => Ok(Self::Help(help)),
            _ => parse(&rest),
        }
    }
}

fn parse_test(mut rest: &[&str]) -> Result<Task> {
    let mut options = TestOptions::default();
    if let [length @ ("--quick" | "--long"), more @ ..] = rest {
        options.quick = *length == "--quick";
        options.long = *length == "--long";
        rest = more;
    }
    if let ["--steady", more @ ..] = rest {
        options.steady = true;
        rest = more;
    }
    match rest {
        [] => {}
        ["--", filter] if !filter.starts_with('-') => options.filter = Some((*filter).to_owned()),
        ["--", ..] => return Err(Error::usage("`--` is followed by one filter")),
        [other, ..] => return Err(unexpected(other)),
    }
    Ok(Task::Test(options))
}

fn parse_generate(rest: &[&str]) -> Result<Task> {
    match rest {
        ["--check"] => Ok(Task::Generate { check: true }),
        rest => nothing_more(rest).map(|()| Task::Generate { check: false }),
    }
}

fn parse_fuzz(rest: &[&str]) -> Result<Task> {
    let mut options = FuzzOptions {
        seconds: 60,
        target: None,
    };
    let mut rest = rest.iter().peekable();
    if let Some(seconds) = rest.peek().and_then(|text| text.parse().ok()) {
        options.seconds = seconds;
        rest.next();
    }
    options.target = rest.next().map(|target| (*target).to_owned());
    match rest.next() {
        None => Ok(Task::Fuzz(options)),
        Some(other) => Err(unexpected(other)),
    }
}

fn parse_cross(rest: &[&str]) -> Result<Task> {
    let mut options = CrossOptions::default();
    for argument in rest {
        match *argument {
            "--check" => options.check = true,
            "--release" => options.release = true,
            "--run" => options.run = true,
            "--tests" => options.tests = true,
            flag if flag.starts_with('-') => return Err(unexpected(flag)),
            target => options.targets.push(target.to_owned()),
        }
    }
    match (options.run, options.check, options.tests) {
        (true, true, _) => Err(Error::usage("what is only checked cannot be run")),
        (false, _, true) => Err(Error::usage("`--tests` goes with `--run`")),
        _ => Ok(Task::Cross(options)),
    }
}

fn parse_dist(mut rest: &[&str]) -> Result<Task> {
    let mut options = DistOptions::default();
    while let [option, value, more @ ..] = rest {
        match *option {
            "--target" => options.targets.push((*value).to_owned()),
            "--binary" => match value.split_once('=') {
                Some((triple, file)) => {
                    options.binaries.push((triple.to_owned(), file.to_owned()));
                }
                None => return Err(Error::usage("`--binary` is followed by TRIPLE=FILE")),
            },
            "--glibc" => options.glibc = Some((*value).to_owned()),
            "--key" => options.key = Some((*value).to_owned()),
            other => return Err(unexpected(other)),
        }
        rest = more;
    }
    nothing_more(rest).map(|()| Task::Dist(options))
}

fn nothing_more(rest: &[&str]) -> Result<()> {
    match rest.first() {
        None => Ok(()),
        Some(other) => Err(unexpected(other)),
    }
}

fn unexpected(argument: &str) -> Error {
    Error::usage(format!("unexpected argument `{argument}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task> {
        Task::parse(line.split_whitespace().map(str::to_owned))
    }

    fn test(length: &str, filter: Option<&str>) -> Result<Task> {
        Ok(Task::Test(TestOptions {
            quick: length == "quick",
            long: length == "long",
            steady: false,
            filter: filter.map(str::to_owned),
        }))
    }

    #[test]
    fn tests_can_be_quick_or_long_and_filtered() {
        assert_eq!(parse("test"), test("", None));
        assert_eq!(parse("test --long"), test("long", None));
        assert_eq!(parse("test --quick -- frame"), test("quick", Some("frame")));
        assert_eq!(parse("test -- frame"), test("", Some("frame")));
        let steady = TestOptions {
            long: true,
            steady: true,
            filter: Some("frame".to_owned()),
            ..TestOptions::default()
        };
        let line = "test --long --steady -- frame";
        assert_eq!(parse(line), Ok(Task::Test(steady)));
    }

    #[test]
    fn fuzz_takes_seconds_and_a_target_or_either() {
        let fuzz = |seconds, target: Option<&str>| {
            Ok(Task::Fuzz(FuzzOptions {
                seconds,
                target: target.map(str::to_owned),
            }))
        };
        assert_eq!(parse("fuzz"), fuzz(60, None));
        assert_eq!(parse("fuzz 5"), fuzz(5, None));
        assert_eq!(parse("fuzz lines"), fuzz(60, Some("lines")));
        assert_eq!(parse("fuzz 5 lines"), fuzz(5, Some("lines")));
    }

    #[test]
    fn cross_takes_options_and_targets_in_any_order() {
        assert_eq!(parse("cross"), Ok(Task::Cross(CrossOptions::default())));
        let both = CrossOptions {
            check: true,
            targets: vec!["aarch64-apple-darwin".to_owned()],
            ..CrossOptions::default()
        };
        assert_eq!(
            parse("cross aarch64-apple-darwin --check"),
            Ok(Task::Cross(both))
        );
    }

    #[test]
    fn dist_takes_programs_to_build_and_ready_ones() {
        let line = "dist --target a --binary b=c/d --target e --glibc 2.17 --key k";
        let options = DistOptions {
            targets: vec!["a".into(), "e".into()],
            binaries: vec![("b".into(), "c/d".into())],
            glibc: Some("2.17".into()),
            key: Some("k".into()),
        };
        assert_eq!(parse(line), Ok(Task::Dist(options)));
        assert_eq!(parse("dist"), Ok(Task::Dist(DistOptions::default())));
    }

    #[test]
    fn every_command_has_help() {
        for command in [
            "test", "check", "layering", "generate", "fuzz", "cross", "dist",
        ] {
            let Ok(Task::Help(text)) = parse(&format!("{command} --help")) else {
                panic!("{command}");
            };
            assert!(text.contains(&format!("Usage: cargo xtask {command}")));
            assert!(HELP.contains(&format!("\n  {command} ")));
        }
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for line in [
            "tset",
            "test frame",
            "test -- a b",
            "test --steady --steady",
            "check now",
            "fuzz 1 a b",
            "generate -c",
            "cross -v",
            "cross --run --check",
            "cross --tests",
            "dist --key",
            "dist --binary a",
            "dist --what a",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
