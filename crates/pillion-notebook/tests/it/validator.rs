//! `nbformat`, the Python package that defines the format, on every notebook that is written.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use pillion_notebook::file::{
    CellKind, Clearing, KernelMetadata, NewCell, Notebook, OutputList, Overwrite, open, save,
};
use serde_json::{Value, json};

/// Reads a list of texts, and says for each what is wrong with it, and how `nbformat` itself
/// would write it.
const PROGRAM: &str = r#"
import json, sys, warnings
import nbformat

warnings.simplefilter("error")
answers = []
for text in json.load(sys.stdin):
    wrong = None
    try:
        nbformat.validate(json.loads(text))
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"[:2000]
    written = None
    if wrong is None:
        written = nbformat.writes(nbformat.reads(text, as_version=4)) + "\n"
    answers.append({"wrong": wrong, "written": written})
json.dump(answers, sys.stdout)
"#;

/// What `nbformat` says to texts.
#[expect(
    clippy::disallowed_methods,
    reason = "what it runs is no child of pillion's"
)]
fn ask(texts: &[String]) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/dev-python/bin/python");
    assert!(
        python.exists(),
        "there is no target/dev-python; `cargo xtask test` makes it"
    );
    let mut child = Command::new(python)
        .args(["-I", "-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(json!(texts).to_string().as_bytes())
        .unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), texts.len());
    answers
}

fn assert_valid(texts: &[String]) {
    for (text, answer) in texts.iter().zip(ask(texts)) {
        assert_eq!(answer["wrong"], Value::Null, "{text}");
    }
}

/// All that a kernel sends.
fn every_output() -> OutputList {
    let mut outputs = OutputList::new(100_000);
    let data = json!({
        "text/plain": "<Figure>\r\nb\u{2028}c\u{c}", "text/html": "<b>\n</b>", "image/png": "aGk=\n",
        "image/svg+xml": "<svg>\n</svg>", "application/javascript": "a()\nb()",
        "application/json": {"b": [1.5, null, "x"], "a": true}, "text/latex": "$x$",
        "application/vnd.plotly.v1+json": {"data": []}, "application/x-odd": {"a": 1}, "text/markdown": "",
    });
    for (msg_type, content) in [
        ("execute_input", json!({"execution_count": 5, "code": ""})),
        (
            "stream",
            json!({"name": "stdout", "text": "a\n\u{1b}[31mé😀\u{7f}"}),
        ),
        ("stream", json!({"name": "stdout", "text": "b\rc"})),
        ("stream", json!({"name": "stderr", "text": "!"})),
        (
            "display_data",
            json!({"data": data, "metadata": {"image/png": {"width": 3}}, "transient": {"display_id": "d"}}),
        ),
        (
            "update_display_data",
            json!({"data": data, "metadata": {}, "transient": {"display_id": "d"}}),
        ),
        (
            "execute_result",
            json!({"data": {"text/plain": "1"}, "metadata": {}, "execution_count": 5}),
        ),
        ("execute_result", json!({"data": {}})),
        ("display_data", json!({})),
        (
            "error",
            json!({"ename": "E", "evalue": "v", "traceback": ["a\nb"]}),
        ),
        ("error", json!({"ename": null, "evalue": 1})),
        ("stream", json!({})),
        ("status", json!({"execution_state": "idle"})),
    ] {
        outputs.feed(msg_type, &content);
    }
    outputs
}

