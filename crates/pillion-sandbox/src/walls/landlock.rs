//! The wall in the file system that also stands where namespaces are forbidden.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use serde::Serialize;

use crate::level::Level;
use crate::policy::{Folder, LANE, Policy, TMP, WORK};
use crate::{syscalls, system_paths};

/// What the rules were written for; a kernel that knows less keeps as many as it knows.
const WRITTEN_FOR: ABI = ABI::V6;

/// The wall as numbers, for a zygote.
#[derive(Debug, Serialize)]
pub struct Numbers {
    handled_fs: u64,
    handled_net: u64,
    scoped: u64,
    rules: Vec<(PathBuf, u64)>,
}

/// The version of Landlock in this kernel, 0 if there is none.
pub fn version() -> u32 {
    syscalls::landlock_version()
}

/// What is allowed where.
fn rules(policy: &Policy, level: Level) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = read | AccessFs::Execute;
    let folder = AccessFs::from_all(WRITTEN_FOR)
        & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev | AccessFs::Execute);
    let own = match policy.runs_own_files {
        true => folder | AccessFs::Execute,
        false => folder,
    };
    let mut rules: Vec<(PathBuf, BitFlags<AccessFs>)> = Vec::new();
    let shown = system_paths::shown(policy).into_iter();
    rules.extend(shown.map(|path| (path, run)));
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    rules.extend(system_paths::DEVICES.iter().map(|path| {
        // What writes to it could share memory by it, which nobody could add up.
        let access = match *path {
            "/dev/zero" => AccessFs::ReadFile.into(),
            _ => device,
        };
        (PathBuf::from(path), access)
    }));
    if level == Level::L3 {
        let work = match policy.folder {
            // A folder that is mounted later covers the one that a rule would be about, so the
            // rule is about the one above.
            Folder::Later(_) => LANE,
            Folder::Throwaway | Folder::Kept(_) => WORK,
        };
        rules.push((work.into(), own));
        rules.extend([TMP, "/dev/shm"].map(|path| (path.into(), folder)));
        // Only its own processes are in there.
        rules.push(("/proc".into(), read | AccessFs::WriteFile));
        rules.push(("/etc".into(), read));
        if policy.terminals {
            // Only its own are in there, and a terminal is nothing without control.
            rules.push((system_paths::PTS.into(), read | device | AccessFs::IoctlDev));
        }
    } else {
        if let Folder::Kept(path) = &policy.folder {
            rules.push((path.clone(), own));
        }
        rules.extend(
            system_paths::ETC
                .iter()
                .map(|path| (PathBuf::from(path), read)),
        );
    }
    rules
}

/// Files take fewer rights than folders. What is only there behind the walls is a folder.
fn rights(path: &Path, access: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    match path.exists() && !path.is_dir() {
        true => access & AccessFs::from_file(WRITTEN_FOR),
        false => access,
    }
}

/// The wall as numbers, for a kernel of this version.
pub fn numbers(policy: &Policy) -> Option<Numbers> {
    let abi = match version() {
        0 => return None,
        version => ABI::from(i32::try_from(version).unwrap_or(i32::MAX)).min(WRITTEN_FOR),
    };
    let handled = AccessFs::from_all(abi);
    let net = if policy.network {
        BitFlags::EMPTY
    } else {
        AccessNet::from_all(abi)
    };
    Some(Numbers {
        handled_fs: handled.bits(),
        handled_net: net.bits(),
        scoped: Scope::from_all(abi).bits(),
        rules: rules(policy, Level::L3)
            .into_iter()
            .map(|(path, access)| {
                let access = rights(&path, access) & handled;
                (path, access.bits())
            })
            .collect(),
    })
}

