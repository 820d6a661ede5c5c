//! `pillion bundle keygen` and `build`: what reads or writes a secret key.
//!
//! They are commands and no operations, so that no key goes through a daemon or a socket, and no
//! program that talks to one can have something signed. What does not need a key (`verify`,
//! `install` and the others) is an operation, and stands beside them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use pillion::{Code, Error, Result};
use pillion_bundle::signature::{Pair, SecretKey};
use pillion_bundle::{BundleType, ChapterManifest, Platform, Version};
use pillion_install::build::{self, Built, BundleIdentity, Plan, RuntimeInput};
use pillion_install::error::Error as InstallError;
use pillion_install::operations::readable_size;
use pillion_protocol::vars;
use pillion_runtime::Dirs;
use pillion_runtime::managed::ProgressListener;
use serde_json::json;

use super::caller::from_here;
use super::{Global, output};

/// The names of the files of a new pair of keys.
const SECRET: &str = "bundle.key";
const PUBLIC: &str = "bundle.pub";
/// The largest key file.
const MAX_KEY: u64 = 8 << 10;

/// Make, check, install and repair bundles: runtimes and content.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Bundle {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a pair of keys: one to sign bundles with, one for those who check them.
    Keygen(Keygen),
    /// Make a bundle: an archive with its manifest, checksum and signature.
    Build(Box<Build>),
}

impl Bundle {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        match self.action {
            Action::Keygen(keygen) => keygen.run(global),
            Action::Build(build) => build.run(global).await,
        }
    }
}

