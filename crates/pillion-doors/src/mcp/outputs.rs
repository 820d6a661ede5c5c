//! Answers that would flood a model: shown in part, with the whole kept for a while.
//!
//! Text is cut after a whole line, where it can after one that begins a new item, and keeps its
//! end, which says how many there are, what was left alone or how a run ended. JSON stays JSON
//! (`trim`): it says of every list that was cut how much of it is shown, and by which handle the
//! rest is fetched.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::{Code, Error, Result};
use serde::Serialize;

use super::schemas::WRAPPED;
use super::trim::{self, Form, LeftOut, trimmed};

/// Bytes of kept outputs together; then the oldest go.
const MAX_KEPT: usize = 64 << 20;
/// Kept outputs.
const MAX_COUNT: usize = 256;
/// The most that can be fetched at once.
const MAX_PAGE: usize = 256 << 10;
/// How much of a text's end is shown, of one that is cut.
const ENDING: usize = 1_500;
/// SendBudget for what is said about what was left out.
const NOTE: usize = 500;
/// Parts that are named; more were cut where there are more.
const MAX_PARTS: usize = 4;

/// Whole outputs by handle, the oldest first.
pub(super) struct Outputs {
    kept: Mutex<VecDeque<Kept>>,
    /// Tells the handles of this process from those of an earlier one.
    process: u64,
}

/// A whole output, and the parts of it that have handles of their own.
struct Kept {
    serial: u64,
    text: Arc<str>,
    parts: Vec<(Range<usize>, Form)>,
}

/// What was left out of an answer, and how to get it.
#[derive(Debug, Serialize)]
struct Cut {
    /// Name of the whole for `fetch_output` and `pillion://output/`.
    handle: String,
    /// Bytes of the whole.
    bytes: usize,
    /// What was left out.
    parts: Vec<Part>,
}

/// A list, an object or a text that was cut.
#[derive(Debug, Serialize)]
struct Part {
    /// Its JSON pointer.
    at: String,
    shown: usize,
    total: usize,
    unit: &'static str,
    /// Its own handle: what is fetched by it begins at `shown`.
    handle: String,
}

/// A part of a kept output.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    /// The text; of a list or an object it is JSON.
    pub(super) text: String,
    pub(super) offset: usize,
    pub(super) total: usize,
    /// What is counted: `bytes`, `items` or `members`.
    pub(super) unit: &'static str,
    /// Where to go on, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_offset: Option<usize>,
    /// The line that the first one belongs to, which stands on an earlier page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) within: Option<String>,
}

impl Outputs {
    pub(super) fn new() -> Self {
        Self {
            kept: Mutex::default(),
            process: RandomState::new().hash_one(std::process::id()),
        }
    }

    /// What to show of a text that is longer than `max`.
    pub(super) fn text(&self, text: &str, max: usize) -> Option<String> {
        if text.len() <= max {
            return None;
        }
        let budget = max.saturating_sub(NOTE);
        let end_room = ENDING.min(budget / 4);
        let end = page_end(text, 0, budget - end_room);
        let ending = ending(text, end, end_room);
        let handle = self.keep(text, &[]);
        let (shown, all) = (lines(&text[..end]), lines(text));
        let ending = match ending.is_empty() {
            true => String::new(),
            false => format!("; it ends with]\n{}", ending.trim_end_matches('\n')),
        };
        Some(format!(
            "{}\n[{shown} of {all} lines; for the rest fetch_output {{\"handle\": \"{handle}\", \"offset\": {end}}}, or ask for less{}",
            text[..end].trim_end_matches('\n'),
            if ending.is_empty() { "]" } else { &ending },
        ))
    }