/// Put it up around this process.
///
/// A program that talks to itself over its own network namespace is kept in by that.
pub(crate) fn apply(policy: &Policy, level: Level, to_itself: bool) -> Result<(), RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WRITTEN_FOR))?
        .scope(Scope::from_all(WRITTEN_FOR))?;
    if !policy.network && !to_itself {
        ruleset = ruleset.handle_access(AccessNet::from_all(WRITTEN_FOR))?;
    }
    let mut created = ruleset.create()?;
    for (path, access) in rules(policy, level) {
        // What is not there needs no rule.
        let Ok(parent) = PathFd::new(&path) else {
            continue;
        };
        created = created.add_rule(PathBeneath::new(parent, rights(&path, access)))?;
    }
    created.restrict_self()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Limits;

    fn policy(folder: Folder, runs_own_files: bool, network: bool) -> Policy {
        Policy {
            view: vec!["/opt/python".into()],
            programs: true,
            folder,
            runs_own_files,
            terminals: false,
            network,
            limits: Limits::default(),
        }
    }

    fn strict() -> Policy {
        policy(Folder::Throwaway, false, false)
    }

    fn on(rules: &[(PathBuf, BitFlags<AccessFs>)], path: &str) -> Option<BitFlags<AccessFs>> {
        let found = rules.iter().find(|(known, _)| known == Path::new(path));
        found.map(|(_, access)| *access)
    }

    /// Everything that changes something.
    fn writing() -> BitFlags<AccessFs> {
        AccessFs::from_write(WRITTEN_FOR) & !AccessFs::IoctlDev
    }

    #[test]
    fn what_is_shown_can_be_run_and_not_written() {
        for level in [Level::L2, Level::L3] {
            let rules = rules(&strict(), level);
            for path in ["/opt/python", "/usr/lib", "/usr/bin"] {
                let access = on(&rules, path).unwrap();
                assert!(access.contains(AccessFs::Execute), "{path}");
                assert!(!access.intersects(writing()), "{path}");
            }
        }
    }

    #[test]
    fn programs_are_run_from_the_own_folder_only_where_the_policy_says_so() {
        let kept = || Folder::Kept("/data/session".into());
        for (level, place) in [(Level::L3, WORK), (Level::L2, "/data/session")] {
            for runs in [false, true] {
                let rules = rules(&policy(kept(), runs, false), level);
                let access = on(&rules, place).unwrap();
                assert_eq!(access.contains(AccessFs::Execute), runs, "{level:?}");
                assert!(access.contains(AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::Refer));
                for other in [TMP, "/dev/shm"] {
                    let access = on(&rules, other).unwrap_or_default();
                    assert!(!access.contains(AccessFs::Execute), "{other}");
                }
            }
        }
    }

    #[test]
    fn terminals_are_controlled_by_who_may_make_them_and_only_where_they_are_its_own() {
        let with = Policy {
            terminals: true,
            ..strict()
        };
        let access = |policy: &Policy, level| on(&rules(policy, level), system_paths::PTS);
        let pts = access(&with, Level::L3).unwrap();
        assert!(pts.contains(AccessFs::WriteFile | AccessFs::IoctlDev));
        assert!(!pts.intersects(AccessFs::MakeChar | AccessFs::Execute));
        assert_eq!(access(&with, Level::L2), None);
        assert_eq!(access(&strict(), Level::L3), None);
    }

    #[test]
    fn no_devices_are_made_and_none_is_controlled_anywhere() {
        let forbidden = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
        let kept = policy(Folder::Kept("/data/session".into()), true, true);
        for level in [Level::L2, Level::L3] {
            for (path, access) in rules(&kept, level) {
                assert!(!access.intersects(forbidden), "{}", path.display());
            }
        }
    }

    #[test]
    fn memory_is_not_shared_by_a_device() {
        let rules = rules(&strict(), Level::L3);
        let zero = on(&rules, "/dev/zero").unwrap();
        assert_eq!(zero, BitFlags::from(AccessFs::ReadFile));
        assert!(
            on(&rules, "/dev/null")
                .unwrap()
                .contains(AccessFs::WriteFile)
        );
    }

    #[test]
    fn without_namespaces_only_the_kept_folder_is_written() {
        let rules = |folder| rules(&policy(folder, true, false), Level::L2);
        let written = |folder| -> Vec<PathBuf> {
            let writable = rules(folder).into_iter();
            let writable = writable.filter(|(_, access)| access.intersects(writing()));
            let paths = writable.map(|(path, _)| path);
            paths.filter(|path| !path.starts_with("/dev")).collect()
        };
        let folder = PathBuf::from("/data/session");
        assert_eq!(written(Folder::Kept(folder.clone())), [folder]);
        assert!(written(Folder::Throwaway).is_empty());
        // The machine's own processes and settings are there, so they are not for reading.
        let all = rules(Folder::Throwaway);
        for path in ["/proc", "/etc", "/dev/shm", TMP, WORK] {
            assert_eq!(on(&all, path), None, "{path}");
        }
        assert!(on(&all, "/etc/localtime").is_some());
    }

    #[test]
    fn a_file_takes_no_rights_of_folders() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let access = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::MakeReg;
        assert_eq!(rights(&file, access), BitFlags::from(AccessFs::ReadFile));
        assert_eq!(rights(folder.path(), access), access);
        assert_eq!(rights(Path::new("/no/such/place"), access), access);
    }

    #[test]
    fn the_numbers_ask_for_nothing_that_the_kernel_does_not_know() {
        let Some(numbers) = numbers(&strict()) else {
            assert_eq!(version(), 0, "there is no wall only where there is none");
            return;
        };
        assert!(!numbers.rules.is_empty());
        for (path, access) in &numbers.rules {
            assert_eq!(access & !numbers.handled_fs, 0, "{}", path.display());
        }
        let wall_of_files = AccessFs::from_all(ABI::V1).bits();
        assert_eq!(numbers.handled_fs & wall_of_files, wall_of_files);
    }

    #[test]
    fn the_network_is_walled_off_unless_the_policy_opens_it() {
        let open = numbers(&policy(Folder::Throwaway, false, true));
        let closed = numbers(&strict());
        assert_eq!(open.map_or(0, |numbers| numbers.handled_net), 0);
        // Kernels before the fourth version know no such wall.
        let knows = version() >= 4;
        assert_eq!(
            closed.is_some_and(|numbers| numbers.handled_net != 0),
            knows
        );
    }

    #[test]
    fn a_zygote_reads_the_numbers_by_these_names() {
        let numbers = Numbers {
            handled_fs: 1,
            handled_net: 2,
            scoped: 3,
            rules: vec![("/x".into(), 4)],
        };
        let text = serde_json::to_string(&numbers).unwrap();
        let expected = r#"{"handled_fs":1,"handled_net":2,"scoped":3,"rules":[["/x",4]]}"#;
        assert_eq!(text, expected);
    }
}
