//! Counts the tests of several runners, from what they say at their end.

use crate::error::{Error, Result};

/// How many tests there were.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// Take in a line of a runner's output. Only the closing lines of libtest
    /// (`test result: ok. 3 passed; 0 failed; ...`) and pytest (`3 passed in 0.1s`) count.
    pub(crate) fn see(&mut self, line: &str) {
        let line = line.trim_matches(['=', ' ']);
        let counts = match line.strip_prefix("test result: ") {
            Some(rest) => rest.split_once(". ").map_or("", |(_, counts)| counts),
            None => match line.rsplit_once(" in ") {
                Some((counts, took)) if is_seconds(took) => counts,
                _ => return,
            },
        };
        for count in counts.split([';', ',']) {
            let Some((number, word)) = count.trim().split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match word {
                "passed" => self.passed += number,
                "failed" | "error" | "errors" => self.failed += number,
                "ignored" | "skipped" | "xfailed" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// A test that does not run proves nothing, so skipping one is a failure. On a platform
    /// where it cannot run, it is not compiled.
    pub(crate) fn nothing_skipped(&self) -> Result<()> {
        match self.skipped {
            0 => Ok(()),
            n => Err(Error::new(format!("tests that were skipped: {n}"))
                .hint("a missing component is a failure, not a reason to skip")),
        }
    }
}

/// `1.23s`, or `62.50s (0:01:02)`.
fn is_seconds(text: &str) -> bool {
    let number = text.split(' ').next().and_then(|t| t.strip_suffix('s'));
    number.is_some_and(|number| number.parse::<f64>().is_ok())
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(text: &str) -> (u64, u64, u64) {
        let mut tally = Tally::default();
        text.lines().for_each(|line| tally.see(line));
        (tally.passed, tally.failed, tally.skipped)
    }

    #[test]
    fn libtest_and_pytest_are_understood() {
        let libtest = "\
test frame::tests::headers ... ok
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.05s
test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s";
        assert_eq!(tally(libtest), (16, 2, 1));
        assert_eq!(tally("55 passed in 3.21s"), (55, 0, 0));
        let long = "== 1 failed, 50 passed, 2 skipped, 1 error in 62.50s (0:01:02) ==";
        assert_eq!(tally(long), (50, 2, 2));
    }

    #[test]
    fn other_lines_do_not_count() {
        assert_eq!(
            tally("3 passed\nit came in 3 s\n2 failed in places"),
            (0, 0, 0)
        );
    }
}
