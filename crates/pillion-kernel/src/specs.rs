//! Kernelspecs: what kinds of kernels there are on this machine, found where Jupyter finds them.
//!
//! A kernelspec is a folder with a `kernel.json`, in a folder `kernels` of one of Jupyter's data
//! folders. Of two with the same name the one that is found first counts, whether it can be read
//! or not: what people see here is what their Jupyter would start.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of kernel that pillion brings along: ipykernel on the project's Python.
pub const PYTHON: &str = "python3";
/// Kernelspecs that are looked at, and entries of a folder.
const MOST: usize = 256;
const MOST_ENTRIES: usize = 4096;
/// Bytes of a `kernel.json`.
const LARGEST: u64 = 256 << 10;
/// Data folders of the whole machine.
const SYSTEM: [&str; 2] = ["/usr/local/share/jupyter", "/usr/share/jupyter"];

/// What a kind of kernel is, as a `kernel.json` says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelSpec {
    /// The command that starts one for a plain Jupyter.
    pub argv: Vec<String>,
    /// What people see.
    #[serde(default)]
    pub display_name: String,
    /// The language of its cells.
    #[serde(default)]
    pub language: String,
    /// How it is interrupted.
    #[serde(default)]
    pub interrupt_mode: InterruptMode,
    /// Variables that it gets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// More about it.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// How a kernel is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptMode {
    /// By `SIGINT`.
    #[default]
    Signal,
    /// By an `interrupt_request` on its control socket.
    Message,
}

/// Where kernelspecs and the programs in them are looked for, by the variables of who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPath {
    /// `JUPYTER_PATH`.
    named: Vec<PathBuf>,
    /// The data folder of the user's own Jupyter.
    user: Option<PathBuf>,
    /// `JUPYTER_PREFER_ENV_PATH`: what is in the environment comes before what is the user's.
    is_environment_first: bool,
    /// `PATH`.
    programs: Vec<PathBuf>,
}

impl SearchPath {
    /// Where somebody with these variables would look.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let folders = |name: &str| {
            let text = variable(name).unwrap_or_default();
            let all = std::env::split_paths(&text).filter(|path| path.is_absolute());
            all.collect::<Vec<_>>()
        };
        let prefers = variable("JUPYTER_PREFER_ENV_PATH").unwrap_or_default();
        let prefers = prefers.to_string_lossy().to_lowercase();
        Self {
            named: folders("JUPYTER_PATH"),
            user: user_data(&variable),
            is_environment_first: !["", "no", "n", "false", "off", "0", "0.0"]
                .contains(&prefers.as_str()),
            programs: folders("PATH"),
        }
    }

    /// The folders that kernelspecs are in, for a Python of this prefix. Earlier ones win.
    pub fn folders(&self, prefix: Option<&Path>) -> Vec<PathBuf> {
        let environment = prefix.map(|prefix| prefix.join("share/jupyter"));
        let own = match self.is_environment_first {
            true => [environment, self.user.clone()],
            false => [self.user.clone(), environment],
        };
        let system = SYSTEM.map(PathBuf::from);
        let all = self.named.iter().cloned();
        let all = all.chain(own.into_iter().flatten()).chain(system);
        let mut once = BTreeSet::new();
        all.map(|data| data.join("kernels"))
            .filter(|folder| once.insert(folder.clone()))
            .collect()
    }

    /// A program of this name.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let mut places = self.programs.iter().map(|folder| folder.join(name));
        places.find(|path| path.is_file())
    }
}

/// Where the Jupyter of a user keeps its data, by the rules of its own.
pub fn user_data(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| Some(PathBuf::from(variable(name)?)).filter(|path| path.is_absolute());
    let home = || {
        let below = match cfg!(target_os = "macos") {
            true => "Library/Jupyter",
            false => ".local/share/jupyter",
        };
        Some(set("HOME")?.join(below))
    };
    set("JUPYTER_DATA_DIR")
        .or_else(|| Some(set("XDG_DATA_HOME")?.join("jupyter")))
        .or_else(home)
}

/// Whether a kernelspec may be called so.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(fits)
}

/// A kernelspec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledSpec {
    /// Its name, in small letters.
    pub name: String,
    /// The folder that it is.
    pub folder: PathBuf,
    /// What it says.
    pub spec: KernelSpec,
}

/// Something that is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unreadable {
    /// The name that it would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    pub path: PathBuf,
    /// Why it is not used.
    pub why: String,
}

/// All kernelspecs that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Specs {
    /// By name.
    pub found: BTreeMap<String, InstalledSpec>,
    /// What cannot be used.
    pub unreadable: Vec<Unreadable>,
}

impl Specs {
    /// The kernelspecs in these folders.
    pub fn find(folders: &[PathBuf]) -> Self {
        let mut specs = Self::default();
        for folder in folders {
            specs.look_into(folder);
        }
        specs
    }

