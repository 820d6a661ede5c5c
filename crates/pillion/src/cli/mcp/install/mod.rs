//! `pillion mcp install`: the configuration that adds pillion to an agent.

mod agents;
mod merge;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pillion::{Code, Error, Result};
use pillion_doors::mcp::Profile;
use pillion_runtime::write_atomically;
use serde_json::{Value, json};

use crate::cli::caller::from_here;
use crate::cli::{Global, output};
use agents::{Agent, ConfigFolders, Shape, Start};

/// What is added to a file's name for what was in it before.
const BEFORE: &str = ".before-pillion";

/// Print or write the configuration that adds pillion to an agent.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The agent; without it, all of them are shown.
    #[arg(long, value_name = "NAME")]
    agent: Option<Agent>,
    /// Write it into the agent's configuration; all else that is there stays.
    #[arg(long, requires = "agent")]
    write: bool,
    /// The project for calls that name none.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Which tools are listed: `default`, `code`, `map`, `exec`, `full`, `core` or `minimal`.
    #[arg(long, value_name = "NAME")]
    profile: Option<Profile>,
}

impl Install {
    pub(super) fn run(&self, global: &Global) -> Result<ExitCode> {
        let places = places()?;
        let start = self.start();
        let Some(agent) = self.agent else {
            let all = Agent::value_variants();
            if global.json {
                let all: Vec<_> = all.iter().map(|a| described(*a, &places, &start)).collect();
                output::say_json(&Value::Array(all).to_string());
                return Ok(ExitCode::SUCCESS);
            }
            for agent in all {
                output::say(&shown(*agent, &places, &start)?);
            }
            output::say("`pillion mcp install --agent NAME --write` writes one of them.");
            return Ok(ExitCode::SUCCESS);
        };
        if self.write {
            return write(agent, &places, &start, global.json);
        }
        if global.json {
            output::say_json(&described(agent, &places, &start).to_string());
        } else {
            output::say(shown(agent, &places, &start)?.trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }

    /// How agents start us: by name where `PATH` leads here, else by path.
    fn start(&self) -> Start {
        let (command, mut args) = program();
        args.push("mcp".to_owned());
        if let Some(root) = &self.root {
            args.push("--root".into());
            args.push(from_here(root).display().to_string());
        }
        if let Some(profile) = self.profile {
            args.push("--profile".into());
            args.push(profile.to_string());
        }
        Start { command, args }
    }
}

/// The program to start, and the words that come before ours.
fn program() -> (String, Vec<String>) {
    let Ok(ours) = std::env::current_exe() else {
        return ("pillion".into(), Vec::new());
    };
    if let Some((runner, words)) = runner(&ours) {
        let words = words.iter().map(|word| (*word).to_owned());
        return (runner.into(), words.collect());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path)
        .map(|folder| folder.join("pillion"))
        .find(|program| program.is_file());
    let same = first.is_some_and(|found| found.canonicalize().ok() == ours.canonicalize().ok());
    let command = match same {
        true => "pillion".into(),
        false => ours.display().to_string(),
    };
    (command, Vec::new())
}

/// What runs programs that were not installed, each from a cache that is emptied now and then:
/// the command that brought us here works for longer than the path it led to.
fn runner(ours: &Path) -> Option<(&'static str, &'static [&'static str])> {
    let folders: Vec<_> = ours.iter().filter_map(|part| part.to_str()).collect();
    let has = |wanted: &str| folders.iter().any(|folder| folder.starts_with(wanted));
    if has("_npx") {
        Some(("npx", &["-y", "pillion"]))
    } else if has("archive-v") && has("uv") {
        Some(("uvx", &["pillion"]))
    } else if has("pipx") && has(".cache") {
        Some(("pipx", &["run", "pillion"]))
    } else {
        None
    }
}

fn places() -> Result<ConfigFolders> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let home = folder("HOME").ok_or_else(|| {
        Error::new(Code::NotFound, "there is no home folder")
            .hint("set `HOME` to the folder of your configuration")
    })?;
    let project = std::env::current_dir().map_err(|error| {
        Error::new(
            Code::NotFound,
            format!("the current folder is gone: {error}"),
        )
    })?;
    Ok(ConfigFolders {
        project,
        home,
        config: folder("XDG_CONFIG_HOME"),
        codex: folder("CODEX_HOME"),
    })
}

/// For people: what goes where.
fn shown(agent: Agent, places: &ConfigFolders, start: &Start) -> Result<String> {
    let title = agent.title();
    let file = agent.file(places);
    let mut text = format!("{title} (--agent {})\n", agent.name());
    if let Some(line) = agent.one_line(start) {
        text += &format!("  $ {line}\n  or in {}:\n", file.display());
    } else {
        text += &format!("  in {}:\n", file.display());
    }
    for line in alone(agent, start)?.lines() {
        text += &format!("    {line}\n");
    }
    if agent.stands_nowhere() && !start.args.iter().any(|arg| arg == "--root") {
        text += "  add `--root DIR`: it stands in no project's folder\n";
    }
    Ok(text)
}

/// The configuration with nothing but our entry.
fn alone(agent: Agent, start: &Start) -> Result<String> {
    merge::merged(agent.shape(), "", &agent.entry(start))
}

/// For programs.
fn described(agent: Agent, places: &ConfigFolders, start: &Start) -> Value {
    let (format, key) = match agent.shape() {
        Shape::Json(key) => ("json", key),
        Shape::Toml(key) => ("toml", key),
    };
    json!({
        "agent": agent.name(),
        "file": agent.file(places),
        "format": format,
        "key": [key, merge::NAME],
        "entry": agent.entry(start),
        "command": agent.one_line(start),
    })
}

fn write(agent: Agent, places: &ConfigFolders, start: &Start, json: bool) -> Result<ExitCode> {
    let named = agent.file(places);
    // A link stays one: what it leads to is written.
    let file = named.canonicalize().unwrap_or(named);
    let failed = |error: &io::Error| {
        Error::new(Code::WriteFailed, format!("`{}`: {error}", file.display()))
            .hint("nothing was changed")
    };
    let old = match std::fs::read_to_string(&file) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(&error)),
    };
    let entry = agent.entry(start);
    let before = old.as_deref().unwrap_or_default();
    let new = match merge::merged(agent.shape(), before, &entry) {
        Ok(new) => new,
        Err(why) => return Err(by_hand(agent, &file, &why, start)),
    };
    let changed = old.as_deref() != Some(&new);
    if changed {
        put(&file, old.as_deref(), &new).map_err(|error| failed(&error))?;
    }
    if json {
        let told = json!({ "agent": agent.name(), "file": file, "changed": changed });
        output::say_json(&told.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let title = agent.title();
    output::say(&match (changed, old.is_some()) {
        (false, _) => format!("{title} has pillion already: {}", file.display()),
        (true, false) => format!("wrote {}; start {title} anew", file.display()),
        (true, true) => format!(
            "added pillion to {}; start {title} anew (what was there before is in `{}`)",
            file.display(),
            beside(&file).display()
        ),
    });
    Ok(ExitCode::SUCCESS)
}

/// Write all or nothing, with the old text kept beside it.
fn put(file: &Path, old: Option<&str>, new: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mode = file.metadata().map(|found| found.permissions());
    if let Some(old) = old {
        let kept = beside(file);
        write_atomically(&kept, old.as_bytes())?;
        if let Ok(mode) = &mode {
            std::fs::set_permissions(&kept, mode.clone())?;
        }
    }
    write_atomically(file, new.as_bytes())?;
    // Some of these files hold keys of other servers.
    mode.map_or(Ok(()), |mode| std::fs::set_permissions(file, mode))
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(BEFORE);
    PathBuf::from(name)
}

/// A file that is not ours to rewrite: say what to add to it.
fn by_hand(agent: Agent, file: &Path, why: &Error, start: &Start) -> Error {
    let alone = alone(agent, start).unwrap_or_default();
    Error::new(
        Code::Conflict,
        format!("`{}` was left as it is: {}", file.display(), why.message),
    )
    .hint(match agent.one_line(start) {
        Some(line) => format!("run `{line}`, or add the lines above to it by hand"),
        None => "add the lines above to it by hand".to_owned(),
    })
    .data(json!({ "text": alone }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_cache_is_started_by_who_keeps_it() {
        for (path, wanted) in [
            (
                "/h/.npm/_npx/1f/node_modules/@pillion/linux-x64/bin/pillion",
                Some("npx"),
            ),
            ("/h/.cache/uv/archive-v0/Ab/bin/pillion", Some("uvx")),
            ("/h/.local/pipx/.cache/2a/bin/pillion", Some("pipx")),
            ("/h/.local/pipx/venvs/pillion/bin/pillion", None),
            ("/h/.local/share/uv/tools/pillion/bin/pillion", None),
            ("/h/.cache/cargo/pillion", None),
            ("/usr/bin/pillion", None),
        ] {
            let found = runner(Path::new(path)).map(|(runner, _)| runner);
            assert_eq!(found, wanted, "{path}");
        }
    }
}
