//! Documents that the server is given as text instead of reading them from the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pillion_supervisor::{Notice, Replay};
use serde_json::{Value, json};

use super::uri;

/// The open documents. Each change has a number, so that a process that was started with
/// them is not told about the same change again.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    changes: u64,
    open: BTreeMap<PathBuf, Document>,
}

#[derive(Debug)]
struct Document {
    version: i32,
    text: String,
}

impl Documents {
    /// Open a document or give it another text; says how to tell the server. Nothing is to
    /// be told if it has that text already.
    pub(super) fn open(&mut self, path: &Path, text: &str) -> Option<Notice> {
        let known = self.open.get(path);
        if known.is_some_and(|document| document.text == text) {
            return None;
        }
        let version = known.map_or(1, |document| document.version.wrapping_add(1));
        let (method, params) = match known {
            None => ("textDocument/didOpen", opened(path, version, text)),
            Some(_) => (
                "textDocument/didChange",
                json!({
                    "textDocument": { "uri": uri::from_path(path), "version": version },
                    "contentChanges": [{ "text": text }],
                }),
            ),
        };
        let text = text.to_owned();
        self.open
            .insert(path.to_owned(), Document { version, text });
        Some(self.notice(method, params))
    }

    /// Close a document; says how to tell the server, if it was open.
    pub(super) fn close(&mut self, path: &Path) -> Option<Notice> {
        self.open.remove(path)?;
        let params = json!({ "textDocument": { "uri": uri::from_path(path) } });
        Some(self.notice("textDocument/didClose", params))
    }

    /// The text of a document, if it is open.
    pub(super) fn text(&self, path: &Path) -> Option<&str> {
        self.open.get(path).map(|document| &*document.text)
    }

    /// What a fresh process is told.
    pub(crate) fn replay(&self) -> Replay {
        let open = self.open.iter().map(|(path, document)| {
            let params = opened(path, document.version, &document.text);
            ("textDocument/didOpen".into(), params)
        });
        Replay {
            stamp: self.changes,
            notices: open.collect(),
        }
    }

    fn notice(&mut self, method: &'static str, params: Value) -> Notice {
        self.changes += 1;
        Notice {
            method: method.into(),
            params,
            stamp: Some(self.changes),
        }
    }
}

fn opened(path: &Path, version: i32, text: &str) -> Value {
    json!({
        "textDocument": {
            "uri": uri::from_path(path),
            "languageId": "python",
            "version": version,
            "text": text,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once() {
        let mut documents = Documents::default();
        let path = Path::new("/a.py");
        let mut told = Vec::new();
        for text in ["x", "x", "y"] {
            told.extend(documents.open(path, text));
        }
        assert_eq!(documents.text(path), Some("y"));
        let replay = documents.replay();
        assert_eq!((replay.stamp, replay.notices.len()), (2, 1));
        assert_eq!(replay.notices[0].1["textDocument"]["text"], "y");
        told.extend(documents.close(path));
        told.extend(documents.close(path));
        let told: Vec<_> = told.iter().map(|n| (&*n.method, n.stamp)).collect();
        assert_eq!(
            told,
            [
                ("textDocument/didOpen", Some(1)),
                ("textDocument/didChange", Some(2)),
                ("textDocument/didClose", Some(3)),
            ]
        );
        assert_eq!(documents.replay().notices.len(), 0);
    }
}
