//! What an answer of a backend means, and how long to wait before the next try.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use reqwest::StatusCode;

/// A backend is not asked again for at most this long because it said so.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The backend has it.
    Arrived,
    /// The backend does not know the session.
    Missing,
    /// The backend does not take this token.
    Refused(String),
    /// It is worth another try, not before this time if the backend said one.
    Later(String, Option<Duration>),
    /// The backend will never take it.
    Never(String),
}

/// What an answer means.
///
/// A redirect is not followed, because it would take the token to another place. It is no
/// final answer either: networks that want a log-in first redirect everything.
pub(crate) fn judge(status: StatusCode, retry_after: Option<&str>, now: SystemTime) -> Verdict {
    let told = || format!("the backend answered {status}");
    match status.as_u16() {
        200..=299 | 409 => Verdict::Arrived,
        404 => Verdict::Missing,
        401 | 403 => Verdict::Refused(told()),
        407 | 408 | 425 | 429 => Verdict::Later(told(), wanted_delay(retry_after, now)),
        400..=499 => Verdict::Never(told()),
        _ => Verdict::Later(told(), wanted_delay(retry_after, now)),
    }
}

/// What `Retry-After` asks for: seconds or a date.
fn wanted_delay(header: Option<&str>, now: SystemTime) -> Option<Duration> {
    let text = header?.trim();
    let delay = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_no_number) => {
            let date = jiff::fmt::rfc2822::DateTimeParser::new()
                .parse_timestamp(text)
                .ok()?;
            let now = Timestamp::try_from(now).ok()?;
            now.duration_until(date).try_into().unwrap_or_default()
        }
    };
    Some(delay.min(MAX_RETRY_AFTER))
}

/// How long to wait after this many tries in vain: twice as long each time, up to the
/// longest delay, and between half of that and all of it, so that sessions that failed
/// together do not come back together.
pub(crate) fn backoff(attempts: u32, first: Duration, longest: Duration, random: u32) -> Duration {
    let factor = 2_u32.saturating_pow(attempts.saturating_sub(1));
    let whole = first.saturating_mul(factor).min(longest);
    let half = whole / 2;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judged(status: u16, retry_after: Option<&str>) -> Verdict {
        // 2026-01-01T00:00:00Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        judge(StatusCode::from_u16(status).unwrap(), retry_after, now)
    }

    #[test]
    fn every_answer_has_its_meaning() {
        for status in [200, 201, 202, 204, 409] {
            assert_eq!(judged(status, None), Verdict::Arrived, "{status}");
        }
        assert_eq!(judged(404, None), Verdict::Missing);
        for status in [401, 403] {
            assert!(matches!(judged(status, None), Verdict::Refused(_)));
        }
        for status in [
            301, 302, 304, 307, 308, 407, 408, 425, 429, 500, 502, 503, 504, 599,
        ] {
            assert!(
                matches!(judged(status, None), Verdict::Later(_, None)),
                "{status}"
            );
        }
        for status in [400, 405, 406, 410, 413, 415, 422, 451] {
            let Verdict::Never(why) = judged(status, None) else {
                panic!("{status}");
            };
            assert!(why.contains(&status.to_string()), "{why}");
        }
    }

    #[test]
    fn a_backend_says_when_to_come_back() {
        let delay = |header| match judged(503, Some(header)) {
            Verdict::Later(_, delay) => delay.map(|delay| delay.as_secs()),
            other => panic!("{other:?}"),
        };
        assert_eq!(delay("7"), Some(7));
        assert_eq!(delay(" 7 "), Some(7));
        assert_eq!(delay("Thu, 01 Jan 2026 00:01:00 GMT"), Some(60));
        assert_eq!(delay("Wed, 31 Dec 2025 00:01:00 GMT"), Some(0));
        assert_eq!(delay("18446744073709551615"), Some(3600));
        assert_eq!(delay("Thu, 01 Jan 2099 00:00:00 GMT"), Some(3600));
        for header in ["", "soon", "-1", "1.5", "99999999999999999999999"] {
            assert_eq!(delay(header), None, "{header}");
        }
    }

    proptest! {
        #[test]
        fn delays_grow_and_are_bounded(attempts in 0..200_u32, random: u32) {
            let (first, longest) = (Duration::from_secs(1), Duration::from_secs(300));
            let delay = backoff(attempts, first, longest, random);
            let whole = Duration::from_secs(1 << attempts.saturating_sub(1).min(20)).min(longest);
            prop_assert!(delay >= whole / 2 && delay <= whole, "{delay:?}");
        }

        #[test]
        fn any_header_is_read(header in ".*") {
            if let Verdict::Later(_, Some(delay)) = judged(503, Some(&header)) {
                prop_assert!(delay <= MAX_RETRY_AFTER);
            }
        }
    }
}
