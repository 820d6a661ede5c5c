//! `pillion trust`: a person says that a folder may have what its `pillion.toml` asks for.
//!
//! This is a command and no operation, so that no other door leads here: what calls pillion
//! there is a program, often one that works for the folder in question.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pillion::{Code, Error, Result};
use pillion_runtime::Dirs;
use pillion_runtime::trust::{TrustError, TrustRecords as Records};
use pillion_workspace::{Config, config, root};
use serde_json::json;

use super::caller::from_here;
use super::output::say;
use super::{Global, output};

/// Trust a folder: let its `pillion.toml` run programs and open walls.
///
/// What counts is the file as it is now; when it changes, say it again. Without it the Python
/// in the folder is asked for its version behind walls, `pillion exec` runs it behind all of
/// them, and settings that would do more are refused.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// A folder of the project.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// List the folders that you trust.
    #[arg(long, conflicts_with = "remove")]
    list: bool,
    /// Trust it no more.
    #[arg(long)]
    remove: bool,
}

impl Trust {
    pub(crate) fn run(self, global: &Global) -> Result<ExitCode> {
        let records = Records::new(&Dirs::from_env());
        if self.list {
            list(&records, global.json);
            return Ok(ExitCode::SUCCESS);
        }
        let folder = from_here(&self.folder);
        // One that is gone can still be forgotten.
        let root = match root::find(&folder) {
            Err(_) if self.remove => folder,
            found => found?,
        };
        if self.remove {
            let was = records.take_back(&root).map_err(|e| failed(&e))?;
            let text = match was {
                true => format!("`{}` is trusted no more", root.display()),
                false => format!("`{}` was not trusted", root.display()),
            };
            tell(global, &text, &json!({ "root": root, "removed": was }));
            return Ok(ExitCode::SUCCESS);
        }
        // What cannot be read cannot have been looked at.
        let demands = Config::read(&root)?.demands();
        let file = root.join(config::FILE);
        records.give(&root, &file).map_err(|e| failed(&e))?;
        let mut text = format!("you trust `{}`: its own Python runs", root.display());
        if !demands.is_empty() {
            text.push_str(&format!(
                ", and `{}` may have {}",
                config::FILE,
                demands.join(", ")
            ));
        }
        tell(
            global,
            &text,
            &json!({ "root": root, "trusted": true, "settings": demands }),
        );
        Ok(ExitCode::SUCCESS)
    }
}

fn list(records: &Records, as_json: bool) {
    let all = records.list();
    let holds = |root: &std::path::Path| records.holds(root, &root.join(config::FILE));
    if as_json {
        let all: Vec<_> = all
            .iter()
            .map(|trusted| json!({ "root": trusted.root, "holds": holds(&trusted.root) }))
            .collect();
        return output::say_json(&json!(all).to_string());
    }
    for trusted in &all {
        let note = match holds(&trusted.root) {
            true => "",
            false => "  (its `pillion.toml` has changed since: not trusted)",
        };
        say(&format!("{}{note}", trusted.root.display()));
    }
}

fn tell(global: &Global, text: &str, value: &serde_json::Value) {
    match global.json {
        true => output::say_json(&value.to_string()),
        false => say(text),
    }
}

fn failed(error: &TrustError) -> Error {
    Error::new(Code::WriteFailed, error.to_string())
        .hint("set `PILLION_HOME` to a folder that you can write")
}
