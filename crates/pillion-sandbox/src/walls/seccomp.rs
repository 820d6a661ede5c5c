//! The filter of system calls.
//!
//! What programs need is allowed; what serves to look into other processes, to change the
//! system, to leave the walls, to hold memory that nobody counts, or to use up what a user or
//! the machine has only once is refused with `EPERM`, so that a program sees an error it knows.
//! Four small programs stand behind each other: numbers that nobody knew when this was written
//! (`ENOSYS`), calls that are refused, calls that libraries do without where a kernel lacks them
//! (`ENOSYS`), and calls that they do without where a file system lacks them (`EOPNOTSUPP`).

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// The last system call that was looked at (`mseal`); from here on all are unknown.
const KNOWN: u32 = 463;

/// Whom a filter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// A program of somebody else.
    Program {
        /// It may use the network.
        network: bool,
        /// No namespaces stand behind the filter: files of others have names.
        alone: bool,
    },
    /// A Jupyter kernel. It has what a program has, and the sockets that it is asked on; one
    /// that is alone reaches nobody by them. Its own code lives behind this and
    /// [`Filter::Cell`].
    Kernel {
        /// It may use the network.
        network: bool,
        /// As for a program.
        alone: bool,
    },
    /// What is put up around a kernel once it can be asked: code in its cells makes no socket by
    /// which it could meet anybody, and sends no descriptors.
    Cell {
        /// It may use the network.
        network: bool,
    },
    /// A zygote: it makes namespaces and mounts for its children, all in its own. What is
    /// refused to it is refused to them too.
    Zygote {
        /// Its children may use the network.
        network: bool,
    },
}

/// Why a filter could not be made or put up.
pub type Failure = String;

/// The programs of a filter, to be put up in this order.
pub fn programs(filter: Filter) -> Result<Vec<BpfProgram>, Failure> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())?;
    let compile = |rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32| {
        let action = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, action, arch)
            .and_then(BpfProgram::try_from)
            .map_err(|e| e.to_string())
    };
    Ok(vec![
        unknown_numbers(),
        compile(refused(filter).map_err(|e| e.to_string())?, libc::EPERM)?,
        compile(all(not_there(filter)), libc::ENOSYS)?,
        compile(all(unsupported(filter)), libc::EOPNOTSUPP)?,
    ])
}

/// The programs as bytes.
pub fn bytes(program: &[sock_filter]) -> Vec<u8> {
    program
        .iter()
        .flat_map(|step| {
            let [a, b] = step.code.to_ne_bytes();
            let [c, d, e, f] = step.k.to_ne_bytes();
            [a, b, step.jt, step.jf, c, d, e, f]
        })
        .collect()
}

/// Put a filter up around this process.
pub(crate) fn apply(programs: &[BpfProgram]) -> Result<(), Failure> {
    programs
        .iter()
        .try_for_each(|program| seccompiler::apply_filter(program).map_err(|e| e.to_string()))
}

/// Numbers from [`KNOWN`] on do not exist. Those of the x32 way of calling are among them.
fn unknown_numbers() -> BpfProgram {
    let (load, jump_ge, ret) = (0x20, 0x35, 0x06);
    let (not_there, allow) = (0x0005_0000 | libc::ENOSYS.unsigned_abs(), 0x7fff_0000);
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(load, 0, 0, 0),
        step(jump_ge, 0, 1, KNOWN),
        step(ret, 0, 0, not_there),
        step(ret, 0, 0, allow),
    ]
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// These calls, whatever their arguments.
fn all(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, vec![])).collect()
}

/// Calls that do not exist. The flags of `clone3` cannot be read by a filter, and libraries then
/// use `clone`. `flock` works on files that one can only read, so it would stop whoever else
/// locks them; libraries know systems without it, and lock by other means. The others put pages
/// of files into pipes, many times what a pipe holds otherwise; libraries copy instead.
fn not_there(filter: Filter) -> &'static [i64] {
    const FOR_ALL: &[i64] = &[
        libc::SYS_clone3,
        libc::SYS_flock,
        libc::SYS_splice,
        libc::SYS_tee,
        libc::SYS_sendfile,
    ];
    match filter {
        Filter::Program { .. } | Filter::Kernel { .. } | Filter::Cell { .. } => FOR_ALL,
        // Its inits send files with the last one.
        Filter::Zygote { .. } => FOR_ALL.split_last().map_or(&[], |(_, others)| others),
    }
}

/// Calls that no file system has. `fallocate` takes any number of blocks within a millisecond,
/// which nobody could stop in time; libraries write instead.
fn unsupported(filter: Filter) -> &'static [i64] {
    match filter {
        // Attributes by path: Landlock does not look at these, and copying files asks for them.
        Filter::Program { alone: true, .. } | Filter::Kernel { alone: true, .. } => &[
            libc::SYS_fallocate,
            libc::SYS_getxattr,
            libc::SYS_lgetxattr,
            libc::SYS_listxattr,
            libc::SYS_llistxattr,
        ],
        Filter::Program { .. }
        | Filter::Kernel { .. }
        | Filter::Cell { .. }
        | Filter::Zygote { .. } => &[libc::SYS_fallocate],
    }
}

