//! Which keys count: those of the user's `config.toml`, and those that were named.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pillion_bundle::signature::{MAX_SIZE, TrustedKeys};
use pillion_runtime::Dirs;
use serde::Deserialize;

use crate::error::{Error, Result};

/// The user's own configuration, in their configuration folder.
pub const CONFIG: &str = "config.toml";

/// What it says about bundles. Other tables are others' business.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    bundles: Bundles,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Bundles {
    /// Public keys whose signatures count.
    trusted_keys: Vec<String>,
}

/// Whose bundles are taken.
#[derive(Debug, Clone, Default)]
pub struct TrustPolicy {
    /// The keys.
    pub keys: TrustedKeys,
    /// Also those that nobody signed.
    pub allow_unsigned: bool,
}

impl TrustPolicy {
    /// Whether an archive with this signature may turn out to be one that is taken.
    pub(crate) fn expects(&self, signature: Option<&str>) -> pillion_bundle::Result<()> {
        match signature {
            _ if self.allow_unsigned => Ok(()),
            None => Err(pillion_bundle::Error::Unsigned),
            Some(signature) => self.keys.may_have_made(signature),
        }
    }

    /// The keys of the configuration and these, which are keys or the files of keys.
    pub fn of(dirs: &Dirs, named: &[String], from: &Path, allow_unsigned: bool) -> Result<Self> {
        let mut keys = TrustedKeys::default();
        let path = config_file(dirs);
        for key in configured(&path)? {
            keys.add(&key).map_err(|error| Error::Config {
                path: path.clone(),
                why: error.to_string(),
            })?;
        }
        for name in named {
            let file = from.join(name);
            let mut text = String::new();
            let opened = std::fs::File::open(&file);
            let read = opened.and_then(|file| file.take(MAX_SIZE).read_to_string(&mut text));
            // What is no file is a key; what is neither is told below.
            if read.is_err() {
                text.clone_from(name);
            }
            keys.add(&text).map_err(|error| Error::Input {
                what: format!("`{name}` is neither a public key nor the file of one: {error}"),
                hint: "name the `.pub` file that `pillion bundle keygen` wrote".to_owned(),
            })?;
        }
        Ok(Self {
            keys,
            allow_unsigned,
        })
    }
}

/// The file that keys are configured in.
pub fn config_file(dirs: &Dirs) -> PathBuf {
    dirs.config.join(CONFIG)
}

fn configured(path: &Path) -> Result<Vec<String>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::io("read", path)(source)),
    };
    let config: Config = toml::from_str(&text).map_err(|error| Error::Config {
        path: path.to_owned(),
        why: error.message().to_owned(),
    })?;
    Ok(config.bundles.trusted_keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pillion_bundle::signature::Pair;

    #[test]
    fn keys_come_from_the_configuration_files_and_words() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path());
        let of = |named: &[String]| TrustPolicy::of(&dirs, named, home.path(), false);
        assert!(of(&[]).unwrap().keys.is_empty());
        let pair = Pair::generate(None).unwrap();
        std::fs::write(home.path().join("our.pub"), &pair.public).unwrap();
        assert!(!of(&["our.pub".to_owned()]).unwrap().keys.is_empty());
        assert!(
            !of(std::slice::from_ref(&pair.public_line))
                .unwrap()
                .keys
                .is_empty()
        );
        let error = of(&["other.pub".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("other.pub"), "{error}");

        std::fs::create_dir_all(&dirs.config).unwrap();
        let write = |text: String| std::fs::write(config_file(&dirs), text).unwrap();
        write(format!(
            "[bundles]\ntrusted_keys = [\"{}\"]\n",
            pair.public_line
        ));
        assert!(!of(&[]).unwrap().keys.is_empty());
        write("[bundles]\ntrusted_keys = [\"no\"]\n".to_owned());
        assert!(matches!(of(&[]), Err(Error::Config { .. })));
        write("[bundles]\nkeys = []\n".to_owned());
        assert!(matches!(of(&[]), Err(Error::Config { .. })));
    }
}
