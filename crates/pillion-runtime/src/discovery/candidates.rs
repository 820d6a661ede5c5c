//! All places where a project's Python could be, best first. Only names and stats here:
//! nothing is run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use pillion_bundle::{ActiveIndex, BundleType, RuntimeManifest};

use super::{CandidateOrigin, DiscoveryRequest, poetry};
use crate::{Dirs, Interpreter, PythonVersion, bundle};

/// Versions looked for by name when plain `python3` and `python` do not serve.
const NAMED_VERSIONS: [&str; 6] = [
    "python3.15",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
];

/// A place to look at.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// The executable, or the manifest of a runtime bundle whose executable is meant, or the list
    /// of a store that does not say which runtime is active; or the name of a program that is not
    /// on `PATH`.
    pub(crate) path: Result<PathBuf, String>,
    /// Why we look there.
    pub(crate) source: CandidateOrigin,
}

impl Candidate {
    fn new(path: PathBuf, source: CandidateOrigin) -> Self {
        Self {
            path: Ok(path),
            source,
        }
    }
}

/// The candidates of a request, best first. What follows a named one never replaces it,
/// and is listed for the report only.
pub(crate) fn candidates(request: DiscoveryRequest<'_>, dirs: &Dirs) -> Vec<Candidate> {
    let search_path = request
        .search_path
        .map(OsStr::to_owned)
        .or_else(|| std::env::var_os("PATH"))
        .unwrap_or_default();
    let mut found = Vec::new();
    for (name, source) in [
        (request.explicit, CandidateOrigin::Flag),
        (request.configured, CandidateOrigin::Config),
    ] {
        if let Some(name) = name {
            let path = resolve(name, request.root, &source, &search_path);
            found.push(Candidate { path, source });
        }
    }
    found.extend(environments(request, dirs));
    found.extend(bundles(dirs));
    for name in ["python3", "python"].into_iter().chain(NAMED_VERSIONS) {
        let hits = on_path(name, &search_path);
        found.extend(hits.map(|path| Candidate::new(path, CandidateOrigin::Path(name.to_owned()))));
    }
    found.extend(
        dirs.foreign_data
            .iter()
            .flat_map(|data| installed_by_uv(data)),
    );
    found
}

/// Environments that were made for this project or are active.
fn environments<'a>(
    request: DiscoveryRequest<'a>,
    dirs: &'a Dirs,
) -> impl Iterator<Item = Candidate> + use<'a> {
    let active = request
        .virtual_env
        .map(|folder| (folder.to_owned(), CandidateOrigin::VirtualEnv));
    let in_project = [".venv", "venv"].into_iter().filter_map(move |name| {
        let folder = request.root.join(name);
        // A folder `venv` may be anything; `.venv` without Python is a broken environment.
        let counts = if name == ".venv" {
            folder.symlink_metadata().is_ok()
        } else {
            folder.join("pyvenv.cfg").is_file()
        };
        counts.then(|| (folder, CandidateOrigin::InProject(name.to_owned())))
    });
    let poetry = poetry::environments(request.root, dirs.foreign_cache.as_deref())
        .into_iter()
        .map(|folder| (folder, CandidateOrigin::Poetry));
    let conda = request
        .conda_prefix
        .map(|folder| (folder.to_owned(), CandidateOrigin::Conda));
    active
        .into_iter()
        .chain(in_project)
        .chain(poetry)
        .chain(conda)
        .filter(|(folder, _)| !folder.as_os_str().is_empty())
        .map(|(folder, source)| Candidate::new(Interpreter::executable_below(&folder), source))
}

/// The runtime that this program came with, and the one that is active in the user's store.
fn bundles(dirs: &Dirs) -> impl Iterator<Item = Candidate> {
    let manifest_in = |folder: PathBuf| folder.join(RuntimeManifest::NAME);
    let own = bundle::own_runtime().map(manifest_in);
    let store = bundle::default_store(dirs);
    let active = match bundle::active_runtime(&store) {
        Ok(active) => active.map(manifest_in),
        // Which one is active nobody knows, and that is told when its turn comes.
        Err(_) => {
            let has_runtimes = store.join(BundleType::PythonRuntime.as_str()).is_dir();
            has_runtimes.then(|| store.join(ActiveIndex::NAME))
        }
    };
    own.into_iter()
        .chain(active)
        .map(|path| Candidate::new(path, CandidateOrigin::Bundle))
}

