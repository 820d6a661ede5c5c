//! The program's own process, from the fork to the exec: every wall goes up here.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use rustix::process::{Pid, Signal};

use super::user;
use crate::level::Level;
use crate::spec::{BoxRole, Spec};
use crate::syscalls;
use crate::walls::{landlock, rlimits, seccomp};
use pillion_process::Pipe;

/// How much later than others a program gets its turn.
const NICE: i32 = 5;

/// Fork the program and put it behind its walls; returns when it runs.
pub(super) fn start(spec: &Spec, ctl: &OwnedFd) -> Result<Pid, String> {
    // Compiled before the fork; and a mistake in them is found out here.
    let filter = match spec.role {
        BoxRole::Zygote => seccomp::Filter::Zygote {
            network: spec.policy.network,
        },
        BoxRole::Kernel => seccomp::Filter::Kernel {
            network: spec.policy.network,
            alone: spec.level < Level::L3,
        },
        BoxRole::Program | BoxRole::Trial => seccomp::Filter::Program {
            network: spec.policy.network,
            alone: spec.level < Level::L3,
        },
    };
    let filters = match spec.level {
        Level::L1 => Vec::new(),
        Level::L2 | Level::L3 => seccomp::programs(filter)?,
    };
    let trouble = Pipe::new().map_err(|error| format!("pipe: {error}"))?;
    match syscalls::fork().map_err(|error| format!("fork: {error}"))? {
        syscalls::Forked::Child => {
            let why = become_program(spec, &filters, ctl.as_raw_fd(), &trouble.write);
            let _ = rustix::io::write(&trouble.write, why.as_bytes());
            syscalls::exit_now(super::FAILED)
        }
        syscalls::Forked::Parent(pid) => {
            drop(trouble.write);
            // It closes when the program has begun.
            let mut why = String::new();
            let _ = File::from(trouble.read).read_to_string(&mut why);
            match Pid::from_raw(pid) {
                Some(pid) if why.is_empty() => Ok(pid),
                _ => Err(why),
            }
        }
    }
}

/// Returns only if something failed: what, and why.
fn become_program(
    spec: &Spec,
    filters: &[seccompiler::BpfProgram],
    ctl: RawFd,
    trouble: &OwnedFd,
) -> String {
    match confine(spec, filters, ctl, trouble) {
        Err(why) => why,
        Ok(()) if spec.role == BoxRole::Trial => syscalls::exit_now(0),
        Ok(()) => exec(spec),
    }
}

fn confine(
    spec: &Spec,
    filters: &[seccompiler::BpfProgram],
    ctl: RawFd,
    trouble: &OwnedFd,
) -> Result<(), String> {
    let step = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    let _ = rustix::process::setsid();
    let is_program = spec.role != BoxRole::Zygote;
    let _ = rustix::process::nice(NICE);
    // The first to go when the machine has no memory left.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    if let Some(id) = spec.run_user {
        user::become_run_user(id).map_err(step("another user"))?;
    }
    if spec.level == Level::L3 {
        let id = if is_program { user::LANE_ID } else { 0 };
        user::enter_user_namespace(id).map_err(step("user namespace"))?;
    }
    // A change of user disarms it.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    rustix::process::chdir(&spec.cwd).map_err(|e| step("its folder")(e.into()))?;
    let mut kept = spec.keep.clone();
    kept.retain(|fd| *fd != ctl);
    syscalls::keep_only(&kept, trouble.as_raw_fd()).map_err(step("descriptors"))?;
    if is_program {
        rlimits::apply(&limits(spec)).map_err(step("limits"))?;
        user::drop_capabilities().map_err(step("capabilities"))?;
    }
    rustix::thread::set_no_new_privs(true).map_err(|e| step("no_new_privs")(e.into()))?;
    // A zygote mounts, which Landlock would not let it: its children put it up.
    if is_program && spec.level >= Level::L2 {
        // What is printed by children that a cell forks comes to their kernel by the loopback.
        let to_itself = spec.role == BoxRole::Kernel && spec.level == Level::L3;
        landlock::apply(&spec.policy, spec.level, to_itself)
            .map_err(|error| format!("Landlock: {error}"))?;
    }
    if matches!(spec.role, BoxRole::Program | BoxRole::Kernel) {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    }
    seccomp::apply(filters).map_err(|error| format!("filter of system calls: {error}"))
}

