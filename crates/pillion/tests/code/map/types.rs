//! What the code does not say and types do: small projects, asked through the real ty.

use pillion_testing::project::bare;
use serde_json::{Value, json};

use super::{Mapped, git, shop, texts};

/// Two classes that have nothing to do with each other, and a method of the same name.
const MODEL: &str = "\
class Ship:
    def launch(self) -> int:
        return 1

    @property
    def weight(self) -> int:
        return 2


class Rocket:
    def launch(self) -> int:
        return 3


class Probe(Rocket):
    def launch(self) -> int:
        return 4
";

fn project(files: &[(&str, &str)]) -> Mapped {
    let context = bare();
    context.write("model.py", MODEL);
    for (name, text) in files {
        context.write(name, text);
    }
    Mapped::new(context)
}

fn impact(project: &mut Mapped, target: &str) -> Value {
    let answer = project.ask("impact", json!({"target": target, "max_depth": 1}));
    let mut targets = answer["targets"].as_object().unwrap().values().cloned();
    let mut one = targets.next().unwrap();
    one["types"] = answer["types"].clone();
    one
}

/// The callers of a function, with `?` if one is only possible and `*` if types say so.
fn callers(project: &mut Mapped, target: &str) -> Vec<String> {
    let found = impact(project, target);
    let all = found["callers"].as_array().unwrap().iter();
    all.map(|caller| {
        let doubt = if caller["certainty"] == "possible" {
            "?"
        } else {
            ""
        };
        let typed = if caller["by_types"] == true { "*" } else { "" };
        format!("{}{doubt}{typed}", caller["function"].as_str().unwrap())
    })
    .collect()
}

/// Who launches ships, and who launches rockets, in a file.
fn launched(text: &str) -> (Vec<String>, Vec<String>) {
    let mut project = project(&[("port.py", text)]);
    (
        callers(&mut project, "Ship.launch"),
        callers(&mut project, "Rocket.launch"),
    )
}

#[test]
fn the_items_of_a_list() {
    let (ships, rockets) = launched(
        "from model import Rocket, Ship\n\n
def sail(ships: list[Ship]):\n    for ship in ships:\n        ship.launch()\n\n
def first(ships: list[Ship]):\n    ships[0].launch()\n\n
def fly(rockets: list[Rocket]):\n    return [rocket.launch() for rocket in rockets]\n",
    );
    assert_eq!(ships, ["sail*", "first*"]);
    assert_eq!(rockets, ["fly*"]);
}

#[test]
fn a_generic_container() {
    let (ships, rockets) = launched(
        "from typing import Generic, TypeVar\nfrom model import Rocket, Ship\n\nT = TypeVar('T')\n\n
class Box(Generic[T]):\n    def __init__(self, item: T):\n        self.item = item\n
    def take(self) -> T:\n        return self.item\n\n
def sail(box: Box[Ship]):\n    box.take().launch()\n\n
def fly(box: Box[Rocket]):\n    box.item.launch()\n",
    );
    assert_eq!(ships, ["sail*"]);
    assert_eq!(rockets, ["fly*"]);
}

#[test]
fn what_a_library_gives() {
    let (ships, rockets) = launched(
        "from copy import copy\nfrom model import Rocket, Ship\n\n
def sail(ship: Ship):\n    copy(ship).launch()\n\n
def fly(rockets: list[Rocket]):\n    max(rockets, key=id).launch()\n",
    );
    assert_eq!(ships, ["sail*"]);
    assert_eq!(rockets, ["fly*"]);
}

#[test]
fn what_is_narrowed() {
    let (ships, rockets) = launched(
        "from model import Rocket, Ship\n\n
def maybe(ships: dict[str, Ship], name: str):\n    ship = ships.get(name)\n    if ship is not None:\n        ship.launch()\n\n
def either(thing: object):\n    if isinstance(thing, Rocket):\n        thing.launch()\n\n
def both(thing: Ship | Rocket):\n    thing.launch()\n",
    );
    // Of a union nobody knows which one it is.
    assert_eq!(ships, ["maybe*", "both?"]);
    assert_eq!(rockets, ["either*", "both?"]);
}

