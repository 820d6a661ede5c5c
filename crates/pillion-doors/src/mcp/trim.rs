//! JSON that is too long, made shorter so that it is still JSON: lists end after a whole item,
//! long strings in the middle, and what was left out is counted.
//!
//! The text is cut by its own slices and never made into values, which take many times the room
//! of their text. Numbers keep all their digits.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Objects of more members are lists by another name: those lose whole members. Others keep all
/// of them, because their readers count on each.
const RECORD: usize = 64;
/// Strings of so many bytes are never cut.
const SHORT: usize = 120;
/// Lists in lists in lists: what lies deeper is kept or left out as a whole.
const DEEPEST: usize = 16;

/// What was left out, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// The JSON pointer of what was cut.
    pub(super) at: String,
    /// How many items, members or bytes are shown of it.
    pub(super) shown: usize,
    /// How many there are.
    pub(super) total: usize,
    /// What they are.
    pub(super) form: Form,
    /// Where all of it stands in the text.
    pub(super) range: Range<usize>,
}

/// What a part is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A list of items.
    Items,
    /// An object of members.
    Members,
    /// Text, in bytes.
    Text,
}

impl Form {
    /// The word for what is counted.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Members => "members",
            Self::Text => "bytes",
        }
    }
}

/// A JSON text of about `budget` bytes, and what it leaves out.
pub(super) fn trimmed(json: &str, budget: usize) -> (String, Vec<LeftOut>) {
    let mut trimming = Trimming {
        whole: json,
        out: String::with_capacity(budget + budget / 8),
        left_out: Vec::new(),
    };
    trimming.value(json.trim(), budget, &mut String::new(), 0);
    (trimming.out, trimming.left_out)
}

/// The items of a list, as the texts they are.
pub(super) fn items(json: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(json).ok()
}

/// The members of an object, in their order.
pub(super) fn members(json: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    let Members(members) = serde_json::from_str(json).ok()?;
    Some(members)
}

struct Trimming<'a> {
    whole: &'a str,
    out: String,
    left_out: Vec<LeftOut>,
}

impl<'a> Trimming<'a> {
    fn value(&mut self, json: &'a str, budget: usize, at: &mut String, depth: usize) {
        if json.len() <= budget {
            return self.out.push_str(json);
        }
        match json.as_bytes().first() {
            Some(b'[') if depth < DEEPEST => self.list(json, budget, at, depth),
            Some(b'{') if depth < DEEPEST => self.object(json, budget, at, depth),
            Some(b'[') => {
                self.out.push_str("[]");
                let total = items(json).unwrap_or_default().len();
                self.note(json, at, Form::Items, 0, total);
            }
            Some(b'{') => {
                self.out.push_str("{}");
                let total = members(json).unwrap_or_default().len();
                self.note(json, at, Form::Members, 0, total);
            }
            Some(b'"') => self.string(json, budget, at),
            _ => self.out.push_str(json),
        }
    }

    fn list(&mut self, json: &'a str, budget: usize, at: &mut String, depth: usize) {
        let items = items(json).unwrap_or_default();
        let (mut left, mut shown) = (budget.saturating_sub(2), 0);
        self.out.push('[');
        for item in &items {
            let item = item.get();
            if item.len() + 1 > left {
                break;
            }
            left -= item.len() + 1;
            self.comma(shown);
            self.out.push_str(item);
            shown += 1;
        }
        // One that is too long by itself is still better than none.
        if let (0, Some(first)) = (shown, items.first())
            && left > SHORT
        {
            self.below(at, "0", |this, at| {
                this.value(first.get(), left, at, depth + 1);
            });
            shown = 1;
        }
        self.out.push(']');
        self.note(json, at, Form::Items, shown, items.len());
    }

    fn object(&mut self, json: &'a str, budget: usize, at: &mut String, depth: usize) {
        let members = members(json).unwrap_or_default();
        let shares = match members.len() > RECORD {
            true => first_ones(&members, budget),
            false => shares(&members, budget),
        };
        self.out.push('{');
        for (index, ((name, value), share)) in members.iter().zip(&shares).enumerate() {
            self.comma(index);
            self.out
                .push_str(&serde_json::Value::from(name.as_ref()).to_string());
            self.out.push(':');
            self.below(at, name, |this, at| {
                this.value(value.get(), *share, at, depth + 1);
            });
        }
        self.out.push('}');
        self.note(json, at, Form::Members, shares.len(), members.len());
    }

    fn string(&mut self, json: &'a str, budget: usize, at: &str) {
        let Ok(text) = serde_json::from_str::<Cow<'_, str>>(json) else {
            return self.out.push_str(json);
        };
        let end = written(&text, budget.saturating_sub(2).max(SHORT));
        let shown = &text[..end];
        self.out
            .push_str(&serde_json::Value::from(shown).to_string());
        self.note(json, at, Form::Text, end, text.len());
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(',');
        }
    }

    /// Work on what is called `name` there.
    fn below(&mut self, at: &mut String, name: &str, work: impl FnOnce(&mut Self, &mut String)) {
        let before = at.len();
        at.push('/');
        at.push_str(&name.replace('~', "~0").replace('/', "~1"));
        work(self, at);
        at.truncate(before);
    }

    fn note(&mut self, json: &'a str, at: &str, form: Form, shown: usize, total: usize) {
        if shown < total {
            // The part is a slice of the whole.
            let start = (json.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize);
            self.left_out.push(LeftOut {
                at: at.to_owned(),
                shown,
                total,
                form,
                range: start..start + json.len(),
            });
        }
    }
}

