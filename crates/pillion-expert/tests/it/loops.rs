//! The talk between a model and the skills of an expert.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Lab, Script, calls, says};

const ADD: &str = "
def run(a, b=1):
    print('adding')
    return {'sum': a + b}
";

pub(crate) async fn results_go_back_to_the_model_and_the_report_is_kept(mut lab: Lab) {
    lab.skill("add", &[], ADD);
    let report = "Summary: it is 3.\n\nThe sum of 1 and 2 is 3.";
    let model = Script::new([
        calls(&[("add", json!({"a": 1, "b": 2})), ("add", json!({"a": 5}))]),
        says(report),
    ]);
    let done = lab.consult(&model).await.unwrap();
    assert_eq!(done.consultation_id, "consult_0001");
    assert_eq!((&*done.summary, &*done.report), ("it is 3.", report));
    assert_eq!((done.usage.input_tokens, done.usage.output_tokens), (20, 6));
    let told = [
        (r#"{"sum":3}"#.to_owned(), false),
        (r#"{"sum":6}"#.to_owned(), false),
    ];
    assert_eq!(model.told(), told);
    {
        let asked = model.asked.lock().unwrap();
        assert_eq!((&*asked[0].agent, asked.len()), ("EXPERT", 2));
        assert!(
            asked[0].system.contains("Be exact.") && asked[0].system.contains("How to use add")
        );
        assert_eq!(asked[0].tools[0].name, "add");
    }
    let folder = lab.folder("consult_0001");
    assert_eq!(
        crate::support::names(&folder),
        [
            "letter.md",
            "report.md",
            "request.json",
            "result.json",
            "transcript.jsonl"
        ]
    );
    let kept = fs::read_to_string(folder.join("report.md")).unwrap();
    assert_eq!(kept.trim_end(), report);
    assert!(
        fs::read_to_string(folder.join("letter.md"))
            .unwrap()
            .contains("What is it?")
    );
    let request = fs::read_to_string(folder.join("request.json")).unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    assert_eq!(
        (&request["expert_id"], &request["turn_index"]),
        (&json!("tester"), &json!(1))
    );
    let result = lab.result("consult_0001");
    assert_eq!(
        (&result["status"], &result["outcome"]),
        (&json!("complete"), &json!("ok"))
    );
    assert_eq!(
        (&result["rounds"], &result["calls"]),
        (&json!(2), &json!(2))
    );
    let transcript = lab.transcript("consult_0001");
    let kinds: Vec<&str> = transcript
        .iter()
        .map(|line| line["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["model", "skill", "skill", "model"]);
    assert_eq!(transcript[1]["tool"], "add");
    assert_eq!(transcript[1]["arguments"], r#"{"a":1,"b":2}"#);
    assert_eq!(
        (&transcript[1]["outcome"], &transcript[1]["printed"]),
        (&json!("ok"), &json!("adding\n"))
    );
    // Where it ran is what this is all about.
    assert!(
        ["L2", "L3"].contains(&transcript[1]["level"].as_str().unwrap()),
        "{transcript:?}"
    );
    assert_eq!(
        lab.consult(&Script::new([says("Again.")]))
            .await
            .unwrap()
            .consultation_id,
        "consult_0002"
    );
}

pub(crate) async fn what_is_not_declared_is_refused_and_told(mut lab: Lab) {
    lab.skill("add", &[], ADD);
    let model = Script::new([
        calls(&[
            ("shell", json!({"command": "id"})),
            ("add", json!([1, 2])),
            ("add", json!("{\"a\": ")),
            ("add", json!({"a": "x".repeat(100_000)})),
            ("../add", json!({})),
        ]),
        says("Nothing."),
    ]);
    let done = lab.consult(&model).await.unwrap();
    let told = model.told();
    assert!(told.iter().all(|(_, is_error)| *is_error), "{told:?}");
    assert_eq!(told[0].0, "There is no tool `shell`. Your tools: add.");
    assert_eq!(told[1].0, "Arguments are a JSON object.");
    assert_eq!(told[2].0, told[1].0);
    assert!(told[3].0.contains("too long") && told[4].0.contains("`../add`"));
    assert_eq!(lab.result(&done.consultation_id)["calls"], 0, "nothing ran");
    let transcript = lab.transcript(&done.consultation_id);
    assert_eq!(transcript[1]["outcome"], "refused");
    assert!(transcript[4]["arguments"].as_str().unwrap().len() < 3000);
}

pub(crate) async fn a_failing_skill_is_told_and_the_consultation_goes_on(mut lab: Lab) {
    lab.skill(
        "bad",
        &[],
        "def run(**_):\n    raise ValueError('no\\nsuch ' + 'x' * 9000)",
    );
    lab.skill("broken", &[], "def run(:");
    lab.skill("empty", &[], "x = 1");
    lab.skill(
        "leaves",
        &[],
        "import sys\ndef run():\n    sys.exit('enough')",
    );
    lab.skill("odd", &[], "def run():\n    return object()");
    lab.skill("add", &[], ADD);
    let none = || json!({});
    let model = Script::new([
        calls(&[("bad", none()), ("broken", none()), ("empty", none())]),
        calls(&[
            ("leaves", none()),
            ("odd", none()),
            ("add", none()),
            ("add", json!({"a": 1})),
        ]),
        says("Most of it failed."),
    ]);
    lab.consult(&model).await.unwrap();
    let told = model.told();
    for (said, part) in told.iter().zip([
        "ValueError: no such x",
        "SyntaxError",
        "AttributeError",
        "enough",
        "not JSON",
        "TypeError",
    ]) {
        assert!(
            said.1 && said.0.contains(part) && said.0.len() < 4000,
            "{part}: {said:?}"
        );
    }
    assert_eq!(told[6], (r#"{"sum":2}"#.to_owned(), false));
}

pub(crate) async fn rounds_and_calls_have_an_end(mut lab: Lab) {
    lab.skill("add", &[], ADD);
    lab.limits.rounds = 3;
    lab.limits.calls = 4;
    let again = || calls(&vec![("add", json!({"a": 1})); 3]);
    let model = Script::new([again(), again(), again(), says("never asked")]);
    let error = lab.consult(&model).await.unwrap_err();
    assert_eq!(error.code().as_str(), "invalid_result", "{error}");
    assert_eq!(model.asked.lock().unwrap().len(), 3);
    let told = model.told();
    assert_eq!(told.len(), 6);
    assert!(told[..4].iter().all(|(_, is_error)| !is_error));
    assert!(told[4].0.contains("All 4 calls are used"));
    assert!(told[5].0.ends_with("Write the report now."));
    let result = lab.result("consult_0001");
    assert_eq!(
        (&result["status"], &result["calls"]),
        (&json!("failed"), &json!(4))
    );
    assert_eq!(
        result["usage"]["input_tokens"], 30,
        "what it cost is known all the same"
    );
    // What it said on the way is better than nothing.
    let mut first = again();
    if let crate::support::Step::Answers(answer) = &mut first {
        answer.text = "It looks good so far.".to_owned();
    }
    let done = lab
        .consult(&Script::new([first, again(), again()]))
        .await
        .unwrap();
    assert_eq!(done.report, "It looks good so far.");
}

pub(crate) async fn an_expert_without_python_just_answers(lab: Lab) {
    let model = Script::new([says("## Advice\n\nRead the task again.")]);
    let done = lab.consult(&model).await.unwrap();
    assert_eq!(done.summary, "Advice");
    assert!(done.files.is_empty());
    assert!(model.letter().contains("There are none."));
    let error = lab.consult(&Script::new([says("  \n")])).await.unwrap_err();
    assert!(error.to_string().contains("without a report"), "{error}");
}

pub(crate) async fn tools_of_the_host_are_those_that_the_page_names(mut lab: Lab) {
    let code = "
import os
from pillion import tools
def run(name='sales.csv'):
    said = {'available': sorted(tools.available()), 'files': sorted(os.listdir('.'))}
    try:
        said['read'] = tools.read_text(name)
    except tools.ToolError as error:
        said['read'] = error.code
    try:
        said['rows'] = tools.query('sales', 'select sum(amount) s from sales')
    except tools.ToolError as error:
        said['rows'] = error.code
    if os.path.isdir('files'):
        said['given'] = sorted(os.listdir('files'))
    return said
";
    lab.data("sales.csv", "amount\n1\n2\n");
    fs::write(lab.path("user_workspace/main.py"), "print(1)").unwrap();
    // It takes the place of no module of the skill.
    fs::write(
        lab.path("user_workspace/given.py"),
        "def run(): return 'taken over'",
    )
    .unwrap();
    for (name, tools) in [
        ("none", &[][..]),
        ("reader", &["read"]),
        ("asker", &["query"]),
        ("given", &["files"]),
    ] {
        lab.skill(name, tools, code);
    }
    let mut all = Vec::new();
    for name in ["none", "reader", "asker", "given"] {
        let (text, is_error) = lab.call(name, json!({})).await;
        assert!(!is_error, "{text}");
        all.push(serde_json::from_str::<Value>(&text).unwrap());
    }
    let modules = ["asker.py", "given.py", "none.py", "outputs", "reader.py"];
    assert_eq!(
        all[0],
        json!({
            "available": [], "files": modules, "read": "no_tools", "rows": "no_tools",
        })
    );
    assert_eq!(all[1]["read"], "amount\n1\n2\n");
    assert_eq!(all[1]["rows"], "not_found");
    assert_eq!(
        all[1]["available"],
        json!(["read:given.py", "read:main.py", "read:sales.csv"])
    );
    assert_eq!(
        (&all[2]["read"], &all[2]["rows"]),
        (&json!("not_found"), &json!([{"s": 3}]))
    );
    assert_eq!(all[3]["given"], json!(["given.py", "main.py", "sales.csv"]));
    let (text, _) = lab
        .call("reader", json!({"name": "../expert/skills/none.py"}))
        .await;
    assert!(text.contains("not_found"), "{text}");
}

pub(crate) async fn files_of_skills_are_kept_under_safe_names_and_within_limits(mut lab: Lab) {
    let code = "
import os
def run(many=0, large=False):
    open('outputs/plot.png', 'wb').write(b'\\x89PNG')
    open('outputs/report.md', 'w').write('not the report')
    open('outputs/.hidden', 'w').write('x')
    open('outputs/a b;c.csv', 'w').write('1')
    open('beside.txt', 'w').write('not kept')
    os.mkdir('outputs/folder')
    os.symlink('/etc/passwd', 'outputs/link.txt')
    for number in range(many):
        open(f'outputs/{number:02}.txt', 'w').write('x')
    if large:
        open('outputs/large.bin', 'wb').write(bytes(9 << 20))
    return 1
";
    lab.skill("make", &[], code);
    let model = Script::new([
        calls(&[("make", json!({})), ("make", json!({"large": true}))]),
        calls(&[("make", json!({"many": 30}))]),
        says("Summary: made."),
    ]);
    let done = lab.consult(&model).await.unwrap();
    let told = model.told();
    assert_eq!(
        told[0].0,
        "1\n\nKept files: a_b_c.csv, plot.png, report_2.md"
    );
    assert!(
        told[1].0.contains("`outputs/large.bin` is not kept"),
        "{told:?}"
    );
    assert!(told[1].0.contains("plot_2.png"), "{told:?}");
    assert_eq!(done.files.len(), 16, "{done:?}");
    assert!(done.report.contains("## Files") && done.report.contains("`plot.png`, 4 bytes"));
    let folder = lab.folder(&done.consultation_id);
    assert_eq!(fs::read(folder.join("plot.png")).unwrap(), b"\x89PNG");
    assert!(
        fs::read_to_string(folder.join("report.md"))
            .unwrap()
            .starts_with("Summary: made.")
    );
    let names = crate::support::names(&folder);
    assert_eq!(names.len(), 16 + 5, "{names:?}");
    assert!(
        names
            .iter()
            .all(|name| !name.contains("link") && !name.contains("hidden"))
    );
    let listed = lab.result(&done.consultation_id)["files"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(listed, 16);
}
