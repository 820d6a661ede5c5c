//! How much can be enforced on this machine, and by what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strong the walls are.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Level {
    /// Limits only: a program runs with all rights of its user.
    L1,
    /// Landlock and a filter of system calls; on macOS a profile of Seatbelt.
    L2,
    /// Namespaces, and all of that.
    L3,
}

/// What was found by trying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Means {
    /// The level that these means add up to.
    pub level: Level,
    /// Namespaces can be made; else why not.
    pub namespaces: Result<(), String>,
    /// The version of Landlock; 0 where there is none.
    pub landlock: u32,
    /// System calls can be filtered.
    pub seccomp: bool,
    /// A profile of Seatbelt holds, which only macOS has.
    pub seatbelt: bool,
    /// pillion runs as root here.
    pub root: bool,
}

impl Means {
    /// What there is where nothing can be enforced.
    pub(crate) fn none(why: &str) -> Self {
        Self {
            level: Level::L1,
            namespaces: Err(why.to_owned()),
            landlock: 0,
            seccomp: false,
            seatbelt: false,
            root: pillion_process::effective_uid() == 0,
        }
    }

    pub(crate) fn settle(mut self, most: Level) -> Self {
        let filtered = (self.landlock > 0 && self.seccomp) || self.seatbelt;
        let level = match (&self.namespaces, filtered) {
            (Ok(()), true) => Level::L3,
            (_, true) => Level::L2,
            _ => Level::L1,
        };
        self.level = level.min(most);
        if self.level < Level::L3 && self.namespaces.is_ok() {
            self.namespaces = Err("switched off".to_owned());
        }
        self
    }
}

/// One promise, and what keeps it here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guarantee {
    /// What is promised.
    pub what: String,
    /// Whether it holds.
    pub holds: bool,
    /// By what; or what is missing.
    pub by: String,
}

/// Every promise on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Enforcement {
    /// What was found.
    pub means: Means,
    /// The promises.
    pub guarantees: Vec<Guarantee>,
}

impl Enforcement {
    /// What these means keep.
    pub fn of(means: Means) -> Self {
        let guarantees = promises(&means)
            .into_iter()
            .map(|(what, by)| Guarantee {
                what: what.to_owned(),
                holds: by.is_some(),
                by: by.unwrap_or_else(|| "nothing on this machine".to_owned()),
            })
            .collect();
        Self { means, guarantees }
    }
}

/// Each promise with what keeps it.
fn promises(means: &Means) -> Vec<(&'static str, Option<String>)> {
    if means.seatbelt && means.level == Level::L2 {
        return promises_of_seatbelt();
    }
    let boxed = means.level == Level::L3;
    let filtered = means.level >= Level::L2;
    let abi = means.landlock;
    let say = |text: &str| Some(text.to_owned());
    let landlock = |least: u32| (filtered && abi >= least).then(|| format!("Landlock (ABI {abi})"));
    let both = |first: &str, second: Option<String>| match (boxed, second) {
        (true, Some(second)) => Some(format!("{first}; {second}")),
        (true, None) => say(first),
        (false, second) => second,
    };
    let filter = || filtered.then(|| "system call filter".to_owned());
    vec![
        (
            "reads only the runtime, its folder and the system's libraries",
            both("own mount namespace", landlock(1)),
        ),
        (
            "writes only to its folder and its temporary files",
            both(
                "own mount namespace, read-only",
                landlock(1).map(|by| match boxed {
                    true => by,
                    false => format!("{by}; rights, owners and times of files cannot be changed"),
                }),
            ),
        ),
        (
            "no network, no services of this machine",
            both("empty network namespace", filter()),
        ),
        (
            "sees and signals no process of others",
            both("own pid namespace", landlock(6)),
        ),
        (
            "no privileges, and no way to any",
            say(if boxed {
                "own user namespace without capabilities; no_new_privs"
            } else if means.root && !filtered {
                return promises_of_root();
            } else {
                "no_new_privs"
            }),
        ),
        ("no dangerous system calls", filter()),
        (
            "memory is limited",
            say(if boxed {
                "RLIMIT_DATA; a watching init sums up what all its processes use; memory that \
                 cannot be summed up is refused"
            } else {
                "RLIMIT_DATA; the box sums up what all processes below it use; memory that \
                 cannot be summed up is refused"
            }),
        ),
        (
            "processes and threads are limited",
            say(if boxed {
                "RLIMIT_NPROC in its own user namespace; a watching init"
            } else {
                "RLIMIT_NPROC, shared by all runs of the user; the box counts what is below it"
            }),
        ),
        (
            "processor time is limited",
            say("wall clock of the daemon; RLIMIT_CPU"),
        ),
        (
            "disk space is limited",
            say(if boxed {
                "throw-away folders: a tmpfs of that size; kept folders: RLIMIT_FSIZE and a \
                 watching init"
            } else {
                "RLIMIT_FSIZE; the box adds up the folder"
            }),
        ),
        ("output is limited", say("the daemon stops reading")),
        (
            "nothing outlives a run",
            say(if boxed {
                "the kernel kills the pid namespace with its init"
            } else {
                "subreaper that kills until nothing is left"
            }),
        ),
        (
            "no secret of the daemon",
            say("empty environment, closed descriptors"),
        ),
    ]
}

