//! The wall in the file system that also stands where namespaces are forbidden.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use serde::Serialize;

use crate::boxed::{root, sys};
use crate::level::Level;
use crate::policy::{Folder, Policy, TMP, WORK};

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
    sys::landlock_version()
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
    let shown = root::shown(policy).into_iter();
    rules.extend(shown.map(|path| (path, run)));
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    rules.extend(root::DEVICES.iter().map(|path| {
        // What writes to it could share memory by it, which nobody could add up.
        let access = match *path {
            "/dev/zero" => AccessFs::ReadFile.into(),
            _ => device,
        };
        (PathBuf::from(path), access)
    }));
    if level == Level::L3 {
        rules.push((WORK.into(), own));
        rules.extend([TMP, "/dev/shm"].map(|path| (path.into(), folder)));
        // Only its own processes are in there.
        rules.push(("/proc".into(), read | AccessFs::WriteFile));
        rules.push(("/etc".into(), read));
    } else {
        if let Folder::Kept(path) = &policy.folder {
            rules.push((path.clone(), own));
        }
        rules.extend(root::ETC.iter().map(|path| (PathBuf::from(path), read)));
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
pub(crate) fn apply(policy: &Policy, level: Level) -> Result<(), RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WRITTEN_FOR))?
        .scope(Scope::from_all(WRITTEN_FOR))?;
    if !policy.network {
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
