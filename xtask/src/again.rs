//! The second try of tests that failed: each runs once more, alone.
//!
//! A test that passes then is unsteady. It does not stop a change that it has nothing to do with,
//! but the summary names it, because an unsteady test, or what it tests, wants mending. More than
//! a few failures are no bad luck, and are not tried again.

use crate::error::{Error, Result};
use crate::run::Run;
use crate::tally::Tally;

/// How many tests may fail in a run and still be tried again.
const MOST: usize = 3;

/// Run all tests with `first`, and those that fail once more with what `alone` makes of their
/// names, unless the caller wants to see every failure.
pub(crate) fn with_second_try(
    tally: &mut Tally,
    steady: bool,
    first: Run,
    alone: impl FnOnce(&[String]) -> Result<Run>,
) -> Result<()> {
    let mut seen = Tally::default();
    let outcome = first.watch(|line| seen.see(line));
    let failed = seen.failures();
    tally.add(&seen);
    // A program that crashed, or did not compile, names fewer failures than there were.
    let all_named = !failed.is_empty() && failed.len() as u64 == seen.failed;
    let Err(error) = outcome else {
        return Ok(());
    };
    if steady || !all_named || failed.len() > MOST {
        return Err(error);
    }
    println!("\n{} failed; tried again, alone:", plural(failed.len()));
    let mut second = Tally::default();
    alone(&failed)?.watch(|line| second.see(line))?;
    if second.passed < failed.len() as u64 {
        return Err(Error::new("not every test that failed was found again"));
    }
    tally.unsteady(failed);
    Ok(())
}

fn plural(tests: usize) -> String {
    match tests {
        1 => "one test".to_owned(),
        n => format!("{n} tests"),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const FAILED: &str = "echo test a::b ... FAILED
echo 'test result: FAILED. 4 passed; 1 failed; 0 ignored; finished in 1.00s'
exit 101";
    const PASSED: &str = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored; finished in 1.00s'";

    fn shell(script: &str) -> Run {
        Run::new("sh").args(["-c", script])
    }

    fn run(steady: bool, first: &str, second: &str) -> (Result<()>, Tally, Vec<String>) {
        let (mut tally, mut again) = (Tally::default(), Vec::new());
        let outcome = with_second_try(&mut tally, steady, shell(first), |names| {
            again = names.to_vec();
            Ok(shell(second))
        });
        (outcome, tally, again)
    }

    #[test]
    fn what_fails_is_run_again_and_named() {
        let (outcome, tally, again) = run(false, FAILED, PASSED);
        assert_eq!(outcome, Ok(()));
        assert_eq!(again, ["a::b"]);
        assert_eq!(
            tally.to_string(),
            "5 passed, 0 failed, 0 skipped, 1 only when run again"
        );
    }

    #[test]
    fn what_fails_again_has_failed() {
        for second in [FAILED, "true", "exit 1"] {
            let (outcome, tally, again) = run(false, FAILED, second);
            assert!(outcome.is_err(), "{second}");
            assert_eq!((tally.failed, again.len()), (1, 1));
        }
    }

    #[test]
    fn what_is_no_bad_luck_is_not_tried_again() {
        let crashed = "echo 'test a::b ... ok'; kill -9 $$";
        let many = "for i in 1 2 3 4; do echo test a::b$i ... FAILED; done
echo 'test result: FAILED. 0 passed; 4 failed; 0 ignored; finished in 1.00s'; exit 101";
        let unnamed = "echo test a::b ... FAILED
echo 'test result: FAILED. 0 passed; 2 failed; 0 ignored; finished in 1.00s'; exit 101";
        for first in [crashed, many, unnamed] {
            let (outcome, _, again) = run(false, first, PASSED);
            assert!(outcome.is_err() && again.is_empty(), "{first}");
        }
        let (outcome, tally, again) = run(true, FAILED, PASSED);
        assert!(outcome.is_err() && again.is_empty());
        assert_eq!(tally.failed, 1);
    }
}
