//! The tools for other platforms, in `target/cross`, made of packages alone:
//!
//! - `packages/`, `rust/`: a Rust compiler of Debian's with the source of its standard library
//!   and the libraries that it runs with, unpacked and not installed. Its own loader starts it
//!   (`rustc`), so it runs beside an older C library, too;
//! - `python/`: cargo-zigbuild and zig, from `python/requirements/cross.txt`;
//! - `build/`: what is built, apart from what this machine's own compiler makes.
//!
//! The packages' server is the one that this machine installs from.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::python::Environment;
use crate::repository::Repository;
use crate::run::Run;

/// The release of Debian whose packages are used.
const RELEASE: &str = "trixie";
/// What comes without what it depends on: its linker and C compiler are not needed.
const COMPILER: &[&str] = &["rustc-web", "libstd-rust-web-dev", "rust-web-src"];
/// What it runs with, up to its version; comes with all that it depends on.
const LIBRARIES: &str = "libstd-rust-web-";
/// What runs programs for arm64 Linux, and the C library that they need.
const EMULATOR: &[&str] = &["qemu-user", "libc6-arm64-cross"];
/// Signs Debian's packages.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The tools, ready.
#[derive(Debug)]
pub(super) struct Tools {
    /// All of them are in here.
    pub(super) folder: PathBuf,
    /// Where Cargo builds.
    pub(super) build: PathBuf,
    rustc: PathBuf,
    python: Environment,
}

impl Tools {
    /// Fetch and unpack what is not there yet.
    pub(super) fn set_up(repository: &Repository) -> Result<Self> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            let why = "the compiler for other platforms is a package for x86-64 Linux";
            return Err(Error::new(why).hint("run this there, or in a container of Debian's"));
        }
        let folder = repository.target.join("cross");
        create(&folder)?;
        let rust = folder.join("rust");
        once(&rust, || Packages::new(&folder)?.unpack_compiler(&rust))?;
        let python = Environment::for_cross(repository, &folder.join("python"))?;
        let rustc = folder.join("rustc");
        write_program(&rustc, &start_script(&rust.join("usr")))?;
        let tools = Self {
            build: folder.join("build"),
            rustc,
            python,
            folder,
        };
        let version = Run::new(&tools.rustc).args(["--version"]).output()?;
        println!("{}", version.success()?.trim());
        Ok(tools)
    }

    /// The folder of qemu and arm64's C library, fetched if it is not there yet.
    pub(super) fn emulator(&self) -> Result<PathBuf> {
        let folder = self.folder.join("emulator");
        once(&folder, || {
            let packages = Packages::new(&self.folder)?;
            packages.update()?;
            packages.download(EMULATOR)?;
            packages.unpack(EMULATOR, &folder)
        })?;
        Ok(folder)
    }

    /// cargo-zigbuild, which runs cargo with compiler and linker of these tools.
    pub(super) fn cargo(&self) -> Run {
        Run::new(self.python.program("cargo-zigbuild"))
            .env("RUSTC", &self.rustc)
            // The standard library is built by what stable compilers keep for others.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", &self.build)
            .env("CARGO_ZIGBUILD_CACHE_DIR", self.folder.join("zigbuild"))
            .env("CARGO_ZIGBUILD_PYTHON_PATH", self.python.program("python"))
    }
}

/// Packages of Debian, with an index of their own: nothing is installed on this machine.
struct Packages {
    folder: PathBuf,
}

impl Packages {
    fn new(cross: &Path) -> Result<Self> {
        let folder = cross.join("packages");
        for part in ["lists/partial", "archives/partial"] {
            create(&folder.join(part))?;
        }
        let server = server()?;
        let signed = match Path::new(KEYRING).exists() {
            true => format!(" signed-by={KEYRING}"),
            false => String::new(),
        };
        let sources = format!("deb [arch=amd64{signed}] {server} {RELEASE} main\n");
        write(&folder.join("sources.list"), &sources)?;
        // Nothing is taken to be installed, so everything that is needed comes.
        write(&folder.join("status"), "")?;
        Ok(Self { folder })
    }

    /// The compiler, what it runs with, and the source of its library.
    fn unpack_compiler(&self, into: &Path) -> Result<()> {
        self.update()?;
        let policy = self.apt("apt-cache", &["policy", "rustc-web"]).output()?;
        let policy = policy.success()?;
        let version = candidate(&policy).ok_or_else(|| {
            Error::new(format!("Debian's {RELEASE} has no package `rustc-web`"))
                .hint("`apt-cache policy` on this machine shows where its packages come from")
        })?;
        println!("fetching rustc-web {version}, about 150 MB, into target/cross");
        let minor: Vec<&str> = version.split('.').take(2).collect();
        let libraries = format!("{LIBRARIES}{}", minor.join("."));
        let install = [
            "-qq",
            "-y",
            "-d",
            "--no-install-recommends",
            "install",
            &libraries,
        ];
        self.apt("apt-get", &install).show()?;
        self.download(COMPILER)?;
        self.unpack(&[], into)
    }

