//! The steps of a task: each is timed, all of them run, and the summary names each.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The steps done so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Done>,
}

#[derive(Debug)]
struct Done {
    name: String,
    took: Duration,
    error: Option<Error>,
}

impl Steps {
    /// Do a step; what it gave, unless it failed.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        println!("\n==> {name}");
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        let (given, error) = match outcome {
            Ok(given) => (Some(given), None),
            Err(error) => {
                println!("{error}");
                (None, Some(error))
            }
        };
        let name = name.to_owned();
        self.done.push(Done { name, took, error });
        given
    }

    /// Do a step that needs what another one gave.
    pub(crate) fn step_with<N, T>(
        &mut self,
        name: &str,
        needed: Option<&N>,
        work: impl FnOnce(&N) -> Result<T>,
    ) -> Option<T> {
        self.step(name, || match needed {
            Some(needed) => work(needed),
            None => Err(Error::new("not run, because a step before it failed")),
        })
    }

    /// Print the summary; an error if a step failed.
    pub(crate) fn finish(self, task: &str) -> Result<()> {
        println!("\n{}", self.summary());
        let failed = self.done.iter().filter(|d| d.error.is_some()).count();
        match failed {
            0 => Ok(()),
            1 => Err(Error::new(format!("`{task}`: one step failed"))),
            n => Err(Error::new(format!("`{task}`: {n} steps failed"))),
        }
    }

    fn summary(&self) -> String {
        let width = self.done.iter().map(|d| d.name.len()).max().unwrap_or(0);
        let line = |done: &Done| {
            let (word, why) = match &done.error {
                None => ("ok", ""),
                Some(error) => ("failed", error.message().lines().next().unwrap_or("")),
            };
            let seconds = done.took.as_secs_f64();
            format!("{word:<6}  {:<width$}  {seconds:>6.1} s  {why}", done.name)
                .trim_end()
                .to_owned()
        };
        self.done.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_run_and_the_summary_names_each() {
        let mut steps = Steps::default();
        let first: Option<u8> = steps.step("first", || Err(Error::new("broken\nin two lines")));
        steps.step_with("second", first.as_ref(), |_| Ok(()));
        steps.step("the third", || Ok(()));
        for done in &mut steps.done {
            done.took = Duration::from_millis(1234);
        }
        let expected = "\
failed  first         1.2 s  broken
failed  second        1.2 s  not run, because a step before it failed
ok      the third     1.2 s";
        assert_eq!(steps.summary(), expected);
        assert!(steps.finish("x").is_err());
    }
}
