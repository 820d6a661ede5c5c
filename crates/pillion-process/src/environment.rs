//! What a child finds in its environment.
//!
//! A daemon outlives the shell that started it and works for many projects, and credentials
//! have no common shape: a list of what to take away is never complete. So it is the other way
//! round. A child gets the variables that say who and where the user is and how Python is to
//! run ([`ChildVariables::for_worker`]), and those that its project names in `pass_env`; everything
//! else is held back, and `pillion doctor` lists what ([`held_back`]). Even a
//! variable that is usually harmless is held back if its value looks like a credential, as
//! that of a proxy with a password.
//!
//! Whose variables they are matters as much: a worker gets those of whoever calls it
//! ([`of_process`]), never those of whoever happened to start the daemon. A daemon
//! that a client starts has no others in the first place (`for_daemon`).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::sys;

/// ChildVariables of the user and the machine, which every child gets.
const COMMON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "TEMP",
    "TMP",
    "NO_COLOR",
    "LD_LIBRARY_PATH",
    "SOURCE_DATE_EPOCH",
    // Where certificates are, and whom to ask for what is elsewhere.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    // Where other tools are, and what users told git about all of their repositories.
    "PYENV_ROOT",
    // Where this user's packages are, for every Python.
    "PYTHONUSERBASE",
    "PYTHONNOUSERSITE",
    "JAVA_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
];
const COMMON_PREFIXES: &[&str] = &["LC_", "XDG_"];
/// Certificates of others, as every library calls them.
const COMMON_ENDINGS: &[&str] = &["_CA_BUNDLE", "_CA_CERTS", "_CERT_FILE", "_CAINFO"];

/// What workers get besides: settings of Python and of what programs in Python use, which
/// would be wrong for pillion's own tools.
const OF_WORKERS: &[&str] = &[
    "DJANGO_SETTINGS_MODULE",
    "FLASK_APP",
    "MPLBACKEND",
    "MPLCONFIGDIR",
    "TOKENIZERS_PARALLELISM",
];
const OF_WORKERS_PREFIXES: &[&str] = &[
    "PYTHON",
    "CUDA_",
    "NVIDIA_",
    "OMP_",
    "MKL_",
    "KMP_",
    "OPENBLAS_",
    "NUMEXPR_",
];

/// What a daemon needs for itself: its own settings, and how packages are fetched.
const OF_DAEMONS: &[&str] = &[
    "INTERMUTE_URL",
    "MCP_TOOL_PROFILE",
    "RUST_BACKTRACE",
    "NETRC",
];
const OF_DAEMONS_PREFIXES: &[&str] = &["PILLION_", "PIP_", "UV_"];

/// Environments that are active for whoever started us. A child gets its own.
const ACTIVE: &[&str] = &["VIRTUAL_ENV", "CONDA_PREFIX"];

/// What a shell notes for itself, and nobody misses.
const OF_TERMINALS: &[&str] = &["PWD", "OLDPWD", "SHLVL", "TERM", "_"];

/// Beginnings of credentials that are known by them.
const KEYS: &[&str] = &[
    "sk-",
    "sk_",
    "rk_",
    "pk_live",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "SG.",
    "-----BEGIN",
];

/// ChildVariables by their names.
pub type Map = BTreeMap<OsString, OsString>;

/// The variables that were chosen for a child. Their values are never printed.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ChildVariables(Map);

impl fmt::Debug for ChildVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl ChildVariables {
    /// What a worker gets when `caller` calls it; nobody's but our own where that is us. `pass`
    /// names those that its project asks for.
    pub fn for_worker(caller: Option<&Map>, own: &Map, pass: &[String]) -> Self {
        let Some(caller) = caller else {
            return Self::only(own, |name, value| {
                is_for_worker(name, value) || is_passed(name, pass)
            });
        };
        let mut given = Self::only(caller, is_for_worker);
        // Who the user is and where his things are does not depend on who calls.
        let user = Self::only(own, |name, value| {
            is_of_user(name) && is_common(name, value)
        });
        given.0.extend(user);
        given.add_passed(caller, own, pass);
        given
    }

    /// Those of a worker that make it another one: what its project asks for, and what
    /// changes how its Python runs.
    pub fn telling(caller: Option<&Map>, own: &Map, pass: &[String]) -> Self {
        let caller = caller.unwrap_or(own);
        let mut given = Self::only(caller, |name, value| {
            name.starts_with("PYTHON") && is_for_worker(name, value)
        });
        given.add_passed(caller, own, pass);
        given
    }