/// What holds on macOS, as far as it was written down; we have not run it there.
fn promises_of_seatbelt() -> Vec<(&'static str, Option<String>)> {
    let say = |text: &str| Some(text.to_owned());
    let profile = || say("Seatbelt profile");
    vec![
        (
            "reads only the runtime, its folder and the system's libraries",
            profile(),
        ),
        (
            "writes only to its folder and its temporary files",
            profile(),
        ),
        ("no network, no services of this machine", profile()),
        ("sees and signals no process of others", profile()),
        (
            "no privileges, and no way to any",
            say("Seatbelt lets no program change its user"),
        ),
        ("no dangerous system calls", None),
        (
            "memory is limited",
            say("the box sums up what all processes below it have in memory"),
        ),
        (
            "processes and threads are limited",
            say("the box counts the processes below it, not their threads"),
        ),
        (
            "processor time is limited",
            say("wall clock of the daemon; RLIMIT_CPU"),
        ),
        (
            "disk space is limited",
            say("RLIMIT_FSIZE; the box adds up the folder"),
        ),
        ("output is limited", say("the daemon stops reading")),
        (
            "nothing outlives a run",
            say("a guard that hears of every fork; who forks twice at once can get away"),
        ),
        (
            "no secret of the daemon",
            say("empty environment, closed descriptors"),
        ),
    ]
}

/// Root without walls is nothing that code of others may have.
fn promises_of_root() -> Vec<(&'static str, Option<String>)> {
    vec![("anything at all", None)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(namespaces: bool, landlock: u32, seccomp: bool) -> Means {
        Means {
            level: Level::L1,
            namespaces: namespaces
                .then_some(())
                .ok_or_else(|| "forbidden".to_owned()),
            landlock,
            seccomp,
            seatbelt: false,
            root: false,
        }
    }

    fn promise<'a>(all: &'a Enforcement, what: &str) -> &'a Guarantee {
        let found = all.guarantees.iter().find(|one| one.what.contains(what));
        found.unwrap_or_else(|| panic!("{what}"))
    }

    #[test]
    fn a_level_needs_all_that_it_is_made_of() {
        for (found, level) in [
            (means(true, 1, true), Level::L3),
            (means(false, 1, true), Level::L2),
            // Namespaces alone are no wall: what is in them could still be asked of the kernel.
            (means(true, 0, true), Level::L1),
            (means(true, 6, false), Level::L1),
            (means(false, 0, true), Level::L1),
            (means(false, 6, false), Level::L1),
        ] {
            let settled = found.clone().settle(Level::L3);
            assert_eq!(settled.level, level, "{found:?}");
        }
    }

    #[test]
    fn no_level_is_higher_than_what_was_asked_for_and_it_says_why() {
        for most in [Level::L1, Level::L2] {
            let settled = means(true, 6, true).settle(most);
            assert_eq!(settled.level, most);
            assert_eq!(settled.namespaces, Err("switched off".to_owned()));
        }
        let why = means(false, 6, true).settle(Level::L1).namespaces;
        assert_eq!(why, Err("forbidden".to_owned()), "what was found stays");
        assert_eq!(means(true, 6, true).settle(Level::L3).namespaces, Ok(()));
    }

    #[test]
    fn levels_are_ordered_by_strength_and_written_by_name() {
        assert!(Level::L1 < Level::L2 && Level::L2 < Level::L3);
        let names = serde_json::to_string(&[Level::L1, Level::L2, Level::L3]).unwrap();
        assert_eq!(names, r#"["L1","L2","L3"]"#);
    }

    #[test]
    fn behind_all_walls_every_promise_holds() {
        let all = Enforcement::of(means(true, 6, true).settle(Level::L3));
        for promise in &all.guarantees {
            assert!(promise.holds && !promise.by.is_empty(), "{promise:?}");
        }
        let network = promise(&all, "no network");
        assert_eq!(network.by, "empty network namespace; system call filter");
    }

    #[test]
    fn without_namespaces_other_processes_are_hidden_by_a_new_kernel_only() {
        for (version, holds) in [(5, false), (6, true)] {
            let all = Enforcement::of(means(false, version, true).settle(Level::L3));
            let promise = promise(&all, "signals no process");
            assert_eq!(promise.holds, holds, "{version}");
        }
    }

    #[test]
    fn limits_alone_promise_no_wall() {
        let all = Enforcement::of(means(false, 0, false).settle(Level::L3));
        for what in [
            "reads only",
            "writes only",
            "no network",
            "sees and",
            "no dangerous",
        ] {
            let promise = promise(&all, what);
            assert!(!promise.holds, "{what}");
            assert_eq!(promise.by, "nothing on this machine");
        }
        for what in [
            "memory",
            "processes and",
            "disk",
            "output",
            "nothing outlives",
        ] {
            assert!(promise(&all, what).holds, "{what}");
        }
    }

    #[test]
    fn a_profile_of_seatbelt_is_a_wall_and_promises_no_filter_of_system_calls() {
        let mut found = means(false, 0, false);
        found.seatbelt = true;
        let settled = found.settle(Level::L3);
        assert_eq!(settled.level, Level::L2);
        let all = Enforcement::of(settled);
        for what in ["reads only", "writes only", "no network", "sees and"] {
            assert_eq!(promise(&all, what).by, "Seatbelt profile", "{what}");
        }
        assert!(!promise(&all, "no dangerous").holds);
    }

    #[test]
    fn root_without_walls_is_promised_nothing() {
        let mut found = means(false, 0, false);
        found.root = true;
        let all = Enforcement::of(found.settle(Level::L3));
        assert!(all.guarantees.iter().all(|promise| !promise.holds));
        // With a filter it is one like others.
        let mut found = means(false, 6, true);
        found.root = true;
        let all = Enforcement::of(found.settle(Level::L3));
        assert!(promise(&all, "no privileges").holds);
    }
}
