//! Asking a Python behind walls who it is: one that came with a folder is a program like any
//! other that is in there, and nobody has said yet that it may run.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_catalogue::work;
use pillion_process::{Exit, Pipe, ProgramOutput, StreamTarget};
use pillion_sandbox::{BoxRole, Confine, Folder, Level, Limits, Means, Policy};
use tokio::sync::OnceCell;

use crate::{Interpreter, python_paths};

/// What it may write of an answer.
const MOST: u64 = 64 << 10;
/// Variables on which its list of package folders depends.
const VARIABLES: [&str; 3] = ["HOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE"];

/// Run it behind walls as lanes have them. An error says why that cannot be.
pub(crate) async fn ask(
    executable: &Path,
    args: &[&str],
    limit: Duration,
) -> Result<ProgramOutput, String> {
    static MEANS: OnceCell<Means> = OnceCell::const_new();
    let means = MEANS
        .get_or_init(|| pillion_sandbox::probe(most_walls()))
        .await;
    if means.level < Level::L2 {
        return Err("there are no walls on this machine".to_owned());
    }
    let policy = Policy {
        view: needed(executable),
        programs: true,
        folder: Folder::Throwaway,
        runs_own_files: false,
        terminals: false,
        network: false,
        limits: Limits {
            cpu_s: limit.as_secs() + 1,
            ..Limits::default()
        },
    };
    let env = VARIABLES.iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        Some(((*name).to_owned(), value))
    });
    let failed = |error: std::io::Error| error.to_string();
    let (stdout, stderr) = (Pipe::new().map_err(failed)?, Pipe::new().map_err(failed)?);
    let mut confined = Confine::new(BoxRole::Program, means.level, policy, executable)
        .args(args.iter().copied())
        .env(env.collect())
        .stdio([
            StreamTarget::Null,
            StreamTarget::File(stdout.write.into()),
            StreamTarget::File(stderr.write.into()),
        ])
        .spawn()
        .map_err(|error| error.to_string())?;
    // Both are read while it runs.
    let out = tokio::spawn(work(move |_| head(stdout.read.into())));
    let err = tokio::spawn(work(move |_| head(stderr.read.into())));
    let ended = async {
        confined.ready().await.map_err(|error| error.to_string())?;
        confined.said().await.map_err(|error| error.to_string())
    };
    let ended = tokio::time::timeout(limit, ended).await;
    // Whatever it left open is closed with it.
    drop(confined);
    let read = |read: Result<_, _>| read.ok().and_then(Result::ok).unwrap_or_default();
    let ((stdout, is_cut), (stderr, _)) = (read(out.await), read(err.await));
    let said =
        ended.map_err(|_| format!("it did not answer within {} s", limit.as_secs_f32()))??;
    let exit = Exit {
        code: said.exit,
        signal: said.signal,
        not_started: false,
    };
    Ok(ProgramOutput {
        exit,
        stdout,
        stderr,
        is_cut,
    })
}

/// Somebody may want less than this machine has: to see what is left then.
pub fn most_walls() -> Level {
    match std::env::var(pillion_protocol::vars::PILLION_LANES_LEVEL).as_deref() {
        Ok("L1") => Level::L1,
        Ok("L2") => Level::L2,
        _ => Level::L3,
    }
}

/// The beginning of what comes; all that may come is read, so that its writer ends.
fn head(mut stream: std::fs::File) -> (String, bool) {
    let mut kept = Vec::new();
    let _ = (&mut stream).take(MOST).read_to_end(&mut kept);
    let rest = std::io::copy(&mut stream, &mut std::io::sink());
    let is_cut = rest.is_ok_and(|rest| rest > 0);
    (String::from_utf8_lossy(&kept).into_owned(), is_cut)
}

/// What it needs to see: itself, its environment, and the installation behind that.
fn needed(executable: &Path) -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = Vec::new();
    let real = executable.canonicalize();
    for program in [Some(executable), real.as_deref().ok()]
        .into_iter()
        .flatten()
    {
        prefixes.extend(program.ancestors().nth(2).map(Path::to_owned));
    }
    prefixes.extend(executable.ancestors().nth(2).and_then(made_from));
    let mut all = python_paths::links(executable);
    for prefix in prefixes.iter().filter(|prefix| prefix.is_absolute()) {
        let names = ["bin", "lib", "lib64", "lib32", "pyvenv.cfg"];
        let system = ["/", "/usr", "/usr/local"].map(Path::new);
        let shown = names.map(|name| prefix.join(name)).into_iter();
        all.extend(shown.filter(|path| !system.contains(&prefix.as_path()) && path.exists()));
    }
    all.sort();
    all.dedup();
    all
}

/// The installation that an environment says it was made from.
fn made_from(environment: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(environment.join("pyvenv.cfg")).ok()?;
    let home = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "home").then(|| PathBuf::from(value.trim()))
    });
    home?.parent().map(Path::to_owned)
}

/// Whether an answer is about the Python that was asked. What it says decides what of this
/// machine is shown to code that runs in it, so it cannot name whatever it likes.
pub(crate) fn is_plausible(found: &Interpreter, asked: &Path) -> bool {
    let (Ok(real), Ok(named)) = (asked.canonicalize(), found.executable.canonicalize()) else {
        return false;
    };
    let environment = asked.ancestors().nth(2);
    let version = format!("python{}.{}", found.version.major, found.version.minor);
    let is_base = |prefix: &Path| {
        let holds_it = prefix
            .canonicalize()
            .is_ok_and(|prefix| prefix.parent().is_some() && real.starts_with(prefix));
        // An environment may have a copy of the executable. Then what it was made from is at
        // least a Python.
        let has_library = prefix.join("lib").join(&version).join("os.py").is_file();
        holds_it || (has_library && environment.and_then(made_from).as_deref() == Some(prefix))
    };
    let user = std::env::var_os("PYTHONUSERBASE").map(PathBuf::from);
    let user = user.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".local")));
    let folders = [Some(&found.prefix), Some(&found.base_prefix), user.as_ref()];
    real == named
        && (Some(found.prefix.as_path()) == environment || is_base(&found.prefix))
        && is_base(&found.base_prefix)
        && found.site_packages.iter().all(|packages| {
            let has_packages = packages.components().count() > 2
                && packages
                    .file_name()
                    .is_some_and(|name| name == "site-packages" || name == "dist-packages");
            let is_plain = !packages.components().any(|part| part.as_os_str() == "..");
            has_packages
                && is_plain
                && folders.iter().flatten().any(|folder| {
                    packages.starts_with(folder.join("lib"))
                        || packages.starts_with(folder.join("lib64"))
                        || packages.starts_with(folder.join("local/lib"))
                })
        })
}