/// Notebooks that were made from nothing, step by step.
fn new_ones() -> Vec<String> {
    let mut notebook = Notebook::new(&KernelMetadata::default());
    let mut texts = vec![notebook.text()];
    for (at, kind) in [
        CellKind::Markdown,
        CellKind::Code,
        CellKind::Raw,
        CellKind::Code,
    ]
    .into_iter()
    .enumerate()
    {
        let cell = NewCell {
            metadata: json!({"tags": ["parameters"], "z": {"b": 1, "a": "é"}}),
            ..NewCell::new(kind, "é = '''\n\u{1}\t\\'''\r\n\u{85}x")
        };
        notebook.insert(at, &cell).unwrap();
        texts.push(notebook.text());
    }
    let outputs = every_output();
    let count = outputs.execution_count();
    notebook.set_outputs(1, &outputs.all(), count).unwrap();
    texts.push(notebook.text());
    let mut small = OutputList::new(10);
    small.feed("stream", &json!({"name": "stdout", "text": "too much"}));
    notebook.set_outputs(3, &small.all(), Some(6)).unwrap();
    texts.push(notebook.text());
    let values = json!({"a": 1, "b": {"c": [null, "x"]}});
    notebook
        .set_parameters(values.as_object().unwrap())
        .unwrap();
    texts.push(notebook.text());
    notebook.move_cell(0, 3).unwrap();
    notebook
        .replace(0, "# now code", Some(CellKind::Code))
        .unwrap();
    notebook
        .replace(2, "now *text*", Some(CellKind::Markdown))
        .unwrap();
    texts.push(notebook.text());
    notebook.delete(1).unwrap();
    notebook
        .clear(Clearing {
            cell: None,
            traces: true,
        })
        .unwrap();
    texts.push(notebook.text());
    texts
}

