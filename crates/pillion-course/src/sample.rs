//! The sample course, which is in this program: whoever has no course has something to talk about.
//!
//! It is laid out under the hash of its contents, so that several versions of
//! pillion have theirs beside each other, and sessions find the one they began with.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use rust_embed::Embed;
use sha2::{Digest, Sha256};

#[derive(Embed)]
#[folder = "../../examples/course"]
struct Embedded;

/// Letters of the hash that are the name of its folder.
const NAME: usize = 16;

/// The folder with the sample course, complete, in a folder for samples.
pub fn sample(samples: &Path) -> io::Result<PathBuf> {
    let folder = samples.join(name());
    lay_out(&folder)?;
    Ok(folder)
}

fn files() -> Vec<String> {
    let mut names: Vec<String> = Embedded::iter().map(Cow::into_owned).collect();
    names.sort();
    names
}

/// The hash of names and contents.
fn name() -> String {
    let mut hash = Sha256::new();
    for name in files() {
        hash.update(name.as_bytes());
        hash.update([0]);
        if let Some(file) = Embedded::get(&name) {
            hash.update((file.data.len() as u64).to_le_bytes());
            hash.update(&file.data);
        }
    }
    let mut name = hex::encode(hash.finalize());
    name.truncate(NAME);
    name
}

fn lay_out(folder: &Path) -> io::Result<()> {
    if is_complete(folder) {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(above)?;
    let staged = tempfile::Builder::new().prefix(".new-").tempdir_in(above)?;
    for name in files() {
        let Some(file) = Embedded::get(&name) else {
            continue;
        };
        let path = staged.path().join(&name);
        std::fs::create_dir_all(path.parent().unwrap_or(staged.path()))?;
        std::fs::write(path, &file.data)?;
    }
    // What lies there is damaged, or of somebody who is laying it out just now.
    if folder.exists() {
        let aside = tempfile::Builder::new().prefix(".old-").tempdir_in(above)?;
        std::fs::rename(folder, aside.path().join("course"))?;
    }
    match std::fs::rename(staged.path(), folder) {
        // Its place is another one now, so there is nothing to be removed.
        Ok(()) => drop(staged.keep()),
        Err(_) if is_complete(folder) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn is_complete(folder: &Path) -> bool {
    folder.is_dir()
        && files().iter().all(|name| {
            let embedded = Embedded::get(name).map(|file| file.data);
            embedded.as_deref() == std::fs::read(folder.join(name)).ok().as_deref()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_laid_out_once_and_mended() {
        let home = tempfile::tempdir().unwrap();
        let one = sample(home.path()).unwrap();
        assert!(is_complete(&one));
        assert!(!files().is_empty());
        let first = one.join(&files()[0]);
        std::fs::write(&first, "damaged").unwrap();
        assert!(!is_complete(&one));
        assert_eq!(sample(home.path()).unwrap(), one);
        assert!(is_complete(&one));
        let above = std::fs::read_dir(one.parent().unwrap()).unwrap();
        assert_eq!(above.count(), 1, "nothing is left behind");
    }
}