/// What a person meant by a name: a path, an environment, a program or a version.
fn resolve(
    name: &Path,
    root: &Path,
    source: &CandidateOrigin,
    search_path: &OsStr,
) -> Result<PathBuf, String> {
    // A flag is relative to where the caller stands; the door has made it absolute.
    let path = match source {
        CandidateOrigin::Config => root.join(name),
        _ => std::path::absolute(name).unwrap_or_else(|_| name.to_owned()),
    };
    if bundle::is_runtime(&path) {
        return Ok(path.join(RuntimeManifest::NAME));
    }
    if path.is_dir() {
        return Ok(Interpreter::executable_below(&path));
    }
    if name.components().count() > 1 || name.is_absolute() || path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    let name = name.to_string_lossy();
    let program = match name.parse::<PythonVersion>() {
        Ok(version) => format!("python{}.{}", version.major, version.minor),
        Err(_) => name.into_owned(),
    };
    on_path(&program, search_path).next().ok_or(program)
}

/// All programs of that name on `PATH`, in its order.
pub(crate) fn on_path(name: &str, search_path: &OsStr) -> impl Iterator<Item = PathBuf> + use<> {
    let name = OsString::from(name);
    let folders: Vec<PathBuf> = std::env::split_paths(search_path).collect();
    folders
        .into_iter()
        // An entry such as `.` would mean whatever lies in the current folder.
        .filter(|folder| folder.is_absolute())
        .map(move |folder| folder.join(&name))
        .filter(|path| {
            path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
        })
}

/// Pythons that uv installed, the newest first.
fn installed_by_uv(data: &Path) -> Vec<Candidate> {
    let Ok(entries) = data.join("uv").join("python").read_dir() else {
        return Vec::new();
    };
    let mut found: Vec<(PythonVersion, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let version = PythonVersion::find_in(entry.file_name().to_str()?)?;
            let executable = entry.path().join("bin").join("python3");
            executable.is_file().then_some((version, executable))
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .rev()
        .map(|(_, path)| Candidate::new(path, CandidateOrigin::Uv))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn all(request: DiscoveryRequest<'_>, dirs: &Dirs) -> Vec<String> {
        let top = request.root.parent().unwrap().to_owned();
        candidates(request, dirs)
            .into_iter()
            .map(|candidate| match candidate.path {
                Ok(path) => path
                    .strip_prefix(&top)
                    .unwrap_or(&path)
                    .display()
                    .to_string(),
                Err(name) => format!("no {name}"),
            })
            .collect()
    }

    #[test]
    fn candidates_come_in_the_promised_order() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let root = home.join("project");
        let mut dirs = Dirs::under(home.join("pillion"));
        dirs.foreign_data = Some(home.join("share"));
        dirs.foreign_cache = Some(home.join("cache"));
        touch(&root.join(".venv/bin/python"));
        touch(&root.join("venv/pyvenv.cfg"));
        for name in ["one/python3", "two/python3", "two/python", "two/python3.12"] {
            touch(&home.join(name));
        }
        for version in ["3.9.1", "3.13.0", "3.12.9"] {
            touch(&home.join(format!(
                "share/uv/python/cpython-{version}-linux/bin/python3"
            )));
        }
        let poetry = poetry::name_part(&root);
        touch(&home.join(format!(
            "cache/pypoetry/virtualenvs/demo{poetry}3.12/bin/python"
        )));
        let search_path =
            std::env::join_paths([Path::new("."), &home.join("one"), &home.join("two")]).unwrap();
        let (active, conda) = (home.join("active"), home.join("conda"));
        let request = DiscoveryRequest {
            virtual_env: Some(&active),
            conda_prefix: Some(&conda),
            search_path: Some(&search_path),
            ..DiscoveryRequest::new(&root)
        };
        let poetry = format!("cache/pypoetry/virtualenvs/demo{poetry}3.12/bin/python");
        assert_eq!(
            all(request, &dirs),
            [
                "active/bin/python",
                "project/.venv/bin/python",
                "project/venv/bin/python",
                &poetry,
                "conda/bin/python",
                "one/python3",
                "two/python3",
                "two/python",
                "two/python3.12",
                "share/uv/python/cpython-3.13.0-linux/bin/python3",
                "share/uv/python/cpython-3.12.9-linux/bin/python3",
                "share/uv/python/cpython-3.9.1-linux/bin/python3",
            ]
        );
    }

    #[test]
    fn a_named_python_comes_first() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("project");
        touch(&root.join("env/bin/python"));
        touch(&home.path().join("bin/python3.12"));
        let search_path = home.path().join("bin").into_os_string();
        let dirs = Dirs::under(home.path());
        for (name, expected) in [
            ("env", "project/env/bin/python"),
            ("env/bin/python", "project/env/bin/python"),
            ("./missing", "project/./missing"),
            ("3.12", "bin/python3.12"),
            ("3.12.4", "bin/python3.12"),
            ("python3.12", "bin/python3.12"),
            ("3.13", "no python3.13"),
            ("pypy", "no pypy"),
        ] {
            let request = DiscoveryRequest {
                configured: Some(Path::new(name)),
                search_path: Some(&search_path),
                ..DiscoveryRequest::new(&root)
            };
            assert_eq!(all(request, &dirs)[0], expected, "{name}");
        }
    }
}
