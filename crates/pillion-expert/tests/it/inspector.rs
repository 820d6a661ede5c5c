//! The shipped expert `data_inspector`, as a learner's upload meets it.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pillion_course::{Bundles, Roots};
use pillion_model::{Model, ModelSettings};
use serde_json::{Value, json};

use crate::support::{Lab, Script, calls, says};

/// The shipped chapter with the shipped expert, as a session has it: frozen in the lab.
fn with_inspector(mut lab: Lab) -> Lab {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/course");
    let roots = Roots {
        curriculum: Some(shipped.clone()),
        experts: Some(shipped.join("experts")),
        ..Roots::default()
    };
    let id = "python-data/reading-a-table".parse().unwrap();
    let chapter = pillion_course::resolve(&roots, &id, &Bundles::default()).unwrap();
    let overlay = pillion_course::freeze(&chapter, &lab.path("overlays")).unwrap();
    lab.expert = overlay.chapter().unwrap().experts.remove(0);
    assert_eq!(lab.expert.id, "data_inspector");
    assert!(lab.expert.skills[0].auto && !lab.expert.folder.starts_with(&shipped));
    lab
}

/// The same, but nothing runs before the model is asked.
fn with_asked_inspector(lab: Lab) -> Lab {
    let mut lab = with_inspector(lab);
    lab.expert.skills[0].auto = false;
    lab
}

/// Sales of forty days.
fn sales() -> String {
    let mut all = "order_id,region,amount,day\n".to_owned();
    for number in 1..=40 {
        let region = ["North", "South", ""][number % 3];
        let amount = 10.0 + (number % 7) as f64 * 2.5;
        all += &format!(
            "{number},{region},{amount},2024-01-{:02}\n",
            number % 28 + 1
        );
    }
    all
}

/// Call it once: what it returned.
async fn inspect(lab: &Lab, arguments: Value) -> Value {
    let (text, is_error) = lab.call("inspect_table", arguments).await;
    assert!(!is_error, "{text}");
    let json = text.split("\n\nKept files").next().unwrap();
    serde_json::from_str(json).unwrap()
}

fn column<'a>(found: &'a Value, name: &str) -> &'a Value {
    let columns = found["columns"].as_array().unwrap();
    columns
        .iter()
        .find(|column| column["name"] == name)
        .unwrap()
}

pub(crate) async fn a_csv_is_inspected_and_plotted(lab: Lab) {
    let lab = with_inspector(lab);
    lab.data("sales.csv", sales());
    let model = Script::new([says("Summary: it suits.\n\nUse the column amount.")]);
    let done = lab.consult(&model).await.unwrap();
    assert_eq!(
        (&*done.summary, &done.files[..]),
        ("it suits.", &["sales_amount.png".to_owned()][..])
    );
    let letter = model.letter();
    for part in [
        "`sales.csv`, ",
        "What the skill `inspect_table` found",
        "\"suitable\":true",
    ] {
        assert!(letter.contains(part), "{part}: {letter}");
    }
    assert!(
        model.asked.lock().unwrap()[0].facts["tool_result"].starts_with("Summary: `sales.csv`")
    );
    let plot = fs::File::open(lab.folder(&done.consultation_id).join("sales_amount.png")).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(plot))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (640, 400));
    let bars = pixels.iter().filter(|pixel| **pixel == 3).count();
    assert!(bars > 10_000, "there is something in it: {bars}");
}

pub(crate) async fn the_offline_path_gives_a_report_without_a_model_that_calls(lab: Lab) {
    let lab = with_inspector(lab);
    lab.data("sales.csv", sales());
    // A model that has nothing to say: what the skill wrote is the report.
    let done = lab.consult(&Script::new([says("")])).await.unwrap();
    assert_eq!(
        done.summary,
        "`sales.csv` has 40 rows and 4 columns. It suits the chapter."
    );
    for part in [
        "| amount | number | 0 | 7 | 10 | 25 |",
        "## Suitability",
        "`sales_amount.png`, ",
    ] {
        assert!(done.report.contains(part), "{part}: {}", done.report);
    }
    let again = lab.consult(&Script::new([says("")])).await.unwrap();
    assert_eq!(
        (&again.report, &again.files),
        (&done.report, &done.files),
        "always the same"
    );
}

pub(crate) async fn the_offline_model_words_what_was_found(lab: Lab) {
    let lab = with_inspector(lab);
    lab.data("sales.csv", sales());
    // Nothing is set, as on a fresh machine.
    let settings = ModelSettings::from_vars(|_| None).unwrap();
    let model = Model::new(settings).unwrap();
    let order = lab.order("Is my table good?");
    let done = Box::pin(lab.consultations().consult(order, &model)).await;
    let done = done.unwrap();
    assert_eq!(
        done.summary,
        "`sales.csv` has 40 rows and 4 columns. It suits the chapter."
    );
    assert!(
        done.report.contains("| amount | number |"),
        "{}",
        done.report
    );
    assert_eq!(done.files, ["sales_amount.png"]);
    assert!(done.usage.output_tokens > 0);
}

