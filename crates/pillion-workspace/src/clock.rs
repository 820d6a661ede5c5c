//! The clock of a workspace: it ticks with each set of changes.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment of a workspace. Moments of different epochs cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Clock {
    epoch: u64,
    tick: u64,
}

impl Clock {
    /// The first moment of a new epoch.
    ///
    /// The epoch is random, so that a clock that somebody kept over a restart is never
    /// taken for a moment of this life.
    pub(crate) fn start() -> Self {
        let random = std::hash::RandomState::new().build_hasher().finish();
        Self {
            epoch: random ^ u64::from(std::process::id()),
            tick: 0,
        }
    }

    /// The next moment.
    pub(crate) fn next(self) -> Self {
        Self {
            tick: self.tick + 1,
            ..self
        }
    }

    /// Which life of the workspace.
    pub fn epoch(self) -> u64 {
        self.epoch
    }

    /// How many sets of changes there were in it.
    pub fn tick(self) -> u64 {
        self.tick
    }
}

impl PartialOrd for Clock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.epoch == other.epoch).then(|| self.tick.cmp(&other.tick))
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}:{}", self.epoch, self.tick)
    }
}

/// The text is no clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoClock(String);

impl fmt::Display for NoClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no clock: expected `epoch:tick`", self.0)
    }
}

impl std::error::Error for NoClock {}

impl FromStr for Clock {
    type Err = NoClock;

    fn from_str(text: &str) -> Result<Self, NoClock> {
        let parse = || {
            let (epoch, tick) = text.split_once(':')?;
            Some(Self {
                epoch: u64::from_str_radix(epoch, 16).ok()?,
                tick: tick.parse().ok()?,
            })
        };
        parse().ok_or_else(|| NoClock(text.chars().take(64).collect()))
    }
}

impl Serialize for Clock {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Clock {
    fn schema_name() -> Cow<'static, str> {
        "Clock".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A moment of a workspace, `epoch:tick`.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_survive_the_wire() {
        let clock = Clock::start().next().next();
        let wire = serde_json::to_string(&clock).unwrap();
        assert_eq!(serde_json::from_str::<Clock>(&wire).unwrap(), clock);
        assert_eq!(clock.to_string().parse(), Ok(clock));
        for wrong in ["", ":", "1", "1:", "x:1", "1:-1", "1:2:3"] {
            assert!(wrong.parse::<Clock>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_moments_of_one_epoch_are_ordered() {
        let (one, other) = (Clock::start(), Clock::start());
        assert!(one < one.next());
        assert_ne!(one.epoch(), other.epoch());
        assert_eq!(one.partial_cmp(&other), None);
    }
}
