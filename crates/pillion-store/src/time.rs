//! Moments as text: RFC 3339 in UTC with milliseconds, so that text order is time order.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// This moment.
pub(crate) fn now() -> String {
    text(Timestamp::now())
}

/// The moment that long ago; the beginning of time if that is longer ago.
pub(crate) fn ago(age: Duration) -> String {
    let before = SignedDuration::try_from(age)
        .ok()
        .and_then(|age| Timestamp::now().checked_sub(age).ok());
    // Years before 1970 would not sort as text, and nothing is that old.
    text(before.unwrap_or_default().max(Timestamp::UNIX_EPOCH))
}

/// This moment, and the one that much later.
pub(crate) fn now_and_in(delay: Duration) -> (String, String) {
    let now = Timestamp::now();
    let later = SignedDuration::try_from(delay)
        .ok()
        .and_then(|delay| now.checked_add(delay).ok());
    (text(now), text(later.unwrap_or(now)))
}

/// How long it is from one moment to a later one; nothing if it is not later, or if one of
/// them is no moment.
pub(crate) fn between(from: &str, to: &str) -> Duration {
    let (Ok(from), Ok(to)) = (from.parse::<Timestamp>(), to.parse()) else {
        return Duration::ZERO;
    };
    from.duration_until(to).try_into().unwrap_or_default()
}

/// This moment as a part of a file's name.
pub(crate) fn for_name() -> String {
    now().replace([':', '-'], "")
}

fn text(moment: Timestamp) -> String {
    format!("{moment:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_exactly_milliseconds() {
        let at = |millis| text(Timestamp::from_millisecond(millis).unwrap());
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(1_700_000_000_120), "2023-11-14T22:13:20.120Z");
    }

    #[test]
    fn earlier_is_smaller_however_long_ago() {
        assert!(ago(Duration::from_secs(60)) < now());
        assert_eq!(ago(Duration::MAX), "1970-01-01T00:00:00.000Z");
    }
}
