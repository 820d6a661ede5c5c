//! How often each operation was asked for, and how long it took.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Numbers for one operation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OperationStats {
    /// `area.verb`.
    pub operation: String,
    /// How often it was asked for.
    pub requests: u64,
    /// How often it failed.
    pub errors: u64,
    /// Median time in milliseconds.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

#[derive(Debug)]
struct Record {
    errors: u64,
    micros: Histogram<u64>,
}

/// Numbers for all operations. Bounded: one record per operation of the catalogue.
#[derive(Debug, Default)]
pub struct Stats {
    records: Mutex<BTreeMap<&'static str, Record>>,
}

impl Stats {
    pub(crate) fn record(&self, operation: &'static str, took: Duration, failed: bool) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let record = match records.get_mut(operation) {
            Some(record) => record,
            None => {
                // Two digits up to an hour: a few kilobytes each.
                let Ok(micros) = Histogram::new_with_bounds(1, 3_600_000_000, 2) else {
                    return;
                };
                records
                    .entry(operation)
                    .or_insert(Record { errors: 0, micros })
            }
        };
        record.errors += u64::from(failed);
        record
            .micros
            .saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1));
    }

    /// A copy of the numbers, sorted by operation.
    pub fn snapshot(&self) -> Vec<OperationStats> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = |micros: u64| micros as f64 / 1000.0;
        records
            .iter()
            .map(|(operation, record)| OperationStats {
                operation: (*operation).to_owned(),
                requests: record.micros.len(),
                errors: record.errors,
                p50_ms: ms(record.micros.value_at_quantile(0.5)),
                p90_ms: ms(record.micros.value_at_quantile(0.9)),
                p99_ms: ms(record.micros.value_at_quantile(0.99)),
                max_ms: ms(record.micros.max()),
            })
            .collect()
    }
}