fn refused(filter: Filter) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = all(ALWAYS);
    let program = |rules: &mut Rules| -> Result<(), seccompiler::BackendError> {
        rules.extend(all(LEAVING));
        let mut clones = NAMESPACES
            .iter()
            .map(|flag| has(0, *flag))
            .collect::<Result<Vec<_>, _>>()?;
        // A thread with descriptors of its own: nobody would find them in its process.
        let (thread, files) = (libc::CLONE_THREAD as u64, libc::CLONE_FILES as u64);
        let op = SeccompCmpOp::MaskedEq(thread | files);
        clones.push(SeccompRule::new(vec![condition(0, op, thread)?])?);
        rules.insert(libc::SYS_clone, clones);
        rules.insert(
            libc::SYS_close_range,
            vec![has(2, u64::from(libc::CLOSE_RANGE_UNSHARE))?],
        );
        rules.insert(
            libc::SYS_prctl,
            PRCTL
                .iter()
                .map(|op| is(0, *op))
                .collect::<Result<_, _>>()?,
        );
        Ok(())
    };
    rules.insert(
        libc::SYS_ioctl,
        vec![
            is(1, TIOCSTI)?,
            is(1, TIOCLINUX)?,
            is(1, FIOSETOWN)?,
            is(1, SIOCSPGRP)?,
        ],
    );
    rules.insert(libc::SYS_fcntl, vec![none_of(1, FCNTL)?]);
    // Only its own: limits and priorities of others with the same user are not its business.
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        rules.insert(call, vec![is_not(0, 0)?]);
    }
    if matches!(filter, Filter::Kernel { .. } | Filter::Cell { .. }) {
        // ZeroMQ gives its threads, by their numbers, the policy that they have already.
        let other = vec![
            condition(0, SeccompCmpOp::Ne, 0)?,
            condition(1, SeccompCmpOp::Ne, libc::SCHED_OTHER as u64)?,
        ];
        rules.insert(libc::SYS_sched_setscheduler, vec![SeccompRule::new(other)?]);
    }
    rules.insert(libc::SYS_setpriority, vec![is_not(0, 0)?, is_not(1, 0)?]);
    // Shared memory without a name, and large pages: no watcher can add them up.
    let uncounted = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u64;
    rules.insert(
        libc::SYS_mmap,
        vec![
            has(3, uncounted)?,
            has(3, libc::MAP_HUGETLB as u64)?,
            // It counts as a stack, which is not in the account of `RLIMIT_DATA`.
            has(3, libc::MAP_GROWSDOWN as u64)?,
        ],
    );
    for call in [libc::SYS_mprotect, libc::SYS_pkey_mprotect] {
        let grows = [libc::PROT_GROWSDOWN, libc::PROT_GROWSUP];
        let grows = grows.map(|flag| has(2, flag as u64));
        rules.insert(call, grows.into_iter().collect::<Result<_, _>>()?);
    }
    let (network, is_program, alone) = match filter {
        Filter::Zygote { network } => (network, false, false),
        Filter::Program { network, alone } | Filter::Kernel { network, alone } => {
            (network, true, alone)
        }
        Filter::Cell { network } => (network, true, false),
    };
    let is_kernel = matches!(filter, Filter::Kernel { .. });
    if is_program {
        program(&mut rules)?;
    }
    if alone {
        rules.extend(all(OF_OTHERS));
    }
    if is_program {
        // A pair of these could be connected anew, to whoever listens on this machine.
        let kind = |kind: libc::c_int| {
            let op = SeccompCmpOp::MaskedEq(KIND_OF_SOCKET);
            SeccompRule::new(vec![condition(1, op, kind as u64)?])
        };
        let kinds = vec![kind(libc::SOCK_DGRAM)?, kind(libc::SOCK_RAW)?];
        rules.insert(libc::SYS_socketpair, kinds);
    }
    if is_program && !network {
        // What waits in a socket is in nobody's account: it shall not be much.
        let sizes = vec![
            is(2, libc::SO_SNDBUF as u64)?,
            is(2, libc::SO_SNDBUFFORCE as u64)?,
        ];
        rules.insert(libc::SYS_setsockopt, sizes);
    }
    if is_program && !network && !is_kernel {
        // With a message go descriptors, which nobody has and nobody counts until it is read;
        // and all processes of a user share the number of those that are on their way.
        rules.extend(all(&[libc::SYS_sendmsg, libc::SYS_sendmmsg]));
    }
    if is_kernel && alone && !network {
        // It waits to be asked. Whoever listens on this machine is not its business.
        rules.insert(libc::SYS_connect, vec![]);
    }
    let sockets = match (filter, network) {
        (Filter::Kernel { .. }, true) => vec![none_of(0, KERNELS_FAMILIES_AND_NETWORK)?],
        (Filter::Kernel { .. }, false) => no_datagrams(KERNELS_FAMILIES)?,
        // Children that a cell forks send what they print over the loopback of their own.
        (Filter::Cell { .. }, false) => no_datagrams(LOOPBACK)?,
        (_, true) => vec![none_of(0, ALLOWED_FAMILIES)?],
        (_, false) => vec![],
    };
    rules.insert(libc::SYS_socket, sockets);
    Ok(rules)
}

