//! Running what was built for arm64 Linux, under qemu's emulation of single programs.
//!
//! The program starts itself again, as guard and as daemon, so the kernel has to know what to
//! do with arm64 programs. It is told in namespaces that only this run is in, and that end
//! with it: nothing is registered for the machine. That takes a kernel of 6.7 or newer, where
//! every user namespace has a register of its own.

use std::path::{Path, PathBuf};

use super::Tools;
use super::tools::write;
use crate::arguments::CrossOptions;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::run::Run;
use crate::steps::Steps;

/// The one target that is run.
pub(super) const TRIPLE: &str = "aarch64-unknown-linux-gnu";
/// Crates whose tests are run, too.
const TESTED: &[&str] = &[
    "pillion-protocol",
    "pillion-supervisor",
    "pillion-python",
    "pillion-index",
    "pillion-changes",
    "pillion-engines",
    "pillion-map",
    "pillion-symbols",
    "pillion-refactor",
    "pillion-code",
];
/// How the kernel knows an arm64 program, and that it is started as it was named (`P`) by an
/// emulator that need not be found again (`F`).
const RULE: &str = concat!(
    r":pillion-arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00",
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:",
);
/// In its own namespaces: arm64's libraries (`$1`) join those of the machine, where every arm64
/// program looks for its loader, and the kernel is told of the emulator (`$2`). A variable for
/// qemu would not do, for pillion chooses what its children get. Then the rest is run.
const INSIDE: &str = "set -eu
mount -t overlay none -o \"lowerdir=$1:/usr/lib\" /usr/lib
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf '%s' \"$2\" > /proc/sys/fs/binfmt_misc/register
shift 2
exec \"$@\"";
/// What is shown: `$1` is the program. Each answer is compared with what it must say.
const SHOWN: &str = r#"set -u
pillion=$1
shows() {
    expected=$1; shift
    echo "$ pillion $*"
    said=$("$pillion" "$@" 2>&1) || { echo "$said"; exit 1; }
    echo "$said"
    case $said in *"$expected"*) ;; *) echo "expected: $expected"; exit 1 ;; esac
}
shows 'pillion 0' --version
shows '5.0' call math:hypot '[3, 4]'
shows '"line":1,' defs shop.py 5 8
shows '' stop
"#;
/// A project to ask about.
const SHOP: &str = "def total(prices: list[float]) -> float:
    return sum(prices)


print(total([1.0, 2.0]))
";

/// Show the program at work, if it was built, and run tests if they are wanted.
pub(super) fn run(
    repository: &Repository,
    tools: Option<&Tools>,
    program: Option<PathBuf>,
    options: &CrossOptions,
    steps: &mut Steps,
) {
    let emulator = steps.step_with("qemu", tools, Emulator::set_up);
    let ready = program.zip(emulator.as_ref());
    steps.step_with("run under qemu", ready.as_ref(), |(program, emulator)| {
        show(program, emulator)
    });
    if !options.tests {
        return;
    }
    let tests = steps.step_with("build tests for arm64", tools, |tools| {
        build_tests(repository, tools)
    });
    for test in tests.into_iter().flatten() {
        let name = format!("{} under qemu", test.name());
        steps.step_with(&name, emulator.as_ref(), |emulator| {
            emulator.run(&test.program)?.cwd(&test.folder).show()
        });
    }
}

fn show(program: &Path, emulator: &Emulator) -> Result<()> {
    let project = emulator.folder.join("project");
    make_folder(&project)?;
    write(&project.join("shop.py"), SHOP)?;
    let shell = emulator.run(Path::new("/bin/sh"))?;
    shell
        .args(["-c", SHOWN, "sh"])
        .args([program])
        .cwd(&project)
        .show()
}

/// qemu, and folders of the programs that it runs.
struct Emulator {
    qemu: PathBuf,
    /// Where the C library for arm64 is.
    libraries: PathBuf,
    folder: PathBuf,
}

impl Emulator {
    fn set_up(tools: &Tools) -> Result<Self> {
        let unpacked = tools.emulator()?;
        let emulator = Self {
            qemu: unpacked.join("usr/bin/qemu-aarch64"),
            libraries: unpacked.join("usr/aarch64-linux-gnu/lib"),
            folder: tools.folder.join("emulated"),
        };
        make_folder(&emulator.folder)?;
        let tried = emulator.run(Path::new("/bin/true"))?.output()?;
        tried.success().map_err(|error| {
            error.hint(
                "it needs user namespaces with overlays, and a register of program kinds in \
                 each of them (Linux 6.7 or newer)",
            )
        })?;
        Ok(emulator)
    }

    /// A program in namespaces where arm64 programs can be run. All that it starts ends with it.
    fn run(&self, program: &Path) -> Result<Run> {
        let rule = format!("{RULE}{}:FP", self.qemu.display());
        let mut run = Run::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "--pid", "--fork"])
            .args([
                "--mount-proc",
                "--kill-child",
                "/bin/sh",
                "-c",
                INSIDE,
                "sh",
            ])
            .args([self.libraries.as_os_str(), rule.as_ref()])
            .args([program])
            // Emulated programs are slow, and two of them at once slower still.
            .env("RUST_TEST_THREADS", "2");
        for (name, part) in [
            ("HOME", "home"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "run"),
        ] {
            let folder = self.folder.join(part);
            make_folder(&folder)?;
            run = run.env(name, folder);
        }
        Ok(run)
    }
}

/// A program of tests, and the crate that it is of.
struct Test {
    program: PathBuf,
    folder: PathBuf,
}

impl Test {
    /// `pillion-code/it`
    fn name(&self) -> String {
        let name = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        let program = name(&self.program);
        let program = program
            .rsplit_once('-')
            .map_or(program.as_str(), |(name, _)| name);
        format!("{}/{program}", name(&self.folder))
    }
}

fn build_tests(repository: &Repository, tools: &Tools) -> Result<Vec<Test>> {
    let built = super::cargo(repository, tools, "test", TRIPLE)
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .args(TESTED.iter().flat_map(|name| ["-p", name]))
        .output()?
        .success()?;
    Ok(built.lines().filter_map(test_of).collect())
}

/// The program that a message of Cargo's tells of.
fn test_of(message: &str) -> Option<Test> {
    let value = |key: &str| {
        let (_, rest) = message.split_once(&format!("\"{key}\":\""))?;
        rest.split_once('"').map(|(value, _)| PathBuf::from(value))
    };
    let manifest = value("manifest_path")?;
    Some(Test {
        program: value("executable")?,
        folder: manifest.parent()?.to_owned(),
    })
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_found_in_what_cargo_says() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/r/crates/pillion-code/Cargo.toml","target":{"kind":["test"]},"executable":"/t/deps/it-0123456789abcdef","fresh":true}"#;
        let test = test_of(message).unwrap();
        assert_eq!(test.name(), "pillion-code/it");
        assert_eq!(test.folder, Path::new("/r/crates/pillion-code"));
        let library = r#"{"manifest_path":"/r/Cargo.toml","executable":null}"#;
        assert!(test_of(library).is_none());
    }

    #[test]
    fn the_rule_has_as_many_bytes_to_look_at_as_to_look_for() {
        let parts: Vec<&str> = RULE.split(':').collect();
        let ["", _, "M", "", magic, mask, ""] = parts[..] else {
            panic!("{RULE}");
        };
        let bytes =
            |text: &str| text.matches(r"\x").count() + if text.contains("ELF") { 3 } else { 0 };
        assert_eq!((bytes(magic), bytes(mask)), (20, 20));
    }
}
