//! What must hold for whatever a model answers: properties for the fuzz targets, each of which
//! does nothing or panics.

use crate::parse::{read_manager, read_memo, read_outcome};
use crate::repair;
use crate::reply::ReplySplitter;

/// An answer is read or refused, and what was read is valid JSON that is read as the same.
pub fn answer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(found) = repair::object(&text, &[]) {
        let again = repair::object(&found.value.to_string(), &[]);
        assert_eq!(again.map(|again| again.value), Ok(found.value));
    }
    let _ = (read_outcome(&text), read_manager(&text), read_memo(&text));
}

/// However a reply is cut, the same is shown of it: from its beginning on, without an outcome.
pub fn reply(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut whole = ReplySplitter::new();
    let mut at_once = whole.push(&text);
    let (rest, tail) = whole.finish();
    at_once.push_str(&rest);
    assert!(tail.is_some() || text.starts_with(&at_once));

    let mut splitter = ReplySplitter::new();
    let mut letter = [0; 4];
    let mut shown = String::new();
    for next in text.chars() {
        shown.push_str(&splitter.push(next.encode_utf8(&mut letter)));
    }
    let (rest, found) = splitter.finish();
    shown.push_str(&rest);
    assert_eq!((shown, found), (at_once, tail));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn properties_hold(data in prop::collection::vec(any::<u8>(), 0..80), text in "[{}\\[\\]\"'`~ajson:,\n -1.e\\\\u]{0,60}") {
            for input in [data.as_slice(), text.as_bytes()] {
                answer(input);
                reply(input);
            }
        }
    }
}
