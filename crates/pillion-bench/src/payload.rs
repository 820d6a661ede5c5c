//! What is sent to and fro: records, as programs really exchange them.

use serde_json::json;

/// A value of about a known size.
#[derive(Debug)]
pub(super) struct Payload {
    /// Its size, in words.
    pub(super) name: &'static str,
    pub(super) json: String,
    /// The share of calls that are made with it: large ones take long.
    pub(super) share: f64,
}

impl Payload {
    /// The three sizes.
    pub(super) fn all() -> Vec<Self> {
        vec![
            Self::new("100 B", 100, 1.0),
            Self::new("10 kB", 10_000, 0.5),
            Self::new("1 MB", 1_000_000, 0.02),
        ]
    }

    fn new(name: &'static str, size: usize, share: f64) -> Self {
        let mut records = Vec::new();
        let mut length = 2;
        while length < size {
            let n = records.len();
            let record = json!({ "id": n, "name": format!("row {n}"), "value": n as f64 / 8.0 });
            let record = record.to_string();
            length += record.len() + 1;
            records.push(record);
        }
        Self {
            name,
            json: format!("[{}]", records.join(",")),
            share,
        }
    }

    /// Whether it is the smallest: the price of a call and of nothing else.
    pub(super) fn is_small(&self) -> bool {
        self.json.len() < 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_about_what_they_say() {
        let sizes: Vec<_> = Payload::all().iter().map(|p| p.json.len()).collect();
        for (size, wanted) in sizes.iter().zip([100, 10_000, 1_000_000]) {
            assert!((wanted..wanted + 50).contains(size), "{size}");
        }
    }
}
