//! The commands that hosts of the old Python child know, as operations of today.
//!
//! A table and nothing else: which operation a command is, what an old host takes for
//! granted, and the word it knows for what is not there.

use std::collections::BTreeMap;

use pillion_catalogue::{Code, Error, Result};
use serde_json::value::{RawValue, to_raw_value};

/// An old command.
#[derive(Debug)]
pub struct OldCommand {
    name: &'static str,
    /// The operation that answers it.
    pub operation: &'static str,
    /// Parameters that hold where the host says nothing: it does not know of limits, and
    /// would take a list that was cut off for all there is.
    defaults: &'static [(&'static str, &'static str)],
}

/// As many as an operation ever gives.
const ALL: &str = "100000";

const fn old(
    name: &'static str,
    operation: &'static str,
    defaults: &'static [(&'static str, &'static str)],
) -> OldCommand {
    OldCommand {
        name,
        operation,
        defaults,
    }
}

const COMMANDS: &[OldCommand] = &[
    old("structure", "map.structure", &[]),
    old("extract", "map.extract", &[("strict", "true")]),
    old("call_graph", "map.call_graph", &[("max_edges", ALL)]),
    old("impact", "map.impact", &[]),
    old("change_impact", "map.change_impact", &[]),
    old("dead_code", "map.dead_code", &[("limit", ALL)]),
    old("architecture", "map.architecture", &[]),
    old("diagnostics", "map.diagnostics", &[("limit", ALL)]),
    old("cross_project_deps", "map.cross_project", &[]),
    old("detect_patterns", "map.patterns", &[("limit", ALL)]),
    old("live_changes", "map.live_changes", &[]),
    old("reference_edges", "map.references", &[]),
];

impl OldCommand {
    /// The old command of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// The operation's parameters: the host's arguments, without those that are null, and
    /// what it takes for granted.
    pub fn params(&self, args: Option<&RawValue>) -> Result<Box<RawValue>> {
        let args = args.map_or("{}", RawValue::get);
        let mut params: BTreeMap<String, &RawValue> =
            serde_json::from_str(args).map_err(|error| {
                Error::new(
                    Code::InvalidParams,
                    format!("`args` is not an object: {error}"),
                )
            })?;
        params.retain(|_, value| value.get() != "null");
        for (name, value) in self.defaults {
            let value: &'static RawValue = serde_json::from_str(value).map_err(Error::internal)?;
            params.entry((*name).to_owned()).or_insert(value);
        }
        to_raw_value(&params).map_err(Error::internal)
    }

    /// An error in the words of the old contract.
    pub fn error(&self, mut error: Error) -> Error {
        if error.code == Code::NotFound {
            error.code = Code::Other("file_not_found".into());
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(command: &str, args: &str) -> String {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        let command = OldCommand::find(command).unwrap();
        command.params(Some(&args)).unwrap().get().to_owned()
    }

    #[test]
    fn what_a_host_says_counts_and_null_says_nothing() {
        assert_eq!(params("structure", r#"{"language":null}"#), "{}");
        assert_eq!(params("call_graph", "{}"), r#"{"max_edges":100000}"#);
        assert_eq!(
            params("call_graph", r#"{"max_edges": 3}"#),
            r#"{"max_edges":3}"#
        );
        assert!(OldCommand::find("map.structure").is_none());
        let list = RawValue::from_string("[1]".to_owned()).unwrap();
        let error = OldCommand::find("impact").unwrap().params(Some(&list));
        assert_eq!(error.unwrap_err().code, Code::InvalidParams);
    }

    #[test]
    fn what_is_not_there_has_its_old_word() {
        let command = OldCommand::find("extract").unwrap();
        let error = command.error(Error::new(Code::NotFound, "no"));
        assert_eq!(error.code.as_str(), "file_not_found");
        assert!(error.recoverable);
        let error = command.error(Error::new(Code::ParseError, "no"));
        assert_eq!(error.code, Code::ParseError);
    }
}
