//! The companion's reply as it streams: what the learner sees, and the JSON tail behind it.
//!
//! The splitter reads one character after the other, so how a reply was cut into chunks makes
//! no difference. It holds back what may be the tail: a fenced or bare object, from its first
//! character on. What turns out to be something else is shown, as soon as that is known: another
//! language, another first key, an object that is no outcome. Some models go on talking behind
//! their outcome, or begin with it: it is taken out there too, and of several the last counts.

use crate::members::OUTCOME_KEYS;
use crate::parse::OUTCOME_WRAPPERS;
use crate::repair;

/// More than this is no tail: it is shown.
const MAX_HELD: usize = 64 * 1024;
/// The first key of an outcome ends within so many bytes.
const MAX_FIRST_KEY: usize = 64;
/// What stands behind the word of a fence is no longer than this.
const MAX_TITLE: usize = 80;
/// The words behind a fence that may open the tail.
const LANGUAGES: &[&str] = &[
    "json",
    "jsonc",
    "json5",
    "outcome",
    "turn_outcome",
    "turnoutcome",
];

/// Takes the tail off a reply.
#[derive(Debug, Default)]
pub struct ReplySplitter {
    mode: Mode,
    /// What is not shown yet.
    held: String,
    /// An outcome with text behind it.
    taken: Option<String>,
    /// The code block around the place.
    code: Option<Fence>,
    /// Something other than blanks stands in this line.
    within_line: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    /// It is the first in its line.
    leads: bool,
}

#[derive(Debug, Default)]
enum Mode {
    #[default]
    Text,
    /// Marks of a fence.
    Run(Fence),
    /// The word behind them.
    Header(Fence, String),
    /// The rest of the first line of a fence that may open the tail: `json title="x"`.
    Title(Fence),
    /// The rest of an ordinary fence's first line, which is shown.
    Info(Fence),
    /// Blanks between a fence and the first character in it.
    Gap(Fence),
    /// An object in a fence.
    Fenced(Fence, Object),
    /// An object without a fence.
    Bare(Object),
    /// Behind the whole tail, which is this part of what is held.
    Behind { from: usize, to: usize },
}

/// An object that is being held back.
#[derive(Debug)]
struct Object {
    /// Where it begins in what is held.
    from: usize,
    depth: usize,
    /// The quote of the string around the place.
    string: Option<char>,
    escaped: bool,
    /// The last character that was no blank.
    last: char,
    /// Nothing but blanks since the last line break, or since the end of the object.
    blank: bool,
    /// Marks of the fence that may close it.
    marks: usize,
}

impl ReplySplitter {
    /// A splitter that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take in more of the reply; gives back what may be shown now.
    pub fn push(&mut self, chunk: &str) -> String {
        let mut shown = String::new();
        for next in chunk.chars() {
            self.take(next, &mut shown);
        }
        shown
    }

    /// The reply is over: what else is to be shown, and the tail without its fence.
    pub fn finish(mut self) -> (String, Option<String>) {
        let taken = self.taken.take();
        let (shown, tail) = self.rest();
        (shown, tail.or(taken))
    }

    fn rest(mut self) -> (String, Option<String>) {
        match &self.mode {
            // The first marks of a tail that was cut off.
            Mode::Run(fence) if fence.length >= 3 && fence.leads && self.code.is_none() => {
                (String::new(), None)
            }
            Mode::Header(fence, word)
                if fence.leads && (self.code.is_none() || !word.is_empty()) =>
            {
                (String::new(), None)
            }
            // Behind a title it may be something else, and nothing is lost.
            Mode::Gap(fence) if is_header(&self.held, *fence) => (String::new(), None),
            Mode::Fenced(_, object) | Mode::Bare(object) => {
                let from = object.from;
                let whole = object.depth == 0;
                if is_outcome(&self.held[from..], whole) {
                    (String::new(), Some(self.held[from..].trim().to_owned()))
                } else {
                    (self.held, None)
                }
            }
            Mode::Behind { from, to } => {
                let tail = self.held[*from..*to].to_owned();
                (String::new(), Some(tail))
            }
            _ => (std::mem::take(&mut self.held), None),
        }
    }

