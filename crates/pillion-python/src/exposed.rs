//! Functions of Python modules as doors offer them: `py.expose` lists them, `py.invoke` calls one.

use std::path::PathBuf;

use pillion_catalogue::{Asking, Caller, Error, Functions, Given, Listing, Operation, Result};
use serde_json::value::{RawValue, to_raw_value};

use crate::operations::{Expose, Invoke};

/// The functions of some modules, on behalf of somebody.
#[derive(Debug, Clone)]
pub struct ExposedModules {
    /// The modules.
    pub modules: Vec<String>,
    /// More folders to import from.
    pub path: Vec<PathBuf>,
    /// Who asks.
    pub caller: Caller,
}

impl ExposedModules {
    fn asking<O: Operation>(&self, operation: &O) -> Result<Asking> {
        Ok(Asking {
            operation: O::NAME,
            params: to_raw_value(operation).map_err(Error::internal)?,
            caller: self.caller.clone(),
        })
    }
}

impl Functions for ExposedModules {
    fn list(&self) -> Result<Asking> {
        self.asking(&Expose {
            modules: self.modules.clone(),
            path: self.path.clone(),
        })
    }

    fn call(&self, name: &str, params: Option<&RawValue>, stream: bool) -> Result<Asking> {
        self.asking(&Invoke {
            name: name.to_owned(),
            params: params.map(ToOwned::to_owned),
            modules: self.modules.clone(),
            stream,
            path: self.path.clone(),
        })
    }

    fn listing(&self, answer: &RawValue) -> Result<Listing> {
        serde_json::from_str(answer.get()).map_err(Error::internal)
    }

    fn given(&self, answer: &RawValue) -> Result<Given> {
        serde_json::from_str(answer.get()).map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on_as_text() {
        let exposed = ExposedModules {
            modules: vec!["m".into()],
            path: Vec::new(),
            caller: Caller::default(),
        };
        let params = RawValue::from_string(r#"{"x": 1.10}"#.into()).unwrap();
        let asking = exposed.call("f", Some(&params), true).unwrap();
        let expected = r#"{"name":"f","params":{"x": 1.10},"modules":["m"],"stream":true}"#;
        assert_eq!(
            (asking.operation, asking.params.get()),
            ("py.invoke", expected)
        );
    }
}
