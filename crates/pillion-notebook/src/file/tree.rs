//! The parts of a file that are changed: objects and lists over text that stays.
//!
//! An [`Object`] that nobody changed is written as the text it was read from. One that was
//! changed is spelled anew, but only itself: its unchanged parts are still their own text.

use std::fmt;

use serde_json::{Map, Value};

use super::json::Raw;
use super::style::Style;

/// A value of a file.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// As it was read.
    Raw(Raw),
    /// Written by us.
    New(Value),
    /// Taken apart to be changed.
    Object(Object),
    /// Taken apart to be changed.
    List(Vec<Node>),
}

/// An object, in the order of its keys in the file. A key that stands there twice stays, and
/// means its last value, as for Python.
#[derive(Clone, Default)]
pub(super) struct Object {
    raw: Option<Raw>,
    members: Vec<Member>,
}

#[derive(Clone)]
struct Member {
    name: String,
    /// How the key is spelled, if it was read.
    spelled: Option<Raw>,
    value: Node,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self
            .members
            .iter()
            .map(|member| (&member.name, &member.value));
        f.debug_map().entries(members).finish()
    }
}

impl Node {
    /// The value; `null` if it is too large to be looked at.
    pub(super) fn value(&self) -> Value {
        self.known_value().unwrap_or(Value::Null)
    }

    /// The value, unless it is too large to be looked at.
    pub(super) fn known_value(&self) -> Option<Value> {
        match self {
            Self::Raw(raw) => raw.value(),
            Self::New(value) => Some(value.clone()),
            Self::Object(object) => {
                let mut map = Map::new();
                for member in &object.members {
                    map.insert(member.name.clone(), member.value.known_value()?);
                }
                Some(Value::Object(map))
            }
            Self::List(nodes) => nodes.iter().map(Self::known_value).collect(),
        }
    }