pub(crate) async fn a_model_asks_for_the_file_and_the_rows_it_wants(lab: Lab) {
    let lab = with_asked_inspector(lab);
    lab.data("sales.csv", sales());
    let arguments = json!({"file": "sales.csv", "column": "Region", "minimum_rows": 50});
    let model = Script::new([calls(&[("inspect_table", arguments)]), says("Too few.")]);
    let done = lab.consult(&model).await.unwrap();
    assert_eq!(done.files, ["sales_region.png"]);
    let told = model.told().remove(0).0;
    let found: Value = serde_json::from_str(told.split("\n\nKept").next().unwrap()).unwrap();
    assert_eq!(found["suitability"]["suitable"], false);
    assert_eq!(
        found["suitability"]["checks"][0]["reason"],
        "40 rows; needed: 50"
    );
    let region = column(&found, "region");
    assert_eq!(
        (&region["type"], &region["missing"], &region["distinct"]),
        (&json!("text"), &json!(13), &json!(2))
    );
    let day = column(&found, "day");
    assert_eq!(
        (&day["type"], &day["min"]),
        (&json!("date"), &json!("2024-01-01"))
    );
    let amount = column(&found, "amount");
    assert_eq!((&amount["min"], &amount["max"]), (&json!(10), &json!(25)));
    let found = inspect(&lab, json!({"file": "../secret.csv"})).await;
    assert!(
        found["error"]
            .as_str()
            .unwrap()
            .contains("There is no file"),
        "{found}"
    );
}

pub(crate) async fn other_formats_and_odd_files_are_told_apart(lab: Lab) {
    let lab = with_asked_inspector(lab);
    lab.data("german.csv", "Name;Preis\nBrot;2,50\nMilch;1,10\n");
    lab.data(
        "records.json",
        r#"{"rows": [{"a": 1, "b": null}, {"a": 2.5, "c": [1]}]}"#,
    );
    lab.data("ragged.csv", "a,b\n1,2,3\n4\n\"1,000\",x\n");
    lab.data("binary.csv", b"PK\x03\x04\0\0\0");
    lab.data("empty.csv", "");
    lab.data("latin.csv", b"name,n\nM\xfcller,1\n");
    lab.data("broken.json", "{");
    lab.data("old.xls", b"\xd0\xcf\x11\xe0");
    let warnings = |found: &Value| found["warnings"].to_string();
    let found = inspect(&lab, json!({"file": "german.csv"})).await;
    assert_eq!(found["rows"], 2);
    assert!(warnings(&found).contains("sep=';'") && warnings(&found).contains("decimal comma"));
    let found = inspect(&lab, json!({"file": "records.json"})).await;
    assert_eq!(
        (&column(&found, "a")["mean"], &column(&found, "b")["type"]),
        (&json!(1.75), &json!("empty"))
    );
    let found = inspect(&lab, json!({"file": "ragged.csv"})).await;
    assert!(
        warnings(&found).contains("another number of values: 2 (lines 2, 3)"),
        "{found}"
    );
    let found = inspect(&lab, json!({"file": "latin.csv"})).await;
    assert!(warnings(&found).contains("UTF-8"), "{found}");
    lab.data(
        "people.csv",
        "user_email,phone,city\na@b.example,5551,Rome\nc@d.example,5552,Oslo\n",
    );
    let found = inspect(&lab, json!({"file": "people.csv", "column": "phone"})).await;
    let said = found.to_string();
    assert!(warnings(&found).contains("real persons"), "{said}");
    assert!(
        !said.contains("example\"") && !said.contains("555") && said.contains("Rome"),
        "{said}"
    );
    for (file, why) in [
        ("binary.csv", "no text"),
        ("empty.csv", "is empty"),
        ("broken.json", "no JSON"),
        ("old.xls", "CSV"),
    ] {
        let found = inspect(&lab, json!({"file": file})).await;
        assert!(
            found["error"].as_str().unwrap().contains(why),
            "{file}: {found}"
        );
    }
}

pub(crate) async fn the_newest_upload_is_meant_unless_the_question_names_one(lab: Lab) {
    let lab = with_inspector(lab);
    lab.data("old.csv", "a,b\n1,2\n");
    lab.data("new.csv", "a,b\n1,2\n");
    fs::write(lab.path("user_workspace/notes.txt"), "a,b\n1,2\n").unwrap();
    let file = fs::File::options()
        .write(true)
        .open(lab.path("working_files/old.csv"))
        .unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(1000))
        .unwrap();
    let mut said = Vec::new();
    for question in ["Is my data good?", "Is old.csv good?"] {
        let model = Script::new([says("")]);
        let done = Box::pin(lab.consultations().consult(lab.order(question), &model)).await;
        said.push(done.unwrap().summary);
    }
    assert!(said[0].starts_with("`new.csv` has 1 rows"), "{said:?}");
    assert!(said[1].starts_with("`old.csv`"), "{said:?}");
    fs::remove_dir_all(lab.path("working_files")).unwrap();
    fs::remove_dir_all(lab.path("user_workspace")).unwrap();
    let done = lab.consult(&Script::new([says("")])).await.unwrap();
    assert!(
        done.report.contains("There is no table yet"),
        "{}",
        done.report
    );
}
