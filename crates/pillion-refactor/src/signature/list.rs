//! A list between brackets as it is written: its items, and what to edit so that it holds
//! others. What stays keeps its place, its line and its comment.

use std::ops::Range;

use ruff_python_ast::token::{Token, TokenKind};
use ruff_text_size::Ranged;

/// A piece of a text, and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// A list as it is written.
#[derive(Debug, Clone)]
pub(super) struct List {
    /// Behind the opening bracket, and before the closing one.
    inner: Range<usize>,
    /// Each item, without white space and comments around it.
    pub(super) items: Vec<Range<usize>>,
    /// The comma behind each item; the last one may have none.
    commas: Vec<usize>,
}

/// An item of the list as it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum New {
    /// One that is there.
    Old(usize),
    /// One that is there, written in another way.
    Rewritten(usize, String),
    /// One that is not there yet.
    Fresh(String),
}

impl List {
    /// Read a list from its tokens, the brackets among them. Commas inside of `nodes` belong
    /// to those: a `lambda` has some without brackets.
    pub(super) fn read(tokens: &[Token], nodes: &[Range<usize>]) -> Option<Self> {
        let [open, within @ .., close] = tokens else {
            return None;
        };
        let mut list = Self {
            inner: open.end().to_usize()..close.start().to_usize(),
            items: Vec::new(),
            commas: Vec::new(),
        };
        let mut depth = 0_usize;
        let mut item: Option<Range<usize>> = None;
        for token in within {
            let (start, end) = (token.start().to_usize(), token.end().to_usize());
            match token.kind() {
                TokenKind::Comment | TokenKind::NonLogicalNewline => continue,
                TokenKind::Comma
                    if depth == 0 && !nodes.iter().any(|node| node.contains(&start)) =>
                {
                    list.items.push(item.take()?);
                    list.commas.push(start);
                    continue;
                }
                TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => depth += 1,
                TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                    depth = depth.checked_sub(1)?;
                }
                _ => {}
            }
            item = Some(item.map_or(start, |item| item.start)..end);
        }
        list.items.extend(item);
        Some(list)
    }

    /// The item that a node lies in.
    pub(super) fn item_of(&self, node: &Range<usize>) -> Option<usize> {
        let holds = |item: &Range<usize>| item.start <= node.start && node.end <= item.end;
        self.items.iter().position(holds)
    }

    /// Whether a comment stands between items.
    pub(super) fn has_comments(&self, text: &str) -> bool {
        let mut from = self.inner.start;
        let ends = self.items.iter().map(|item| item.start);
        let gaps = ends.chain([self.inner.end]).enumerate().map(|(n, to)| {
            let gap = from..to;
            from = self.items.get(n).map_or(to, |item| item.end);
            gap
        });
        gaps.into_iter().any(|gap| text[gap].contains('#'))
    }

    /// What to edit so that the list holds these items. `written` gives the text of an old
    /// item as it will be.
    pub(super) fn edits(
        &self,
        text: &str,
        new: &[New],
        written: impl Fn(Range<usize>) -> String,
    ) -> Vec<Splice> {
        if is_moved(new) {
            // Each item takes the place of the one that stood there: lines stay lines.
            let slots = new.iter().enumerate().map(|(slot, item)| {
                let item_text = match item {
                    New::Old(old) if *old == slot => return New::Old(slot),
                    New::Old(old) => written(self.items[*old].clone()),
                    New::Rewritten(_, text) | New::Fresh(text) => text.clone(),
                };
                match slot < self.items.len() {
                    true => New::Rewritten(slot, item_text),
                    false => New::Fresh(item_text),
                }
            });
            return self.edits_in_order(text, &slots.collect::<Vec<_>>());
        }
        self.edits_in_order(text, &self.paired(new))
    }

    /// What comes where something goes is written in its place.
    fn paired(&self, new: &[New]) -> Vec<New> {
        let mut out = Vec::new();
        let mut next = 0;
        let mut fresh: Vec<String> = Vec::new();
        let flush = |out: &mut Vec<New>, fresh: &mut Vec<String>, free: Range<usize>| {
            let mut free = free;
            for text in fresh.drain(..) {
                out.push(match free.next() {
                    Some(old) => New::Rewritten(old, text),
                    None => New::Fresh(text),
                });
            }
        };
        for item in new {
            match item {
                New::Fresh(text) => fresh.push(text.clone()),
                New::Old(old) | New::Rewritten(old, _) => {
                    flush(&mut out, &mut fresh, next..*old);
                    out.push(item.clone());
                    next = old + 1;
                }
            }
        }
        flush(&mut out, &mut fresh, next..self.items.len());
        out
    }

    fn edits_in_order(&self, text: &str, new: &[New]) -> Vec<Splice> {
        let kept: Vec<usize> = new.iter().filter_map(New::old).collect();
        let mut edits = Vec::new();
        let Some(last) = kept.last().copied() else {
            let fresh: Vec<&str> = new.iter().filter_map(New::fresh).collect();
            let end = match self.commas.last() {
                _ if self.items.is_empty() => self.inner.start,
                Some(comma) if new.is_empty() => self.end_of_last().max(comma + 1),
                _ => self.end_of_last(),
            };
            let start = self.items.first().map_or(end, |item| item.start);
            edits.push(splice(start..end, fresh.join(", ")));
            return edits;
        };
        let mut waiting = Vec::new();
        for item in new {
            match item {
                New::Fresh(text) => waiting.push(text.as_str()),
                New::Old(old) | New::Rewritten(old, _) => {
                    if !waiting.is_empty() {
                        edits.push(self.before(text, *old, &waiting));
                        waiting.clear();
                    }
                    if let New::Rewritten(_, new) = item {
                        edits.push(splice(self.items[*old].clone(), new.clone()));
                    }
                }
            }
        }
        edits.extend(self.behind(text, last, &waiting));
        let gone: Vec<usize> = (0..self.items.len())
            .filter(|old| !kept.contains(old))
            .collect();
        edits.extend(self.without(text, &gone, last));
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        edits
    }

    /// Insert before an item, and before the comment lines above it.
    fn before(&self, text: &str, item: usize, fresh: &[&str]) -> Splice {
        let at = self.items[item].start;
        let Some(indent) = own_line(text, at) else {
            let fresh: String = fresh.iter().map(|text| format!("{text}, ")).collect();
            return splice(at..at, fresh);
        };
        let mut line = line_start(text, at);
        while line > self.inner.start {
            let above = line_start(text, line - 1);
            let is_comment = text[above..line].trim_start().starts_with('#');
            if above < self.inner.start || !is_comment {
                break;
            }
            line = above;
        }
        let fresh: String = fresh.iter().map(|t| format!("{indent}{t},\n")).collect();
        splice(line..line, fresh)
    }

    /// Insert behind the last item that stays.
    fn behind(&self, text: &str, last: usize, fresh: &[&str]) -> Vec<Splice> {
        if fresh.is_empty() {
            return Vec::new();
        }
        let item = &self.items[last];
        let between = match own_line(text, item.start) {
            Some(indent) => format!(",\n{indent}"),
            None => ", ".to_owned(),
        };
        let joined = fresh.join(&between);
        if let Some(comma) = self.commas.get(last) {
            // Behind its comma, and behind the comment on its line.
            let at = end_of_comment(text, comma + 1, self.inner.end);
            let lead = &between[1..];
            return vec![splice(at..at, format!("{lead}{joined},"))];
        }
        let at = end_of_comment(text, item.end, self.inner.end);
        if at == item.end {
            return vec![splice(at..at, format!("{between}{joined}"))];
        }
        let comma = splice(item.end..item.end, ",".to_owned());
        vec![comma, splice(at..at, format!("{}{joined}", &between[1..]))]
    }

    /// Take items away; `last` is the last one that stays.
    fn without(&self, text: &str, gone: &[usize], last: usize) -> Vec<Splice> {
        let mut edits = Vec::new();
        let count = self.items.len();
        let is_plain = |n: usize| !text[self.items[n - 1].end..self.items[n].start].contains('#');
        // The end of a list without a last comma, in one piece.
        let ends = self.commas.len() < count && (last + 1..count).all(is_plain);
        if ends && last + 1 < count {
            let end = match own_line(text, self.items[count - 1].start) {
                Some(_) => end_of_comment(text, self.end_of_last(), self.inner.end),
                None => self.end_of_last(),
            };
            let cut = self.items[last].end..end;
            edits.push(splice(cut, String::new()));
        }
        for &item in gone.iter().filter(|item| !ends || **item < last) {
            let range = &self.items[item];
            let Some(comma) = self.commas.get(item) else {
                // The comma of what is the last one now goes with it.
                if let Some(comma) = self.commas.get(last) {
                    edits.push(splice(*comma..comma + 1, String::new()));
                }
                let end = end_of_comment(text, range.end, self.inner.end);
                let start = white_before(text, range.start).max(self.commas[item - 1] + 1);
                edits.push(splice(start..end, String::new()));
                continue;
            };
            let behind = comma + 1;
            let rest = text[behind..].split('\n').next().unwrap_or_default().trim();
            let ends_line = rest.is_empty() || rest.starts_with('#');
            let cut = match own_line(text, range.start) {
                Some(_) if ends_line => {
                    let end = text[behind..].find('\n').map_or(behind, |n| behind + n + 1);
                    line_start(text, range.start)..end.min(self.inner.end)
                }
                _ if ends_line || item > last => white_before(text, range.start)..behind,
                _ => {
                    let after = &text[behind..];
                    let white = after.len() - after.trim_start_matches([' ', '\t']).len();
                    range.start..behind + white
                }
            };
            edits.push(splice(cut, String::new()));
        }
        edits
    }

    fn end_of_last(&self) -> usize {
        self.items.last().map_or(self.inner.start, |item| item.end)
    }
}

impl New {
    fn old(&self) -> Option<usize> {
        match self {
            Self::Old(old) | Self::Rewritten(old, _) => Some(*old),
            Self::Fresh(_) => None,
        }
    }

    fn fresh(&self) -> Option<&str> {
        match self {
            Self::Fresh(text) => Some(text),
            _ => None,
        }
    }
}

/// Whether old items change their order.
pub(super) fn is_moved(new: &[New]) -> bool {
    let kept: Vec<usize> = new.iter().filter_map(New::old).collect();
    !kept.is_sorted()
}

fn splice(range: Range<usize>, text: String) -> Splice {
    Splice { range, text }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |n| n + 1)
}

/// The indentation, if nothing else stands before a place on its line.
fn own_line(text: &str, at: usize) -> Option<&str> {
    let before = &text[line_start(text, at)..at];
    before.trim().is_empty().then_some(before)
}

fn white_before(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches([' ', '\t', '\r', '\n']).len()
}

/// The end of the comment that follows on the same line, or the place itself.
fn end_of_comment(text: &str, at: usize, limit: usize) -> usize {
    let line = text[at..limit].split('\n').next().unwrap_or_default();
    match line.trim_start().starts_with('#') {
        true => at + line.trim_end().len(),
        false => at,
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
