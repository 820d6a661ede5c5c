//! When an attempt is repeated, and after how long: pure.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

/// No wait of ours is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(16);
/// The longest wait that an endpoint asks for and somebody in a conversation waits for.
const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(60);

/// How long to wait before repetition `attempt`, of which 0 is the first and waits for about
/// `first`. `chance` is anything.
///
/// What the endpoint asked for is kept to, with a little more so that not all come back at once.
pub(crate) fn wait(
    first: Duration,
    attempt: u32,
    asked: Option<Duration>,
    chance: u64,
) -> Duration {
    let first = first.min(LONGEST_WAIT);
    let part = f64::from(u32::try_from(chance % 1000).unwrap_or(0)) / 1000.0;
    if let Some(asked) = asked {
        return asked.min(LONGEST_ASKED_WAIT) + first.mul_f64(part / 2.0);
    }
    let longest = first
        .saturating_mul(2_u32.saturating_pow(attempt))
        .min(LONGEST_WAIT);
    longest.mul_f64(0.5 + part / 2.0)
}

/// Whether nobody waits for so long: then it is told instead.
pub(crate) fn is_too_far(asked: Duration) -> bool {
    asked > LONGEST_ASKED_WAIT
}

/// A number that differs from call to call.
pub(crate) fn chance() -> u64 {
    RandomState::new().hash_one(0)
}

/// What `Retry-After` says: seconds, or the date of HTTP.
pub(crate) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(header).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_WAIT: Duration = Duration::from_millis(500);

    #[test]
    fn waits_grow_and_stay_bounded() {
        for chance in [0, 1, 999, u64::MAX] {
            for attempt in 0..40 {
                let waits = wait(FIRST_WAIT, attempt, None, chance);
                assert!(
                    waits >= FIRST_WAIT / 2 && waits <= LONGEST_WAIT,
                    "{waits:?}"
                );
            }
            assert!(wait(FIRST_WAIT, 5, None, chance) > wait(FIRST_WAIT, 0, None, chance));
        }
    }

    #[test]
    fn an_asked_wait_is_kept_to_within_bounds() {
        let two = Duration::from_secs(2);
        assert!(wait(FIRST_WAIT, 0, Some(two), chance()) >= two);
        assert!(wait(FIRST_WAIT, 0, Some(two), chance()) < two * 2);
        let year = Duration::from_secs(31_536_000);
        assert!(wait(FIRST_WAIT, 0, Some(year), chance()) < LONGEST_ASKED_WAIT * 2);
    }

    #[test]
    fn both_forms_of_the_header_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let read = |text| retry_after(text, now).map(|time| time.as_millis());
        assert_eq!(read(" 3 "), Some(3000));
        assert_eq!(read("0.25"), Some(250));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:39 GMT"), Some(2000));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0));
        for bad in ["", "-1", "NaN", "1e300", "soon", "inf"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
