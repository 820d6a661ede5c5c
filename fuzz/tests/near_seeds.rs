//! What lies near the seeds: each is changed a little, many times, in the same way in every run.
//! Needs no toolchain of its own; `PILLION_FUZZ_ROUNDS` makes it look further.

use std::path::Path;

/// Changes of each seed, unless the variable says otherwise.
const ROUNDS: u64 = 40;
/// Seeds that are longer are deep on purpose, and slow.
const LONG: usize = 4_000;

/// A small generator: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

/// A seed with a few changes: bytes set, taken out, doubled, or parts put elsewhere.
fn changed(seed: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    const ODD: &[u8] = b"\0\n\r\t \"'\\(){}[]:;,.=*@#`$%&|<>\x80\xc3\xff\xe2";
    let mut bytes = seed.to_vec();
    for _ in 0..=numbers.next(6) {
        let at = numbers.next(bytes.len());
        let length = numbers.next(8).min(bytes.len() - at);
        match numbers.next(5) {
            0 => bytes.insert(at, ODD[numbers.next(ODD.len())]),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let part = bytes[at..at + length].to_vec();
                let to = numbers.next(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            3 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.next(8),
            _ => bytes.truncate(bytes.len() - bytes.len().min(numbers.next(3))),
        }
    }
    bytes
}

#[test]
fn properties_hold_near_the_seeds() {
    let rounds = std::env::var("PILLION_FUZZ_ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    for (target, property) in pillion_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("seeds")
            .join(target);
        let mut seeds: Vec<_> = folder.read_dir().unwrap().flatten().collect();
        seeds.sort_by_key(|seed| seed.file_name());
        for seed in seeds {
            let text = std::fs::read(seed.path()).unwrap();
            // A deep one is made of few words, and repeats them some thousand times.
            if text.len() > LONG || *target == "nested_text" {
                continue;
            }
            let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
            for round in 0..rounds {
                let input = changed(&text, &mut numbers);
                let held = std::panic::catch_unwind(|| property(&input));
                assert!(
                    held.is_ok(),
                    "{target}: round {round} of {}: {:?}",
                    seed.path().display(),
                    String::from_utf8_lossy(&input)
                );
            }
        }
    }
}
