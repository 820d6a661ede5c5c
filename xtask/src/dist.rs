//! `cargo xtask dist`: what people install, made of this checkout.
//!
//! Making programs and packing them are apart. This machine's program is built here, those for
//! other platforms by the tools of [`cross`], or they are taken ready, from wherever they were
//! built. What packs them (`packaging/`) needs nothing but Python, and gives the same bytes for
//! the same programs.

use std::path::{Path, PathBuf};

use crate::arguments::DistOptions;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::run::Run;
use crate::steps::Steps;
use crate::{cross, python};

/// The file that has the checksums of all others, which is what is signed.
const SUMS: &str = "SHA256SUMS";

/// A program for a platform.
#[derive(Debug)]
struct Program {
    triple: String,
    file: PathBuf,
}

/// Build, pack, list, sign.
pub(crate) fn dist(repository: &Repository, options: &DistOptions) -> Result<()> {
    let dist = Dist {
        repository,
        options,
        host: host()?,
        python: python::find()?.executable,
        epoch: epoch(repository)?,
        out: repository.target.join("packages"),
    };
    let mut steps = Steps::default();
    let programs = steps.step("programs", || dist.programs());
    let shared = steps.step_with("completions and pages", programs.as_ref(), |programs| {
        dist.shared(programs)
    });
    let packed = steps.step_with("packages", programs.as_ref(), |programs| {
        let shared = shared.as_ref().ok_or_else(|| Error::new("no pages"))?;
        dist.pack(programs, shared)
    });
    steps.step_with("bills of materials", packed.as_ref(), |version| {
        let programs = programs.as_deref().unwrap_or_default();
        let bill = |program| dist.bill(program, version);
        programs.iter().try_for_each(bill)
    });
    let summed = steps.step_with("checksums", packed.as_ref(), |_| {
        dist.python("sums.py").args([&dist.out]).show()
    });
    if let Some(key) = &options.key {
        steps.step_with("signature", summed.as_ref(), |()| dist.sign(key));
    }
    println!("\nall of it is in {}", dist.out.display());
    steps.finish("cargo xtask dist")
}

struct Dist<'a> {
    repository: &'a Repository,
    options: &'a DistOptions,
    /// The platform of this machine.
    host: String,
    python: PathBuf,
    /// The time of everything that is packed: that of the commit.
    epoch: String,
    out: PathBuf,
}

