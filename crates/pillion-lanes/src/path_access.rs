//! The way to what code needs, where it runs as another user than we and no namespace brings
//! things to it: it meets every folder above them as that user does.
//!
//! Folders of pillion's own let it pass, and nobody list them. What others have closed is theirs to
//! open: it is named before anything is started.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pillion_runtime::Dirs;
use pillion_sandbox::Level;

use crate::session::passage;

/// Let whoever runs code at this level pass through pillion's own folders.
pub(crate) fn open(dirs: &Dirs, level: Level) {
    if level == Level::L3 || pillion_sandbox::run_user().is_none() {
        return;
    }
    let (cache, data) = (dirs.usable_cache(), dirs.usable_data());
    let home = cache.parent().filter(|home| data.parent() == Some(*home));
    let workers = cache.join("worker");
    // What is not there yet is made later, and opened by whoever comes then.
    for own in home.into_iter().chain([&*cache, &*data, &*workers]) {
        let is_closed = |meta: fs::Metadata| meta.is_dir() && meta.mode() & 0o001 == 0;
        if !own.symlink_metadata().is_ok_and(is_closed) {
            continue;
        }
        if let Err(error) = passage(own) {
            tracing::debug!(%error, "a folder stays closed to code");
        }
    }
}

/// Whether code at this level can get to what it needs: its folder, what it is made of.
pub fn check(level: Level, needed: &[&Path]) -> io::Result<()> {
    match pillion_sandbox::run_user().filter(|_| level < Level::L3) {
        Some(run_user) => among(run_user, needed),
        None => Ok(()),
    }
}

fn among(run_user: u32, needed: &[&Path]) -> io::Result<()> {
    for path in needed {
        // Links lead elsewhere, and both ways are gone.
        let real = path.canonicalize().unwrap_or_default();
        if let Some(folder) = closed(run_user, path).or_else(|| closed(run_user, &real)) {
            let folder = folder.display();
            let message = format!(
                "code runs as another user here, who may not pass through `{folder}` to `{}`; \
                 let others pass (`chmod o+x {folder}`), or name another place with \
                 `PILLION_HOME`, `SESSIONS_DIR` or `--python`",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
    }
    Ok(())
}

/// The first folder above a path that this user may not pass through.
fn closed(user: u32, path: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let is_closed = |folder: &&Path| {
        let meta = folder.metadata();
        meta.is_ok_and(|meta| {
            let own = meta.uid() == user && meta.mode() & 0o100 != 0;
            !own && meta.mode() & 0o001 == 0
        })
    };
    above.into_iter().find(is_closed).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Nobody's number.
    const USER: u32 = 1_879_048_192;

    #[test]
    fn the_first_closed_folder_is_named_also_behind_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let mode = |name: &str, mode: u32| {
            let path = root.join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("", 0o711);
        fs::create_dir_all(root.join("open/closed/deep")).unwrap();
        mode("open", 0o711);
        mode("open/closed", 0o750);
        mode("open/closed/deep", 0o700);
        std::os::unix::fs::symlink("open/closed/deep/it", root.join("link")).unwrap();
        fs::write(root.join("open/closed/deep/it"), "").unwrap();
        let closed = |name: &str| closed(USER, &root.join(name));
        assert_eq!(closed("open/closed"), None, "it need not be read");
        let first = Some(root.join("open/closed"));
        assert_eq!(closed("open/closed/deep"), first);
        assert_eq!(closed("open/closed/deep/it"), first);
        let told = among(USER, &[&root.join("open"), &root.join("link")]);
        let told = told.unwrap_err().to_string();
        assert!(told.contains("open/closed`"), "{told}");
        // Whoever has a folder passes through it.
        let own = fs::metadata(&root).unwrap().uid();
        assert_eq!(super::closed(own, &root.join("open/closed/deep/it")), None);
    }
}