    fn look_into(&mut self, folder: &Path) {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            // Most of them are not there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.cannot(None, folder, &error),
        };
        let mut names: Vec<String> = entries
            .take(MOST_ENTRIES)
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        for name in names {
            let place = folder.join(&name);
            // What is no kernelspec at all is nobody's business.
            if std::fs::symlink_metadata(place.join("kernel.json")).is_ok() {
                self.look_at(&name.to_lowercase(), place);
            }
        }
    }

    fn look_at(&mut self, name: &str, folder: PathBuf) {
        if !is_name(name) {
            let why = "no legal name: letters, digits, `-`, `_` and `.`, at most 100";
            return self.cannot(None, &folder, &why);
        }
        let is_taken = |one: &Unreadable| one.name.as_deref() == Some(name);
        if self.found.contains_key(name) || self.unreadable.iter().any(is_taken) {
            return;
        }
        let file = folder.join("kernel.json");
        if self.found.len() + self.unreadable.len() >= MOST {
            tracing::warn!(path = %file.display(), "more than {MOST} kernelspecs");
            return;
        }
        match read(&file) {
            Ok(spec) => {
                let name = name.to_owned();
                let found = InstalledSpec { name, folder, spec };
                self.found.insert(found.name.clone(), found);
            }
            Err(error) => self.cannot(Some(name), &file, &error),
        }
    }

    fn cannot(&mut self, name: Option<&str>, path: &Path, why: &dyn std::fmt::Display) {
        self.unreadable.push(Unreadable {
            name: name.map(ToOwned::to_owned),
            path: path.to_owned(),
            why: why.to_string(),
        });
    }
}

fn read(path: &Path) -> io::Result<KernelSpec> {
    // A pipe by that name must not hold us up.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("larger than {LARGEST} bytes")));
    }
    let spec: KernelSpec = serde_json::from_slice(&text)?;
    match spec.argv.is_empty() {
        true => Err(io::Error::other("`argv` is empty")),
        false => Ok(spec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(data: &Path, name: &str, text: &str) {
        let folder = data.join("kernels").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kernel.json"), text).unwrap();
    }

    fn spec(display_name: &str) -> String {
        format!(r#"{{"argv": ["x"], "display_name": "{display_name}", "language": "x"}}"#)
    }

    fn search(variables: &[(&str, &str)]) -> SearchPath {
        let variables: BTreeMap<String, OsString> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.into()))
            .collect();
        SearchPath::of(|name| variables.get(name).cloned())
    }

    #[test]
    #[cfg(not(target_os = "macos"))]
    fn folders_are_those_of_jupyter_in_its_order() {
        let of = |variables: &[(&str, &str)]| {
            let folders = search(variables).folders(Some(Path::new("/env")));
            let all = folders.iter().map(|path| path.to_string_lossy());
            all.collect::<Vec<_>>().join(" ")
        };
        let system = "/usr/local/share/jupyter/kernels /usr/share/jupyter/kernels";
        let environment = "/env/share/jupyter/kernels";
        let user = "/home/u/.local/share/jupyter/kernels";
        let home = ("HOME", "/home/u");
        assert_eq!(of(&[home]), format!("{user} {environment} {system}"));
        assert_eq!(
            of(&[home, ("JUPYTER_PREFER_ENV_PATH", "1")]),
            format!("{environment} {user} {system}")
        );
        assert_eq!(
            of(&[home, ("XDG_DATA_HOME", "/data")]),
            format!("/data/jupyter/kernels {environment} {system}")
        );
        assert_eq!(
            of(&[
                home,
                ("JUPYTER_DATA_DIR", "/own"),
                ("XDG_DATA_HOME", "/data"),
                ("JUPYTER_PATH", "/a:relative:/b:/a"),
            ]),
            format!("/a/kernels /b/kernels /own/kernels {environment} {system}")
        );
        for nothing in [&[][..], &[("HOME", "")]] {
            assert_eq!(of(nothing), format!("{environment} {system}"));
        }
    }

    #[test]
    fn the_first_of_a_name_counts_whatever_the_case_of_its_letters() {
        let world = tempfile::tempdir().unwrap();
        let (one, two) = (world.path().join("one"), world.path().join("two"));
        write(&one, "Bash", &spec("first"));
        write(&two, "bash", &spec("second"));
        write(&two, "other", &spec("other"));
        let specs = Specs::find(&[one.join("kernels"), two.join("kernels")]);
        let names: Vec<_> = specs.found.keys().map(String::as_str).collect();
        assert_eq!(names, ["bash", "other"]);
        assert_eq!(specs.found["bash"].spec.display_name, "first");
        assert_eq!(specs.found["bash"].folder, one.join("kernels/Bash"));
        assert!(specs.unreadable.is_empty(), "{specs:?}");
    }

    #[test]
    fn what_cannot_be_read_is_told_and_hides_those_behind_it() {
        let world = tempfile::tempdir().unwrap();
        let (one, two) = (world.path().join("one"), world.path().join("two"));
        write(&one, "broken", "{");
        write(&one, "empty", r#"{"argv": []}"#);
        write(&one, "no name", &spec("x"));
        write(&one, "large", &" ".repeat(300 << 10));
        fs::create_dir_all(one.join("kernels/folder/kernel.json")).unwrap();
        fs::create_dir_all(one.join("kernels/nothing")).unwrap();
        write(&two, "broken", &spec("x"));
        let specs = Specs::find(&[one.join("kernels"), two.join("kernels")]);
        assert!(specs.found.is_empty(), "{specs:?}");
        let names: Vec<_> = specs
            .unreadable
            .iter()
            .map(|one| one.name.as_deref().unwrap_or("-"))
            .collect();
        assert_eq!(names, ["broken", "empty", "folder", "large", "-"]);
        assert!(specs.unreadable.iter().all(|one| !one.why.is_empty()));
    }

    #[test]
    fn what_a_spec_does_not_say_is_as_jupyter_has_it() {
        let spec: KernelSpec = serde_json::from_str(r#"{"argv": ["x"]}"#).unwrap();
        assert_eq!(spec.interrupt_mode, InterruptMode::Signal);
        assert!(spec.env.is_empty() && spec.language.is_empty());
    }
}
