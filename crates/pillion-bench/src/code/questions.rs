//! Definitions, hovers and references over the socket: asked for the first time, and
//! again.

use std::time::Duration;

use pillion_catalogue::{Error, Result};

use super::super::report::{Budget, Figure, Row, Unit};
use super::super::rounds::Duel;
use super::super::wire::Wire;
use super::jedi::{self, Jedi};
use super::sample::Question;
use super::turns::turns;
use super::{Set, ask, asked, micros};

/// After so long Jedi is not waited for any more; then that counts.
const JEDI_TIMEOUT: Duration = Duration::from_secs(20);
const PATIENT: &str = "Jedi server, 20 s at most";
/// Questions of each side in a round.
const ROUND: usize = 5;
/// How often pillion is asked again, for each time that Jedi is.
const AGAIN: usize = 5;
/// How an answer without any place is written.
const NOTHING: &[u8] = br#""locations":[]"#;
const ONE_SHOT: Duration = Duration::from_secs(120);

/// One sort of question.
struct Sort<'a> {
    /// As rows are called.
    name: &'static str,
    /// As people call it.
    what: &'static str,
    questions: &'a [Question],
    /// Whether Jedi is asked but one of each round: it takes that long.
    is_slow: bool,
    budget: Option<Budget>,
}

pub(super) async fn rows(set: &Set<'_>) -> Result<Vec<Row>> {
    let asked = &set.questions;
    let sorts = [
        Sort {
            name: "defs",
            what: "definition",
            questions: &asked.defs,
            is_slow: false,
            budget: Some(Budget::Most(3_000.0)),
        },
        Sort {
            name: "hover",
            what: "hover",
            questions: &asked.hover,
            is_slow: false,
            budget: None,
        },
        Sort {
            name: "refs",
            what: "references",
            questions: &asked.refs,
            is_slow: true,
            budget: Some(Budget::Most(150_000.0)),
        },
    ];
    let (daemon, mut wire) = set.warm_daemon("q.sock")?;
    let mut jedi = Jedi::start(set)?;
    for question in &asked.warm_up {
        jedi.ask(set, "defs", question, JEDI_TIMEOUT)?;
    }
    let mut rows = Vec::new();
    for sort in sorts.iter().filter(|sort| set.plan.wants_any(sort.name)) {
        rows.extend(both(set, sort, &mut wire, &mut jedi)?);
        if sort.name == "defs" && set.plan.wants("defs/one-shot") {
            rows.push(Box::pin(one_shot(set, &mut wire)).await?);
        }
    }
    drop(wire);
    daemon.stop().await;
    jedi.stop().await;
    Ok(rows)
}

/// The first time, and again; for definitions also how many were found.
fn both(set: &Set<'_>, sort: &Sort<'_>, wire: &mut Wire, jedi: &mut Jedi) -> Result<Vec<Row>> {
    let (name, what) = (sort.name, sort.what);
    set.plan.tell(&format!("{what}, new"));
    jedi.found = 0;
    let (new, ours) = contest(set, sort, wire, jedi, 1)?;
    let theirs = jedi.found;
    set.plan.tell(&format!("{what}, asked again"));
    let (again, _) = contest(set, sort, wire, jedi, AGAIN)?;
    let baseline = if sort.is_slow { PATIENT } else { jedi::SERVER };
    let row = |end: &str, what: &str, duel: &Duel| {
        Row::times(
            &format!("{name}/{end}"),
            &format!("{}, {what}", sort.what),
            baseline,
            duel,
        )
    };
    let mut rows = vec![row("new", "new", &new)];
    let warm = row("warm", "asked again", &again);
    let slow = Row::new("defs/warm/p90", &warm.what, warm.unit, warm.ours);
    rows.push(match sort.budget {
        Some(budget) => warm.budget(budget),
        None => warm,
    });
    if name == "defs" {
        let all = sort.questions.len();
        let what = format!("definitions found, of {all} (more is better)");
        let count = |found: usize| Figure::single(found as f64, all);
        let found = Row::new("defs/found", &what, Unit::Count, count(ours));
        rows.push(found.against(jedi::SERVER, count(theirs)));
        rows.push(slow.budget(Budget::P90(30_000.0)));
    }
    rows.retain(|row| set.plan.wants(&row.name));
    Ok(rows)
}

fn contest(
    set: &Set<'_>,
    sort: &Sort<'_>,
    wire: &mut Wire,
    jedi: &mut Jedi,
    times: usize,
) -> Result<(Duel, usize)> {
    let method = format!("code.{}", sort.name);
    let mut found = 0;
    let mut ours = |some: &[Question]| {
        let mut seconds = Vec::new();
        for question in some {
            let message = set.about(&method, question);
            for _ in 0..times {
                let (took, answer) = asked(wire, &message)?;
                seconds.push(took);
                found += usize::from(!answer.windows(NOTHING.len()).any(|part| part == NOTHING));
            }
        }
        Ok(seconds)
    };
    let mut round = 0;
    let mut theirs = |some: &[Question]| {
        // Each round has names from rare to common: take another sort in each.
        let one = some.get(round % some.len().max(1));
        round += 1;
        let some = if sort.is_slow {
            one.map_or(&[][..], std::slice::from_ref)
        } else {
            some
        };
        let answers = some
            .iter()
            .map(|q| jedi.ask(set, sort.name, q, JEDI_TIMEOUT));
        answers.collect()
    };
    let duel = turns(sort.questions, ROUND, &mut ours, &mut theirs)?;
    Ok((duel, found))
}

/// A warm definition beside what a script without any server does.
async fn one_shot(set: &Set<'_>, wire: &mut Wire) -> Result<Row> {
    let what = "definition, asked again";
    set.plan.tell(what);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for question in set.questions.defs.iter().take(set.plan.samples(10, 1)) {
        let launch = jedi::one_shot(set, question);
        let began = std::time::Instant::now();
        let output = launch.output(ONE_SHOT).await.map_err(Error::internal)?;
        theirs.push(began.elapsed().as_secs_f64());
        if !output.exit.success() {
            return Err(Error::internal(format!(
                "Jedi {}: {}",
                output.exit, output.stderr
            )));
        }
        for _ in 0..AGAIN {
            ours.push(ask(wire, &set.about("code.defs", question))?);
        }
    }
    let ours = Figure::of(&micros(&ours));
    Ok(Row::new("defs/one-shot", what, Unit::Micros, ours)
        .against(jedi::ONE_SHOT, Figure::of(&micros(&theirs))))
}