impl Dist<'_> {
    /// The programs that are packed: those that were named, else this machine's.
    fn programs(&self) -> Result<Vec<Program>> {
        let mut programs = Vec::new();
        for (triple, file) in &self.options.binaries {
            let file = self.repository.root.join(file);
            programs.push(Program {
                triple: triple.clone(),
                file,
            });
        }
        for triple in &self.options.targets {
            let file = match *triple == self.host {
                true => self.build()?,
                false => cross::shipped(self.repository, triple)?,
            };
            programs.push(Program {
                triple: triple.clone(),
                file,
            });
        }
        if programs.is_empty() {
            let file = self.build()?;
            programs.push(Program {
                triple: self.host.clone(),
                file,
            });
        }
        for program in &programs {
            let file = &program.file;
            let found = file.metadata().map_err(|error| Error::file(file, &error))?;
            let size = found.len() as f64 / 1e6;
            println!("{size:7.1} MB  {} for {}", file.display(), program.triple);
        }
        Ok(programs)
    }

    /// This machine's program, linked for an older glibc if that was asked for.
    fn build(&self) -> Result<PathBuf> {
        let (cargo, target) = match &self.options.glibc {
            None => ("build", self.host.clone()),
            Some(glibc) => ("zigbuild", format!("{}.{glibc}", self.host)),
        };
        let built = self
            .repository
            .cargo()
            .args([cargo, "--locked", "--package", "pillion"])
            .args(cross::WITHOUT_BENCHES)
            .args(["--profile", cross::SHIPPED, "--target", &target])
            .env("RUSTFLAGS", self.without_paths())
            .show();
        built.map_err(|error| match self.options.glibc {
            Some(_) => error.hint(
                "this needs `cargo-zigbuild` and zig on PATH: `pip install cargo-zigbuild ziglang`",
            ),
            None => error,
        })?;
        Ok(self.program_of(&self.host))
    }

    /// Nobody needs to know where this was built, and it makes the same program elsewhere.
    fn without_paths(&self) -> String {
        let home = std::env::var("HOME").unwrap_or_default();
        let cargo = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
        let given = std::env::var("RUSTFLAGS").unwrap_or_default();
        let root = self.repository.root.display();
        format!("{given} --remap-path-prefix={cargo}=/cargo --remap-path-prefix={root}=/pillion")
    }

    fn program_of(&self, triple: &str) -> PathBuf {
        let folder = self.repository.target.join(triple).join(cross::SHIPPED);
        folder.join("pillion")
    }

    /// Completions and manual pages. They are the same everywhere, so they come from a program
    /// that runs here.
    fn shared(&self, programs: &[Program]) -> Result<PathBuf> {
        let ours = programs.iter().find(|program| program.triple == self.host);
        let program = match ours {
            Some(program) => program.file.clone(),
            None => {
                let cargo = self.repository.cargo();
                let cargo = cargo.args(["build", "--package", "pillion"]);
                cargo.args(cross::WITHOUT_BENCHES).show()?;
                self.repository.target.join("debug/pillion")
            }
        };
        let folder = self.repository.target.join("packages-shared");
        let _ = std::fs::remove_dir_all(&folder);
        let share = Run::new(program).args(["self", "share", "--out"]);
        share.args([&folder]).show()?;
        Ok(folder)
    }

    /// All packages of all programs; the version that they have.
    fn pack(&self, programs: &[Program], shared: &Path) -> Result<String> {
        let version = version(self.repository)?;
        let _ = std::fs::remove_dir_all(&self.out);
        let mut pack = self.python("pack.py").args(["--version", &version]);
        for Program { triple, file } in programs {
            pack = pack.args([
                "--binary".to_owned(),
                format!("{triple}={}", file.display()),
            ]);
        }
        let folders = [Path::new("--shared"), shared, Path::new("--out"), &self.out];
        pack.args(folders).show()?;
        Ok(version)
    }

    /// What one program is made of.
    fn bill(&self, program: &Program, version: &str) -> Result<()> {
        let triple = &program.triple;
        let metadata = self
            .repository
            .cargo()
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(["--filter-platform", triple])
            .args(cross::WITHOUT_BENCHES)
            .output()?
            .success()?;
        let bill = self
            .python("sbom.py")
            .args([self.repository.root.join("Cargo.lock")])
            .answer(&metadata)?
            .success()?;
        let file = self
            .out
            .join(format!("pillion-{version}-{triple}.cdx.json"));
        std::fs::write(&file, bill).map_err(|error| Error::file(&file, &error))?;
        println!("{}", file.display());
        Ok(())
    }

    fn sign(&self, key: &str) -> Result<()> {
        let signed = Run::new("minisign")
            .args(["-S", "-s", key, "-t", "pillion", "-m"])
            .args([self.out.join(SUMS)])
            .show();
        signed.map_err(|error| {
            error.hint("this needs `minisign` on PATH, and a key without a password")
        })
    }

    /// A program of `packaging/`.
    fn python(&self, script: &str) -> Run {
        Run::new(&self.python)
            .args([self.repository.root.join("packaging").join(script)])
            .env("SOURCE_DATE_EPOCH", &self.epoch)
    }
}

/// The platform of this machine.
fn host() -> Result<String> {
    let said = Run::new("rustc").args(["-vV"]).output()?.success()?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Error::new("`rustc -vV` names no host"))
}

/// When the commit was made, in seconds since 1970.
fn epoch(repository: &Repository) -> Result<String> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    let git = Run::new("git").args(["log", "-1", "--format=%ct"]);
    let said = git.cwd(&repository.root).output()?.success()?;
    Ok(said.trim().to_owned())
}

/// The version of the workspace.
fn version(repository: &Repository) -> Result<String> {
    let manifest = repository
        .text(Path::new("Cargo.toml"))?
        .unwrap_or_default();
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = "));
    version
        .map(|version| version.trim_matches('"').to_owned())
        .ok_or_else(|| Error::new("`Cargo.toml` names no version"))
}
