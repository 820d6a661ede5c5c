//! What is wrong with a notebook, and putting right what can be.
//!
//! One walk finds everything (`rules.rs`). [`Notebook::check`] tells it and [`Notebook::repair`]
//! applies those findings that have a fix, so the two cannot disagree. A fix never throws away
//! what a person wrote; what has none is left as it is and told.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::notebook::{MINOR, Notebook};
use super::problem::Problem;
use super::rules::{Fix, Walk};
use super::tree::{Node, Object};

/// Something that was put right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repair {
    /// The cell, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    /// Where it is.
    pub path: String,
    /// What was wrong.
    pub message: String,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Notebook {
    /// Everything in it that the format does not allow. Changes nothing.
    pub fn check(&self) -> Vec<Problem> {
        let findings = Walk::over(self, self.minor());
        findings.into_iter().map(|found| found.problem).collect()
    }

    /// Bring it to version 4.5 and put right what can be: ids, and fields that have to be
    /// there. The list says what was done; a notebook without faults stays as it is.
    pub fn repair(&mut self) -> Vec<Repair> {
        let minor = self.minor().map_or(MINOR, |minor| minor.max(MINOR));
        let findings = Walk::over(self, Some(minor));
        let mut done = Vec::new();
        for found in findings {
            let Some(fix) = found.fix else {
                continue;
            };
            self.apply(fix);
            done.push(Repair {
                cell: found.problem.cell,
                path: found.problem.path,
                message: found.problem.message,
            });
        }
        self.changed |= !done.is_empty();
        done
    }

    fn apply(&mut self, fix: Fix) {
        let object = match fix.cell {
            Some(at) => match self.cells.get_mut(at) {
                Some(cell) => &mut cell.object,
                None => return,
            },
            None => &mut self.top,
        };
        let Some(at) = fix.output else {
            put(object, fix.name, fix.value);
            return;
        };
        // Taken apart once for all fixes of this cell.
        let Some(list) = object.get_mut("outputs") else {
            return;
        };
        if !matches!(list, Node::List(_)) {
            *list = Node::List(list.elements());
        }
        if let Node::List(outputs) = list
            && let Some(output) = outputs.get_mut(at)
        {
            let mut changed = output.object();
            put(&mut changed, fix.name, fix.value);
            *output = Node::Object(changed);
        }
    }
}

