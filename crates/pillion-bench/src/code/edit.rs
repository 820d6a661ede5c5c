//! A line is rewritten and asked about at once: how long it takes, and whether the answer
//! is ever about the line as it was before.

use std::fs;
use std::time::Duration;

use pillion_catalogue::{Error, Result};
use serde_json::Value;

use super::super::report::{Budget, Figure, Row, Unit};
use super::super::stage::cannot;
use super::super::wire::Wire;
use super::jedi::{self, Jedi};
use super::sample::Question;
use super::{Set, ask, asked, micros};

/// A name that no tree has.
const NAME: &str = "pillion_bench_edited";
/// Jedi is asked after each of so many edits.
const JEDI_EVERY: usize = 10;
const JEDI_TIMEOUT: Duration = Duration::from_secs(20);

/// The end of a file, in which one line is rewritten.
struct Edited<'a> {
    set: &'a Set<'a>,
    file: String,
    text: String,
    /// The line that is rewritten, from 1.
    line: u32,
}

impl<'a> Edited<'a> {
    fn new(set: &'a Set<'a>) -> Result<Self> {
        // A common name is defined there, so that much depends on it.
        let common = set.questions.refs.last();
        let file = &common.ok_or_else(|| Error::internal("no questions"))?.file;
        let file = file.clone();
        let mut text = fs::read_to_string(set.root.join(&file)).map_err(|e| cannot(&e))?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let line = u32::try_from(text.lines().count() + 1).map_err(Error::internal)?;
        Ok(Self {
            set,
            file,
            text,
            line,
        })
    }

    /// Rewrite the line; gives the column at which the name now stands.
    fn rewrite(&self, n: usize) -> Result<u32> {
        let before = "x".repeat(1 + n % 50);
        let text = format!("{}{before} = {NAME} = {n}\n{NAME}\n", self.text);
        fs::write(self.set.root.join(&self.file), text).map_err(|error| cannot(&error))?;
        u32::try_from(before.len() + 4).map_err(Error::internal)
    }

    /// The place below the line, where the name is used.
    fn question(&self) -> Question {
        Question {
            file: self.file.clone(),
            line: self.line + 1,
            col: 1,
            name: NAME.to_owned(),
        }
    }

    /// Ask where the name is defined; gives the seconds it took and whether it was said
    /// to stand where it does now.
    fn ask(&self, wire: &mut Wire, column: u32) -> Result<(f64, bool)> {
        let message = self.set.about("code.defs", &self.question());
        let (took, answer) = asked(wire, &message)?;
        let answer: Value = serde_json::from_slice(answer).map_err(Error::internal)?;
        let place = &answer["result"]["locations"][0];
        Ok((
            took,
            place["line"] == self.line && place["column"] == column,
        ))
    }
}

pub(super) async fn rows(set: &Set<'_>) -> Result<Vec<Row>> {
    set.plan.tell("edit, then ask");
    let (daemon, mut wire) = set.warm_daemon("e.sock")?;
    let mut jedi = Jedi::start(set)?;
    let edited = Edited::new(set)?;
    let elsewhere: Vec<_> = set
        .questions
        .defs
        .iter()
        .filter(|q| q.file != edited.file)
        .collect();
    let (mut ours, mut others, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let mut stale = 0_usize;
    let edits = set.plan.samples(1000, 20);
    edited.rewrite(0)?;
    jedi.ask(set, "defs", &edited.question(), JEDI_TIMEOUT)?;
    for n in 1..=edits {
        let column = edited.rewrite(n)?;
        let (took, is_fresh) = edited.ask(&mut wire, column)?;
        ours.push(took);
        stale += usize::from(!is_fresh);
        if let Some(question) = elsewhere.get(n % elsewhere.len().max(1)) {
            others.push(ask(&mut wire, &set.about("code.defs", question))?);
        }
        if n % JEDI_EVERY == 0 {
            theirs.push(jedi.ask(set, "defs", &edited.question(), JEDI_TIMEOUT)?);
        }
    }
    drop(wire);
    daemon.stop().await;
    jedi.stop().await;
    let times = |name, what, seconds: &[f64]| {
        Row::new(name, what, Unit::Micros, Figure::of(&micros(seconds)))
    };
    let mut rows = vec![
        times("edit/same", "edit a line, ask about it", &ours)
            .against(jedi::SERVER, Figure::of(&micros(&theirs))),
        times("edit/elsewhere", "then ask about another file", &others),
        Row::new(
            "edit/stale",
            &format!("stale answers after {edits} edits"),
            Unit::Count,
            Figure::single(stale as f64, edits),
        )
        .budget(Budget::Most(0.0)),
    ];
    rows.retain(|row| set.plan.wants(&row.name));
    Ok(rows)
}
