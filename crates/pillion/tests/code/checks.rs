//! Asking about markers: each claim is a question, and its answer must be exactly that.

use std::collections::{BTreeMap, BTreeSet};

use pillion_testing::project::TestProject;
use serde_json::{Value, json};

use super::markers::{Claims, Place};

impl Claims {
    pub(super) fn definitions(&mut self, project: &mut TestProject) {
        for (at, targets) in self.of("defs") {
            let mut expected = BTreeSet::new();
            for target in targets.iter().filter(|target| *target != "nothing") {
                if target.starts_with('@') {
                    let Some((place, word)) = self.named(&at, target) else {
                        continue;
                    };
                    expected.insert(format!("{place} {word}"));
                } else if target.starts_with("outside:") {
                    expected.insert(target.clone());
                } else {
                    let stem = target
                        .trim_end_matches("/__init__.py")
                        .trim_end_matches(".py");
                    let name = stem.rsplit('/').next().unwrap_or_default();
                    expected.insert(format!("{target}:1:1 {name} (module)"));
                }
            }
            let answer = project.ask("defs", at.params());
            let mut got = BTreeSet::new();
            for location in answer["locations"].as_array().unwrap() {
                self.well_formed(&at, location);
                got.insert(told(location, &expected));
            }
            self.expect(&at, "definitions", got, expected);
            self.expect(
                &at,
                "total",
                &answer["total"],
                &json!(answer["locations"].as_array().unwrap().len()),
            );
        }
    }

    /// What holds for every location.
    fn well_formed(&mut self, at: &Place, location: &Value) {
        let number = |name: &str| location[name].as_u64().unwrap_or(0);
        let (start, end) = (
            (number("line"), number("column")),
            (number("end_line"), number("end_column")),
        );
        let file = location["file"].as_str().unwrap_or_default();
        let outside = location["external"] == true;
        let good = start.0 >= 1
            && start.1 >= 1
            && end >= start
            && outside == file.starts_with('/')
            && location["preview"].is_string();
        if !good {
            self.wrong
                .push(format!("{at}: no good location: {location}"));
        }
        let name = location["name"].as_str().unwrap_or_default();
        let is_module = location["kind"] == "module";
        if !is_module && end != (start.0, start.1 + name.chars().count() as u64) {
            self.wrong
                .push(format!("{at}: `{name}` has another length: {location}"));
        }
    }

    pub(super) fn hovers(&mut self, project: &mut TestProject) {
        for (at, words) in self.of("hover") {
            let answer = project.ask("hover", at.params());
            let expected = match words[0].as_str() {
                "nothing" => Value::Null,
                kind => json!(kind),
            };
            self.expect(&at, "hover", &answer["type"], &expected);
            self.expect(
                &at,
                "hover's name",
                answer["name"].is_null(),
                expected.is_null(),
            );
        }
    }

    pub(super) fn uses(&mut self, project: &mut TestProject) {
        let mut all: BTreeMap<String, BTreeSet<(Place, bool, bool)>> = BTreeMap::new();
        for (at, words) in self.of("uses") {
            let inside = words.len() == 2;
            let uses = all.entry(words[0].clone()).or_default();
            uses.insert((at, true, inside));
        }
        for (at, words) in self.of("maybe") {
            let uses = all.entry(words[0].clone()).or_default();
            uses.insert((at, false, false));
        }
        for (name, mut expected) in all {
            let first = expected.first().unwrap().0.clone();
            let Some((place, _)) = self.named(&first, &name) else {
                continue;
            };
            expected.insert((place.clone(), true, true));
            let answer = project.ask("refs", place.params());
            let mut got = BTreeSet::new();
            for location in answer["locations"].as_array().unwrap() {
                self.well_formed(&place, location);
                let confirmed = location["confidence"] == "confirmed";
                let inside = location["in_definition"] == true;
                got.insert((Place::of(location), confirmed, inside));
            }
            let show = |set: &BTreeSet<(Place, bool, bool)>| -> Vec<String> {
                let show = |(at, confirmed, inside): &(Place, bool, bool)| {
                    format!("{at} confirmed={confirmed} inside={inside}")
                };
                set.iter().map(show).collect()
            };
            let confirmed = expected
                .iter()
                .filter(|(_, confirmed, _)| *confirmed)
                .count();
            let counts = json!([expected.len(), confirmed, expected.len() - confirmed, false]);
            let told = json!([
                answer["total"],
                answer["confirmed"],
                answer["possible"],
                answer["truncated"]
            ]);
            self.expect(
                &place,
                &format!("uses of {name}"),
                show(&got),
                show(&expected),
            );
            self.expect(&place, "counts", told, counts);
        }
    }

    pub(super) fn occurrences(&mut self, project: &mut TestProject) {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (at, words) in self.of("renamed") {
            all.entry(words[0].clone())
                .or_default()
                .insert(at.to_string());
        }
        for (name, mut expected) in all {
            let nowhere = Place {
                file: name.clone(),
                line: 0,
                column: 0,
            };
            let Some((place, _)) = self.named(&nowhere, &name) else {
                continue;
            };
            expected.insert(place.to_string());
            let starts: Vec<Place> = self
                .of("renamed")
                .into_iter()
                .filter(|(_, words)| words[0] == name)
                .map(|(at, _)| at)
                .chain([place])
                .collect();
            // From wherever one asks, the same places are renamed.
            for start in starts {
                let answer = project.ask("occurrences", start.params());
                let locations = answer["locations"].as_array().unwrap();
                let got: BTreeSet<String> =
                    locations.iter().map(|l| Place::of(l).to_string()).collect();
                let what = format!("occurrences of {name} from here");
                self.expect(&start, &what, got, expected.clone());
            }
        }
    }
}

/// A location as expectations are written.
fn told(location: &Value, expected: &BTreeSet<String>) -> String {
    let file = location["file"].as_str().unwrap_or_default();
    if location["external"] == true {
        let outside = expected.iter().find(|target| {
            let end = target.strip_prefix("outside:");
            end.is_some_and(|end| file.ends_with(&format!("/{end}")))
        });
        return outside
            .cloned()
            .unwrap_or_else(|| format!("outside:{file}"));
    }
    let name = location["name"].as_str().unwrap_or_default();
    let module = if location["kind"] == "module" {
        " (module)"
    } else {
        ""
    };
    format!("{} {name}{module}", Place::of(location))
}