    /// What to show of JSON that is longer than `max`: an object, in which `cut` says what was
    /// left out. What is no object, or `wraps`, stands within one.
    pub(super) fn json(&self, json: &str, max: usize, wraps: bool) -> Option<String> {
        if json.len() <= max {
            return None;
        }
        let (mut text, mut left_out) = trimmed(json, max.saturating_sub(NOTE));
        left_out.truncate(MAX_PARTS);
        let handle = self.keep(json, &left_out);
        let parts = (1..).zip(left_out).map(|(number, part)| Part {
            at: part.at,
            shown: part.shown,
            total: part.total,
            unit: part.form.unit(),
            handle: format!("{handle}.{number}"),
        });
        let cut = Cut {
            bytes: json.len(),
            parts: parts.collect(),
            handle,
        };
        let cut = serde_json::to_string(&cut).unwrap_or_default();
        // Thousands of small things in each other, of which none can be left out.
        if text.len() > max.saturating_mul(2) {
            text = "{}".to_owned();
        }
        Some(match text.strip_suffix('}') {
            Some("{") => format!("{{\"cut\":{cut}}}"),
            Some(members) if !wraps => format!("{members},\"cut\":{cut}}}"),
            _ => format!("{{\"{WRAPPED}\":{text},\"cut\":{cut}}}"),
        })
    }

    /// A part of a kept output: whole items, or lines where they fit.
    pub(super) fn page(&self, handle: &str, offset: usize, limit: usize) -> Result<Page> {
        let (text, range, form) = self.find(handle)?;
        let json = text.get(range).unwrap_or_default();
        let limit = limit.clamp(4, MAX_PAGE);
        match form {
            Some(Form::Items) => {
                let items = trim::items(json).unwrap_or_default();
                let items: Vec<String> = items.iter().map(|item| item.get().to_owned()).collect();
                Ok(listed(&items, ('[', ']'), Form::Items, offset, limit))
            }
            Some(Form::Members) => {
                let members = trim::members(json).unwrap_or_default();
                let one = |(name, value): &(_, &serde_json::value::RawValue)| {
                    let name: &std::borrow::Cow<'_, str> = name;
                    format!("{}:{value}", serde_json::Value::from(name.as_ref()))
                };
                let members: Vec<String> = members.iter().map(one).collect();
                Ok(listed(&members, ('{', '}'), Form::Members, offset, limit))
            }
            Some(Form::Text) => {
                let text: String = serde_json::from_str(json).unwrap_or_default();
                Ok(page(&text, offset, limit))
            }
            None => Ok(page(json, offset, limit)),
        }
    }

    fn keep(&self, text: &str, parts: &[LeftOut]) -> String {
        let mut kept = self.kept();
        let serial = kept.back().map_or(0, |last| last.serial + 1);
        let parts = parts.iter().map(|part| (part.range.clone(), part.form));
        kept.push_back(Kept {
            serial,
            text: text.into(),
            parts: parts.collect(),
        });
        // The newest stays, however large it is: it was just promised.
        while kept.len() > 1
            && (kept.len() > MAX_COUNT
                || kept.iter().map(|one| one.text.len()).sum::<usize>() > MAX_KEPT)
        {
            kept.pop_front();
        }
        format!("{:08x}-{serial}", self.process as u32)
    }

    /// The text behind a handle, where in it, and what that is if it is a part.
    fn find(&self, handle: &str) -> Result<(Arc<str>, Range<usize>, Option<Form>)> {
        let (whole, part) = match handle.split_once('.') {
            Some((whole, part)) => (whole, Some(part)),
            None => (handle, None),
        };
        let own = format!("{:08x}-", self.process as u32);
        let serial = whole.strip_prefix(&own).and_then(|n| n.parse::<u64>().ok());
        let kept = self.kept();
        let found = kept.iter().find(|one| Some(one.serial) == serial);
        let found = found.and_then(|one| {
            let text = Arc::clone(&one.text);
            match part {
                None => Some((text, 0..one.text.len(), None)),
                Some(number) => {
                    let number = number.parse::<usize>().ok()?.checked_sub(1)?;
                    let (range, form) = one.parts.get(number)?;
                    Some((text, range.clone(), Some(*form)))
                }
            }
        });
        found.ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("there is no kept output `{handle}`"),
            )
            .hint("old outputs are dropped; call the tool again, and ask for less if you can")
        })
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whole items from `offset` on, at least one of them, as JSON.
fn listed(
    all: &[String],
    (open, close): (char, char),
    form: Form,
    offset: usize,
    limit: usize,
) -> Page {
    let offset = offset.min(all.len());
    let mut text = String::from(open);
    let mut next = offset;
    for item in &all[offset..] {
        if next > offset && text.len() + item.len() + 2 > limit {
            break;
        }
        if next > offset {
            text.push(',');
        }
        text.push_str(item);
        next += 1;
    }
    text.push(close);
    Page {
        text,
        offset,
        total: all.len(),
        unit: form.unit(),
        next_offset: (next < all.len()).then_some(next),
        within: None,
    }
}