#[test]
fn awaited_values_and_values_of_dicts() {
    let (ships, rockets) = launched(
        "import asyncio\nfrom model import Rocket, Ship\n\n
async def sail(queue: asyncio.Queue[Ship]):\n    ship = await queue.get()\n    ship.launch()\n\n
def fly(rockets: dict[str, Rocket]):\n    for name, rocket in rockets.items():\n        rocket.launch()\n    rockets['a'].launch()\n",
    );
    assert_eq!(ships, ["sail*"]);
    assert_eq!(rockets, ["fly*"]);
}

#[test]
fn what_nobody_knows_stays_possible_and_what_is_another_is_gone() {
    let mut project = project(&[(
        "port.py",
        "import subprocess\nfrom model import Rocket\n\n
def unknown(thing):\n    thing.launch()\n\n
def fly(rockets: list[Rocket]):\n    rockets[0].launch()\n\n
def twice(rockets: list[Rocket], thing):\n    rockets[0].launch()\n    thing.launch()\n",
    )]);
    assert_eq!(callers(&mut project, "Ship.launch"), ["unknown?", "twice?"]);
    assert_eq!(
        callers(&mut project, "Rocket.launch"),
        ["unknown?", "fly*", "twice*"]
    );
    // What is called on a base may end in what overrides it.
    let probe = impact(&mut project, "Probe.launch");
    assert_eq!(probe["callers"][1]["function"], "fly");
    assert_eq!(probe["callers"][1]["via"], "override");
    assert_eq!(probe["callers"][1]["certainty"], "possible");
    let told = &impact(&mut project, "Ship.launch")["types"];
    assert_eq!(told, &json!({"engine": "ty", "asked": 4, "unasked": 0}));
    // Without types, a name that fits is all there is.
    let code = project.ask(
        "impact",
        json!({"target": "Ship.launch", "max_depth": 1, "types": false}),
    );
    let code = &code["targets"]["model.py:Ship.launch"];
    assert_eq!(code["caller_count"], 3);
}

#[test]
fn what_one_call_means_says_nothing_about_another_way_to_call() {
    let mut project = project(&[(
        "port.py",
        "import framework\nfrom model import Rocket, Ship\n\n
class Crew(framework.Base, Ship):\n    def work(self, rockets: list[Rocket]):\n        rockets[0].launch()\n        self.launch()\n",
    )]);
    assert_eq!(callers(&mut project, "Ship.launch"), ["Crew.work?"]);
    assert_eq!(callers(&mut project, "Rocket.launch"), ["Crew.work*"]);
}

#[test]
fn properties_and_references() {
    let mut project = project(&[(
        "port.py",
        "from model import Ship\n\n
def weigh(ships: list[Ship]):\n    return sum(ship.weight for ship in ships)\n\n
def hand_on(ships: list[Ship]):\n    return ships[0].launch\n",
    )]);
    assert_eq!(callers(&mut project, "Ship.weight"), ["weigh*"]);
    let found = impact(&mut project, "Ship.launch");
    assert_eq!(found["callers"][0]["function"], "hand_on");
    assert_eq!(found["callers"][0]["via"], "reference");
    assert_eq!(found["callers"][0]["line"], 9);
}

#[test]
fn callers_of_callers_are_asked_about_too() {
    let mut project = project(&[
        (
            "fleet.py",
            "from model import Ship\n\n
class Fleet:\n    def __init__(self):\n        self.ships: list[Ship] = []\n
    def depart(self):\n        for ship in self.ships:\n            ship.launch()\n",
        ),
        (
            "harbour.py",
            "from fleet import Fleet\n\n
def morning(fleets: list[Fleet]):\n    for fleet in fleets:\n        fleet.depart()\n",
        ),
    ]);
    let answer = project.ask("impact", json!({"target": "Ship.launch"}));
    let depart = &answer["targets"]["model.py:Ship.launch"]["callers"][0];
    assert_eq!(depart["function"], "Fleet.depart");
    assert_eq!(depart["callers"][0]["function"], "morning");
    assert_eq!(depart["callers"][0]["certainty"], "resolved");
    assert_eq!(depart["callers"][0]["by_types"], true);
}