    /// What a project asks for: the caller's, or what whoever runs pillion has set for all.
    fn add_passed(&mut self, caller: &Map, own: &Map, pass: &[String]) {
        for name in pass.iter().filter(|name| is_passed(name, pass)) {
            let name = OsStr::new(name);
            if let Some(value) = caller.get(name).or_else(|| own.get(name)) {
                self.0.insert(name.to_owned(), value.clone());
            }
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    fn only(all: &Map, keep: impl Fn(&str, &OsStr) -> bool) -> Self {
        let kept = all.iter().filter(|(name, value)| {
            // A name that is no text is nobody's setting.
            name.to_str().is_some_and(|name| keep(name, value))
        });
        Self(
            kept.map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }
}

impl IntoIterator for ChildVariables {
    type Item = (OsString, OsString);
    type IntoIter = std::collections::btree_map::IntoIter<OsString, OsString>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// All variables of this process.
pub fn own() -> Map {
    std::env::vars_os().collect()
}

/// All variables that another process of this user was started with.
pub fn of_process(pid: u32) -> io::Result<Map> {
    let all = sys::environment_of(pid)?;
    let pairs = all.split(|byte| *byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair.get(..at)?, pair.get(at + 1..)?);
        Some((
            OsStr::from_bytes(name).into(),
            OsStr::from_bytes(value).into(),
        ))
    });
    Ok(pairs.collect())
}

/// The folder that another process of this user is in.
pub fn folder_of_process(pid: u32) -> io::Result<PathBuf> {
    sys::folder_of(pid)
}

/// The names of those that a worker does not get.
pub fn held_back(all: &Map, pass: &[String]) -> Vec<String> {
    let given = ChildVariables::for_worker(None, all, pass);
    let names = all.keys().filter(|name| !given.0.contains_key(*name));
    names
        .map(|name| name.to_string_lossy().into_owned())
        // A worker gets its own of these.
        .filter(|name| !name.starts_with("PILLION_") && !ACTIVE.contains(&name.as_str()))
        .filter(|name| !OF_TERMINALS.contains(&name.as_str()))
        .collect()
}

/// What a tool of pillion's own gets; `pass` names what it needs besides.
pub(crate) fn for_tool(pass: &[String]) -> ChildVariables {
    ChildVariables::only(&own(), |name, value| {
        is_common(name, value) || is_passed(name, pass)
    })
}

/// What a daemon gets of whoever starts it: what is true for all of the user's projects.
pub(crate) fn for_daemon() -> ChildVariables {
    let own = own();
    let mut given = ChildVariables::only(&own, |name, value| {
        is_common(name, value)
            || is_proxy(name)
            || OF_DAEMONS.contains(&name)
            || begins(name, OF_DAEMONS_PREFIXES)
    });
    if let Some(path) = given.0.get_mut(OsStr::new("PATH")) {
        *path = without_active(path, &own);
    }
    given
}

/// `PATH` without the folders of an environment that is active for the starter: it is no
/// other project's.
fn without_active(path: &OsStr, own: &Map) -> OsString {
    let active: Vec<&Path> = ACTIVE
        .iter()
        .filter_map(|name| own.get(OsStr::new(name)).map(Path::new))
        .filter(|folder| folder.is_absolute())
        .collect();
    let folders = std::env::split_paths(path);
    let kept: Vec<PathBuf> = folders
        .filter(|folder| !active.iter().any(|active| folder.starts_with(active)))
        .collect();
    std::env::join_paths(kept).unwrap_or_else(|_| path.to_owned())
}

/// Whether a variable only says how the network is reached.
fn is_proxy(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("_proxy")
}

/// Settings of package tools: where packages come from, and who asks for them.
pub fn is_of_package_tools(name: &str) -> bool {
    begins(name, &["PIP_", "UV_"]) || is_proxy(name) || name == "NETRC"
}

fn is_common(name: &str, value: &OsStr) -> bool {
    let known = COMMON.contains(&name)
        || begins(name, COMMON_PREFIXES)
        || COMMON_ENDINGS.iter().any(|end| name.ends_with(end));
    // These are written in small letters, too.
    (known || COMMON.contains(&name.to_ascii_uppercase().as_str()) && is_proxy(name))
        && !is_credential(value)
}

fn is_for_worker(name: &str, value: &OsStr) -> bool {
    let settings = OF_WORKERS.contains(&name) || begins(name, OF_WORKERS_PREFIXES);
    // They would change how a worker starts.
    let disturbs = matches!(name, "PYTHONSTARTUP" | "PYTHONINSPECT" | "PYTHONHOME");
    is_common(name, value) || (settings && !disturbs && !is_credential(value))
}

/// Whether a variable says who the user is, or where his things are.
fn is_of_user(name: &str) -> bool {
    name.starts_with("XDG_")
        || matches!(
            name,
            "HOME" | "USER" | "LOGNAME" | "TMPDIR" | "TEMP" | "TMP"
        )
}

fn is_passed(name: &str, pass: &[String]) -> bool {
    !name.starts_with("PILLION_") && pass.iter().any(|passed| passed == name)
}

fn begins(name: &str, with: &[&str]) -> bool {
    with.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a value looks like a credential, or holds one.
fn is_credential(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let userinfo = |rest: &str| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        rest.get(..end)
            .is_some_and(|authority| authority.contains('@'))
    };
    let in_url = value
        .match_indices("://")
        .any(|(at, mark)| value.get(at + mark.len()..).is_some_and(userinfo));
    // A proxy may be written without its scheme.
    in_url
        || (value.contains(':') && !value.contains('/') && value.contains('@'))
        || KEYS.iter().any(|key| value.starts_with(key))
        || (value.starts_with("eyJ") && value.matches('.').count() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(all: &[(&str, &str)]) -> Map {
        all.iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn names(variables: ChildVariables) -> Vec<String> {
        variables
            .into_iter()
            .map(|(name, _)| name.into_string().unwrap())
            .collect()
    }

    #[test]
    fn what_nobody_asked_for_is_held_back() {
        let all = variables(&[
            ("PATH", "/usr/bin:/bin"),
            ("LC_TIME", "de_DE.UTF-8"),
            ("PYTHONPATH", "/opt/lib"),
            ("PYTHONHOME", "/opt"),
            ("DJANGO_SETTINGS_MODULE", "shop.settings"),
            ("GITHUB_PAT", "ghp_x"),
            ("DB_PASS", "hunter2"),
            ("DATABASE_URL", "postgres://u:p@h/db"),
            ("MY_OWN_SETTING", "1"),
            ("PILLION_HOME", "/x"),
            ("VIRTUAL_ENV", "/v"),
        ]);
        let given = names(ChildVariables::for_worker(
            None,
            &all,
            &["DB_PASS".into(), "PILLION_HOME".into()],
        ));
        assert_eq!(
            given,
            [
                "DB_PASS",
                "DJANGO_SETTINGS_MODULE",
                "LC_TIME",
                "PATH",
                "PYTHONPATH"
            ]
        );
        assert_eq!(
            held_back(&all, &["DB_PASS".into()]),
            ["DATABASE_URL", "GITHUB_PAT", "MY_OWN_SETTING", "PYTHONHOME"]
        );
        let telling = names(ChildVariables::telling(None, &all, &["DB_PASS".into()]));
        assert_eq!(telling, ["DB_PASS", "PYTHONPATH"]);
    }

    #[test]
    fn a_worker_has_its_callers() {
        let ours = variables(&[
            ("HOME", "/home/me"),
            ("TZ", "Asia/Tokyo"),
            ("PYTHONPATH", "/ours"),
            ("SHOP_TOKEN", "ours"),
            ("SHOP_MODE", "for all"),
        ]);
        let theirs = variables(&[
            ("HOME", "/elsewhere"),
            ("LANG", "C"),
            ("SHOP_TOKEN", "theirs"),
            ("OTHER", "1"),
        ]);
        let pass = ["SHOP_TOKEN".to_owned(), "SHOP_MODE".to_owned()];
        let given = ChildVariables::for_worker(Some(&theirs), &ours, &pass);
        assert_eq!(given.get("HOME").unwrap(), "/home/me");
        assert_eq!(given.get("SHOP_TOKEN").unwrap(), "theirs");
        assert_eq!(given.get("SHOP_MODE").unwrap(), "for all");
        assert_eq!(
            names(given),
            ["HOME", "LANG", "SHOP_MODE", "SHOP_TOKEN"],
            "nothing else of ours"
        );
        let telling = ChildVariables::telling(Some(&theirs), &ours, &pass);
        assert_eq!(names(telling), ["SHOP_MODE", "SHOP_TOKEN"]);
    }

    #[test]
    fn a_harmless_name_does_not_help_a_credential() {
        for value in [
            "http://user:secret@proxy:8080",
            "http://token@proxy:8080/",
            "user:secret@proxy:8080",
            "sk-0123456789",
            "ghp_0123456789",
            "xoxb-1-2-3",
            "AKIA0123456789ABCDEF",
            "-----BEGIN PRIVATE KEY-----\nMII",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        ] {
            for name in ["HTTPS_PROXY", "https_proxy", "LC_X", "PYTHONX", "XDG_X"] {
                let held = held_back(&variables(&[(name, value)]), &[]);
                assert_eq!(held, [name], "{value}");
            }
        }
        for (name, value) in [
            ("http_proxy", "http://proxy:8080"),
            ("PATH", "/home/a@b/bin:/usr/bin"),
            ("LC_CTYPE", "de_DE.UTF-8@euro"),
            ("NO_PROXY", "localhost,127.0.0.1"),
        ] {
            let held = held_back(&variables(&[(name, value)]), &[]);
            assert!(held.is_empty(), "{name}={value}");
        }
    }

    #[test]
    fn values_are_not_printed() {
        let text = format!("{:?}", ChildVariables(variables(&[("DB_PASS", "hunter2")])));
        assert_eq!(text, "{\"DB_PASS\"}");
    }

    #[test]
    fn the_starters_environment_is_nobody_elses() {
        let own = variables(&[("VIRTUAL_ENV", "/a/.venv"), ("CONDA_PREFIX", "/conda/env")]);
        let path = OsStr::new("/a/.venv/bin:/conda/env/bin:/usr/bin:/a/.venv2/bin");
        assert_eq!(without_active(path, &own), "/usr/bin:/a/.venv2/bin");
    }

    #[test]
    fn another_process_can_be_asked() {
        let own = of_process(std::process::id()).unwrap();
        assert_eq!(
            own.get(OsStr::new("PATH")),
            std::env::var_os("PATH").as_ref()
        );
        assert!(of_process(u32::MAX).is_err());
    }
}
