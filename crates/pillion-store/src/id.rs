//! Names of what the store keeps, of jobs and of runs: 26 letters and digits, random, and in
//! the order of their milliseconds.

use std::io;

use jiff::Timestamp;
use pillion_process::fill_random;

/// Digits and small letters without those that are mistaken for others, in text order.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 128 bits, five to a letter.
const LENGTH: u32 = 26;

/// A name that nothing else has: 48 bits of time, then 80 random ones.
///
/// # Errors
/// If the system has no randomness.
pub fn new_id() -> io::Result<String> {
    let mut random = [0; 10];
    fill_random(&mut random)?;
    let millis = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
    Ok(letters(millis, random))
}

fn letters(millis: u64, random: [u8; 10]) -> String {
    let low = random
        .iter()
        .fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
    let all = (u128::from(millis) << 80) | low;
    (0..LENGTH)
        .rev()
        .map(|place| char::from(ALPHABET[(all >> (5 * place)) as usize & 31]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_time() {
        let early = letters(1_700_000_000_000, [255; 10]);
        let late = letters(1_700_000_000_001, [0; 10]);
        assert_eq!(early.len(), 26);
        assert!(early < late, "{early} {late}");
        assert!(late.bytes().all(|byte| ALPHABET.contains(&byte)));
    }

    #[test]
    fn every_random_bit_counts() {
        let mut seen = std::collections::BTreeSet::new();
        for bit in 0..80 {
            let mut random = [0; 10];
            random[bit / 8] = 1 << (bit % 8);
            assert!(seen.insert(letters(7, random)));
        }
    }

    #[test]
    fn many_names_are_all_different() {
        let names: std::collections::BTreeSet<_> = (0..10_000).map(|_| new_id().unwrap()).collect();
        assert_eq!(names.len(), 10_000);
    }
}
