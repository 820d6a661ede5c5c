//! Classes and their relatives, functions and who calls them.

use serde_json::{Value, json};

use super::project::{Project, members, places};

fn at(project: &mut Project, operation: &str, needle: &str) -> Value {
    let place = project.find("zoo.py", needle);
    project.ask_at(operation, place)
}

#[test]
fn implementations_are_subclasses_and_overrides() {
    let mut project = Project::open("relations");
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
    let mut project = Project::open("relations");
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
    let mut project = Project::open("relations");
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
    let mut project = Project::open("relations");
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
