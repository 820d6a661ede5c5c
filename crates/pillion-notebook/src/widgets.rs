//! What widgets look like at the end of a run, so that a notebook shows them without a kernel.
//!
//! A widget says what it is over a comm: all of it when it opens, then what changed. The notebook
//! keeps the sum in its metadata, as nbclient and JupyterLab write it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pillion_kernel::Heard;
use serde_json::{Map, Value, json};

use crate::file::{Notebook, WIDGETS};

/// The form in which they are written down.
const FORM: &str = "application/vnd.jupyter.widget-state+json";
/// Bytes of all of them together.
const MOST_BYTES: usize = 16 << 20;

/// The widgets of a run.
#[derive(Debug, Default)]
pub(crate) struct Widgets {
    /// By the ids of their comms.
    models: BTreeMap<String, Model>,
    bytes: usize,
    is_cut: bool,
}

#[derive(Debug, Default)]
struct Model {
    state: Map<String, Value>,
    /// What is no text, by where it belongs in the state.
    buffers: BTreeMap<String, Value>,
}

impl Widgets {
    /// Take note of a message, if it is about a widget.
    pub(crate) fn hear(&mut self, heard: &Heard) {
        if matches!(heard.kind(), "comm_open" | "comm_msg") {
            let buffers = heard.message.buffers.iter();
            let buffers: Vec<&[u8]> = buffers.map(AsRef::as_ref).collect();
            self.note(&heard.content(), &buffers);
        }
    }

    fn note(&mut self, content: &Value, buffers: &[&[u8]]) {
        let data = &content["data"];
        let (Some(id), Some(state)) = (content["comm_id"].as_str(), data["state"].as_object())
        else {
            return;
        };
        let paths = data["buffer_paths"].as_array().into_iter().flatten();
        let buffers = paths.zip(buffers).map(|(path, bytes)| {
            let data = BASE64_STANDARD.encode(bytes);
            let buffer = json!({ "data": data, "encoding": "base64", "path": path });
            (path.to_string(), buffer)
        });
        let model = self.models.entry(id.to_owned()).or_default();
        for (key, value) in state {
            let before = model.state.get(key);
            if fits(&mut self.bytes, key, before, value) {
                model.state.insert(key.clone(), value.clone());
            } else {
                self.is_cut = true;
            }
        }
        for (key, value) in buffers {
            if fits(&mut self.bytes, &key, model.buffers.get(&key), &value) {
                model.buffers.insert(key, value);
            } else {
                self.is_cut = true;
            }
        }
    }

    /// Some are not what they were at the end, because they were too much.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Write them down. Those that were there stay if only a part of the notebook was run.
    pub(crate) fn put_down(&self, notebook: &mut Notebook, is_part: bool) {
        let mut states = Map::new();
        let mut metadata = notebook.metadata();
        if is_part && let Value::Object(before) = metadata[WIDGETS][FORM]["state"].take() {
            states = before;
        }
        let told = self.models.iter().filter(|(_, model)| model.is_known());
        states.extend(told.map(|(id, model)| (id.clone(), model.written())));
        // Nobody showed any: what is there is somebody else's.
        if !self.models.is_empty() {
            let all = json!({ "state": states, "version_major": 2, "version_minor": 0 });
            notebook.set_metadata(WIDGETS, Some(json!({ FORM: all })));
        }
    }
}

/// Whether there is room for a value instead of the one before, which is counted then.
fn fits(bytes: &mut usize, key: &str, before: Option<&Value>, value: &Value) -> bool {
    let size = |value: &Value| key.len() + value.to_string().len();
    let after = *bytes - before.map_or(0, size) + size(value);
    let fits = after <= MOST_BYTES;
    if fits {
        *bytes = after;
    }
    fits
}

impl Model {
    /// Whether anybody can show it.
    fn is_known(&self) -> bool {
        self.state.contains_key("_model_name")
    }

    fn written(&self) -> Value {
        let of = |key: &str| self.state.get(key).cloned().unwrap_or_default();
        let mut written = json!({
            "model_name": of("_model_name"),
            "model_module": of("_model_module"),
            "model_module_version": of("_model_module_version"),
            "state": self.state,
        });
        if !self.buffers.is_empty() {
            written["buffers"] = self.buffers.values().cloned().collect();
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Clearing;

    fn empty() -> Notebook {
        let text = r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;
        Notebook::read(text.as_bytes()).unwrap()
    }

    fn opened(widgets: &mut Widgets, id: &str, value: u64) {
        let state = json!({"_model_name": "M", "_model_module": "m", "value": value});
        widgets.note(&json!({"comm_id": id, "data": {"state": state}}), &[]);
    }

    #[test]
    fn a_widget_is_what_it_was_at_the_end() {
        let mut widgets = Widgets::default();
        opened(&mut widgets, "a", 1);
        let data = json!({"state": {"value": 2}, "buffer_paths": [["raw"]]});
        widgets.note(&json!({"comm_id": "a", "data": data}), &[b"\0\x01"]);
        // No state of a widget.
        widgets.note(&json!({"comm_id": "b", "data": {"method": "custom"}}), &[]);
        widgets.note(&json!({"comm_id": "c", "data": {"state": {"x": 1}}}), &[]);
        let mut notebook = empty();
        widgets.put_down(&mut notebook, false);
        let state = notebook.metadata()[WIDGETS][FORM]["state"].take();
        assert_eq!(state.as_object().unwrap().len(), 1, "{state}");
        assert_eq!(state["a"]["model_name"], "M");
        assert_eq!(state["a"]["state"]["value"], 2);
        let buffer = json!([{"data": "AAE=", "encoding": "base64", "path": ["raw"]}]);
        assert_eq!(state["a"]["buffers"], buffer);
    }

    #[test]
    fn a_part_of_a_notebook_keeps_the_widgets_of_the_rest() {
        let mut notebook = empty();
        let mut first = Widgets::default();
        opened(&mut first, "a", 1);
        first.put_down(&mut notebook, false);
        Widgets::default().put_down(&mut notebook, false);
        let mut second = Widgets::default();
        opened(&mut second, "b", 1);
        second.put_down(&mut notebook, true);
        let ids = |notebook: &Notebook| {
            let state = notebook.metadata()[WIDGETS][FORM]["state"].take();
            state
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(&notebook), ["a", "b"]);
        second.put_down(&mut notebook, false);
        assert_eq!(ids(&notebook), ["b"]);
        notebook.clear(Clearing::default()).unwrap();
        assert_eq!(notebook.metadata(), json!({}), "no output shows them");
    }

    #[test]
    fn too_much_is_left_out_and_said() {
        let mut widgets = Widgets::default();
        opened(&mut widgets, "a", 1);
        let update = |value: Value| json!({"comm_id": "a", "data": {"state": {"value": value}}});
        // What is no more does not count.
        let half = "x".repeat(MOST_BYTES / 2);
        for _ in 0..5 {
            widgets.note(&update(half.as_str().into()), &[]);
        }
        assert!(!widgets.is_cut());
        widgets.note(&update(1.into()), &[]);
        let long = "x".repeat(MOST_BYTES);
        widgets.note(&update(long.into()), &[]);
        assert!(widgets.is_cut());
        assert_eq!(widgets.models["a"].state["value"], 1);
    }
}