/// Make a pair of keys: one to sign bundles with, one for those who check them.
#[derive(Debug, Args)]
struct Keygen {
    /// The folder for `bundle.key`, which is secret, and `bundle.pub`.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Protect the secret key with the password in this file.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl Keygen {
    fn run(self, global: &Global) -> Result<ExitCode> {
        let folder = from_here(&self.out);
        let (secret, public) = (folder.join(SECRET), folder.join(PUBLIC));
        let password = self.password_file.as_deref().map(password).transpose()?;
        let failed = |path: &Path, error: std::io::Error| {
            let code = match error.kind() {
                std::io::ErrorKind::AlreadyExists => Code::Conflict,
                _ => Code::WriteFailed,
            };
            Error::new(code, format!("cannot write `{}`: {error}", path.display()))
                .hint("name a folder without keys that you can write")
        };
        std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        if public.exists() {
            return Err(failed(&public, std::io::ErrorKind::AlreadyExists.into()));
        }
        let pair = Pair::generate(password).map_err(Error::internal)?;
        write_secret(&secret, &pair.secret).map_err(|error| failed(&secret, error))?;
        std::fs::write(&public, &pair.public).map_err(|error| failed(&public, error))?;
        let value = json!({
            "secret_key_file": secret, "public_key_file": public, "public_key": pair.public_line,
        });
        match global.json {
            true => output::say_json(&value.to_string()),
            false => output::say(&format!(
                "{}  keep it secret: who has it can sign in your name\n{}  give it to those who \
                 install your bundles\n{}",
                secret.display(),
                public.display(),
                pair.public_line
            )),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Write a file that only its owner can read, and that was not there.
fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Make a bundle: an archive with its manifest, checksum and signature.
///
/// The same input and the same time (`--created-at`, or the variable SOURCE_DATE_EPOCH) give the
/// same archive, byte for byte.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
struct Build {
    /// The type: `python_runtime`, `app_agents`, `experts_shared`, `experts` or `chapter`.
    #[arg(long = "type", value_name = "TYPE")]
    kind: BundleType,
    /// The scope, such as `core`.
    #[arg(long, value_name = "SCOPE")]
    scope: String,
    /// The version, such as `1.4.0`.
    #[arg(long = "version", value_name = "VERSION")]
    version: Version,
    /// The archive, which ends with `.tar.zst`, or with `.tar.gz` for older desktops.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Content: the folder with `prompts`, `scripts`, `datasets` and `assets`.
    #[arg(long, value_name = "DIR", conflicts_with = "python")]
    from: Option<PathBuf>,
    /// Sign with this secret key.
    #[arg(long, value_name = "SECRET_KEY")]
    key: Option<PathBuf>,
    /// The password of the secret key is in this file.
    #[arg(long, value_name = "FILE", requires = "key")]
    password_file: Option<PathBuf>,
    /// Runtime: the platform that it is for; this one if not given.
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<Platform>,
    /// Runtime: the tree of the interpreter, a folder or a .tar.gz or .tar.zst archive.
    #[arg(long, value_name = "TREE")]
    python: Option<PathBuf>,
    /// Runtime: the version of that interpreter, if its tree does not tell.
    #[arg(long, value_name = "VERSION", requires = "python")]
    python_version: Option<String>,
    /// Runtime: packages, as a list of requirements with hashes.
    #[arg(long, value_name = "FILE", requires = "python")]
    lock: Option<PathBuf>,
    /// Runtime: the pillion binary for the platform; this one if not given.
    #[arg(long, value_name = "FILE", requires = "python")]
    binary: Option<PathBuf>,
    /// Runtime: the oldest desktop that it works with.
    #[arg(long, value_name = "VERSION", default_value = "0.0.0")]
    desktop_min_version: Version,
    /// Chapter: its course.
    #[arg(long, value_name = "COURSE")]
    course: Option<String>,
    /// Chapter: its code in the course; the scope if not given.
    #[arg(long, value_name = "CODE", requires = "course")]
    chapter_code: Option<String>,
    /// Chapter: its title; its code if not given.
    #[arg(long, value_name = "TITLE", requires = "course")]
    title: Option<String>,
    /// Chapter: an expert that it needs. Can be given several times.
    #[arg(long = "requires-expert", value_name = "EXPERT", requires = "course")]
    required_experts: Vec<String>,
    /// Leave out this path of the folder or of the interpreter's tree. Can be given several times.
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
    /// The time of the build, such as 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    created_at: Option<String>,
    /// Only tell what would be in it, and how large that is.
    #[arg(long)]
    dry_run: bool,
}

impl Build {
    async fn run(self, global: &Global) -> Result<ExitCode> {
        let bar = Bar::new();
        // A key or a name that cannot be used is told before minutes of work.
        build::compression_of(&self.out).map_err(told)?;
        let key = self.key()?;
        let plan = self.plan(&bar).await;
        let plan = bar.through(plan.map_err(told))?;
        let built = match self.dry_run {
            true => None,
            false => {
                let written = plan.write(&from_here(&self.out), key.as_ref(), &bar);
                Some(bar.through(written.map_err(told))?)
            }
        };
        bar.bar.finish_and_clear();
        for path in &plan.unmatched {
            output::warn(&format!(
                "`--exclude {path}` leaves nothing out: it is not there"
            ));
        }
        if key.is_none() && !self.dry_run {
            output::warn("it is not signed: it can only be installed with `--allow-unsigned`");
        }
        report(&plan, built.as_ref(), global.json);
        Ok(ExitCode::SUCCESS)
    }

    fn key(&self) -> Result<Option<SecretKey>> {
        let Some(path) = &self.key else {
            return Ok(None);
        };
        let text = small_file(&from_here(path))?;
        let password = self.password_file.as_deref().map(password).transpose()?;
        let key = SecretKey::parse(&text, password).map_err(|error| {
            let message = format!("`{}`: {error}", path.display());
            Error::new(Code::InvalidParams, message)
                .hint("name the `bundle.key` of `pillion bundle keygen`, and its password's file")
        });
        key.map(Some)
    }

    async fn plan(&self, bar: &Bar) -> pillion_install::error::Result<Plan> {
        let identity = BundleIdentity {
            kind: self.kind,
            scope: self.scope.clone(),
            version: self.version.clone(),
            created_at: self.created_at()?,
        };
        let missing = |flag: &str| InstallError::Input {
            what: format!("a bundle of type `{}` needs `{flag}`", self.kind),
            hint: "`pillion bundle build --help` tells what each type needs".to_owned(),
        };
        if self.kind != BundleType::PythonRuntime {
            let from = self.from.as_deref().ok_or_else(|| missing("--from DIR"))?;
            let chapter = match self.kind {
                BundleType::Chapter => Some(self.chapter().ok_or_else(|| missing("--course"))?),
                _ => None,
            };
            let (from, out) = (from_here(from), from_here(&self.out));
            return build::content(&identity, &from, &out, &self.exclude, chapter, bar);
        }
        let python = self.python.as_deref();
        let python = from_here(python.ok_or_else(|| missing("--python TREE"))?);
        let platform = self.platform.or_else(Platform::here);
        let platform = platform.ok_or_else(|| missing("--platform PLATFORM"))?;
        let binary = match &self.binary {
            Some(binary) => from_here(binary),
            None if Some(platform) == Platform::here() => {
                std::env::current_exe().map_err(InstallError::io("read", "this program"))?
            }
            None => return Err(missing("--binary FILE")),
        };
        let lock = self.lock.as_deref().map(from_here);
        let input = RuntimeInput {
            identity: &identity,
            platform,
            python: &python,
            python_version: self.python_version.as_deref(),
            lock: lock.as_deref(),
            binary: &binary,
            sidecar_version: pillion::VERSION,
            desktop_min_version: self.desktop_min_version.clone(),
            exclude: &self.exclude,
        };
        input.plan(&Dirs::from_env(), bar).await
    }

    fn chapter(&self) -> Option<ChapterManifest> {
        let code = self
            .chapter_code
            .clone()
            .unwrap_or_else(|| self.scope.clone());
        Some(ChapterManifest {
            course_id: self.course.clone()?,
            title: self.title.clone().unwrap_or_else(|| code.clone()),
            chapter_code: code,
            // What there is of them is seen in the folder.
            has_scripts: false,
            has_datasets: false,
            required_experts: self.required_experts.clone(),
        })
    }

    /// The time of the build, to the second.
    fn created_at(&self) -> pillion_install::error::Result<String> {
        let said = std::env::var(vars::SOURCE_DATE_EPOCH).ok();
        let said = said.filter(|said| !said.trim().is_empty());
        let wrong = |what: String| InstallError::Input {
            what,
            hint: "write a time such as 2026-01-31T12:00:00Z, or seconds since 1970".to_owned(),
        };
        let time = match (&self.created_at, said) {
            (Some(text), _) => text
                .parse::<jiff::Timestamp>()
                .map_err(|error| wrong(format!("`{text}` is no time: {error}")))?,
            (None, Some(seconds)) => seconds
                .trim()
                .parse()
                .ok()
                .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
                .ok_or_else(|| wrong(format!("{} is `{seconds}`", vars::SOURCE_DATE_EPOCH)))?,
            (None, None) => jiff::Timestamp::now(),
        };
        let whole = jiff::Timestamp::from_second(time.as_second()).unwrap_or(time);
        Ok(whole.to_string())
    }
}

/// Tell what was made, or would be.
fn report(plan: &Plan, built: Option<&Built>, as_json: bool) {
    let manifest = &plan.manifest;
    let sizes = plan.sizes();
    if as_json {
        let folders: Vec<_> = sizes
            .folders
            .iter()
            .map(|(path, bytes, files)| json!({ "path": path, "bytes": bytes, "files": files }))
            .collect();
        let largest: Vec<_> = sizes
            .files
            .iter()
            .map(|(path, bytes)| json!({ "path": path, "bytes": bytes }))
            .collect();
        let value = json!({
            "bundle_type": manifest.bundle_type(),
            "scope_id": manifest.scope_id(),
            "version": manifest.version(),
            "platform": manifest.platform(),
            "created_at": manifest.created_at(),
            "files": manifest.files().len(),
            "links": manifest.links().len(),
            "unpacked_bytes": manifest.size(),
            "folders": folders,
            "largest": largest,
            "dry_run": built.is_none(),
            "archive": built.map(|built| &built.archive),
            "sha256": built.map(|built| &built.sha256),
            "size_bytes": built.map(|built| built.size_bytes),
            "signature": built.and_then(|built| built.signature.as_ref()),
        });
        return output::say_json(&value.to_string());
    }
    let word = if built.is_some() {
        "made"
    } else {
        "would make"
    };
    output::say(&format!(
        "{word} {}: {} files and {} links, {}",
        manifest.title(),
        manifest.files().len(),
        manifest.links().len(),
        readable_size(manifest.size())
    ));
    for (path, bytes, files) in sizes.folders.iter().take(8) {
        output::say(&format!(
            "  {:>10}  {path} ({files} files)",
            readable_size(*bytes)
        ));
    }
    if let Some(largest) = sizes.files.first() {
        output::say(&format!(
            "  the largest file: {} ({})",
            largest.0,
            readable_size(largest.1)
        ));
    }
    if let Some(built) = built {
        output::say(&format!(
            "{}  {}\nsha256 {}",
            built.archive.display(),
            readable_size(built.size_bytes),
            built.sha256
        ));
        if let Some(signature) = &built.signature {
            output::say(&format!("signed: {}", signature.display()));
        }
    }
}

fn password(path: &Path) -> Result<String> {
    let text = small_file(&from_here(path))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// The text of a small file of the user's.
fn small_file(path: &Path) -> Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(MAX_KEY).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", path.display());
            Err(Error::new(Code::NotFound, message).hint("name a file that you can read"))
        }
    }
}

fn told(error: InstallError) -> Error {
    error.into()
}

/// What is being done: a bar on terminals, lines elsewhere.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(100));
        let made = Self { bar };
        made.style("{spinner} {msg} ({elapsed})");
        made
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }

    /// A result; the bar goes before an error is shown.
    fn through<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.bar.finish_and_clear();
        }
        outcome
    }
}

impl ProgressListener for Bar {
    fn step(&self, message: &str) {
        if self.bar.is_hidden() {
            output::note(message);
        }
        self.style("{spinner} {msg} ({elapsed})");
        self.bar.set_message(message.to_owned());
    }

    fn bytes(&self, done: u64, total: Option<u64>) {
        if let Some(total) = total {
            self.style("{spinner} {msg} {bar:30} {bytes}/{total_bytes} ({elapsed})");
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
    }
}
