//! Answers that would flood a model: cut to head and tail, with the whole kept for a while.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::{Code, Error, Result};
use serde::Serialize;

/// Bytes of kept outputs together; then the oldest go.
const MAX_KEPT: usize = 64 << 20;
/// Kept outputs.
const MAX_COUNT: usize = 256;
/// Of what is shown of a cut output, this part is its head.
const HEAD: (usize, usize) = (3, 4);
/// The most that can be fetched at once.
const MAX_PAGE: usize = 256 << 10;

/// Whole outputs by handle, the oldest first.
pub(super) struct Outputs {
    kept: Mutex<VecDeque<(String, Arc<str>)>>,
    /// Tells the handles of this process from those of an earlier one.
    process: u64,
}

/// What was left out of an answer, and how to get it.
#[derive(Debug, Serialize)]
pub(super) struct Cut {
    /// Name of the whole for `fetch_output` and `pillion://output/`.
    pub(super) handle: String,
    /// Bytes of the whole.
    pub(super) bytes: usize,
    /// Bytes that are shown of its beginning.
    pub(super) head: usize,
    /// Bytes that are shown of its end.
    pub(super) tail: usize,
}

/// A part of a kept output.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// Where to go on, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_offset: Option<usize>,
}

impl Outputs {
    pub(super) fn new() -> Self {
        Self {
            kept: Mutex::default(),
            process: RandomState::new().hash_one(std::process::id()),
        }
    }

    /// Cut a text that is longer than `max`: what to show of it, and what is to be known.
    pub(super) fn cut(&self, text: &str, max: usize) -> Option<(String, Cut)> {
        if text.len() <= max {
            return None;
        }
        let head = text.floor_char_boundary(max / HEAD.1 * HEAD.0);
        let tail = text.ceil_char_boundary(text.len() - (max - head));
        let cut = Cut {
            handle: self.keep(text),
            bytes: text.len(),
            head,
            tail: text.len() - tail,
        };
        let shown = format!(
            "{}\n[... {} of {} bytes are left out here. Ask for less, or go on with fetch_output {{\"handle\": \"{handle}\", \"offset\": {head}}} or the resource pillion://output/{handle}?offset={head} ...]\n{}",
            &text[..head],
            tail - head,
            cut.bytes,
            &text[tail..],
            handle = cut.handle,
        );
        Some((shown, cut))
    }

    /// A part of a kept output, cut between characters.
    pub(super) fn page(&self, handle: &str, offset: usize, limit: usize) -> Result<Page> {
        let text = self.find(handle)?;
        let start = text.ceil_char_boundary(offset.min(text.len()));
        let end = (start + limit.clamp(4, MAX_PAGE)).min(text.len());
        let end = text.floor_char_boundary(end);
        Ok(Page {
            text: text[start..end].to_owned(),
            offset: start,
            bytes: text.len(),
            next_offset: (end < text.len()).then_some(end),
        })
    }

    fn keep(&self, text: &str) -> String {
        let mut kept = self.kept();
        let number = kept.back().map_or(0, |(last, _)| serial(last) + 1);
        let handle = format!("{:08x}-{number}", self.process as u32);
        kept.push_back((handle.clone(), text.into()));
        // The newest stays, however large it is: it was just promised.
        while kept.len() > 1
            && (kept.len() > MAX_COUNT
                || kept.iter().map(|(_, text)| text.len()).sum::<usize>() > MAX_KEPT)
        {
            kept.pop_front();
        }
        handle
    }

    fn find(&self, handle: &str) -> Result<Arc<str>> {
        let kept = self.kept();
        let found = kept.iter().find(|(name, _)| name == handle);
        found.map(|(_, text)| Arc::clone(text)).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("there is no kept output `{handle}`"),
            )
            .hint("old outputs are dropped; call the tool again, and ask for less if you can")
        })
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(String, Arc<str>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of a handle of ours.
fn serial(handle: &str) -> u64 {
    handle
        .rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_can_be_fetched_whole() {
        let outputs = Outputs::new();
        let text: String = (0..5_000).map(|n| format!("{n}ü ")).collect();
        assert!(outputs.cut(&text, text.len()).is_none());
        let (shown, cut) = outputs.cut(&text, 1_000).unwrap();
        assert!(shown.len() < 1_400 && shown.contains(&cut.handle));
        assert!(shown.starts_with("0ü 1ü ") && shown.ends_with("4999ü "));
        assert!(cut.head + cut.tail <= 1_000 && cut.bytes == text.len());
        let (mut whole, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let page = outputs.page(&cut.handle, at, 777).unwrap();
            whole += &page.text;
            offset = page.next_offset;
        }
        assert_eq!(whole, text);
        let past = outputs.page(&cut.handle, usize::MAX, usize::MAX).unwrap();
        assert_eq!((past.text.as_str(), past.next_offset), ("", None));
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes() {
        let outputs = Outputs::new();
        let first = outputs.cut("xxxxx", 4).unwrap().1.handle;
        for _ in 0..MAX_COUNT {
            outputs.cut("yyyyy", 4).unwrap();
        }
        let error = outputs.page(&first, 0, 10).unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert_eq!(outputs.kept().len(), MAX_COUNT);
        let large = outputs.cut(&"z".repeat(MAX_KEPT + 1), 4).unwrap().1.handle;
        assert_eq!(outputs.kept().len(), 1);
        assert!(outputs.page(&large, 0, 10).is_ok());
    }
}
