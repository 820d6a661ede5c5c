//! What is refactored: places in Django 5.2, found by what stands there.

use std::path::Path;

use pillion_catalogue::{Code, Error, Result};
use serde_json::{Value, json};

use super::super::stage::cannot;
use super::super::wire::request;

/// A refactoring, for both sides.
#[derive(Debug, Clone)]
pub(super) struct Task {
    /// As Rope's side knows it.
    pub(super) method: &'static str,
    /// For people.
    pub(super) shown: &'static str,
    pub(super) file: &'static str,
    /// Offsets in characters.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The new name.
    pub(super) name: &'static str,
    /// What pillion is asked, without the root.
    operation: &'static str,
    params: Value,
}

impl Task {
    /// The question, for the socket.
    pub(super) fn message(&self, root: &Path) -> Vec<u8> {
        let mut params = self.params.clone();
        params["root"] = json!(root);
        request(self.operation, &params)
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Tasks {
    /// A method that is overridden and called all over the tree.
    pub(super) rename: Task,
    /// Another one, so that everything is warm.
    pub(super) other: Task,
    pub(super) variable: Task,
    pub(super) method: Task,
    pub(super) organize: Task,
}

const FIELDS: &str = "django/db/models/fields/__init__.py";
const BASE: &str = "django/db/models/base.py";
/// Django's imports are in order: this is a file whose are not.
const UNTIDY: &str = "django/db/models/fields/pillion_bench_imports.py";

impl Tasks {
    pub(super) fn find(root: &Path) -> Result<Self> {
        let fields = Text::read(root, FIELDS)?;
        let base = Text::read(root, BASE)?;
        let untidy = format!("import zlib\nimport json, ast\n{}", fields.text);
        std::fs::write(root.join(UNTIDY), untidy).map_err(|error| cannot(&error))?;
        let rename = |text: &Text, needle: &str, shown, name| -> Result<Task> {
            let (start, end) = text.find("    def ", needle)?;
            let (line, col) = text.place(start);
            Ok(Task {
                method: "rename",
                shown,
                file: text.file,
                start,
                end,
                name,
                operation: "code.rename",
                params: json!({ "file": text.file, "line": line, "col": col, "new_name": name }),
            })
        };
        let extract = |method, shown, before: &str, needle: &str, name| -> Result<Task> {
            let (start, end) = base.find(before, needle)?;
            let ((line, col), (end_line, end_col)) = (base.place(start), base.place(end));
            let (operation, key) = match method {
                "extract-var" => ("code.extract_var", "var_name"),
                _ => ("code.extract_method", "method_name"),
            };
            Ok(Task {
                method,
                shown,
                file: BASE,
                start,
                end,
                name,
                operation,
                params: json!({
                    "file": BASE, "start_line": line, "start_col": col, "end_line": end_line,
                    "end_col": end_col, key: name,
                }),
            })
        };
        Ok(Self {
            rename: rename(&fields, "deconstruct", "Field.deconstruct", "taken_apart")?,
            other: rename(&base, "full_clean", "Model.full_clean", "whole_clean")?,
            variable: extract(
                "extract-var",
                "extract a variable",
                "if name != NON_FIELD_ERRORS and ",
                "name not in exclude",
                "is_open",
            )?,
            method: extract(
                "extract-method",
                "extract a method",
                "        # Run unique checks, but only for fields that passed validation.\n        ",
                "if validate_unique:\n            for name in errors:\n                \
                 if name != NON_FIELD_ERRORS and name not in exclude:\n                    \
                 exclude.add(name)\n            try:\n                \
                 self.validate_unique(exclude=exclude)\n            \
                 except ValidationError as e:\n                \
                 errors = e.update_error_dict(errors)",
                "check_unique",
            )?,
            organize: Task {
                method: "organize",
                shown: "organise the imports of a file",
                file: UNTIDY,
                start: 0,
                end: 0,
                name: "",
                operation: "code.organize_imports",
                params: json!({ "path": UNTIDY }),
            },
        })
    }
}

struct Text {
    file: &'static str,
    text: String,
}

impl Text {
    fn read(root: &Path, file: &'static str) -> Result<Self> {
        let text = std::fs::read_to_string(root.join(file)).map_err(|error| cannot(&error))?;
        Ok(Self { file, text })
    }

    /// Where something stands for the first time behind something else, in characters.
    fn find(&self, before: &str, needle: &str) -> Result<(usize, usize)> {
        let at = self.text.find(&format!("{before}{needle}"));
        let at = at.ok_or_else(|| {
            let what = format!(
                "`{}` is not the one that is known: no `{needle}`",
                self.file
            );
            Error::new(Code::Conflict, what)
        })?;
        let start = self.text[..at + before.len()].chars().count();
        Ok((start, start + needle.chars().count()))
    }

    /// Line and column of an offset, from 1.
    fn place(&self, offset: usize) -> (usize, usize) {
        let before: String = self.text.chars().take(offset).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default();
        (line, column.chars().count() + 1)
    }
}
