//! What an engine is told when it starts and when it asks.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pillion_supervisor::{Opening, Replay};
use serde_json::{Value, json};

use super::changes::Folders;
use super::documents::Documents;
use super::lsp::Capabilities;
use super::uri;

/// What a [`LanguageServer`](super::LanguageServer) and the processes behind it share.
#[derive(Debug)]
pub(super) struct Session {
    pub root: PathBuf,
    /// What the server gets when it asks for its settings, by section.
    settings: Value,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) documents: Documents,
    pub folders: Folders,
    /// What the server said it offers; `None` until it started for the first time.
    pub(crate) capabilities: Option<Capabilities>,
}

impl Session {
    pub(super) fn new(root: PathBuf, settings: Value) -> Self {
        Self {
            root,
            settings,
            inner: Mutex::default(),
        }
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings of a section such as `python.analysis`.
    fn section(&self, name: &str) -> Value {
        let pointer = format!("/{}", name.replace('.', "/"));
        self.settings
            .pointer(&pointer)
            .cloned()
            .unwrap_or(Value::Null)
    }
}

impl Opening for Session {
    fn initialize(&self) -> Value {
        let root = uri::from_path(&self.root);
        json!({
            "processId": std::process::id(),
            "clientInfo": { "name": "pillion", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": root,
            "workspaceFolders": [{ "uri": root, "name": "root" }],
            "capabilities": {
                "general": { "positionEncodings": ["utf-32", "utf-16"] },
                "textDocument": {
                    "hover": { "contentFormat": ["plaintext", "markdown"] },
                    "definition": { "linkSupport": true },
                    "declaration": { "linkSupport": true },
                    "typeDefinition": { "linkSupport": true },
                    "implementation": { "linkSupport": true },
                    "references": {},
                    "documentHighlight": {},
                    "callHierarchy": {},
                    "typeHierarchy": {},
                    "diagnostic": {},
                    "synchronization": {},
                },
                "workspace": {
                    "configuration": true,
                    "workspaceFolders": true,
                    // A server that may not ask for changes might look for them itself.
                    "didChangeWatchedFiles": { "dynamicRegistration": true },
                },
            },
        })
    }

    fn opened(&self, answer: &Value) {
        self.inner().capabilities = Some(Capabilities::read(answer));
    }

    fn replay(&self) -> Replay {
        self.inner().documents.replay()
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        match method {
            "workspace/configuration" => {
                let items = params["items"].as_array().map_or(&[][..], Vec::as_slice);
                let section = |item: &Value| self.section(item["section"].as_str().unwrap_or(""));
                items.iter().map(section).collect()
            }
            "workspace/workspaceFolders" => {
                json!([{ "uri": uri::from_path(&self.root), "name": "root" }])
            }
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_answered_by_section_and_in_order() {
        let settings = json!({ "ty": { "a": 1 }, "python": { "analysis": { "b": 2 } } });
        let session = Session::new("/r".into(), settings);
        let items = json!({ "items": [
            { "section": "python.analysis" }, { "section": "ty" }, { "section": "x" },
        ]});
        assert_eq!(
            session.answer("workspace/configuration", &items),
            json!([{ "b": 2 }, { "a": 1 }, null])
        );
        assert_eq!(
            session.answer("client/registerCapability", &items),
            Value::Null
        );
    }
}
