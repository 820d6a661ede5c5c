//! The agents that are known: where each keeps its configuration, and in what shape.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value, json};

/// An agent that can be given MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Agent {
    /// Claude Code, for everybody who works on this project.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor, in this project.
    Cursor,
    /// Visual Studio Code, in this project.
    Vscode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI, in this project.
    Gemini,
    /// Zed.
    Zed,
}

/// The form of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// JSON: servers by name below this key.
    Json(&'static str),
    /// TOML: a table for each server below this one.
    Toml(&'static str),
}

/// How the server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// The folders that configurations are looked for in.
#[derive(Debug, Clone)]
pub(super) struct ConfigFolders {
    pub(super) project: PathBuf,
    pub(super) home: PathBuf,
    /// `XDG_CONFIG_HOME`, if set.
    pub(super) config: Option<PathBuf>,
    /// `CODEX_HOME`, if set.
    pub(super) codex: Option<PathBuf>,
}

impl Agent {
    /// Its name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Vscode => "Visual Studio Code",
            Self::Codex => "Codex CLI",
            Self::Gemini => "Gemini CLI",
            Self::Zed => "Zed",
        }
    }

    /// Its name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Where its configuration is.
    pub(super) fn file(self, places: &ConfigFolders) -> PathBuf {
        let ConfigFolders { project, home, .. } = places;
        let config = || {
            places
                .config
                .clone()
                .unwrap_or_else(|| home.join(".config"))
        };
        match self {
            Self::ClaudeCode => project.join(".mcp.json"),
            Self::ClaudeDesktop => desktop_folder(home, config).join("claude_desktop_config.json"),
            Self::Cursor => project.join(".cursor/mcp.json"),
            Self::Vscode => project.join(".vscode/mcp.json"),
            Self::Codex => {
                let folder = places.codex.clone();
                folder
                    .unwrap_or_else(|| home.join(".codex"))
                    .join("config.toml")
            }
            Self::Gemini => project.join(".gemini/settings.json"),
            Self::Zed => config().join("zed/settings.json"),
        }
    }

    /// In what form.
    pub(super) fn shape(self) -> Shape {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::Gemini => {
                Shape::Json("mcpServers")
            }
            Self::Vscode => Shape::Json("servers"),
            Self::Zed => Shape::Json("context_servers"),
            Self::Codex => Shape::Toml("mcp_servers"),
        }
    }

    /// The entry for a server in its form.
    pub(super) fn entry(self, start: &Start) -> Map<String, Value> {
        let mut entry = Map::new();
        match self {
            Self::ClaudeCode | Self::Vscode => drop(entry.insert("type".into(), json!("stdio"))),
            Self::Zed => drop(entry.insert("source".into(), json!("custom"))),
            _ => {}
        }
        entry.insert("command".into(), json!(start.command));
        entry.insert("args".into(), json!(start.args));
        entry
    }

    /// The one line that does the same, where the agent has a command for it.
    pub(super) fn one_line(self, start: &Start) -> Option<String> {
        let words = || {
            let args = start.args.iter().map(|arg| quoted(arg));
            let words: Vec<_> = std::iter::once(quoted(&start.command))
                .chain(args)
                .collect();
            words.join(" ")
        };
        match self {
            Self::ClaudeCode => Some(format!("claude mcp add pillion -- {}", words())),
            Self::Codex => Some(format!("codex mcp add pillion -- {}", words())),
            Self::Gemini => Some(format!("gemini mcp add pillion {}", words())),
            Self::Vscode => {
                let mut entry = self.entry(start);
                entry.insert("name".into(), json!("pillion"));
                Some(format!(
                    "code --add-mcp {}",
                    quoted(&Value::Object(entry).to_string())
                ))
            }
            Self::ClaudeDesktop | Self::Cursor | Self::Zed => None,
        }
    }

    /// Whether it starts its servers in no project's folder.
    pub(super) fn stands_nowhere(self) -> bool {
        self == Self::ClaudeDesktop
    }
}

fn desktop_folder(home: &Path, config: impl Fn() -> PathBuf) -> PathBuf {
    if cfg!(target_os = "macos") {
        home.join("Library/Application Support/Claude")
    } else {
        config().join("Claude")
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_read_what_was_meant() {
        assert_eq!(quoted("/opt/a-b/pillion"), "/opt/a-b/pillion");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn every_agent_has_a_file_of_its_own() {
        let places = ConfigFolders {
            project: "/p".into(),
            home: "/h".into(),
            config: None,
            codex: None,
        };
        let agents = Agent::value_variants();
        let mut files: Vec<_> = agents.iter().map(|agent| agent.file(&places)).collect();
        assert!(files.contains(&PathBuf::from("/h/.codex/config.toml")));
        files.sort();
        files.dedup();
        assert_eq!(files.len(), agents.len());
    }
}