/// How much of a text can be written in so many bytes: some characters are written with escapes,
/// and they need not be spread evenly.
fn written(text: &str, budget: usize) -> usize {
    let mut left = budget;
    for (at, letter) in text.char_indices() {
        let bytes = match letter {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            other => other.len_utf8(),
        };
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return at,
        }
    }
    text.len()
}

/// How many bytes each member may take: what is short stays, and what is long shares the rest.
fn shares(members: &[(Cow<'_, str>, &RawValue)], budget: usize) -> Vec<usize> {
    let names: usize = members.iter().map(|(name, _)| name.len() + 4).sum();
    let mut left = budget.saturating_sub(names + 2);
    let mut by_size: Vec<(usize, usize)> = members
        .iter()
        .enumerate()
        .map(|(index, (_, value))| (value.get().len(), index))
        .collect();
    by_size.sort_unstable();
    let mut shares = vec![0; members.len()];
    let mut waiting = by_size.len();
    for (size, index) in by_size {
        let share = size.min(left / waiting.max(1));
        if let Some(place) = shares.get_mut(index) {
            *place = share;
        }
        left = left.saturating_sub(share);
        waiting -= 1;
    }
    shares
}

/// The same for a list by another name: the first ones that fit, each as it is.
fn first_ones(members: &[(Cow<'_, str>, &RawValue)], budget: usize) -> Vec<usize> {
    let mut left = budget.saturating_sub(2);
    let mut shares = Vec::new();
    for (name, value) in members {
        let takes = name.len() + 4 + value.get().len();
        if takes > left {
            break;
        }
        left -= takes;
        shares.push(value.get().len());
    }
    if shares.is_empty() {
        shares.push(left);
    }
    shares
}

/// The members of an object as they are written.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A name, which is borrowed unless it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(json: &str, budget: usize) -> (Value, Vec<LeftOut>) {
        let (text, left_out) = trimmed(json, budget);
        (serde_json::from_str(&text).unwrap(), left_out)
    }

    #[test]
    fn a_list_ends_after_a_whole_item_and_is_counted() {
        let places: Vec<Value> = (0..500)
            .map(|n| json!({ "file": "a.py", "line": n }))
            .collect();
        let whole = json!({ "total": 500, "locations": places, "clock": "c:1" }).to_string();
        let (value, left_out) = read(&whole, 1_000);
        let shown = value["locations"].as_array().unwrap();
        assert!(shown.len() > 20 && value.to_string().len() <= 1_000);
        assert_eq!(shown[..], places[..shown.len()]);
        assert_eq!(
            (&value["total"], &value["clock"]),
            (&json!(500), &json!("c:1"))
        );
        let [one] = &left_out[..] else {
            panic!("{left_out:?}")
        };
        assert_eq!(
            (one.at.as_str(), one.total, one.form),
            ("/locations", 500, Form::Items)
        );
        assert_eq!(one.shown, shown.len());
        assert_eq!(items(&whole[one.range.clone()]).unwrap().len(), 500);
    }

    #[test]
    fn digits_strings_and_names_stay_what_they_are() {
        let long = "ü\n".repeat(2_000);
        let whole = format!(
            r#"{{"a/b":123456789012345678901234567890,"text":{}}}"#,
            json!(long)
        );
        let (text, left_out) = trimmed(&whole, 1_000);
        assert!(text.contains("123456789012345678901234567890"));
        assert!(text.len() <= 1_000, "{}", text.len());
        assert_eq!(
            (left_out[0].at.as_str(), left_out[0].total),
            ("/text", long.len())
        );
        let (_, left_out) = read(&json!({ "a/b": vec![1; 2_000] }).to_string(), 500);
        assert_eq!(left_out[0].at, "/a~1b");
    }

    #[test]
    fn whatever_it_is_it_stays_json_and_fits() {
        let many: Value = (0..3_000)
            .map(|n| (format!("k{n}"), json!([n, "x"])))
            .collect();
        let mut deep = json!("y".repeat(5_000));
        for _ in 0..40 {
            deep = json!([deep]);
        }
        for whole in [
            json!(vec![vec![vec!["z"; 300]; 300]]),
            many.clone(),
            json!({ "patches": { "a.py": "+x\n".repeat(9_000), "b.py": "-y\n".repeat(9_000) } }),
            json!({ "results": [{ "many": many }, 1, 2] }),
            json!("text ".repeat(9_000)),
            // What is written with escapes need not be spread evenly.
            json!({ "stdout": "\n".repeat(9_000) + &"x".repeat(30_000) }),
            json!({ "stdout": "\u{1}\u{7f}\"\\ü\u{8}".repeat(3_000) + &"x".repeat(90_000) }),
            deep,
        ] {
            let text = whole.to_string();
            for budget in [600, 2_000, 4_000] {
                let (value, left_out) = read(&text, budget);
                assert!(!left_out.is_empty());
                assert!(value.to_string().len() <= budget, "{budget}: {value}");
                for one in left_out {
                    assert!(one.shown < one.total && text.get(one.range).is_some());
                }
            }
            assert_eq!(trimmed(&text, text.len()), (text, vec![]));
        }
    }
}
