//! Where poetry keeps environments that are not in the project.
//!
//! Poetry names them `PROJECT-HASH-pyX.Y`, the hash being made from the project's folder.
//! So the right one is recognised by its hash, without reading `pyproject.toml`, and that
//! of a project with the same name is not mistaken for it.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The environments of the project in `root`, the newest Python first.
pub(super) fn environments(root: &Path, cache: Option<&Path>) -> Vec<PathBuf> {
    let Some(entries) =
        cache.and_then(|cache| cache.join("pypoetry").join("virtualenvs").read_dir().ok())
    else {
        return Vec::new();
    };
    // Poetry before 1.5 did not follow links first.
    let parts = [
        root.canonicalize()
            .map_or_else(|_| name_part(root), |r| name_part(&r)),
        name_part(root),
    ];
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let version = parts
                .iter()
                .find_map(|part| Some(name.split_once(part.as_str())?.1))?;
            let minor = version.split_once('.')?.1.parse().ok()?;
            Some((minor, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// The `-HASH-py` in the names of a project's environments.
pub(super) fn name_part(root: &Path) -> String {
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = hash
        .iter()
        .take(6)
        .fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let base64: String = (0..8)
        .rev()
        .map(|place| char::from(digits[(bits >> (6 * place)) as usize & 63]))
        .collect();
    format!("-{base64}-py")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_one_poetry_uses() {
        // python3 -c 'import base64, hashlib
        // print(base64.urlsafe_b64encode(hashlib.sha256(b"/home/ada/engine").digest())[:8])'
        assert_eq!(name_part(Path::new("/home/ada/engine")), "-rz3U_X8r-py");
    }

    #[test]
    fn another_project_of_the_same_name_is_left_alone() {
        let cache = tempfile::tempdir().unwrap();
        let all = cache.path().join("pypoetry/virtualenvs");
        let root = Path::new("/home/ada/engine");
        let part = name_part(root);
        for name in [
            "engine-AAAAAAAA-py3.12",
            &format!("engine{part}3.9"),
            &format!("x{part}3.12"),
        ] {
            std::fs::create_dir_all(all.join(name)).unwrap();
        }
        let found = environments(root, Some(cache.path()));
        assert_eq!(
            found,
            [
                all.join(format!("x{part}3.12")),
                all.join(format!("engine{part}3.9"))
            ]
        );
        assert!(environments(root, None).is_empty());
    }
}