/// A part of a text.
fn page(text: &str, offset: usize, limit: usize) -> Page {
    let start = text.ceil_char_boundary(offset.min(text.len()));
    let end = page_end(text, start, limit);
    Page {
        text: text[start..end].to_owned(),
        offset: start,
        total: text.len(),
        unit: Form::Text.unit(),
        next_offset: (end < text.len()).then_some(end),
        within: heading(text, start).map(str::to_owned),
    }
}

/// Where a page that begins at `start` ends: before an item, which is a line that is not
/// indented, if that leaves half of it; else after a line; else between characters.
fn page_end(text: &str, start: usize, limit: usize) -> usize {
    let hard = text.floor_char_boundary((start + limit).min(text.len()));
    if hard == text.len() || hard <= start {
        return hard.max(start);
    }
    let page = &text[start..hard];
    let ends = || page.rmatch_indices('\n').map(|(at, _)| start + at + 1);
    let is_item = |end: &usize| !text[*end..].starts_with([' ', '\t', '\n', '\r']);
    let half = start + limit / 2;
    let item = ends().take_while(|end| *end >= half).find(is_item);
    item.or_else(|| ends().next()).unwrap_or(hard)
}

/// The line that an indented one belongs to.
fn heading(text: &str, start: usize) -> Option<&str> {
    let is_indented = text[start..].starts_with([' ', '\t']);
    let before = text[..start].trim_end_matches('\n').rsplit('\n');
    let mut before = before.filter(|_| is_indented && start > 0);
    before.find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
}

/// The last whole lines behind `from`, as many as fit.
fn ending(text: &str, from: usize, budget: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(budget).max(from));
    let after_line = |at: usize| at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
    let first = match after_line(start) {
        true => Some(start),
        false => text[start..].find('\n').map(|at| start + at + 1),
    };
    first.map_or("", |first| &text[first..])
}

