//! What of pillion's environment a child may see.
//!
//! A daemon outlives the shell that started it and runs code from many projects, so
//! credentials in its environment must not leak into children. Names that look like
//! credentials are removed unless the project lists them in `pass_env`; pillion's own
//! variables are always removed.

use std::ffi::{OsStr, OsString};

/// Endings of variable names that mark a credential.
const SECRET_ENDINGS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "COOKIE",
];

/// Whether a variable's name marks it as a credential.
///
/// ```
/// use pillion_process::environment::is_secret;
/// assert!(is_secret("OPENAI_API_KEY"));
/// assert!(is_secret("GITHUB_TOKEN"));
/// assert!(!is_secret("KEYBOARD_LAYOUT"));
/// assert!(!is_secret("PATH"));
/// ```
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_ENDINGS.iter().any(|ending| {
        let Some(rest) = name.strip_suffix(ending) else {
            return false;
        };
        // Words written together are common (APIKEY, PGPASSWORD), but MONKEY is no key.
        let joined = rest.ends_with("API") || rest.ends_with("AUTH") || ending.len() > 6;
        rest.is_empty() || rest.ends_with(['_', '-']) || joined
    })
}

/// Variables that would change how a child Python starts, or that belong to pillion.
fn is_ours(name: &str) -> bool {
    name.starts_with("PILLION_")
        || matches!(
            name,
            "PYTHONSTARTUP"
                | "PYTHONINSPECT"
                | "PYTHONHOME"
                | "__PYVENV_LAUNCHER__"
                // Those of whoever started the daemon; a child gets its own.
                | "VIRTUAL_ENV"
                | "CONDA_PREFIX"
        )
}

/// This process's environment as a child may see it.
///
/// `pass` names variables that are handed on although they look like credentials.
pub fn for_child(pass: &[String]) -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| allowed(name, pass))
        .collect()
}

fn allowed(name: &OsStr, pass: &[String]) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    !is_ours(name) && (!is_secret(name) || pass.iter().any(|p| p == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_their_names() {
        for name in [
            "LLM_API_KEY",
            "aws_secret_access_key",
            "HF_TOKEN",
            "PGPASSWORD",
            "TOKEN",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["HOME", "MONKEY", "TOKENIZERS_PARALLELISM", "LANG"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_project_can_pass_a_credential_on() {
        assert!(!allowed(OsStr::new("HF_TOKEN"), &[]));
        assert!(allowed(OsStr::new("HF_TOKEN"), &["HF_TOKEN".into()]));
        assert!(!allowed(
            OsStr::new("PILLION_TOKEN"),
            &["PILLION_TOKEN".into()]
        ));
    }
}