    /// The text of a string.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Raw(raw) => raw.text(),
            Self::New(Value::String(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// The text of a string, or of a list of strings that are its lines.
    pub(super) fn joined(&self) -> Option<String> {
        match self.is_list() {
            true => self.elements().iter().map(Self::text).collect(),
            false => self.text(),
        }
    }

    pub(super) fn is_list(&self) -> bool {
        match self {
            Self::Raw(raw) => raw.is_array(),
            Self::New(value) => value.is_array(),
            Self::List(_) => true,
            Self::Object(_) => false,
        }
    }

    pub(super) fn is_object(&self) -> bool {
        match self {
            Self::Raw(raw) => raw.is_object(),
            Self::New(value) => value.is_object(),
            Self::Object(_) => true,
            Self::List(_) => false,
        }
    }

    pub(super) fn is_string(&self) -> bool {
        match self {
            Self::Raw(raw) => raw.is_string(),
            Self::New(value) => value.is_string(),
            _ => false,
        }
    }

    /// The elements of a list; none if it is something else.
    pub(super) fn elements(&self) -> Vec<Self> {
        match self {
            Self::Raw(raw) => raw.elements().into_iter().map(Self::Raw).collect(),
            Self::New(Value::Array(list)) => list.iter().cloned().map(Self::New).collect(),
            Self::List(nodes) => nodes.clone(),
            _ => Vec::new(),
        }
    }

    /// An object, taken apart; an empty one if it is something else.
    pub(super) fn object(&self) -> Object {
        match self {
            Self::Raw(raw) => Object::read(raw),
            Self::Object(object) => object.clone(),
            Self::New(Value::Object(map)) => {
                map.iter()
                    .fold(Object::default(), |mut object, (name, value)| {
                        object.set(name, Self::New(value.clone()));
                        object
                    })
            }
            _ => Object::default(),
        }
    }

    pub(super) fn write(&self, style: &Style, depth: usize, out: &mut String) {
        match self {
            Self::Raw(raw) => out.push_str(raw.as_str()),
            Self::New(value) => style.value(value, depth, out),
            Self::Object(object) => object.write(style, depth, out),
            Self::List(nodes) => style.list(['[', ']'], depth, nodes.len(), out, |index, out| {
                nodes[index].write(style, depth + 1, out);
            }),
        }
    }
}

impl Object {
    /// Take an object apart, one level deep.
    pub(super) fn read(raw: &Raw) -> Self {
        let members = raw.members().into_iter().map(|(key, value)| Member {
            name: key.text().unwrap_or_default(),
            spelled: Some(key),
            value: Node::Raw(value),
        });
        Self {
            members: members.collect(),
            raw: Some(raw.clone()),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        let mut members = self.members.iter().rev();
        members
            .find(|member| member.name == name)
            .map(|member| &member.value)
    }

    /// A member to change.
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.raw = None;
        let mut members = self.members.iter_mut().rev();
        members
            .find(|member| member.name == name)
            .map(|member| &mut member.value)
    }

    pub(super) fn value(&self, name: &str) -> Value {
        self.get(name).map_or(Value::Null, Node::value)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// Set a member where it stands. A new one goes where the order of keys wants it, if they
    /// are in order, and to the end if not.
    pub(super) fn set(&mut self, name: &str, value: Node) {
        self.raw = None;
        let mut members = self.members.iter_mut().rev();
        if let Some(member) = members.find(|member| member.name == name) {
            member.value = value;
            return;
        }
        let at = match self.members.is_sorted_by(|a, b| a.name <= b.name) {
            true => self.members.partition_point(|member| *member.name < *name),
            false => self.members.len(),
        };
        let member = Member {
            name: name.to_owned(),
            spelled: None,
            value,
        };
        self.members.insert(at, member);
    }

    /// Set a member, unless that is its value already. Whether something changed.
    pub(super) fn set_value(&mut self, name: &str, value: Value) -> bool {
        let same = self
            .get(name)
            .is_some_and(|old| old.known_value().as_ref() == Some(&value));
        if !same {
            self.set(name, Node::New(value));
        }
        !same
    }

    /// Whether there was one.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let before = self.members.len();
        self.members.retain(|member| member.name != name);
        let found = self.members.len() < before;
        if found {
            self.raw = None;
        }
        found
    }

    pub(super) fn write(&self, style: &Style, depth: usize, out: &mut String) {
        if let Some(raw) = &self.raw {
            out.push_str(raw.as_str());
            return;
        }
        style.list(['{', '}'], depth, self.members.len(), out, |index, out| {
            let member = &self.members[index];
            match &member.spelled {
                Some(raw) => out.push_str(raw.as_str()),
                None => style.string(&member.name, out),
            }
            style.colon(out);
            member.value.write(style, depth + 1, out);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn object(text: &str) -> (Object, Style) {
        let raw = Raw::read(&Arc::from(text)).unwrap();
        (Object::read(&raw), Style::of(&raw))
    }

    fn written((object, style): &(Object, Style)) -> String {
        let mut out = String::new();
        object.write(style, 0, &mut out);
        out
    }

    #[test]
    fn a_change_leaves_the_rest_as_it_was_spelled() {
        let mut changed = object("{\n  \"\\u0061\": 1.10,\n  \"c\":   [ 1,2 ],\n  \"d\": 0\n}");
        changed.0.set("d", Node::New(json!({"y": 1, "x": []})));
        changed.0.set("b", Node::New(json!(true)));
        assert_eq!(
            written(&changed),
            "{\n  \"\\u0061\": 1.10,\n  \"b\": true,\n  \"c\": [ 1,2 ],\n  \"d\": {\n    \"x\": [],\n    \"y\": 1\n  }\n}"
        );
    }

    #[test]
    fn a_value_that_is_there_already_changes_nothing() {
        let text = "{ \"b\":1e2, \"a\" :[ ] }";
        let mut same = object(text);
        assert!(!same.0.set_value("a", json!([])));
        assert!(!same.0.remove("z"));
        assert_eq!(written(&same), text);
        assert!(same.0.set_value("a", json!([0])));
    }

    #[test]
    fn keys_without_order_get_new_ones_at_their_end() {
        let mut changed = object("{\"b\": 1, \"a\": 2}");
        changed.0.set("aa", Node::New(json!(3)));
        assert_eq!(written(&changed), "{\"b\": 1, \"a\": 2, \"aa\": 3}");
    }

    #[test]
    fn of_a_key_that_stands_twice_the_last_one_counts() {
        let mut twice = object("{\"a\": 1, \"a\": 2}");
        assert_eq!(twice.0.value("a"), json!(2));
        twice.0.set("a", Node::New(json!(3)));
        assert_eq!(written(&twice), "{\"a\": 1, \"a\": 3}");
    }
}
