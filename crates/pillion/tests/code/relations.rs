//! Classes and their relatives, functions and who calls them.

use pillion_testing::project::{TestProject, members, places};
use serde_json::{Value, json};

fn at(project: &mut TestProject, operation: &str, needle: &str) -> Value {
    let place = project.find("zoo.py", needle);
    project.ask_at(operation, place)
}

#[test]
fn implementations_are_subclasses_and_overrides() {
    let mut project = TestProject::open("relations");
    let classes = at(&mut project, "implementations", "class |Animal");
    let names = members(&classes["locations"], "name");
    assert_eq!(names, ["Dog", "Puppy", "Cat"], "{classes:#}");
    let methods = at(
        &mut project,
        "implementations",
        "class Animal:\n    def |speak",
    );
    assert_eq!(
        places(&methods["locations"]),
        ["zoo.py:13:9", "zoo.py:18:9"]
    );
    let none = at(&mut project, "implementations", "def |unused");
    assert_eq!(none["locations"], json!([]));
}

#[test]
fn a_type_hierarchy_goes_up_and_down() {
    let mut project = TestProject::open("relations");
    let dog = at(&mut project, "type_hierarchy", "class |Dog");
    assert_eq!(dog["class"]["name"], "Dog");
    let above: Vec<(Value, Value)> = dog["supertypes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| (class["name"].clone(), class["distance"].clone()))
        .collect();
    assert_eq!(above[0], (json!("Animal"), json!(1)), "{dog:#}");
    assert_eq!(above[1], (json!("object"), json!(2)), "{dog:#}");
    assert_eq!(members(&dog["subtypes"], "name"), ["Puppy"]);
    assert_eq!(dog["total"], 1);
    let none = at(&mut project, "type_hierarchy", "def |unused");
    assert_eq!(none["class"], json!(null));
}

#[test]
fn callers_are_told_with_the_places_of_their_calls() {
    let mut project = TestProject::open("relations");
    let answer = at(&mut project, "callers", "def |bark");
    assert_eq!(answer["function"]["name"], "bark");
    let calls = answer["calls"].as_array().unwrap();
    let told: Vec<Value> = calls
        .iter()
        .map(|call| json!([call["name_path"], call["calls_in"], call["sites"]]))
        .collect();
    let site = |line: u32, column: u32| json!({"line": line, "column": column});
    assert_eq!(
        told,
        [
            json!(["main", "app.py", [site(5, 5), site(6, 5)]]),
            json!(["Dog/speak", "zoo.py", [site(14, 34)]]),
            json!(["Puppy/speak", "zoo.py", [site(19, 16)]]),
        ],
        "{answer:#}"
    );
    assert_eq!(
        (&answer["total"], &answer["truncated"]),
        (&json!(3), &json!(false))
    );
    let none = at(&mut project, "callers", "def |unused");
    assert_eq!((&none["calls"], &none["total"]), (&json!([]), &json!(0)));
}

#[test]
fn callees_are_told_with_the_places_of_their_calls() {
    let mut project = TestProject::open("relations");
    let place = project.find("app.py", "def |main");
    let answer = project.ask_at("callees", place);
    let calls = answer["calls"].as_array().unwrap();
    let told: Vec<Value> = calls
        .iter()
        .map(|call| json!([call["name_path"], call["file"], call["sites"]]))
        .collect();
    let site = |line: u32, column: u32| json!({"line": line, "column": column});
    for expected in [
        json!(["bark", "zoo.py", [site(5, 5), site(6, 5)]]),
        json!(["Puppy/speak", "zoo.py", [site(7, 13)]]),
        json!(["Puppy", "zoo.py", [site(7, 5)]]),
    ] {
        assert!(told.contains(&expected), "{expected} in {answer:#}");
    }
    let (file, line, col) = place;
    let one = project.ask(
        "callees",
        json!({"file": file, "line": line, "col": col, "limit": 1}),
    );
    assert_eq!(one["truncated"], true);
    let nothing = project.ask_at("callees", ("app.py", 2, 1));
    assert_eq!(
        (&nothing["function"], &nothing["calls"]),
        (&json!(null), &json!([]))
    );
}

#[test]
fn who_reads_a_property_calls_it() {
    let mut project = TestProject::with(&[
        (
            "model.py",
            "import functools\n\n\nclass Lazy:\n    @property\n    def value(self):\n        return 1\n\n    \
             @functools.cached_property\n    def kept(self):\n        return self.value\n",
        ),
        (
            "app.py",
            "from model import Lazy\n\n\ndef read(lazy: Lazy):\n    return 'value', lazy.value\n\n\n\
             def keep():\n    return Lazy().kept\n",
        ),
    ]);
    let told = |answer: &Value| -> Vec<Value> {
        let calls = answer["calls"].as_array().unwrap();
        let told = calls.iter();
        told.map(|call| json!([call["name_path"], call["calls_in"], call["sites"]]))
            .collect()
    };
    let site = |line: u32, column: u32| json!([{"line": line, "column": column}]);
    let place = project.find("model.py", "def |value");
    let answer = project.ask_at("callers", place);
    let calls = told(&answer);
    assert_eq!(calls.len(), 2, "{answer:#}");
    assert!(
        calls.contains(&json!(["read", "app.py", site(5, 26)])),
        "{answer:#}"
    );
    assert!(
        calls.contains(&json!(["Lazy/kept", "model.py", site(11, 21)])),
        "{answer:#}"
    );
    assert_eq!(answer["total"], 2, "{answer:#}");
    let place = project.find("model.py", "def |kept");
    let answer = project.ask_at("callers", place);
    assert_eq!(
        told(&answer),
        [json!(["keep", "app.py", site(9, 19)])],
        "{answer:#}"
    );
}

#[test]
fn who_puts_a_name_together_may_call_it() {
    let mut project = TestProject::with(&[(
        "visit.py",
        "class Visitor:\n    def visit(self, kind):\n        return getattr(self, \"visit_\" + kind)()\n\n    \
         def visit_node(self):\n        return 1\n",
    )]);
    let place = project.find("visit.py", "def |visit_node");
    let answer = project.ask_at("callers", place);
    assert_eq!(answer["calls"], json!([]), "{answer:#}");
    assert_eq!(
        answer["possible"],
        json!([{"file": "visit.py", "line": 3, "function": "Visitor.visit", "via": "name"}]),
        "{answer:#}"
    );
}
