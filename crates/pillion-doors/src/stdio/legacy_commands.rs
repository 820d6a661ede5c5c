//! The commands that hosts of the old Python child know, as operations of today: what an old
//! host takes for granted, and the word it knows for what is not there.

use std::collections::BTreeMap;

use pillion_catalogue::{Catalogue, Code, Error, Result};
use serde_json::value::{RawValue, to_raw_value};

/// An old command, and the operation of today that answers it.
#[derive(Debug)]
pub struct OldOperation {
    /// The operation.
    pub operation: &'static str,
    /// Parameters that hold where the host says nothing.
    defaults: &'static [(&'static str, &'static str)],
}

impl OldOperation {
    /// The old command of that name.
    pub fn find(catalogue: &Catalogue, name: &str) -> Option<Self> {
        let mut all = catalogue.definitions();
        all.find_map(|definition| {
            let old = definition.offer.old_command?;
            (old.name == name).then_some(Self {
                operation: definition.name,
                defaults: old.defaults,
            })
        })
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

    const CALLS: OldOperation = OldOperation {
        operation: "test.calls",
        defaults: &[("max_edges", "100000")],
    };

    fn params(args: &str) -> Result<String> {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        CALLS
            .params(Some(&args))
            .map(|params| params.get().to_owned())
    }

    #[test]
    fn what_a_host_says_counts_and_null_says_nothing() {
        let all = r#"{"max_edges":100000}"#;
        assert_eq!(params("{}").unwrap(), all);
        assert_eq!(params(r#"{"max_edges":null}"#).unwrap(), all);
        assert_eq!(params(r#"{"max_edges": 3}"#).unwrap(), r#"{"max_edges":3}"#);
        assert_eq!(params("[1]").unwrap_err().code, Code::InvalidParams);
    }

    #[test]
    fn what_is_not_there_has_its_old_word() {
        let error = CALLS.error(Error::new(Code::NotFound, "no"));
        assert_eq!(error.code.as_str(), "file_not_found");
        assert!(error.recoverable);
        let error = CALLS.error(Error::new(Code::ParseError, "no"));
        assert_eq!(error.code, Code::ParseError);
    }
}
