//! How numbers and tables read, for the texts of answers.

use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// A table without lines, numbers to the right.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 2));
        if index > 1 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A span of time as people say it.
pub fn span(seconds: f64) -> String {
    let whole = Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs();
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min", whole / 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d", whole / 86_400),
    }
}

/// Bytes of memory.
pub fn memory(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "-".into(),
        |bytes| format!("{:.1} MB", bytes as f64 / 1e6),
    )
}

/// A time in milliseconds.
pub fn millis(ms: f64) -> String {
    format!("{ms:.2} ms")
}
