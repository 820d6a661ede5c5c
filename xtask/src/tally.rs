//! Counts the tests of several runners, from what they say at their end, and what tests say
//! that they left out.

use std::collections::BTreeSet;

use crate::error::{Error, Result};

/// How a test begins the line that says what it leaves out here, and why: `skipped: NAME: WHY`.
const LEFT_OUT: &str = "skipped: ";

/// How many tests there were.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// What tests said that they left out: it passed for all that the runner knows.
    left_out: BTreeSet<String>,
    /// The names of those that failed.
    failures: BTreeSet<String>,
    /// Those that failed first, and passed when they were run again.
    unsteady: BTreeSet<String>,
}

impl Tally {
    /// Take in a line of a runner's output. Only the closing lines of libtest
    /// (`test result: ok. 3 passed; 0 failed; ...`) and pytest (`3 passed in 0.1s`) count, the
    /// lines that name a failure, and those of tests that leave something out.
    pub(crate) fn see(&mut self, line: &str) {
        if let Some(what) = line.strip_prefix(LEFT_OUT) {
            self.left_out.insert(what.to_owned());
            return;
        }
        if let Some(name) = failure(line) {
            self.failures.insert(name.to_owned());
            return;
        }
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
    /// where it cannot run, it is not compiled. Only root can do everything: for others, what
    /// tests left out is told in the summary and is no failure.
    pub(crate) fn nothing_skipped(&self, is_root: bool) -> Result<()> {
        let left_out = if is_root { self.left_out.len() } else { 0 };
        match self.skipped + left_out as u64 {
            0 => Ok(()),
            n => Err(Error::new(format!("tests that were skipped: {n}"))
                .hint("a missing component is a failure, not a reason to skip")),
        }
    }

    /// The names of tests that failed.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.iter().cloned().collect()
    }

    /// Count those of another run, too.
    pub(crate) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.left_out.extend(other.left_out.iter().cloned());
    }

    /// These failed, and passed when they were run again.
    pub(crate) fn unsteady(&mut self, tests: Vec<String>) {
        self.failed -= tests.len() as u64;
        self.passed += tests.len() as u64;
        self.unsteady.extend(tests);
    }

    /// The tests that passed only when they were run again.
    pub(crate) fn unsteady_tests(&self) -> impl Iterator<Item = &str> {
        self.unsteady.iter().map(String::as_str)
    }

    /// What tests left out here, a line for each.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = &str> {
        self.left_out.iter().map(String::as_str)
    }
}

/// The test that a line says has failed: `test a::b ... FAILED` of libtest, and
/// `FAILED tests/test_a.py::test_b - why` of pytest.
fn failure(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("FAILED ") {
        return rest.split(" - ").next();
    }
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
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
            left_out,
            failures: _,
            unsteady,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        if !left_out.is_empty() {
            write!(f, ", {} with something left out", left_out.len())?;
        }
        if !unsteady.is_empty() {
            write!(f, ", {} only when run again", unsteady.len())?;
        }
        Ok(())
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
    fn what_tests_leave_out_is_kept_and_fails_for_root() {
        let mut tally = Tally::default();
        tally.see("test result: ok. 2 passed; 0 failed; 0 ignored; finished in 0.05s");
        assert_eq!(tally.nothing_skipped(true), Ok(()));
        for line in [
            "skipped: a::b: only root can",
            "skipped: a::b: only root can",
        ] {
            tally.see(line);
        }
        assert_eq!(
            tally.left_out().collect::<Vec<_>>(),
            ["a::b: only root can"]
        );
        assert_eq!(tally.nothing_skipped(false), Ok(()));
        assert!(tally.nothing_skipped(true).is_err());
        let said = tally.to_string();
        assert_eq!(
            said,
            "2 passed, 0 failed, 0 skipped, 1 with something left out"
        );
    }

    #[test]
    fn failures_have_names() {
        let mut tally = Tally::default();
        for line in [
            "test a::b ... FAILED",
            "test a::c ... ok",
            "FAILED tests/test_a.py::test_b[x] - AssertionError: no - none",
            "FAILED. 1 passed",
        ] {
            tally.see(line);
        }
        assert_eq!(tally.failures(), ["a::b", "tests/test_a.py::test_b[x]"]);
    }

    #[test]
    fn other_lines_do_not_count() {
        assert_eq!(
            tally("3 passed\nit came in 3 s\n2 failed in places"),
            (0, 0, 0)
        );
    }
}