fn lines(text: &str) -> usize {
    match text.is_empty() {
        true => 0,
        false => text.trim_end_matches('\n').split('\n').count(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// All pages of a handle.
    fn fetched(outputs: &Outputs, handle: &str, from: usize, limit: usize) -> Vec<Page> {
        let (mut pages, mut offset) = (Vec::new(), Some(from));
        while let Some(at) = offset {
            let page = outputs.page(handle, at, limit).unwrap();
            offset = page.next_offset;
            pages.push(page);
        }
        pages
    }

    fn handle_in(text: &str) -> (String, usize) {
        let (_, said) = text.rsplit_once("fetch_output ").unwrap();
        let (said, _) = said.split_once(", or ask").unwrap();
        let said: Value = serde_json::from_str(said).unwrap();
        let offset = usize::try_from(said["offset"].as_u64().unwrap()).unwrap();
        (said["handle"].as_str().unwrap().to_owned(), offset)
    }

    #[test]
    fn a_text_ends_with_a_whole_item_and_the_rest_is_fetched() {
        let outputs = Outputs::new();
        let file = |n: usize| {
            let uses = (1..=5).map(|line| format!("  {line}:1  üse of x\n"));
            format!("src/file{n}.py\n{}", uses.collect::<String>())
        };
        let text: String = (0..200).map(file).collect();
        assert!(outputs.text(&text, text.len()).is_none());
        let shown = outputs.text(&text, 2_000).unwrap();
        assert!(shown.len() <= 2_000, "{shown}");
        let (head, note) = shown.split_once("\n[").unwrap();
        assert!(head.ends_with("  5:1  üse of x"), "{shown}");
        // How it ends is seen at once: totals, what was left alone, how a run ended.
        let (_, ending) = note.split_once("; it ends with]\n").unwrap();
        assert!(text.trim_end().ends_with(ending), "{shown}");
        assert!(ending.len() > 100, "{shown}");
        assert!(shown.contains(" of 1200 lines;"), "{shown}");
        let (handle, offset) = handle_in(&shown);
        let pages = fetched(&outputs, &handle, offset, 777);
        for page in &pages {
            assert!(page.text.starts_with("src/file") && page.text.len() <= 777);
        }
        let rest: String = pages.into_iter().map(|page| page.text).collect();
        assert_eq!(format!("{head}\n{rest}"), text);
        let past = outputs.page(&handle, usize::MAX, usize::MAX).unwrap();
        assert_eq!((past.text.as_str(), past.next_offset), ("", None));
        // A group that is longer than a page is still known on the next one.
        let long = format!("src/a.py\n{}", "  1:1  x\n".repeat(100));
        let (handle, offset) = handle_in(&outputs.text(&long, 600).unwrap());
        let page = outputs.page(&handle, offset, 50).unwrap();
        assert_eq!(page.within.as_deref(), Some("src/a.py"));
        assert!(page.text.ends_with('\n'), "{page:?}");
    }

    #[test]
    fn json_stays_json_and_each_list_has_its_handle() {
        let outputs = Outputs::new();
        let whole = json!({ "total": 900, "locations": (0..900).collect::<Vec<_>>() });
        let shown = outputs.json(&whole.to_string(), 1_200, false).unwrap();
        assert!(shown.len() <= 1_200, "{shown}");
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["total"], 900);
        let part = &shown["cut"]["parts"][0];
        assert_eq!(
            (&part["at"], &part["total"], &part["unit"]),
            (&json!("/locations"), &json!(900), &json!("items"))
        );
        let count = shown["locations"].as_array().unwrap().len();
        assert_eq!(part["shown"], count);
        let pages = fetched(&outputs, part["handle"].as_str().unwrap(), count, 300);
        let rest = pages
            .iter()
            .flat_map(|page| serde_json::from_str::<Vec<usize>>(&page.text).unwrap());
        assert!(rest.eq(count..900));
        // The whole can be had, too.
        let pages = fetched(&outputs, shown["cut"]["handle"].as_str().unwrap(), 0, 300);
        let text: String = pages.into_iter().map(|page| page.text).collect();
        assert_eq!(text, whole.to_string());
        // What is no object stands within one.
        let list = outputs.json(&json!(vec![7; 2_000]).to_string(), 1_000, true);
        let list: Value = serde_json::from_str(&list.unwrap()).unwrap();
        assert!(
            list["result"].is_array() && list["cut"]["bytes"].is_u64(),
            "{list}"
        );
        let text = outputs.json(&json!("x".repeat(3_000)).to_string(), 1_000, true);
        let text: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let part = &text["cut"]["parts"][0];
        assert_eq!(
            (&part["at"], &part["total"]),
            (&json!(""), &json!(3_000)),
            "{text}"
        );
        let page = outputs
            .page(part["handle"].as_str().unwrap(), 2_999, 10)
            .unwrap();
        assert_eq!((page.text.as_str(), page.total), ("x", 3_000));
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes() {
        let outputs = Outputs::new();
        let text = "y\n".repeat(1_000);
        let (first, _) = handle_in(&outputs.text(&text, 1_000).unwrap());
        for _ in 0..MAX_COUNT {
            outputs.text(&text, 1_000).unwrap();
        }
        let error = outputs.page(&first, 0, 10).unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert_eq!(outputs.kept().len(), MAX_COUNT);
        let large = outputs.text(&"z".repeat(MAX_KEPT + 1), 1_000).unwrap();
        assert_eq!(outputs.kept().len(), 1);
        assert!(outputs.page(&handle_in(&large).0, 0, 10).is_ok());
        for wrong in ["", "x", "00000000-1", ".1"] {
            assert!(outputs.page(wrong, 0, 10).is_err());
        }
    }
}
