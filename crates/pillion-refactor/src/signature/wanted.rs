//! The changes that callers ask for.

use std::str::FromStr;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::parsed::{self, Parsed, parsed};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::check_name;

/// A parameter that is added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedParameter {
    /// Its name.
    pub name: String,
    /// Its annotation, as source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation: Option<String>,
    /// Its default, as source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// What the calls that exist pass, as source. Calls stay as they are if there is none and
    /// the parameter has a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Its place among the parameters, from 0 and without `self`; the last one that is
    /// possible if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Whether it can only be given by name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keyword_only: bool,
}

/// What the calls that exist pass for a parameter that is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PassedValue {
    /// The parameter.
    pub name: String,
    /// The source that is passed.
    pub value: String,
}

/// All that is asked for.
#[derive(Debug, Clone, Default)]
pub struct SignatureChange {
    /// Parameters that are added.
    pub add: Vec<AddedParameter>,
    /// Names of parameters that are taken out.
    pub remove: Vec<String>,
    /// The whole new order, if it is given.
    pub order: Vec<String>,
    /// Whether calls that nobody can be sure about may stay as they are.
    pub leave_unclear: bool,
}

impl FromStr for AddedParameter {
    type Err = String;

    /// Read `name: annotation = default`; a `*` in front makes it keyword-only.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write it as in a function, such as `limit: int = 10`".to_owned();
        let (keyword_only, text) = match text.trim().strip_prefix('*') {
            Some(rest) => (true, rest.trim_start().trim_start_matches(',').trim_start()),
            None => (false, text.trim()),
        };
        let code = format!("def f({text}): pass\n");
        let one = parsed(&code, "parameter.py", |parsed| Self::read(&code, parsed));
        let one = one.ok_or_else(wrong)?;
        Ok(Self {
            keyword_only,
            ..one
        })
    }
}

impl FromStr for PassedValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
                Ok(Self {
                    name: name.trim().to_owned(),
                    value: value.trim().to_owned(),
                })
            }
            _ => Err("write NAME=VALUE, such as limit=10".into()),
        }
    }
}

impl AddedParameter {
    /// The one parameter of a function, by the text of the function.
    fn read(code: &str, parsed: &Parsed) -> Option<Self> {
        let [Stmt::FunctionDef(function)] = parsed.body() else {
            return None;
        };
        if !parsed.errors().is_empty() {
            return None;
        }
        let parameters = &function.parameters;
        let ([one], None, None, true, true) = (
            parameters.args.as_slice(),
            &parameters.vararg,
            &parameters.kwarg,
            parameters.posonlyargs.is_empty(),
            parameters.kwonlyargs.is_empty(),
        ) else {
            return None;
        };
        // From the text, so that brackets stay.
        let code_end = code.len() - "): pass\n".len();
        let name_end = one.parameter.name.range.end().to_usize();
        let annotation = one.parameter.annotation.as_ref();
        let default_at = one.default.as_ref().map(|default| {
            let from = annotation.map_or(name_end, |a| a.range().end().to_usize());
            let equals = code[from..default.range().start().to_usize()].find('=');
            from + equals.unwrap_or(0)
        });
        let head = &code[name_end..default_at.unwrap_or(code_end)];
        let source = |text: &str| text.trim().to_owned();
        Some(Self {
            name: one.parameter.name.to_string(),
            annotation: annotation.map(|_| source(head.trim_start().trim_start_matches(':'))),
            default: default_at.map(|at| source(&code[at + 1..code_end])),
            ..Self::default()
        })
    }
    /// The parameter as it is written in the definition.
    pub(super) fn written(&self) -> String {
        match (&self.annotation, &self.default) {
            (None, None) => self.name.clone(),
            (None, Some(default)) => format!("{}={default}", self.name),
            (Some(annotation), None) => format!("{}: {annotation}", self.name),
            (Some(annotation), Some(default)) => {
                format!("{}: {annotation} = {default}", self.name)
            }
        }
    }

    /// The names that the place where a text of it is written must know.
    pub(super) fn names(text: Option<&String>) -> Vec<String> {
        let mut names = Names(Vec::new());
        if let Some(text) = text {
            parsed::expression(text, |expr| names.visit_expr(expr));
        }
        names.0
    }

    fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        let texts = [
            ("annotation", &self.annotation),
            ("default", &self.default),
            ("value", &self.value),
        ];
        for (what, text) in texts {
            let Some(text) = text else { continue };
            let is_one = parsed::expression(text, |expr| {
                let is_bare = match expr {
                    Expr::Starred(_) => true,
                    Expr::Tuple(tuple) => !tuple.parenthesized,
                    Expr::Generator(generator) => !generator.parenthesized,
                    other @ (Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Named(_)) => {
                        !text[..other.range().start().to_usize()].contains('(')
                    }
                    _ => false,
                };
                !is_bare && !text.contains(['\n', '#'])
            });
            if is_one != Some(true) {
                return Err(invalid(format!(
                    "the {what} of `{}` is not one expression: `{text}`",
                    self.name
                ))
                .hint("write it as it would stand between the commas, on one line"));
            }
        }
        Ok(())
    }
}

impl SignatureChange {
    /// Give what is added the values that were named apart.
    pub fn pass(&mut self, values: Vec<PassedValue>) -> Result<()> {
        for PassedValue { name, value } in values {
            let Some(added) = self.add.iter_mut().find(|added| added.name == name) else {
                return Err(
                    invalid(format!("`{name}` is not added, so nobody passes it"))
                        .hint("a value belongs to a parameter of `add`"),
                );
            };
            if added.value.replace(value).is_some() {
                return Err(invalid(format!("`{name}` has two values"))
                    .hint("name the value once, in `add` or in `values`"));
            }
        }
        Ok(())
    }

    /// Refuse what is wrong whatever the function is.
    pub(super) fn check(&self) -> Result<()> {
        if self.add.is_empty() && self.remove.is_empty() && self.order.is_empty() {
            return Err(invalid("no change is asked for").hint("say `add`, `remove` or `order`"));
        }
        self.add.iter().try_for_each(AddedParameter::check)?;
        let named = self.add.iter().map(|added| &added.name);
        for names in [named.collect::<Vec<_>>(), self.remove.iter().collect()] {
            let mut seen: Vec<&String> = Vec::new();
            for name in names {
                if seen.contains(&name) {
                    return Err(invalid(format!("`{name}` is named twice"))
                        .hint("name each parameter once"));
                }
                seen.push(name);
            }
        }
        let pointless = |added: &&AddedParameter| added.default.is_none() && added.value.is_none();
        match self.add.iter().find(pointless) {
            Some(added) => Err(invalid(format!(
                "nobody knows what calls pass for `{}`: it has no default and no value",
                added.name
            ))
            .hint("give it a `default`, or the `value` that existing calls pass")),
            None => Ok(()),
        }
    }
}

pub(super) fn invalid(what: impl Into<String>) -> Error {
    Error::new(Code::InvalidParams, what.into())
}

struct Names(Vec<String>);

impl<'a> Visitor<'a> for Names {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.0.push(name.id.to_string());
        }
        visitor::walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_people_write_them() {
        let cases = [
            ("x", ("x", None, None, false)),
            ("x=1", ("x", None, Some("1"), false)),
            ("x: int", ("x", Some("int"), None, false)),
            (
                " x : dict[str, int] = {} ",
                ("x", Some("dict[str, int]"), Some("{}"), false),
            ),
            ("x=(1, 2)", ("x", None, Some("(1, 2)"), false)),
            ("x: (int) = (1)", ("x", Some("(int)"), Some("(1)"), false)),
            (
                "x=lambda a, b=1: a == b",
                ("x", None, Some("lambda a, b=1: a == b"), false),
            ),
            ("*, x=1", ("x", None, Some("1"), true)),
            ("*x", ("x", None, None, true)),
        ];
        for (text, (name, annotation, default, keyword_only)) in cases {
            let read: AddedParameter = text.parse().expect(text);
            let parts = (
                &*read.name,
                read.annotation.as_deref(),
                read.default.as_deref(),
            );
            assert_eq!(parts, (name, annotation, default), "{text}");
            assert_eq!(read.keyword_only, keyword_only, "{text}");
        }
        for text in ["", "1", "a, b", "a=1, b=2", "a=", "**k", "a, /", "a b"] {
            assert!(text.parse::<AddedParameter>().is_err(), "{text}");
        }
        for text in ["", "x", "=1", "x="] {
            assert!(text.parse::<PassedValue>().is_err(), "{text}");
        }
        let passed: PassedValue = "x=a == b".parse().unwrap();
        assert_eq!((&*passed.name, &*passed.value), ("x", "a == b"));
    }

    #[test]
    fn sources_are_single_expressions() {
        let with = |value: &str| {
            let added = AddedParameter {
                name: "x".into(),
                value: Some(value.into()),
                ..AddedParameter::default()
            };
            added.check()
        };
        for good in [
            "1",
            "(1, 2)",
            "f(a, b)",
            "lambda: 1",
            "(x := 1)",
            "[*a]",
            "(yield)",
        ] {
            assert!(with(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "1, 2",
            "*a",
            "x := 1",
            "a b",
            "1)",
            "1 # c",
            "a\n",
            "x for x in y",
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
    }
}