/// The bits of a socket's type that are not flags.
const KIND_OF_SOCKET: u64 = 0xf;

/// The same number everywhere, but not in every version of libc.
const FCHMODAT2: i64 = 452;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;

/// What types into a terminal. C libraries do not agree on the type of such numbers.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// Who gets a signal when something can be read. They are the same everywhere.
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;

/// What may be asked of a descriptor. Not: leases and notices about files of others, locks that
/// outlive their descriptors in a mapping, signals to whoever is named, larger pipes.
const FCNTL: &[u64] = &[
    libc::F_DUPFD as u64,
    libc::F_DUPFD_CLOEXEC as u64,
    libc::F_GETFD as u64,
    libc::F_SETFD as u64,
    libc::F_GETFL as u64,
    libc::F_SETFL as u64,
    libc::F_GETLK as u64,
    libc::F_SETLK as u64,
    libc::F_SETLKW as u64,
    libc::F_OFD_GETLK as u64,
    libc::F_GETOWN as u64,
    libc::F_GETLEASE as u64,
    libc::F_GETPIPE_SZ as u64,
    libc::F_GET_SEALS as u64,
    libc::F_ADD_SEALS as u64,
];

/// Rights, owners, times and attributes of files: Landlock does not look at these.
const OF_OTHERS: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // What is mounted where.
    STATMOUNT,
    LISTMOUNT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Kinds of sockets that a program with network may make. Unix sockets are not the network:
/// by them it would reach the daemon and whatever else listens for this user, where no
/// namespace hides their names; and could hand its own sockets to them.
const ALLOWED_FAMILIES: &[u64] = &[
    libc::AF_INET as u64,
    libc::AF_INET6 as u64,
    libc::AF_NETLINK as u64,
];

/// Sockets of a kernel without network: those that it is asked on, and those of its own
/// loopback.
const KERNELS_FAMILIES: &[u64] = &[
    libc::AF_UNIX as u64,
    libc::AF_INET as u64,
    libc::AF_NETLINK as u64,
];
/// The same for a kernel with network.
const KERNELS_FAMILIES_AND_NETWORK: &[u64] = &[
    libc::AF_UNIX as u64,
    libc::AF_INET as u64,
    libc::AF_INET6 as u64,
    libc::AF_NETLINK as u64,
];
/// Sockets that code in a cell without network may make.
const LOOPBACK: &[u64] = &[libc::AF_INET as u64, libc::AF_NETLINK as u64];

/// Ways to look as if one were another kind of process.
const PRCTL: &[u64] = &[
    libc::PR_SET_DUMPABLE as u64,
    libc::PR_SET_PTRACER as u64,
    libc::PR_SET_MM as u64,
];

const NAMESPACES: &[u64] = &[
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWCGROUP as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
    libc::CLONE_NEWTIME as u64,
];

/// Calls by which a program could leave its walls, and with which a zygote builds them.
const LEAVING: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_memfd_create,
    libc::SYS_chroot,
    // Rules take memory of the kernel that is in nobody's account.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

/// Refused to everybody.
const ALWAYS: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_ioprio_set,
    // Mounts, the newer way, and files by handle.
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Large parts of the kernel that programs seldom need.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_personality,
    libc::SYS_lookup_dcookie,
    // What a user, or the machine, has only so many of, for all programs together.
    libc::SYS_io_setup,
    libc::SYS_io_destroy,
    libc::SYS_io_submit,
    libc::SYS_io_cancel,
    libc::SYS_io_getevents,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    // The machine.
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    // Memory that is in nobody's account.
    libc::SYS_vmsplice,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_notify,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_get_mempolicy,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

fn condition(
    argument: u8,
    op: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

fn is(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::Eq, value)?])
}

fn is_not(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::Ne, value)?])
}

fn none_of(argument: u8, values: &[u64]) -> Result<SeccompRule, seccompiler::BackendError> {
    let others = values
        .iter()
        .map(|value| condition(argument, SeccompCmpOp::Ne, *value));
    SeccompRule::new(others.collect::<Result<_, _>>()?)
}

/// No sockets but streams of these families, and what tells about interfaces. What waits in
/// datagram sockets is in nobody's account.
fn no_datagrams(families: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let datagram = vec![
        condition(0, SeccompCmpOp::Ne, libc::AF_NETLINK as u64)?,
        condition(
            1,
            SeccompCmpOp::MaskedEq(KIND_OF_SOCKET),
            libc::SOCK_DGRAM as u64,
        )?,
    ];
    Ok(vec![none_of(0, families)?, SeccompRule::new(datagram)?])
}

fn has(argument: u8, flag: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let op = SeccompCmpOp::MaskedEq(flag);
    SeccompRule::new(vec![condition(argument, op, flag)?])
}

#[cfg(test)]
#[path = "seccomp_tests.rs"]
mod tests;
