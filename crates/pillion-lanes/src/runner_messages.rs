//! What a runner is told, and what it says at the end.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pillion_catalogue::{Code, Error, Result};
use pillion_sandbox::walls::rlimits::Rlimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What is run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Source text.
    Code(String),
    /// A file of the folder, by its name there.
    File(String),
    /// A module, as `python -m` runs it.
    Module(String),
    /// A function, called once.
    #[serde(untagged)]
    Function {
        /// As `module:name`.
        function: String,
        /// What it is called with.
        arguments: Option<Box<RawValue>>,
    },
}

/// A file that goes along.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FileIn {
    pub(crate) name: String,
    pub(crate) size: u64,
}

/// What a runner is told.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Order {
    pub(crate) program: Program,
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) path: Vec<PathBuf>,
    pub(crate) files: Vec<FileIn>,
    pub(crate) rlimits: Vec<Rlimit>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) seed: Option<u64>,
    pub(crate) clock: Option<f64>,
    pub(crate) tools: bool,
    pub(crate) tool_names: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) descriptors: Option<BTreeMap<String, i32>>,
}

/// What a runner says at the end.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ended {
    pub(crate) value: Option<Box<RawValue>>,
    pub(crate) repr: Option<String>,
    pub(crate) exception: Option<Exception>,
}

/// An exception that nobody caught.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Exception {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    #[serde(default)]
    pub message: String,
    /// The limit behind it: `memory`, `disk` or `processes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// Whether a name stays inside of the folder it is meant in.
pub fn check_name(name: &str) -> Result<()> {
    let parts: Vec<&str> = name.split('/').collect();
    let fits = !name.is_empty()
        && name.len() <= 255
        && !name.contains(['\0', '\\'])
        && parts.iter().all(|part| !["", ".", ".."].contains(part));
    fits.then_some(()).ok_or_else(|| {
        Error::new(
            Code::InvalidParams,
            format!("`{name}` is no name of a file in the folder"),
        )
        .hint("names are relative, without `..`, for example `data/sales.csv`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::path::{Component, Path};

    fn order(program: Program) -> Order {
        Order {
            program,
            name: "<string>".to_owned(),
            args: vec!["-v".to_owned()],
            folder: "/lane/work".into(),
            path: vec!["/lane/work".into()],
            files: vec![FileIn {
                name: "data/a.csv".to_owned(),
                size: 3,
            }],
            rlimits: vec![(7, 1, 2)],
            env: [("HOME".to_owned(), "/lane/work".to_owned())].into(),
            seed: None,
            clock: Some(0.5),
            tools: true,
            tool_names: [("read".to_owned(), vec!["a".to_owned()])].into(),
            descriptors: None,
        }
    }

    #[test]
    fn each_kind_of_program_has_the_form_that_the_runner_reads() {
        let arguments = RawValue::from_string("[1.10]".to_owned()).unwrap();
        let function = |arguments| Program::Function {
            function: "m:f".to_owned(),
            arguments,
        };
        for (program, expected) in [
            (Program::Code("1".to_owned()), r#"{"code":"1"}"#),
            (Program::File("a.py".to_owned()), r#"{"file":"a.py"}"#),
            (Program::Module("m.n".to_owned()), r#"{"module":"m.n"}"#),
            (
                function(Some(arguments)),
                r#"{"function":"m:f","arguments":[1.10]}"#,
            ),
            (function(None), r#"{"function":"m:f","arguments":null}"#),
        ] {
            assert_eq!(serde_json::to_string(&program).unwrap(), expected);
        }
    }

    #[test]
    fn an_order_has_the_names_that_the_runner_reads() {
        let written = serde_json::to_value(order(Program::Code("1".to_owned()))).unwrap();
        let expected = json!({
            "program": {"code": "1"}, "name": "<string>", "args": ["-v"],
            "folder": "/lane/work", "path": ["/lane/work"],
            "files": [{"name": "data/a.csv", "size": 3}], "rlimits": [[7, 1, 2]],
            "env": {"HOME": "/lane/work"}, "seed": null, "clock": 0.5,
            "tools": true, "tool_names": {"read": ["a"]},
        });
        assert_eq!(
            written, expected,
            "a slot is not told any numbers of descriptors"
        );
        let mut told = order(Program::Code("1".to_owned()));
        told.descriptors = Some([("result".to_owned(), 5)].into());
        let written = serde_json::to_value(told).unwrap();
        assert_eq!(written["descriptors"], json!({"result": 5}));
    }

    #[test]
    fn a_runner_may_say_little_or_nothing() {
        let nothing: Ended = serde_json::from_str("{}").unwrap();
        assert!(nothing.value.is_none() && nothing.exception.is_none());
        let said = r#"{"exception": {"type": "ValueError"}, "value": 1e400}"#;
        let ended: Ended = serde_json::from_str(said).unwrap();
        let exception = ended.exception.unwrap();
        assert_eq!(
            (exception.kind.as_str(), exception.message.as_str()),
            ("ValueError", "")
        );
        assert_eq!(
            ended.value.unwrap().get(),
            "1e400",
            "a value stays as it is written"
        );
    }

    #[test]
    fn names_that_could_lead_out_of_the_folder_are_refused() {
        for name in [
            "a",
            "data/sales.csv",
            ".hidden",
            "a b",
            "..a",
            "ü",
            &"x".repeat(255),
        ] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "x".repeat(256);
        for name in [
            "",
            ".",
            "..",
            "/",
            "/etc/passwd",
            "a/",
            "a//b",
            "./a",
            "a/../b",
            "../a",
            "a\0b",
            "a\\b",
            &long,
        ] {
            let error = check_name(name).unwrap_err();
            assert_eq!(error.code, Code::InvalidParams, "{name}");
            assert!(error.hint.is_some());
        }
    }

    proptest! {
        #[test]
        fn a_name_that_is_accepted_stays_inside(name in "[a./\\\\]{0,8}|.*") {
            if check_name(&name).is_ok() {
                let path = Path::new(&name);
                let is_plain = |part| matches!(part, Component::Normal(_));
                assert!(path.components().all(is_plain) && path.components().count() > 0);
                assert!(Path::new("/w").join(path).starts_with("/w"));
            }
        }
    }
}
