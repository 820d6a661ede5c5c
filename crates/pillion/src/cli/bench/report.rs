//! What was measured, for people and for programs.

use std::fs;

use comfy_table::CellAlignment;
use pillion_runtime::Interpreter;
use serde::Serialize;

use super::super::{output, render};
use super::rounds::{Duel, Samples};

/// What the numbers of a row count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Unit {
    #[serde(rename = "us")]
    Micros,
    #[serde(rename = "MB")]
    Megabytes,
    #[serde(rename = "calls/s")]
    Rate,
    #[serde(rename = "%")]
    Percent,
}

/// What pillion promises.
#[derive(Debug, Clone, Copy)]
pub(super) enum Budget {
    /// At most so many times the baseline.
    Times(f64),
    /// At most this.
    Most(f64),
    /// At most the baseline and this.
    Over(f64),
}

/// The numbers of one side.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Figure {
    pub(super) p50: f64,
    /// Only where there are enough samples to speak of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p99: Option<f64>,
    pub(super) samples: usize,
}

/// The other side of a comparison.
#[derive(Debug, Serialize)]
pub(super) struct Baseline {
    pub(super) name: &'static str,
    #[serde(flatten)]
    pub(super) figure: Figure,
}

/// How a row stands to its budget.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) text: String,
    pub(super) met: bool,
}

/// One line of the table.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) what: String,
    pub(super) unit: Unit,
    pub(super) ours: Figure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) baseline: Option<Baseline>,
    /// Ours over the baseline's: below 1 is faster or smaller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ratio: Option<f64>,
    /// The ratio's quartiles over the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spread: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<Verdict>,
}

impl Figure {
    /// Of samples in the unit of the row.
    pub(super) fn of(values: &[f64]) -> Self {
        let p99 = (values.len() >= 100).then(|| super::rounds::quantile(values, 0.99));
        Self {
            p50: super::rounds::quantile(values, 0.5),
            p99,
            samples: values.len(),
        }
    }

    fn times(samples: &Samples) -> Self {
        let micros: Vec<_> = samples.seconds.iter().map(|s| s * 1e6).collect();
        Self::of(&micros)
    }
}

impl Row {
    /// A row without comparison.
    pub(super) fn new(name: &str, what: &str, unit: Unit, ours: Figure) -> Self {
        Self {
            name: name.to_owned(),
            what: what.to_owned(),
            unit,
            ours,
            baseline: None,
            ratio: None,
            spread: None,
            budget: None,
        }
    }

    /// And what it is compared with.
    pub(super) fn against(mut self, name: &'static str, figure: Figure) -> Self {
        self.ratio = (figure.p50 > 0.0).then(|| self.ours.p50 / figure.p50);
        self.baseline = Some(Baseline { name, figure });
        self
    }

    /// The times of a duel.
    pub(super) fn times(name: &str, what: &str, baseline: &'static str, duel: &Duel) -> Self {
        let mut row = Self::new(name, what, Unit::Micros, Figure::times(&duel.ours))
            .against(baseline, Figure::times(&duel.baseline));
        row.spread = Some(duel.spread());
        row
    }

    /// The throughput of a duel.
    pub(super) fn rates(name: &str, what: &str, baseline: &'static str, duel: &Duel) -> Self {
        let rate = |samples: &Samples| Figure {
            samples: samples.seconds.len(),
            ..Figure::of(&samples.rates)
        };
        Self::new(name, what, Unit::Rate, rate(&duel.ours)).against(baseline, rate(&duel.baseline))
    }

    /// And what pillion promises about it.
    pub(super) fn budget(mut self, budget: Budget) -> Self {
        let baseline = self.baseline.as_ref().map_or(0.0, |b| b.figure.p50);
        let (text, limit) = match budget {
            Budget::Times(times) => (format!("≤ {times}x"), baseline * times),
            Budget::Most(most) => (format!("≤ {}", self.unit.show(most)), most),
            Budget::Over(over) => (
                format!("≤ baseline + {}", self.unit.show(over)),
                baseline + over,
            ),
        };
        let met = self.ours.p50 <= limit;
        self.budget = Some(Verdict { text, met });
        self
    }
}

impl Unit {
    /// A number as people read it.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Micros if value >= 10_000.0 => format!("{:.1} ms", value / 1000.0),
            Self::Micros if value >= 1000.0 => format!("{:.2} ms", value / 1000.0),
            Self::Micros => format!("{value:.0} us"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::Rate => format!("{value:.0}/s"),
            Self::Percent => format!("{value:.1} %"),
        }
    }
}

/// The machine, without which no number means anything.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    python: String,
    pillion: &'static str,
    /// Over the last minute, before the bench: what else there was to do.
    load: String,
}

impl Machine {
    /// This one.
    pub(super) fn new(interpreter: &Interpreter) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo")
            .lines()
            .find_map(|line| {
                Some(
                    line.strip_prefix("model name")?
                        .split_once(':')?
                        .1
                        .trim()
                        .to_owned(),
                )
            })
            .unwrap_or_else(|| std::env::consts::ARCH.into());
        Self {
            cpu,
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            python: interpreter.version.to_string(),
            pillion: pillion::VERSION,
            load: read("/proc/loadavg")
                .split_whitespace()
                .next()
                .unwrap_or("?")
                .to_owned(),
        }
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        format!(
            "{}, {} cores, Linux {}, Python {}, pillion {}{}; load {} before",
            self.cpu,
            self.cores,
            self.kernel,
            self.python,
            self.pillion,
            if cfg!(debug_assertions) {
                " (debug build)"
            } else {
                ""
            },
            self.load,
        )
    }
}

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) soak: Option<super::soak::Soak>,
}

impl Report {
    /// Whether every budget was kept.
    pub(super) fn all_met(&self) -> bool {
        let verdicts = self.rows.iter().filter_map(|row| row.budget.as_ref());
        verdicts.into_iter().all(|verdict| verdict.met)
    }

    /// Show it.
    pub(super) fn show(&self, json: bool) {
        if json {
            return output::say_json(&serde_json::to_string(self).unwrap_or_default());
        }
        output::say(&self.machine.line());
        let mut table = render::table([
            "what", "ours p50", "ours p99", "baseline", "p50", "ratio", "budget", "ok?",
        ]);
        for row in &self.rows {
            table.add_row(cells(row));
        }
        for (column, side) in [(1, CellAlignment::Right), (3, CellAlignment::Left)] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(side);
            }
        }
        output::say(&table.to_string());
        if let Some(soak) = &self.soak {
            output::say(&soak.line());
        }
    }
}

fn cells(row: &Row) -> [String; 8] {
    let show = |value: f64| row.unit.show(value);
    let baseline = row.baseline.as_ref();
    let verdict = row.budget.as_ref();
    [
        row.what.clone(),
        show(row.ours.p50),
        row.ours.p99.map(show).unwrap_or_default(),
        baseline.map(|b| b.name.to_owned()).unwrap_or_default(),
        baseline.map(|b| show(b.figure.p50)).unwrap_or_default(),
        row.ratio.map(|r| format!("{r:.2}")).unwrap_or_default(),
        verdict.map(|v| v.text.clone()).unwrap_or_default(),
        verdict
            .map(|v| if v.met { "yes" } else { "NO" })
            .unwrap_or_default()
            .to_owned(),
    ]
}
