//! A result that fits into the store: what is too much is left out, and said to be.

use pillion_catalogue::{Error, Result};
use pillion_lanes::Reply;
use pillion_sandbox::LeftOut;
use pillion_store::MAX_RESULT_BYTES;
use serde_json::value::{RawValue, to_raw_value};

/// What stays of a text that is too long.
const TEXT: usize = 64 << 10;

/// The result of a job, as it is kept.
pub(crate) fn fit(mut reply: Reply) -> Result<Box<RawValue>> {
    for step in [outputs, value, printed] {
        let kept = to_raw_value(&reply).map_err(Error::internal)?;
        if kept.get().len() <= MAX_RESULT_BYTES {
            return Ok(kept);
        }
        step(&mut reply);
    }
    to_raw_value(&reply).map_err(Error::internal)
}

fn outputs(reply: &mut Reply) {
    for file in reply.outputs.drain(..) {
        reply.outputs_left_out.push(LeftOut {
            name: file.name,
            why: "too large for the result of a job".to_owned(),
        });
    }
}

fn value(reply: &mut Reply) {
    if let Some(value) = reply.value.take() {
        reply.value_repr = Some(cut(value.get()));
        reply.truncated = true;
    } else if let Some(repr) = &mut reply.value_repr {
        *repr = cut(repr);
    }
    if let Some(exception) = &mut reply.exception {
        exception.message = cut(&exception.message);
    }
}

fn printed(reply: &mut Reply) {
    reply.stdout = cut(&reply.stdout);
    reply.stderr = cut(&reply.stderr);
    reply.truncated = true;
}

fn cut(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(TEXT);
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}\n... {} bytes left out ...\n", text.len() - end)
}

#[cfg(test)]
mod tests {
    use pillion_catalogue::Code;
    use pillion_lanes::{FileOut, Lane, RunOutcome};

    use super::*;

    #[test]
    fn the_largest_result_fits_and_says_what_is_missing() {
        let mut reply = Reply::never_ran(Lane::User, &Error::new(Code::Busy, "x"));
        reply.stdout = "\0".repeat(600_000);
        reply.stderr = "\u{1}".repeat(600_000);
        reply.outputs = vec![FileOut::new("big.bin".into(), vec![0xff; 5_000_000])];
        let number = "1".repeat(5_000_000);
        reply.value = Some(RawValue::from_string(number).unwrap());
        let kept = fit(reply).unwrap();
        assert!(kept.get().len() <= MAX_RESULT_BYTES);
        let kept: Reply = serde_json::from_str(kept.get()).unwrap();
        assert!(kept.truncated && kept.outputs.is_empty());
        assert_eq!(kept.outputs_left_out[0].name, "big.bin");
        assert_eq!(kept.outcome, RunOutcome::StartFailed);
        assert!(kept.stdout.contains("bytes left out"));
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let mut reply = Reply::never_ran(Lane::User, &Error::new(Code::Busy, "x"));
        reply.outputs = vec![FileOut::new("a.txt".into(), b"hi".to_vec())];
        let kept: Reply = serde_json::from_str(fit(reply).unwrap().get()).unwrap();
        assert_eq!(kept.outputs[0].text.as_deref(), Some("hi"));
        assert!(!kept.truncated);
    }
}
