//! What of a Python has to be seen by a program behind walls: its executable, programs and
//! libraries.

use std::path::{Path, PathBuf};

/// How many links an executable may be behind.
const MAX_LINKS: usize = 16;

/// What of an installation or environment is shown: its programs and libraries. Its folder may
/// hold anything else, too: an environment can be made right in a project or in a home.
pub fn shown(prefix: &Path, version: &str, root: &Path) -> Vec<PathBuf> {
    // Of the system's own tree only the libraries, which are shown anyway.
    if ["/", "/usr", "/usr/local"].map(Path::new).contains(&prefix) {
        return Vec::new();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_shared = root.starts_with(prefix)
        || home.is_some_and(|home| !home.as_os_str().is_empty() && home.starts_with(prefix));
    let names: Vec<PathBuf> = match is_shared {
        // Even these names may be those of other things there.
        true => ["lib", "lib64", "lib32", "include"]
            .iter()
            .map(|folder| Path::new(folder).join(version))
            .chain(beginning_with(&prefix.join("bin"), "bin", "python"))
            .chain(beginning_with(&prefix.join("lib"), "lib", "libpython"))
            .chain(["pyvenv.cfg".into()])
            .collect(),
        false => [
            "bin",
            "lib",
            "lib64",
            "lib32",
            "include",
            "pyvenv.cfg",
            // conda's certificates.
            "ssl/cert.pem",
        ]
        .map(PathBuf::from)
        .into(),
    };
    let paths = names.into_iter().map(|name| prefix.join(name));
    paths
        .filter(|path| path.exists() && !leads_away(path, root))
        .collect()
}

/// Files of a folder whose names begin so, as named from above it.
fn beginning_with(folder: &Path, name: &str, beginning: &str) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|file| file.starts_with(beginning))
        .map(|file| Path::new(name).join(file))
        .collect()
}

/// Whether a path in the project leads out of it by a link. What is shown under its name would
/// be something that nobody meant to show; an environment's Python is found by other means.
pub fn leads_away(path: &Path, root: &Path) -> bool {
    let (Ok(real), Ok(real_root)) = (path.canonicalize(), root.canonicalize()) else {
        return true;
    };
    let is_program = path.parent().is_some_and(|parent| parent.ends_with("bin"));
    path.starts_with(root) && !real.starts_with(real_root) && !is_program
}

/// An executable, and everything it is a link to.
pub fn links(executable: &Path) -> Vec<PathBuf> {
    let mut all = vec![executable.to_owned()];
    for _ in 0..MAX_LINKS {
        let Some(last) = all.last() else { break };
        let Ok(target) = std::fs::read_link(last) else {
            break;
        };
        let next = last.parent().unwrap_or(Path::new("/")).join(target);
        all.push(std::path::absolute(&next).unwrap_or(next));
    }
    if let Ok(real) = executable.canonicalize() {
        all.push(real);
    }
    all
}
