//! Measuring two things against each other.
//!
//! Other programs, and the scheduler's mood, move medians by a factor from minute to
//! minute. So both sides take turns in short rounds and meet the same weather; what is
//! compared are the medians over all rounds.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use pillion_catalogue::{Door, Error, Request, Result};
use pillion_engine::Engine;
use pillion_process::Launch;
use serde_json::value::RawValue;

use super::stage::cannot;
use super::wire::Wire;

/// How long a whole program may run.
const PROGRAM: Duration = Duration::from_secs(60);

/// How often, and in how many rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) rounds: usize,
    /// Calls of each side in each round.
    pub(super) calls: usize,
}

impl Effort {
    /// Enough for each of so many callers to have a say.
    pub(super) fn at_least(self, callers: usize) -> Self {
        let least = if callers > 1 { 4 * callers } else { 1 };
        Self {
            calls: self.calls.max(least),
            ..self
        }
    }
}

/// Something that can be asked again and again.
pub(super) enum Subject<'a> {
    /// One caller on one wire.
    One(Wire, Vec<u8>),
    /// Several callers, each with a thread and a wire of its own.
    Crowd(Vec<(Wire, Vec<u8>)>),
    /// One caller that does not wait: as many requests under way as there are messages.
    Window(Wire, Vec<Vec<u8>>),
    /// An engine in this process, asked by so many tasks.
    Engine(&'a Engine, Box<RawValue>, usize),
    /// A whole program, from its start to its end.
    Program(Box<dyn Fn() -> Launch + 'a>),
}

/// What one side did.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Seconds per call.
    pub(super) seconds: Vec<f64>,
    /// Calls per second of each round, all callers together.
    pub(super) rates: Vec<f64>,
    /// The median of each round.
    medians: Vec<f64>,
}

impl Samples {
    /// Add a round.
    pub(super) fn add(&mut self, round: Vec<f64>, wall: Duration) {
        self.rates
            .push(round.len() as f64 / wall.as_secs_f64().max(1e-9));
        self.medians.push(quantile(&round, 0.5));
        self.seconds.extend(round);
    }
}

/// Two sides that took turns.
#[derive(Debug, Default)]
pub(super) struct Duel {
    pub(super) ours: Samples,
    pub(super) baseline: Samples,
}

impl Duel {
    /// Let both take turns, after one round that does not count.
    pub(super) async fn fight<'a>(
        ours: &mut Subject<'a>,
        baseline: &mut Subject<'a>,
        effort: Effort,
    ) -> Result<Self> {
        let mut duel = Self::default();
        let warm = effort.calls.div_ceil(4);
        Box::pin(ours.round(warm)).await?;
        Box::pin(baseline.round(warm)).await?;
        for round in 0..effort.rounds {
            // Neither side always goes first.
            for turn in 0..2 {
                let (subject, samples) = if (round + turn) % 2 == 0 {
                    (&mut *ours, &mut duel.ours)
                } else {
                    (&mut *baseline, &mut duel.baseline)
                };
                let (seconds, wall) = Box::pin(subject.round(effort.calls)).await?;
                samples.add(seconds, wall);
            }
        }
        Ok(duel)
    }

    /// A quarter of the rounds were better than the first, a quarter worse than the second.
    pub(super) fn spread(&self) -> (f64, f64) {
        let ratios: Vec<_> = self
            .ours
            .medians
            .iter()
            .zip(&self.baseline.medians)
            .map(|(ours, baseline)| ours / baseline)
            .collect();
        (quantile(&ratios, 0.25), quantile(&ratios, 0.75))
    }
}

impl Subject<'_> {
    /// Ask `calls` times; gives the seconds of each and the time of all.
    async fn round(&mut self, calls: usize) -> Result<(Vec<f64>, Duration)> {
        let started = Instant::now();
        // Blocking the runtime is right: who answers is another process, and nothing
        // else is to disturb the measurement.
        let seconds = match self {
            Self::One(wire, message) => one(wire, message, calls).map_err(|e| cannot(&e))?,
            Self::Crowd(callers) => crowd(callers, calls).map_err(|e| cannot(&e))?,
            Self::Window(wire, messages) => {
                window(wire, messages, calls).map_err(|e| cannot(&e))?
            }
            Self::Engine(engine, params, callers) => {
                embedded(engine, params, *callers, calls).await?
            }
            Self::Program(launch) => programs(launch, calls).await?,
        };
        Ok((seconds, started.elapsed()))
    }
}

