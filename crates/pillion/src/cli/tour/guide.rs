//! How the tour looks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::output::{paint, say, say_as_it_is};

static STOPS: AtomicUsize = AtomicUsize::new(1);

/// One stop of the tour.
pub(super) struct Stop;

impl Stop {
    pub(super) fn new(title: &str) -> Self {
        let number = STOPS.fetch_add(1, Ordering::Relaxed);
        say_as_it_is(&format!("\n{}", paint(&format!("{number}. {title}"), "1")));
        Self
    }

    pub(super) fn say(&self, text: &str) {
        say(&format!("   {text}"));
    }

    /// Times beside each other, as bars of their logarithm: they differ by thousands.
    pub(super) fn times(&self, times: &[(&str, Duration)]) {
        for (what, time) in times {
            let micros = time.as_secs_f64() * 1e6;
            let length = (micros.max(1.0).log10() * 6.0) as usize;
            say_as_it_is(&format!(
                "   {what:32} {:>10}  {}",
                millis(*time),
                paint(&"▪".repeat(length), "36")
            ));
        }
        let (Some((_, slowest)), Some((_, fastest))) = (times.first(), times.last()) else {
            return;
        };
        let ratio = slowest.as_secs_f64() / fastest.as_secs_f64().max(1e-9);
        self.say(&format!(
            "that is {ratio:.0} times faster than a fresh Python"
        ));
    }
}

/// A time as people compare it.
pub(super) fn millis(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    match ms {
        0.0..1.0 => format!("{ms:.3} ms"),
        1.0..100.0 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}

pub(super) fn welcome() {
    say("pillion keeps Python already running for other programs. Each step below is a real call.");
}

pub(super) fn farewell() {
    say_as_it_is(&format!("\n{}", paint("Try next", "1")));
    for (command, what) in [
        (
            "pillion call statistics:mean '{\"data\": [1, 2, 3]}'",
            "any function of any module",
        ),
        (
            "pillion symbols main",
            "definitions in your own project, by a part of their name",
        ),
        (
            "pillion describe json",
            "what a module offers, with schemas",
        ),
        ("pillion serve --port 0", "the same over HTTP, with /docs"),
        ("pillion doctor", "which Python is used here, and why"),
        (
            "pillion bench --quick",
            "these times against their baselines",
        ),
        ("pillion stop", "end the daemon; it also ends by itself"),
    ] {
        // What is shipped has no benches.
        if command.starts_with("pillion bench") && !cfg!(feature = "bench") {
            continue;
        }
        say(&format!("   {command:52} {what}"));
    }
    say("   From a checkout: put `cargo run --release --` where `pillion` stands.");
}