    fn update(&self) -> Result<()> {
        println!("reading the index of Debian's {RELEASE}");
        self.apt("apt-get", &["-qq", "update"]).show()
    }

    fn download(&self, names: &[&str]) -> Result<()> {
        self.apt("apt-get", &["-qq", "download"])
            .args(names)
            .cwd(&self.folder.join("archives"))
            .show()
    }

    /// Unpack the packages of these names that are here, or all.
    fn unpack(&self, names: &[&str], into: &Path) -> Result<()> {
        create(into)?;
        let archives = self.folder.join("archives");
        let failed = |error: std::io::Error| Error::file(&archives, &error);
        for entry in std::fs::read_dir(&archives).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let name = file.split('_').next().unwrap_or_default();
            let is_meant = names.is_empty() || names.contains(&name);
            if is_meant && file.ends_with(".deb") {
                let unpack = Run::new("dpkg-deb").args(["-x".as_ref(), path.as_os_str()]);
                unpack.args([into]).show()?;
            }
        }
        Ok(())
    }

    fn apt(&self, program: &str, arguments: &[&str]) -> Run {
        let at = |option: &str, name: &str| {
            format!("-oDir::{option}={}", self.folder.join(name).display())
        };
        Run::new(program)
            .args([
                at("Etc::sourcelist", "sources.list"),
                at("State::lists", "lists"),
                at("State::status", "status"),
                at("Cache::archives", "archives"),
                "-oDir::Etc::sourceparts=-".to_owned(),
                "-oDir::Cache::pkgcache=".to_owned(),
                "-oDir::Cache::srcpkgcache=".to_owned(),
                "-oAcquire::Languages=none".to_owned(),
                "-oAPT::Sandbox::User=".to_owned(),
                "-oDebug::NoLocking=1".to_owned(),
            ])
            .args(arguments)
    }
}

/// Where this machine gets packages of Debian's from.
fn server() -> Result<String> {
    let asked = Run::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]);
    let hint = "on a machine of Debian's this command fetches its tools by itself";
    let needs =
        |why: &str| Error::new(format!("{why}: the compiler is a package of Debian's")).hint(hint);
    let said = asked.output().map_err(|_| needs("there is no `apt-get`"))?;
    let said = said.success()?;
    let found = said
        .lines()
        .find(|uri| uri.trim_end_matches('/').ends_with("/debian"));
    let found = found.ok_or_else(|| needs("no server of Debian's is known here"))?;
    Ok(found.to_owned())
}

/// The version that `apt-cache policy` would install.
fn candidate(policy: &str) -> Option<&str> {
    let line = policy
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (line != "(none)").then_some(line)
}

/// The script that starts the compiler with its own loader and libraries.
fn start_script(rust: &Path) -> String {
    let rust = rust.display();
    format!(
        "#!/bin/sh\n\
         rust='{rust}'\n\
         exec \"$rust/lib64/ld-linux-x86-64.so.2\" --argv0 rustc \\\n    \
         --library-path \"$rust/lib/x86_64-linux-gnu\" \\\n    \
         \"$rust/bin/rustc\" --sysroot \"$rust\" \"$@\"\n"
    )
}

/// Make a folder, unless it was made whole before.
fn once(folder: &Path, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = folder.with_extension("made");
    if stamp.exists() {
        println!("{} is there", folder.display());
        return Ok(());
    }
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|error| Error::file(folder, &error))?;
    }
    make()?;
    // Written last, so that it is only there when all before it went well.
    write(&stamp, "")
}

fn create(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, &error))
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    // What is the same stays as it is: Cargo looks at times.
    if std::fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    std::fs::write(path, text).map_err(|error| Error::file(path, &error))
}

fn write_program(path: &Path, text: &str) -> Result<()> {
    write(path, text)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).map_err(|error| Error::file(path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_candidates() {
        let policy =
            "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1\n  Version table:\n";
        assert_eq!(candidate(policy), Some("1.96.0+dfsg1-1"));
        assert_eq!(candidate("rustc-web:\n  Candidate: (none)\n"), None);
        assert_eq!(candidate(""), None);
    }

    #[test]
    fn the_compiler_is_started_by_its_own_loader() {
        let script = start_script(Path::new("/x y/usr"));
        assert!(script.starts_with("#!/bin/sh\nrust='/x y/usr'\nexec \"$rust/lib64/ld-"));
        assert!(
            script.ends_with("\"$rust/bin/rustc\" --sysroot \"$rust\" \"$@\"\n"),
            "{script}"
        );
    }
}
