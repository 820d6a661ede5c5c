//! Reading and changing notebook files: by models, beside a person who has them open.

use std::fs;

use pillion_testing::set_up;
use serde_json::{Value, json};

use super::World;

#[test]
fn a_notebook_is_made_checked_cleared_compared_and_shown() {
    let world = World::new();
    let context = &world.context;
    let made = context.pillion(&[
        "notebook",
        "new",
        "a.ipynb",
        "--markdown",
        "# A",
        "--code",
        "1 + 1",
    ]);
    assert_eq!(made.code, Some(0), "{made}");
    let again = context.pillion(&["notebook", "new", "a.ipynb"]);
    assert_eq!(again.code, Some(1), "{again}");
    assert!(again.stderr.contains("already"), "{again}");
    let valid = context.pillion(&["notebook", "check", "a.ipynb"]);
    assert_eq!(valid.code, Some(0), "{valid}");
    assert!(
        valid.stdout.contains("2 cells, version 4.5, nothing wrong"),
        "{valid}"
    );
    let text = fs::read_to_string(context.project.join("a.ipynb")).unwrap();
    context.write(
        "b.ipynb",
        &text
            .replace("1 + 1", "1 + 2")
            .replace("\"outputs\": []", "\"outputs\": 5"),
    );
    let wrong = context.pillion(&["notebook", "check", "b.ipynb"]);
    assert_eq!(wrong.code, Some(1), "{wrong}");
    assert!(wrong.stdout.contains("$.cells[1].outputs"), "{wrong}");
    let diff = context.pillion(&["notebook", "diff", "a.ipynb", "b.ipynb"]);
    assert!(diff.stdout.contains("+1 + 2"), "{diff}");
    let page = context.pillion(&["notebook", "html", "a.ipynb"]);
    assert_eq!(page.code, Some(0), "{page}");
    let page = fs::read_to_string(context.project.join("a.html")).unwrap();
    assert!(page.contains("<h1"), "{page}");
    let cleared = context.pillion(&["notebook", "clear", "a.ipynb"]);
    assert!(cleared.stdout.contains("nothing to clear"), "{cleared}");
}

#[test]
fn every_change_is_about_the_revision_that_was_read() {
    let mut world = World::new();
    let path = world.context.project.join("a.ipynb");
    world.ask("new", json!({"path": path, "code": ["x = 1", "x + 1"]}));
    let read = world.ask("read", json!({"path": path}));
    let revision = read["revision"].clone();
    let first = read["cells"][0]["id"].clone();
    let added = world.ask(
        "add_cell",
        json!({"path": path, "revision": revision, "source": "# title", "kind": "markdown", "at": 0}),
    );
    assert_eq!(
        (&added["cell"], &added["count"]),
        (&json!(0), &json!(3)),
        "{added}"
    );
    let stale = json!({"path": path, "revision": revision, "cell": first, "source": "lost"});
    let error = world.rpc.call("notebook.replace_cell", stale).unwrap_err();
    assert_eq!(error["data"]["code"], "conflict", "{error}");
    let replaced = world.ask(
        "replace_cell",
        json!({"path": path, "revision": added["revision"], "cell": first, "source": "x = 41"}),
    );
    assert_eq!(replaced["cell"], 1, "{replaced}");
    let moved = world.ask(
        "move_cell",
        json!({"path": path, "revision": replaced["revision"], "cell": 0, "to": 2}),
    );
    let deleted = world.ask(
        "delete_cell",
        json!({"path": path, "revision": moved["revision"], "cell": 2}),
    );
    assert_eq!(deleted["count"], 2, "{deleted}");

    // Run it, then only its last cell, on a kernel that knows what the first one said.
    let params =
        world.params(json!({"path": path, "session": "model", "revision": deleted["revision"]}));
    let ran = world.rpc.call("notebook.run", params).unwrap();
    assert_eq!(ran["outputs"][0]["text"], "42", "{ran}");
    let replaced = world.ask(
        "replace_cell",
        json!({"path": path, "revision": ran["revision"], "cell": 1, "source": "x + 2"}),
    );
    let read = world.ask("read", json!({"path": path, "cells": [1]}));
    assert_eq!(
        read["cells"][0].get("outputs"),
        None,
        "they were of other code: {read}"
    );
    let from =
        json!({"path": path, "session": "model", "revision": replaced["revision"], "from": 1});
    let params = world.params(from);
    let ran = world.rpc.call("notebook.run", params).unwrap();
    assert_eq!(
        (&ran["ran"], &ran["outputs"][0]["text"]),
        (&json!(1), &json!("43")),
        "{ran}"
    );
    let read = world.ask("read", json!({"path": path}));
    assert_eq!(read["cells"][1]["outputs"], "43", "{read}");
    assert_eq!(read["revision"], ran["revision"]);
}

#[test]
fn an_agent_sees_plots_as_pictures() {
    let mut world = World::new();
    let path = world.context.project.join("a.ipynb");
    let plot = "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1))\nplt.plot([1, 2])\nprint('drawn')";
    world.ask("new", json!({"path": path, "code": [plot]}));
    let mut agent = world.context.agent(&["--profile", "full"]);
    let python = set_up("dev-python/bin/python");
    let ran = agent.tool("notebook_run", json!({"path": "a.ipynb", "python": python}));
    assert_eq!(ran["isError"], false, "{ran}");
    for answer in [ran, agent.tool("notebook_read", json!({"path": "a.ipynb"}))] {
        let content = answer["content"].as_array().unwrap();
        assert_eq!(content.len(), 2, "{answer}");
        assert_eq!(
            (&content[1]["type"], &content[1]["mimeType"]),
            (&json!("image"), &json!("image/png"))
        );
        assert!(content[1]["data"].as_str().unwrap().starts_with("iVBOR"));
        let text = content[0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text.get("images"), None, "{text}");
        assert!(text.to_string().contains("drawn"), "{text}");
        assert_eq!(answer["structuredContent"], text);
    }
    agent.lines.finish();
}