    fn take(&mut self, next: char, shown: &mut String) {
        // What is no tail after all is shown, and the character is looked at again.
        loop {
            match std::mem::take(&mut self.mode) {
                Mode::Text => return self.text(next, shown),
                Mode::Run(mut fence) => {
                    if next == fence.mark {
                        fence.length += 1;
                        self.hold(next, Mode::Run(fence), shown);
                        return;
                    }
                    if fence.length >= 3 {
                        self.mode = Mode::Header(fence, String::new());
                    } else {
                        self.release(shown);
                    }
                }
                Mode::Header(fence, word) => {
                    if self.header(fence, word, next, shown) {
                        return;
                    }
                }
                Mode::Title(fence) => {
                    let line = self.held.rsplit('\n').next().unwrap_or_default();
                    if next == '\n' {
                        self.hold(next, Mode::Gap(fence), shown);
                        return;
                    }
                    if next != fence.mark && line.len() < MAX_TITLE {
                        self.hold(next, Mode::Title(fence), shown);
                        return;
                    }
                    self.release(shown);
                    self.mode = Mode::Info(fence);
                }
                Mode::Info(fence) => {
                    shown.push(next);
                    match next {
                        '\n' => {
                            self.within_line = false;
                            self.code = Some(fence);
                        }
                        // Marks on both sides in one line are code in a sentence.
                        '`' if fence.mark == '`' => {}
                        _ => self.mode = Mode::Info(fence),
                    }
                    return;
                }
                Mode::Gap(fence) => {
                    if next.is_whitespace() {
                        self.hold(next, Mode::Gap(fence), shown);
                        return;
                    }
                    if next == '{' {
                        let object = Object::at(self.held.len());
                        self.mode = Mode::Fenced(fence, object);
                    } else {
                        self.code = Some(fence);
                        self.release(shown);
                    }
                }
                Mode::Fenced(fence, object) => return self.fenced(fence, object, next, shown),
                Mode::Bare(object) => {
                    if self.bare(object, next, shown) {
                        return;
                    }
                }
                Mode::Behind { from, to } => {
                    if next.is_whitespace() || next == '`' && self.held.ends_with('`') {
                        self.hold(next, Mode::Behind { from, to }, shown);
                        return;
                    }
                    self.take_out(from, to, shown);
                }
            }
        }
    }

    /// Text stands behind an outcome, which is no part of it.
    fn take_out(&mut self, from: usize, to: usize, shown: &mut String) {
        self.taken = Some(self.held[from..to].to_owned());
        if self.within_line && self.held[to..].contains('\n') {
            self.within_line = false;
            shown.push('\n');
        }
        self.held.clear();
        self.code = None;
        self.mode = Mode::Text;
    }

    fn text(&mut self, next: char, shown: &mut String) {
        let leads = !self.within_line;
        let opens = match next {
            '`' => leads || self.code.is_none(),
            '~' => leads,
            _ => false,
        };
        if opens {
            let fence = Fence {
                mark: next,
                length: 1,
                leads,
            };
            self.hold(next, Mode::Run(fence), shown);
        } else if next == '{' && self.code.is_none() {
            let mut object = Object::at(self.held.len());
            object.feed(next);
            self.hold(next, Mode::Bare(object), shown);
        } else {
            shown.push(next);
            match next {
                '\n' => self.within_line = false,
                blank if blank.is_whitespace() => {}
                _ => self.within_line = true,
            }
        }
    }

    /// Whether the character was taken.
    fn header(&mut self, fence: Fence, mut word: String, next: char, shown: &mut String) -> bool {
        let whole = word.is_empty() || LANGUAGES.contains(&word.as_str());
        let ended = self.held.ends_with([' ', '\t', '\r']) && !word.is_empty();
        match next {
            ' ' | '\t' | '\r' => {
                self.hold(next, Mode::Header(fence, word), shown);
                return true;
            }
            '{' if whole => {
                let object = Object::at(self.held.len());
                self.mode = Mode::Fenced(fence, object);
                return false;
            }
            '\n' if word.is_empty() => {
                let closes = self
                    .code
                    .is_some_and(|open| open.mark == fence.mark && fence.length >= open.length);
                if fence.leads && self.code.is_none() {
                    self.hold(next, Mode::Gap(fence), shown);
                    return true;
                }
                if closes {
                    self.code = None;
                }
            }
            '\n' if whole => {
                self.hold(next, Mode::Gap(fence), shown);
                return true;
            }
            _ if fence.leads
                && self.code.is_none()
                && whole
                && !word.is_empty()
                && (ended || !is_of_word(next))
                && next != fence.mark =>
            {
                self.hold(next, Mode::Title(fence), shown);
                return true;
            }
            _ if is_of_word(next) => {
                let next_of_word = if next == '-' { '_' } else { next };
                word.push(next_of_word.to_ascii_lowercase());
                if !ended && LANGUAGES.iter().any(|name| name.starts_with(&word)) {
                    self.hold(next, Mode::Header(fence, word), shown);
                    return true;
                }
            }
            _ => {}
        }
        // An ordinary fence, or no fence at all.
        let opens = fence.leads && self.code.is_none() && next != '\n';
        self.release(shown);
        if opens {
            self.mode = Mode::Info(fence);
        } else if next == '\n' && fence.leads && !word.is_empty() && self.code.is_none() {
            self.code = Some(fence);
        }
        false
    }