fn one(wire: &mut Wire, message: &[u8], calls: usize) -> io::Result<Vec<f64>> {
    let mut seconds = Vec::with_capacity(calls);
    for _ in 0..calls {
        let asked = Instant::now();
        let answer = wire.ask(message)?;
        seconds.push(asked.elapsed().as_secs_f64());
        check(answer)?;
    }
    Ok(seconds)
}

fn crowd(callers: &mut [(Wire, Vec<u8>)], calls: usize) -> io::Result<Vec<f64>> {
    let each = calls.div_ceil(callers.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = callers
            .iter_mut()
            .map(|(wire, message)| scope.spawn(|| one(wire, message, each)))
            .collect();
        let mut all = Vec::with_capacity(calls);
        for thread in threads {
            let seconds = thread
                .join()
                .map_err(|_| io::Error::other("a caller panicked"))?;
            all.extend(seconds?);
        }
        Ok(all)
    })
}

fn window(wire: &mut Wire, messages: &[Vec<u8>], calls: usize) -> io::Result<Vec<f64>> {
    let mut seconds = Vec::with_capacity(calls);
    // One worker answers in the order of arrival.
    let mut under_way = VecDeque::new();
    let send = |wire: &mut Wire, under_way: &mut VecDeque<Instant>, sent: usize| {
        under_way.push_back(Instant::now());
        wire.send(&messages[sent % messages.len()])
    };
    for sent in 0..messages.len().min(calls) {
        send(wire, &mut under_way, sent)?;
    }
    let mut sent = under_way.len();
    while let Some(asked) = under_way.pop_front() {
        check(wire.receive()?)?;
        seconds.push(asked.elapsed().as_secs_f64());
        if sent < calls {
            send(wire, &mut under_way, sent)?;
            sent += 1;
        }
    }
    Ok(seconds)
}

async fn embedded(
    engine: &Engine,
    params: &RawValue,
    callers: usize,
    calls: usize,
) -> Result<Vec<f64>> {
    let each = calls.div_ceil(callers);
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (engine, params) = (engine.clone(), params.to_owned());
            tokio::spawn(async move {
                let mut seconds = Vec::with_capacity(each);
                for _ in 0..each {
                    let asked = Instant::now();
                    let request = Request::new(Door::Embedded);
                    engine.call_raw("py.call", Some(&params), request).await?;
                    seconds.push(asked.elapsed().as_secs_f64());
                }
                Ok::<_, Error>(seconds)
            })
        })
        .collect();
    let mut all = Vec::with_capacity(calls);
    for task in tasks {
        all.extend(task.await.map_err(Error::internal)??);
    }
    Ok(all)
}

async fn programs(launch: &dyn Fn() -> Launch, calls: usize) -> Result<Vec<f64>> {
    let mut seconds = Vec::with_capacity(calls);
    for _ in 0..calls {
        let launch = launch().unguarded();
        let started = Instant::now();
        let output = launch.output(PROGRAM).await.map_err(Error::internal)?;
        seconds.push(started.elapsed().as_secs_f64());
        if !output.exit.success() {
            return Err(Error::internal(format!(
                "a measured program {}: {}",
                output.exit, output.stderr
            )));
        }
    }
    Ok(seconds)
}

/// An error that comes back fast must not count as a fast answer.
pub(super) fn check(answer: &[u8]) -> io::Result<()> {
    // Past the envelope only data follows, and that has no such key.
    let head = &answer[..answer.len().min(200)];
    let wrong = head.windows(9).any(|word| word == b"\"error\":{")
        || head.windows(7).any(|word| word == b"\"code\":");
    if wrong {
        let text = String::from_utf8_lossy(&answer[..answer.len().min(500)]).into_owned();
        return Err(io::Error::other(format!("a call failed: {text}")));
    }
    Ok(())
}

/// The value that so much of `values` do not exceed; 0 of nothing.
pub(super) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last as f64 * q).round() as usize)
        .copied()
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_little_and_of_nothing() {
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!(quantile(&[3.0], 0.99), 3.0);
        assert_eq!(quantile(&[5.0, 1.0, 3.0], 0.5), 3.0);
        let hundred: Vec<_> = (1..=101).map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.99), 100.0);
    }

    #[test]
    fn a_fast_error_is_no_answer() {
        assert!(check(br#"{"id":1,"result":[1]}"#).is_ok());
        assert!(check(br#"{"jsonrpc":"2.0","error":{"code":-32000},"id":1}"#).is_err());
        assert!(check(br#"{"code":"busy","message":"x"}"#).is_err());
    }
}