fn put(object: &mut Object, name: &str, value: Option<Value>) {
    match value {
        Some(value) => object.set(name, Node::New(value)),
        None => drop(object.remove(name)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::super::rules::is_id;
    use super::*;

    fn read(value: &Value) -> Notebook {
        Notebook::read(value.to_string().as_bytes()).unwrap()
    }

    fn said(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_older_notebook_without_faults_is_fine_and_is_brought_to_4_5() {
        let mut notebook = read(&json!({
            "cells": [
                {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": null},
                {"cell_type": "markdown", "source": ["1"], "metadata": {}},
            ],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 2,
        }));
        assert_eq!(said(&notebook.check()), [""; 0]);
        let done: Vec<_> = notebook.repair().iter().map(ToString::to_string).collect();
        assert_eq!(
            done,
            [
                "$.nbformat_minor: is 2; it becomes 5",
                "$.cells[0].id: is missing",
                "$.cells[1].id: is missing"
            ]
        );
        assert_eq!(notebook.minor(), Some(5));
        assert_ne!(notebook.cells()[0].id(), notebook.cells()[1].id());
        assert!(notebook.check().is_empty() && notebook.repair().is_empty());
    }

    #[test]
    fn a_notebook_without_faults_stays_as_it_is() {
        let text = "{\"nbformat\":4,  \"nbformat_minor\":5, \"metadata\": {}, \"cells\": [] }";
        let mut notebook = Notebook::read(text.as_bytes()).unwrap();
        assert!(notebook.repair().is_empty());
        assert_eq!(notebook.text(), text);
    }

    #[test]
    fn ids_are_repaired_and_good_ones_stay() {
        let cell = |id: Value| json!({"cell_type": "raw", "id": id, "source": "", "metadata": {}});
        let mut notebook = read(&json!({
            "cells": [cell("a".into()), cell("a".into()), cell("no good".into()), cell(1.into()),
                cell("x".repeat(65).into()), cell("x".repeat(64).into())],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
        }));
        let problems = notebook.check();
        let cells: Vec<_> = problems
            .iter()
            .map(|problem| problem.cell.unwrap())
            .collect();
        assert_eq!(cells, [1, 2, 3, 4]);
        assert_eq!(notebook.repair().len(), 4);
        let ids: HashSet<_> = notebook
            .cells()
            .iter()
            .map(|cell| cell.id().unwrap())
            .collect();
        assert_eq!(ids.len(), 6);
        assert!(ids.iter().all(|id| is_id(id)));
        assert_eq!(notebook.cells()[0].id().unwrap(), "a");
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let mut notebook = read(&json!({
            "cells": [
                {"cell_type": "code", "id": "a", "outputs": [
                    {"output_type": "stream", "text": "x"},
                    {"output_type": "display_data", "data": {"text/plain": 1, "application/json": 1},
                        "transient": {}},
                    {"output_type": "execute_result", "data": {}, "metadata": {}},
                    {"output_type": "error"},
                    {"output_type": "pyout"},
                    7,
                ]},
                {"cell_type": "markdown", "id": "b", "metadata": {"tags": ["x", "x", "a,b"]},
                    "source": [1], "outputs": [], "execution_count": 1, "more": 1},
                {"cell_type": "heading", "id": "c"},
            ],
            "metadata": {"kernelspec": {}}, "nbformat": 4, "nbformat_minor": 5, "extra": 0, "\u{1b}[2J": 0,
        }));
        let fixed = [
            "$.cells[0].metadata: is missing",
            "$.cells[0].source: is missing",
            "$.cells[0].execution_count: is missing",
            "$.cells[0].outputs[0].name: is missing",
            "$.cells[0].outputs[1].metadata: is missing",
            "$.cells[0].outputs[1].transient: is for messages only",
            "$.cells[0].outputs[2].execution_count: is missing",
            "$.cells[0].outputs[3].ename: is missing",
            "$.cells[0].outputs[3].evalue: is missing",
            "$.cells[0].outputs[3].traceback: is missing",
            "$.cells[1].execution_count: is for code cells only",
            "$.cells[1].outputs: is for code cells only",
        ];
        let left = [
            "$.extra: is unknown to the format here",
            "$[\"\\u{1b}[2J\"]: is unknown to the format here",
            "$.metadata.kernelspec.name: is missing or no text",
            "$.metadata.kernelspec.display_name: is missing or no text",
            "$.cells[0].outputs[1].data[\"text/plain\"]: is no text, and the media type is not JSON",
            "$.cells[0].outputs[4].output_type: \"pyout\" is no kind of output",
            "$.cells[0].outputs[5]: is no object",
            "$.cells[1].source: is no text or list of lines",
            "$.cells[1].metadata.tags: \"x\" stands there twice",
            "$.cells[1].metadata.tags: \"a,b\" has a comma",
            "$.cells[1].more: is unknown to the format here",
            "$.cells[2].cell_type: is \"heading\", not `code`, `markdown` or `raw`",
        ];
        let before = notebook.text();
        let found: HashSet<_> = said(&notebook.check()).into_iter().collect();
        let expected: HashSet<_> = fixed.iter().chain(&left).map(ToString::to_string).collect();
        assert_eq!(found, expected);
        assert_eq!(notebook.text(), before);
        let done: Vec<_> = notebook.repair().iter().map(ToString::to_string).collect();
        assert_eq!(done, fixed);
        assert_eq!(said(&notebook.check()), left);
    }
}
