//! `py.describe`: what a module offers.

use std::path::PathBuf;

use pillion_catalogue::{Context, Error, Offer, Operation, Result, Safety, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::question::Question;
use crate::PythonService;

/// Describe the functions of a Python module, with schemas.
///
/// The schemas come from annotations, the descriptions from docstrings.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Describe {
    /// The module, such as `pkg.mod`.
    pub module: String,
    /// More folders to import from.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathBuf>,
}

/// A module and its functions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Module {
    /// Its name.
    pub module: String,
    /// Its documentation.
    pub doc: String,
    /// Its source file, if it has one.
    pub file: Option<String>,
    /// Its functions.
    pub functions: Vec<Function>,
}

/// A function.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Function {
    /// Its name; call it as `module:name`.
    pub name: String,
    /// Its signature as Python writes it.
    pub signature: Option<String>,
    /// The first line of its documentation.
    pub summary: String,
    /// Its whole documentation.
    pub doc: String,
    /// The schema of its parameters.
    pub params: Value,
    /// The schema of what it returns.
    pub returns: Value,
    /// Whether it is `async`.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// Whether it is a generator, whose values can be streamed.
    pub stream: bool,
    /// Where it starts in the source file.
    pub line: Option<u32>,
}

impl Operation for Describe {
    const NAME: &'static str = "py.describe";
    // Importing a module runs its code, but only as every call into it would.
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN.typed("describe", 280);
    type Service = PythonService;
    type Output = Module;

    fn text(result: &str) -> Option<String> {
        let module: Module = serde_json::from_str(result).ok()?;
        Some(module.text())
    }

    async fn run(self, cx: Context<PythonService>) -> Result<Module> {
        let question = Question {
            modules: vec![self.module.clone()],
            path: self.path,
            is_safe: true,
            streams: false,
        };
        let params = serde_json::json!({ "module": self.module });
        let (_, answer) = question.ask(&cx, "describe", &params).await?;
        serde_json::from_str(answer.result.get()).map_err(Error::internal)
    }
}

impl Module {
    /// As people read it.
    fn text(&self) -> String {
        let file = self.file.as_deref().unwrap_or("");
        let mut lines = vec![format!("{}  {file}", self.module)];
        lines.extend(self.doc.lines().next().map(|line| format!("  {line}")));
        for function in &self.functions {
            let kind = match (function.is_async, function.stream) {
                (_, true) => "  (stream)",
                (true, false) => "  (async)",
                (false, false) => "",
            };
            let signature = function.signature.as_deref().unwrap_or("(...)");
            lines.push(format!(
                "\n{}:{}{signature}{kind}",
                self.module, function.name
            ));
            if !function.summary.is_empty() {
                lines.push(format!("    {}", function.summary));
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn function(name: &str, is_async: bool, stream: bool) -> Value {
        json!({
            "name": name, "signature": "(x: int)", "summary": "Does it.", "doc": "Does it.",
            "params": {}, "returns": {}, "async": is_async, "stream": stream, "line": 3,
        })
    }

    #[test]
    fn a_module_is_shown_with_what_can_be_called() {
        let mut bare = function("bare", false, false);
        (bare["signature"], bare["summary"], bare["line"]) = (Value::Null, json!(""), Value::Null);
        let module = json!({
            "module": "shop", "doc": "Prices.\nMore.", "file": "/p/shop.py",
            "functions": [
                function("plain", false, false), function("later", true, false),
                function("many", false, true), function("both", true, true), bare,
            ],
        });
        let expected = "shop  /p/shop.py\n  Prices.\n\n\
            shop:plain(x: int)\n    Does it.\n\n\
            shop:later(x: int)  (async)\n    Does it.\n\n\
            shop:many(x: int)  (stream)\n    Does it.\n\n\
            shop:both(x: int)  (stream)\n    Does it.\n\n\
            shop:bare(...)";
        assert_eq!(
            Describe::text(&module.to_string()).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn what_is_no_module_has_no_text() {
        for text in ["", "[]", "{}", r#"{"module": "m"}"#] {
            assert_eq!(Describe::text(text), None, "{text}");
        }
        let builtin = r#"{"module": "sys", "doc": "", "file": null, "functions": []}"#;
        assert_eq!(Describe::text(builtin).as_deref(), Some("sys  "));
    }
}