/// Without a user namespace, processes of the same user outside count too.
fn limits(spec: &Spec) -> Vec<rlimits::Rlimit> {
    let mut limits = rlimits::numbers(&spec.policy.limits);
    if spec.level < Level::L3 {
        let others = tasks_of_user();
        for (resource, soft, hard) in &mut limits {
            if *resource == rlimits::PROCESSES {
                *soft += others;
                *hard += others;
            }
        }
    }
    limits
}

fn exec(spec: &Spec) -> String {
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| "a zero byte in a name".to_owned());
    let prepared = || -> Result<_, String> {
        let program = text(spec.program.as_os_str().as_bytes())?;
        let mut args = vec![program.clone()];
        for arg in &spec.args {
            args.push(text(arg.as_bytes())?);
        }
        let env = spec
            .env
            .iter()
            .map(|(k, v)| text(format!("{k}={v}").as_bytes()));
        Ok((program, args, env.collect::<Result<Vec<_>, _>>()?))
    };
    match prepared() {
        Ok((program, args, env)) => {
            let error = syscalls::exec(&program, &args, &env);
            format!("cannot run `{}`: {error}", spec.program.display())
        }
        Err(why) => why,
    }
}

/// Processes and threads that our user has already.
fn tasks_of_user() -> u64 {
    let user = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        use std::os::unix::fs::MetadataExt;
        entry.metadata().is_ok_and(|meta| meta.uid() == user)
    });
    ours.filter_map(|entry| std::fs::read_dir(entry.path().join("task")).ok())
        .map(|tasks| tasks.count() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Folder, Limits, Policy};

    fn spec(level: Level) -> Spec {
        Spec {
            role: BoxRole::Program,
            level,
            policy: Policy {
                view: Vec::new(),
                programs: false,
                folder: Folder::Throwaway,
                runs_own_files: false,
                terminals: false,
                network: false,
                limits: Limits::default(),
            },
            run_user: None,
            program: "/no/such/program".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: "/".into(),
            keep: Vec::new(),
            handed: None,
            naming: -1,
            watch: crate::spec::WatchedLimits::default(),
            outputs: crate::spec::OutputsSpec::default(),
            every_ms: 50,
        }
    }

    fn processes(level: Level) -> u64 {
        let limits = limits(&spec(level));
        let found = limits.iter().find(|(name, ..)| *name == libc::RLIMIT_NPROC);
        let (_, soft, hard) = *found.unwrap();
        assert_eq!(soft, hard);
        soft
    }

    #[test]
    fn without_a_namespace_of_its_own_processes_of_the_user_come_on_top() {
        let alone = processes(Level::L3);
        assert!(processes(Level::L2) > alone, "this process at least");
        assert!(processes(Level::L1) > alone);
        let others = |level| {
            let mut all = limits(&spec(level));
            all.retain(|(name, ..)| *name != libc::RLIMIT_NPROC);
            all
        };
        assert_eq!(others(Level::L2), others(Level::L3), "nothing else changes");
    }

    #[test]
    fn what_cannot_be_run_is_named_and_a_zero_byte_is_refused() {
        let why = exec(&spec(Level::L1));
        assert!(why.contains("`/no/such/program`"), "{why}");
        let mut with_zero = spec(Level::L1);
        with_zero.env = vec![("A".to_owned(), "x\0y".to_owned())];
        assert_eq!(exec(&with_zero), "a zero byte in a name");
        let mut with_zero = spec(Level::L1);
        with_zero.args = vec!["\0".to_owned()];
        assert_eq!(exec(&with_zero), "a zero byte in a name");
    }
}
