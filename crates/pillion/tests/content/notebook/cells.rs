//! What a cell prints, shows, asks and answers.

use serde_json::{Value, json};

use super::World;

#[test]
fn what_one_cell_defines_the_next_one_knows() {
    let mut world = World::new();
    let first = world.run("total = 0\nprint('begun')");
    assert_eq!(first["stdout"], "begun\n", "{first}");
    assert_eq!(first["success"], true);
    for number in 1..=100 {
        let ran = world.run(&format!("total += {number}\ntotal"));
        assert_eq!(ran["execution_count"], number + 1, "{ran}");
        let expected = (1..=number).sum::<u64>().to_string();
        assert_eq!(ran["result_repr"], expected, "{ran}");
    }
    let other = world.run_with(json!({"code": "total", "session": "another"}));
    assert_eq!(other["outcome"], "error");
    assert_eq!(other["error"]["ename"], "NameError", "{other}");
}

#[test]
fn every_kind_of_output_has_the_shape_of_notebook_files() {
    let mut world = World::new();
    let kind = |ran: &Value, at: usize| ran["outputs"][at]["output_type"].clone();
    let printed = world.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')");
    assert_eq!(printed["stdout"], "a\nc\n");
    assert_eq!(printed["stderr"], "b\n");
    assert_eq!(kind(&printed, 0), "stream");
    let plotted = world.run(
        "%matplotlib inline\nimport matplotlib.pyplot as plt, numpy as np\n\
         plt.plot(np.arange(5) ** 2)\nplt.show()",
    );
    assert_eq!(kind(&plotted, 0), "display_data", "{plotted}");
    let png = plotted["outputs"][0]["data"]["image/png"].as_str().unwrap();
    assert!(png.starts_with("iVBORw0KGgo"), "a PNG in base64");
    let shown = world.run(
        "from IPython.display import *\ndisplay(HTML('<b>x</b>'))\ndisplay(SVG('<svg/>'))\n\
         display(JSON({'a': [1]}))\n\
         display({'application/vnd.plotly.v1+json': {'data': []}, 'text/plain': 'fig'}, raw=True)\n\
         display(Markdown('*x*'))",
    );
    let data = |at: usize, mime: &str| shown["outputs"][at]["data"][mime].clone();
    assert_eq!(data(0, "text/html"), json!(["<b>x</b>"]), "{shown}");
    assert!(data(1, "image/svg+xml").is_array());
    assert_eq!(data(2, "application/json"), json!({"a": [1]}));
    assert_eq!(
        data(3, "application/vnd.plotly.v1+json"),
        json!({"data": []})
    );
    assert_eq!(data(4, "text/markdown"), json!(["*x*"]));
    let raised = world.run("def f():\n    return 1/0\nf()");
    assert_eq!(kind(&raised, 0), "error");
    assert_eq!(raised["error"]["ename"], "ZeroDivisionError");
    assert!(
        !raised["outputs"][0]["traceback"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(raised["outcome"], "error");
    let updated = world.run(
        "h = display('old', display_id=True)\nh.update('new')\nclear = display('x')\n\
         from IPython.display import clear_output",
    );
    let texts = &updated["outputs"][0]["data"]["text/plain"];
    assert_eq!(*texts, json!(["'new'"]), "{updated}");
    let cleared = world.run(
        "from IPython.display import clear_output\nprint('gone')\nclear_output()\nprint('here')",
    );
    assert_eq!(cleared["outputs"].as_array().unwrap().len(), 1, "{cleared}");
    assert_eq!(cleared["outputs"][0]["text"], json!(["here\n"]));
}

#[test]
fn whoever_follows_hears_everything_as_it_comes_and_can_answer() {
    let mut world = World::new();
    let id = world.start(json!({
        "code": "print('first', flush=True)\nname = input('who? ')\nprint('hi', name)\nname",
        "session": "talk",
    }));
    let mut at = 0;
    let mut until = |world: &mut World, wanted: &str| loop {
        let part = world.rpc.part(id, at)["item"].clone();
        at += 1;
        if part["type"] == wanted {
            return part;
        }
    };
    assert_eq!(until(&mut world, "started")["execution_count"], 1);
    // A kernel may cut what is printed anywhere.
    let mut printed = String::new();
    while printed != "first\n" {
        let piece = until(&mut world, "stream");
        printed.push_str(piece["text"].as_str().unwrap());
        assert!("first\n".starts_with(&printed), "{printed:?}");
    }
    let asked = until(&mut world, "input_request");
    assert_eq!(
        (&asked["prompt"], &asked["password"]),
        (&json!("who? "), &json!(false))
    );
    let status = world.ask("status", json!({"session": "talk"}));
    assert_eq!(status["kernels"][0]["asks"], "who? ", "{status}");
    world.ask("input", json!({"session": "talk", "value": "Ada"}));
    let ran = world.rpc.outcome(id).unwrap();
    assert_eq!(ran["stdout"], "first\nhi Ada\n", "{ran}");
    assert_eq!(ran["result_repr"], "'Ada'", "{ran}");
    let nobody = world
        .rpc
        .call("notebook.input", json!({"session": "talk", "value": "x"}));
    assert_eq!(nobody.unwrap_err()["data"]["code"], "not_found");
}

#[test]
fn input_is_given_ahead_or_ends() {
    let mut world = World::new();
    let ran = world.run_with(json!({
        "code": "a, b = input(), input()\ntry:\n    input()\nexcept EOFError:\n    print('end')\na + b",
        "inputs": ["x", "y"],
    }));
    assert_eq!(ran["result_repr"], "'xy'", "{ran}");
    assert_eq!(ran["stdout"], "end\n");
    let refused = world.run("input()");
    assert_eq!(
        refused["error"]["ename"], "StdinNotImplementedError",
        "{refused}"
    );
}
