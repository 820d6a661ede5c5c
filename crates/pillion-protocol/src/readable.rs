//! JSON that every Python can read.
//!
//! A program in Python cannot read what is nested too deeply, nor integers with too many
//! digits, and says so without the id of the request that it could not read, if it says
//! anything. What is handed to such programs is looked at before.

use crate::{Code, Error};

/// Levels of arrays and objects. Python gives up a little before 1,000.
pub const MAX_DEPTH: usize = 900;
/// Digits of an integer: Python's own limit.
pub const MAX_DIGITS: usize = 4300;

/// Whether every Python can read this JSON; what is wrong with it is the caller's.
pub fn check(json: &str) -> Result<(), Error> {
    let (mut depth, mut deepest, mut longest) = (0_usize, 0, 0);
    let mut bytes = json.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
                    if byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            b'0'..=b'9' => {
                let (mut digits, mut is_whole) = (1, true);
                let part = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
                while let Some(byte) = bytes.next_if(part) {
                    digits += 1;
                    is_whole &= byte.is_ascii_digit();
                }
                if is_whole {
                    longest = longest.max(digits);
                }
            }
            _ => {}
        }
    }
    if deepest > MAX_DEPTH {
        return Err(too_much(
            &format!("they are nested {deepest} levels deep"),
            MAX_DEPTH,
        ));
    }
    if longest > MAX_DIGITS {
        return Err(too_much(
            &format!("an integer has {longest} digits"),
            MAX_DIGITS,
        ));
    }
    Ok(())
}

fn too_much(what: &str, limit: usize) -> Error {
    Error::new(
        Code::InvalidParams,
        format!("the arguments cannot be read by Python: {what}"),
    )
    .hint(format!(
        "{limit} is the most; send it as text, or in a file"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_depth_and_digits_count() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(check(&nested(MAX_DEPTH)).is_ok());
        assert!(check(&nested(MAX_DEPTH + 1)).is_err());
        let wide = format!("[{}]", vec!["[1]"; 5_000].join(","));
        assert!(check(&wide).is_ok());
        assert!(check(&"7".repeat(MAX_DIGITS)).is_ok());
        let error = check(&format!("[-{}]", "7".repeat(MAX_DIGITS + 1))).unwrap_err();
        assert_eq!(error.code, Code::InvalidParams);
        assert!(
            check(&format!("0.{}", "7".repeat(5_000))).is_ok(),
            "no integer"
        );
        let text = format!("\"{}\\\"{}\"", "[".repeat(5_000), "7".repeat(5_000));
        assert!(check(&text).is_ok(), "text");
    }
}
