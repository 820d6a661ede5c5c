//! The result as a picture: SVG by hand, readable on light and on dark ground.

use std::fmt::Write;

use super::report::{Report, Row, Soak, Unit};

const WIDTH: f64 = 900.0;
/// Where bars begin; names stand to the left of it.
const LEFT: f64 = 300.0;
/// Room for numbers to the right of the longest bar.
const RIGHT: f64 = 190.0;
const TOP: f64 = 74.0;
const BAR: f64 = 13.0;
const STEP: f64 = 42.0;

/// Colours follow the reader's scheme.
const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 11px; fill: #59636e } \
.title { font-size: 17px; font-weight: 600 } .ours { fill: #2563eb } .theirs { fill: #b6bfca } \
.grid { stroke: #d1d9e0 } .line { fill: none; stroke-width: 2 } .a { stroke: #2563eb } .b { stroke: #d97706 } \
.ground { fill: #ffffff } \
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .small { fill: #9198a1 } \
.ours { fill: #58a6ff } .theirs { fill: #57606a } .grid { stroke: #3d444d } .a { stroke: #58a6ff } \
.b { stroke: #f0a04b } .ground { fill: #0d1117 } }";

/// Draw a report.
pub(super) fn draw(report: &Report) -> String {
    match &report.soak {
        Some(soak) => lines(report, soak),
        None => bars(report),
    }
}

/// Ours and the baseline side by side, on a logarithmic scale of time.
fn bars(report: &Report) -> String {
    let rows: Vec<_> = report
        .rows
        .iter()
        .filter(|row| row.unit == Unit::Micros && row.baseline.is_some())
        .collect();
    let theirs = |row: &Row| row.baseline.as_ref().map_or(0.0, |b| b.figure.p50);
    let values = rows.iter().flat_map(|row| [row.ours.p50, theirs(row)]);
    let (low, high) = values.fold((f64::MAX, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    // Whole powers of ten, one below the smallest, so that every bar has a length.
    let (low, high) = (
        (low.max(1.0) / 2.0).log10().floor(),
        high.max(10.0).log10().ceil(),
    );
    let x = |value: f64| {
        let share = (value.max(1e-3).log10() - low) / (high - low).max(1.0);
        LEFT + share.max(0.0) * (WIDTH - LEFT - RIGHT)
    };
    let height = TOP + rows.len() as f64 * STEP + 40.0;
    let mut svg = head(report, height, "Time per call, median");
    legend(&mut svg, &[("ours", "pillion"), ("theirs", "baseline")]);
    for power in (low as i32)..=(high as i32) {
        let at = x(10_f64.powi(power));
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{at:.1}" x2="{at:.1}" y1="{TOP}" y2="{:.1}"/><text class="small" x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            height - 30.0,
            height - 14.0,
            Unit::Micros.show(10_f64.powi(power)),
        );
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + 8.0 + index as f64 * STEP;
        let name = row.baseline.as_ref().map_or("", |b| b.name);
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            LEFT - 8.0,
            y + 11.0,
            escape(&row.what)
        );
        let ratio = row
            .ratio
            .map_or_else(String::new, |r| format!(" ({r:.2}x)"));
        bar(
            &mut svg,
            "ours",
            x(row.ours.p50),
            y,
            &format!("{}{ratio}", row.unit.show(row.ours.p50)),
        );
        let label = format!("{} {name}", row.unit.show(theirs(row)));
        bar(&mut svg, "theirs", x(theirs(row)), y + BAR + 2.0, &label);
    }
    svg.push_str("</svg>\n");
    svg
}

fn bar(svg: &mut String, class: &str, end: f64, y: f64, label: &str) {
    let _ = write!(
        svg,
        r#"<rect class="{class}" x="{LEFT}" y="{y:.1}" width="{:.1}" height="{BAR}" rx="2"/><text class="small" x="{:.1}" y="{:.1}">{}</text>"#,
        (end - LEFT).max(1.0),
        end + 6.0,
        y + 10.5,
        escape(label)
    );
}

/// Memory over the calls of a soak.
fn lines(report: &Report, soak: &Soak) -> String {
    let height = 360.0;
    let (left, bottom) = (70.0, height - 40.0);
    let mut svg = head(report, height, "Resident memory over calls");
    legend(&mut svg, &[("a", "daemon"), ("b", "worker")]);
    let calls = soak.samples.last().map_or(1, |s| s.0).max(1) as f64;
    let most = soak
        .samples
        .iter()
        .fold(1.0_f64, |most, s| most.max(s.1).max(s.2));
    let top = (most / 10.0).ceil() * 10.0;
    let y = |megabytes: f64| bottom - megabytes / top * (bottom - TOP);
    for step in 0..=5 {
        let value = top * f64::from(step) / 5.0;
        let at = y(value);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{left}" x2="{:.1}" y1="{at:.1}" y2="{at:.1}"/><text class="small" x="{:.1}" y="{:.1}" text-anchor="end">{value:.0} MB</text>"#,
            WIDTH - 20.0,
            left - 6.0,
            at + 4.0,
        );
    }
    for (class, pick) in [
        ("a", (|s| s.1) as fn(&(u64, f64, f64)) -> f64),
        ("b", |s| s.2),
    ] {
        let mut points = String::new();
        for sample in &soak.samples {
            let x = left + sample.0 as f64 / calls * (WIDTH - 20.0 - left);
            let _ = write!(points, "{x:.1},{:.1} ", y(pick(sample)));
        }
        let _ = write!(
            svg,
            r#"<polyline class="line {class}" points="{}"/>"#,
            points.trim_end()
        );
    }
    let _ = write!(
        svg,
        r#"<text class="small" x="{:.1}" y="{:.1}" text-anchor="end">{calls:.0} calls</text></svg>"#,
        WIDTH - 20.0,
        height - 16.0
    );
    svg.push('\n');
    svg
}

fn head(report: &Report, height: f64, title: &str) -> String {
    let machine = escape(&report.machine.line());
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="{title}"><style>{STYLE}</style><rect class="ground" width="{WIDTH}" height="{height:.0}"/><text class="title" x="20" y="28">{title}</text><text class="small" x="20" y="48">{machine}</text>"#
    )
}

fn legend(svg: &mut String, entries: &[(&str, &str)]) {
    for (index, (class, name)) in entries.iter().enumerate() {
        let x = 20.0 + index as f64 * 100.0;
        let shape = if class.len() == 1 {
            format!(
                r#"<line class="line {class}" x1="{x}" x2="{:.1}" y1="61" y2="61"/>"#,
                x + 12.0
            )
        } else {
            format!(r#"<rect class="{class}" x="{x}" y="55" width="12" height="12" rx="2"/>"#)
        };
        let _ = write!(
            svg,
            r#"{shape}<text class="small" x="{:.1}" y="65">{name}</text>"#,
            x + 18.0
        );
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