/// Notebooks as one finds them, which only a repair makes valid.
fn found_ones() -> Vec<String> {
    let old = |minor: Value, cells: Value| {
        json!({"metadata": {"kernelspec": {"name": "p", "display_name": "P"}, "orig_nbformat": 2},
            "nbformat": 4, "nbformat_minor": minor, "cells": cells})
    };
    let cell =
        |id: Value| json!({"cell_type": "markdown", "source": "x", "metadata": {}, "id": id});
    let mut notebooks = vec![
        json!({"nbformat": 4, "cells": []}),
        old(Value::Null, json!([])),
        old(
            json!(5),
            json!([
                cell("a".into()),
                cell("a".into()),
                cell("".into()),
                cell("é".into()),
                cell("a b".into()),
                cell(7.into()),
                cell("y".repeat(65).into()),
                cell(Value::Null)
            ]),
        ),
        old(
            json!(5),
            json!([{"cell_type": "code"}, {"cell_type": "raw"}, {"cell_type": "markdown",
            "source": "x", "outputs": [], "execution_count": null}]),
        ),
        old(
            json!(5),
            json!([{"cell_type": "code", "id": "a", "outputs": [
            {"output_type": "stream"}, {"output_type": "display_data", "transient": {}},
            {"output_type": "execute_result", "data": {"text/plain": ["1"]}}, {"output_type": "error"}]}]),
        ),
    ];
    for minor in 0..5 {
        notebooks.push(old(json!(minor), json!([
            {"cell_type": "code", "source": ["1\n", "2"], "metadata": {"collapsed": true},
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1"]}], "execution_count": 2},
            {"cell_type": "markdown", "source": "x", "metadata": {}},
            {"cell_type": "raw", "source": "x", "metadata": {"format": "text/html"}},
        ])));
    }
    notebooks.iter().map(ToString::to_string).collect()
}

#[test]
fn new_notebooks_are_written_byte_for_byte_as_nbformat_writes_them() {
    let texts = new_ones();
    for (text, answer) in texts.iter().zip(ask(&texts)) {
        assert_eq!(answer["wrong"], Value::Null, "{text}");
        assert_eq!(answer["written"].as_str().unwrap(), text);
    }
}

#[test]
fn repaired_notebooks_are_valid() {
    let repaired = |text: &String| {
        let mut notebook = Notebook::read(text.as_bytes()).unwrap();
        assert!(!notebook.repair().is_empty(), "{text}");
        if let Some(at) = notebook
            .cells()
            .iter()
            .position(|c| c.kind() == CellKind::Code)
        {
            notebook
                .set_outputs(at, &every_output().all(), Some(1))
                .unwrap();
        }
        notebook.text()
    };
    assert_valid(&found_ones().iter().map(repaired).collect::<Vec<_>>());
}

#[test]
fn check_and_nbformat_agree_on_what_is_valid() {
    let mut texts: Vec<_> = found_ones().into_iter().chain(new_ones()).collect();
    // Each fault by itself, in a notebook that has no other.
    let outputs = every_output().to_nbformat();
    let good = json!({"metadata": {}, "nbformat": 4, "nbformat_minor": 5, "cells": [
        {"cell_type": "code", "id": "a", "metadata": {"tags": ["x"]}, "source": "", "outputs": outputs,
            "execution_count": 1},
        {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "", "attachments": {}},
    ]});
    texts.push(good.to_string());
    // A later version may have what this one does not know.
    let mut newer = good.clone();
    newer["nbformat_minor"] = json!(9);
    newer["extra"] = json!(1);
    newer["cells"][0]["extra"] = json!(1);
    newer["cells"][0]["outputs"][0] = json!({"output_type": "later"});
    newer["cells"][1] = json!({"cell_type": "later", "id": "b", "metadata": {}});
    texts.push(newer.to_string());
    for (path, value) in [
        ("/extra", json!(1)),
        ("/metadata", json!([])),
        ("/metadata/kernelspec", json!({"name": "x"})),
        ("/metadata/language_info", json!({})),
        ("/cells/0/extra", json!(1)),
        ("/cells/0/id", json!("a.b")),
        ("/cells/0/id", json!("b")),
        ("/cells/0/cell_type", json!("heading")),
        ("/cells/0/source", json!(1)),
        ("/cells/0/source", json!(["x", 1])),
        ("/cells/0/metadata/tags", json!(["x", "x"])),
        ("/cells/0/metadata/tags", json!(["x,y"])),
        ("/cells/0/metadata/tags", json!("x")),
        ("/cells/0/execution_count", json!("1")),
        ("/cells/0/execution_count", json!(-1)),
        ("/cells/0/outputs", json!({})),
        ("/cells/0/outputs/0", json!(1)),
        ("/cells/0/outputs/0/extra", json!(1)),
        ("/cells/0/outputs/0/output_type", json!("pyout")),
        ("/cells/0/outputs/0/name", json!(1)),
        ("/cells/0/outputs/0/text", json!(1)),
        ("/cells/0/outputs/2/data/x~1y", json!({})),
        ("/cells/0/outputs/2/metadata", json!([])),
        ("/cells/0/outputs/6/traceback", json!("x")),
        ("/cells/1/attachments", json!(1)),
        ("/cells/1/outputs", json!([])),
    ] {
        let mut bad = good.clone();
        let (parent, name) = path.rsplit_once('/').unwrap();
        let parent = bad.pointer_mut(parent).unwrap_or_else(|| panic!("{path}"));
        match parent {
            Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
            parent => parent[name.replace("~1", "/")] = value,
        }
        texts.push(bad.to_string());
    }
    for (text, answer) in texts.iter().zip(ask(&texts)) {
        let problems = Notebook::read(text.as_bytes()).unwrap().check();
        let wrong = &answer["wrong"];
        assert_eq!(
            problems.is_empty(),
            wrong.is_null(),
            "{text}\nours: {problems:?}\ntheirs: {wrong}"
        );
    }
}

#[test]
fn what_nbformat_wrote_is_edited_and_stays_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ipynb");
    let mut texts = Vec::new();
    for answer in ask(&new_ones()) {
        std::fs::write(&path, answer["written"].as_str().unwrap()).unwrap();
        let mut notebook = open(&path).unwrap();
        assert!(notebook.repair().is_empty());
        notebook
            .insert(0, &NewCell::new(CellKind::Code, "1"))
            .unwrap();
        notebook
            .set_outputs(0, &every_output().all(), Some(9))
            .unwrap();
        save(&mut notebook, &path, Overwrite::Never).unwrap();
        texts.push(std::fs::read_to_string(&path).unwrap());
    }
    for (text, answer) in texts.iter().zip(ask(&texts)) {
        assert_eq!(answer["wrong"], Value::Null, "{text}");
        assert_eq!(answer["written"].as_str().unwrap(), text);
    }
}