    fn fenced(&mut self, fence: Fence, mut object: Object, next: char, shown: &mut String) {
        let closes = next == fence.mark && object.blank && object.string.is_none();
        if !closes {
            object.marks = 0;
            object.feed(next);
            return self.hold(next, Mode::Fenced(fence, object), shown);
        }
        object.marks += 1;
        if object.marks < fence.length {
            return self.hold(next, Mode::Fenced(fence, object), shown);
        }
        let to = self.held.len() + 1 - object.marks;
        let from = object.from;
        let tail = self.held[from..to].trim_end();
        let to = from + tail.len();
        if is_outcome(tail, true) {
            self.hold(next, Mode::Behind { from, to }, shown);
        } else {
            self.held.push(next);
            self.code = None;
            self.release(shown);
        }
    }

    /// Whether the character was taken.
    fn bare(&mut self, mut object: Object, next: char, shown: &mut String) -> bool {
        // Only the first key is looked at, so that a long object costs no more.
        if self.held.len() - object.from < MAX_FIRST_KEY {
            let mut seen = self.held[object.from..].to_owned();
            seen.push(next);
            if !may_begin_outcome(&seen) {
                self.release(shown);
                return false;
            }
        }
        object.feed(next);
        if object.depth > 0 {
            self.hold(next, Mode::Bare(object), shown);
            return true;
        }
        let (from, to) = (object.from, self.held.len() + next.len_utf8());
        self.held.push(next);
        if is_outcome(&self.held[from..to], true) {
            self.mode = Mode::Behind { from, to };
        } else {
            self.release(shown);
        }
        true
    }

    fn hold(&mut self, next: char, mode: Mode, shown: &mut String) {
        self.held.push(next);
        self.mode = mode;
        if self.held.len() > MAX_HELD {
            self.release(shown);
        }
    }

    /// Show what is held and go on with text.
    fn release(&mut self, shown: &mut String) {
        self.mode = Mode::Text;
        let line = self.held.rsplit('\n').next().unwrap_or_default();
        if self.held.contains('\n') {
            self.within_line = false;
        }
        self.within_line |= !line.trim().is_empty();
        shown.push_str(&self.held);
        self.held.clear();
    }
}

impl Object {
    fn at(from: usize) -> Self {
        Self {
            from,
            depth: 0,
            string: None,
            escaped: false,
            last: ' ',
            blank: false,
            marks: 0,
        }
    }

    fn feed(&mut self, next: char) {
        if let Some(quote) = self.string {
            if self.escaped {
                self.escaped = false;
            } else if next == '\\' {
                self.escaped = true;
            } else if next == quote {
                self.string = None;
                self.last = next;
            }
            self.blank = false;
            return;
        }
        match next {
            '"' => self.string = Some(next),
            // Else it is an apostrophe in words without quotes.
            '\'' if matches!(self.last, '{' | '[' | ',' | ':') => self.string = Some(next),
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        match next {
            '\n' => self.blank = true,
            blank if blank.is_whitespace() => {}
            _ => {
                self.blank = self.depth == 0;
                self.last = next;
            }
        }
    }
}

/// Whether a line of marks says nothing but a language that may open the tail.
fn is_header(held: &str, fence: Fence) -> bool {
    let line = held.lines().next().unwrap_or_default();
    let word = line.trim_start_matches(fence.mark).trim();
    let word = word.to_ascii_lowercase().replace('-', "_");
    word.is_empty() || LANGUAGES.contains(&word.as_str())
}

/// Whether a fence's word goes on with this.
fn is_of_word(next: char) -> bool {
    next.is_ascii_alphanumeric() || matches!(next, '_' | '-')
}

/// Whether an object that begins so may be an outcome: its first key is one of an outcome's.
fn may_begin_outcome(text: &str) -> bool {
    let inner = text.strip_prefix('{').unwrap_or(text).trim_start();
    let Some(quote) = inner.chars().next() else {
        return text.len() < 32;
    };
    if quote != '"' && quote != '\'' {
        return false;
    }
    let key = &inner[1..];
    match key.find(quote) {
        Some(end) => is_key(&key[..end]),
        None => known_keys().any(|known| known.starts_with(key)),
    }
}

fn known_keys() -> impl Iterator<Item = &'static str> {
    OUTCOME_KEYS.iter().chain(OUTCOME_WRAPPERS).copied()
}

fn is_key(key: &str) -> bool {
    known_keys().any(|known| known == key)
}

/// Whether this is an outcome, or what there is of one that was cut off.
fn is_outcome(text: &str, whole: bool) -> bool {
    let Ok(found) = repair::object(text, &[]) else {
        return false;
    };
    let Some(members) = found.value.as_object() else {
        return false;
    };
    let known = members.keys().filter(|key| is_key(key)).count();
    if whole {
        return known >= 2 || known == 1 && members.len() == 1;
    }
    // The last key of what was cut off may be half a key, or may have no value yet.
    known >= 1 || members.is_empty() && may_begin_outcome(text.trim_end())
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
