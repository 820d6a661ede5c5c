//! What was measured, for people and for programs.

use comfy_table::CellAlignment;
use pillion_terminal::output;
use serde::Serialize;

use super::machine::Machine;
use super::rounds::{Duel, Samples, quantile};

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
    #[serde(rename = "times")]
    Count,
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
    /// At least this.
    Least(f64),
    /// Nine of ten at most this.
    P90(f64),
    /// All but one of a hundred at most this.
    P99(f64),
    /// At least so many times the baseline.
    TimesMore(f64),
}

/// What is shown of the slow ones.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tail {
    /// Of calls that are all alike.
    P99,
    /// Of questions that differ.
    P90,
}

/// The numbers of one side.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Figure {
    pub(super) p50: f64,
    /// Only where there are enough samples to speak of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p90: Option<f64>,
    /// The same.
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
        let tail = |least, q| (values.len() >= least).then(|| quantile(values, q));
        Self {
            p50: quantile(values, 0.5),
            p90: tail(10, 0.9),
            p99: tail(100, 0.99),
            samples: values.len(),
        }
    }

    /// Of one number that was made of so many samples.
    pub(super) fn single(value: f64, samples: usize) -> Self {
        Self {
            p50: value,
            p90: None,
            p99: None,
            samples,
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

    /// Add what it is compared with.
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

    /// Add what pillion promises about it.
    pub(super) fn budget(mut self, budget: Budget) -> Self {
        let baseline = self.baseline.as_ref().map_or(0.0, |b| b.figure.p50);
        let (ours, show) = (self.ours, |value| self.unit.show(value));
        let (text, met) = match budget {
            Budget::Times(times) => (format!("≤ {times}x"), ours.p50 <= baseline * times),
            Budget::Most(most) => (format!("≤ {}", show(most)), ours.p50 <= most),
            Budget::Over(over) => (
                format!("≤ baseline + {}", show(over)),
                ours.p50 <= baseline + over,
            ),
            Budget::Least(least) => (format!("≥ {}", show(least)), ours.p50 >= least),
            // Of too few samples there is only the median.
            Budget::P90(most) => (
                format!("p90 ≤ {}", show(most)),
                ours.p90.unwrap_or(ours.p50) <= most,
            ),
            Budget::P99(most) => (
                format!("p99 ≤ {}", show(most)),
                ours.p99.unwrap_or(ours.p50) <= most,
            ),
            Budget::TimesMore(times) => (format!("≥ {times}x"), ours.p50 >= baseline * times),
        };
        self.budget = Some(Verdict { text, met });
        self
    }
}

impl Unit {
    /// A number as people read it.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Micros if value >= 1_000_000.0 => format!("{:.2} s", value / 1e6),
            Self::Micros if value >= 10_000.0 => format!("{:.1} ms", value / 1000.0),
            Self::Micros if value >= 1000.0 => format!("{:.2} ms", value / 1000.0),
            Self::Micros => format!("{value:.0} us"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::Rate => format!("{value:.0}/s"),
            Self::Percent => format!("{value:.1} %"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

/// What a soak found.
#[derive(Debug, Serialize)]
pub(super) struct Soak {
    pub(super) calls: u64,
    pub(super) seconds: f64,
    pub(super) calls_per_second: f64,
    /// The calls before growth counts.
    pub(super) warm_up: u64,
    /// After so many calls: resident megabytes of the daemon and of its worker.
    pub(super) samples: Vec<(u64, f64, f64)>,
}

impl Soak {
    /// In one line.
    pub(super) fn line(&self) -> String {
        format!(
            "{} calls in {:.1} s: {:.0} calls/s; growth counts after the first {}",
            self.calls, self.seconds, self.calls_per_second, self.warm_up
        )
    }
}

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) soak: Option<Soak>,
    /// What was asked about, where that is no matter of course.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<String>,
    #[serde(skip)]
    pub(super) tail: Tail,
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
        if let Some(subject) = &self.subject {
            output::say(subject);
        }
        let tail = match self.tail {
            Tail::P99 => "ours p99",
            Tail::P90 => "ours p90",
        };
        let mut table = pillion_catalogue::text::table([
            "what", "ours p50", tail, "baseline", "p50", "ratio", "budget", "ok?",
        ]);
        for row in &self.rows {
            table.add_row(cells(row, self.tail));
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

fn cells(row: &Row, tail: Tail) -> [String; 8] {
    let show = |value: f64| row.unit.show(value);
    let baseline = row.baseline.as_ref();
    let verdict = row.budget.as_ref();
    [
        row.what.clone(),
        show(row.ours.p50),
        match tail {
            Tail::P99 => row.ours.p99.map(show).unwrap_or_default(),
            Tail::P90 => row.ours.p90.map(show).unwrap_or_default(),
        },
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
