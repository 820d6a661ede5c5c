//! Functions of Python modules as doors offer them: `py.expose` lists them, `py.invoke` calls one.

use std::path::PathBuf;

use pillion_catalogue::{
    Caller, Error, FunctionReply, FunctionRequest, Functions, Listing, Operation, Result,
};
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
    fn asking<O: Operation>(&self, operation: &O) -> Result<FunctionRequest> {
        Ok(FunctionRequest {
            operation: O::NAME,
            params: to_raw_value(operation).map_err(Error::internal)?,
            caller: self.caller.clone(),
        })
    }
}

impl Functions for ExposedModules {
    fn list(&self) -> Result<FunctionRequest> {
        self.asking(&Expose {
            modules: self.modules.clone(),
            path: self.path.clone(),
        })
    }

    fn call(&self, name: &str, params: Option<&RawValue>, stream: bool) -> Result<FunctionRequest> {
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

    fn given(&self, answer: &RawValue) -> Result<FunctionReply> {
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

    #[test]
    fn the_same_modules_and_folders_are_listed_and_called_on_behalf_of_the_same_caller() {
        let exposed = ExposedModules {
            modules: vec!["m".into(), "n".into()],
            path: vec!["/lib".into()],
            caller: Caller {
                root: Some("/project".into()),
                ..Caller::default()
            },
        };
        let (list, call) = (
            exposed.list().unwrap(),
            exposed.call("f", None, false).unwrap(),
        );
        assert_eq!(list.operation, "py.expose");
        assert_eq!(
            list.params.get(),
            r#"{"modules":["m","n"],"path":["/lib"]}"#
        );
        let expected = r#"{"name":"f","modules":["m","n"],"path":["/lib"]}"#;
        assert_eq!((call.operation, call.params.get()), ("py.invoke", expected));
        for asking in [list, call] {
            assert_eq!(asking.caller.root, exposed.caller.root);
        }
    }

    #[test]
    fn an_answer_of_another_form_is_a_fault_of_ours() {
        let exposed = ExposedModules {
            modules: Vec::new(),
            path: Vec::new(),
            caller: Caller::default(),
        };
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        for text in ["[]", "{}", "null", r#"{"tools": 1}"#] {
            let listing = exposed.listing(&raw(text)).unwrap_err();
            let given = exposed.given(&raw(text)).unwrap_err();
            for error in [listing, given] {
                assert_eq!(error.code, pillion_catalogue::Code::InternalError, "{text}");
            }
        }
        let none = r#"{"tools": [], "files": [], "failed": [], "version": "1"}"#;
        assert_eq!(exposed.listing(&raw(none)).unwrap().version, "1");
    }
}