#[test]
fn an_edit_of_another_file_is_in_the_next_answer() {
    let source = |class: &str| {
        format!("from model import Rocket, Ship\n\n\ndef all() -> list[{class}]:\n    return []\n")
    };
    let mut project = project(&[
        ("source.py", &source("Ship")),
        (
            "port.py",
            "import source\n\n\ndef go():\n    for thing in source.all():\n        thing.launch()\n",
        ),
    ]);
    for _ in 0..2 {
        for (class, other) in [("Ship", "Rocket"), ("Rocket", "Ship")] {
            // `port.py`, where the call is, stays as it is.
            project.context.write("source.py", &source(class));
            assert_eq!(callers(&mut project, &format!("{class}.launch")), ["go*"]);
            assert!(callers(&mut project, &format!("{other}.launch")).is_empty());
        }
    }
}

#[test]
fn the_calls_of_a_named_file() {
    let mut project = project(&[(
        "port.py",
        "from model import Rocket, Ship\n\n
def sail(ships: list[Ship], rocket):\n    ships[0].launch()\n    rocket.depart()\n",
    )]);
    let graph = project.ask("call_graph", json!({"path": "port.py"}));
    let sail = json!(["port.py", "sail", "model.py", "Ship.launch"]);
    assert_eq!(graph["edges"], json!([sail]));
    assert_eq!(texts(&graph["certainties"]), ["resolved"]);
    assert_eq!(
        (&graph["edge_count"], &graph["resolved_count"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(graph["types"]["asked"], 1);
    // The whole project does not wait for types.
    let graph = project.ask("call_graph", json!({}));
    assert_eq!(graph["types"], Value::Null);
    let certain = texts(&graph["certainties"]);
    assert_eq!(certain, ["possible", "possible", "possible"]);
}

#[test]
fn tests_are_found_through_types() {
    let mut project = project(&[
        (
            "tests/test_ship.py",
            "from model import Ship\n\n
def make() -> list[Ship]:\n    return [Ship()]\n\n
def test_launch():\n    for ship in make():\n        assert ship.launch()\n",
        ),
        (
            "tests/test_rocket.py",
            "from model import Rocket\n\n
def make() -> list[Rocket]:\n    return [Rocket()]\n\n
def test_launch():\n    for rocket in make():\n        assert rocket.launch()\n",
        ),
    ]);
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "x"]] {
        git(&project.context, args);
    }
    project
        .context
        .write("model.py", &MODEL.replace("return 1", "return 10"));
    let found = project.ask("change_impact", json!({"git_base": "HEAD"}));
    assert_eq!(
        found["affected_test_ids"],
        json!(["tests/test_ship.py::test_launch"])
    );
    let wide = project.ask("change_impact", json!({"git_base": "HEAD", "types": false}));
    // A test that names no ship has none to launch, whatever a type checker says.
    assert_eq!(wide["affected_count"], 1);
}

#[test]
fn without_an_engine_the_answer_says_so() {
    let context = shop();
    context.write("shop/any.py", "def use(x):\n    x.forgotten()\n");
    let mut shop = Mapped::new(context);
    let found = impact(&mut shop, "Cart.forgotten");
    assert_eq!(found["callers"][0]["certainty"], "possible");
    assert_eq!(found["types"]["unasked"], 1);
    let note = found["types"]["note"].as_str().unwrap();
    assert!(note.contains("pillion env ensure"), "{note}");
    // Where the code says everything, nobody is missed.
    let found = impact(&mut shop, "add");
    assert_eq!(found["types"], json!({"asked": 0, "unasked": 0}));
}
