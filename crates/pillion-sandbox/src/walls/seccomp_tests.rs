//! The filters, asked as the kernel asks them: each program is run over a call, and the strictest
//! answer counts. No process has to be confined for that.

use super::*;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Allowed,
    Fails(i32),
    Kills,
}

/// One program over one call, as the kernel's interpreter does it: the few steps that are used.
fn run(program: &[sock_filter], call: i64, arguments: [u64; 6]) -> u32 {
    let mut data = Vec::new();
    data.extend(u32::try_from(call).unwrap().to_ne_bytes());
    // AUDIT_ARCH of the machine that this runs on.
    let arch: u32 = match std::env::consts::ARCH {
        "x86_64" => 0xc000_003e,
        _ => 0xc000_00b7,
    };
    data.extend(arch.to_ne_bytes());
    data.extend(0_u64.to_ne_bytes());
    data.extend(arguments.iter().flat_map(|argument| argument.to_ne_bytes()));
    let (mut at, mut accumulator) = (0, 0_u32);
    loop {
        let step = program.get(at).expect("a program ends in an answer");
        at += 1;
        let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match step.code {
            0x20 => {
                let from = step.k as usize;
                accumulator = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x54 => accumulator &= step.k,
            0x05 => at += step.k as usize,
            0x15 => at += jump(accumulator == step.k),
            0x25 => at += jump(accumulator > step.k),
            0x35 => at += jump(accumulator >= step.k),
            0x45 => at += jump(accumulator & step.k != 0),
            0x06 => return step.k,
            other => panic!("a step that this interpreter does not know: {other:#x}"),
        }
    }
}

fn decide(filter: Filter, call: i64, arguments: [u64; 6]) -> Decision {
    let programs = programs(filter).unwrap();
    let answers = programs.iter().map(|program| run(program, call, arguments));
    // The kernel takes the smallest action, and of several errors that of the last program.
    let strictest = answers.reduce(|a, b| {
        if b >> 16 <= a >> 16 && b >> 16 != 0x7fff {
            b
        } else {
            a
        }
    });
    match strictest.unwrap() {
        0x7fff_0000 => Decision::Allowed,
        error if error >> 16 == 5 => Decision::Fails(i32::try_from(error & 0xffff).unwrap()),
        _ => Decision::Kills,
    }
}

const EXPERT: Filter = Filter::Program {
    network: false,
    alone: false,
};
const ONLINE: Filter = Filter::Program {
    network: true,
    alone: false,
};
const ALONE: Filter = Filter::Program {
    network: false,
    alone: true,
};
const ZYGOTE: Filter = Filter::Zygote { network: false };

fn with(at: usize, value: u64) -> [u64; 6] {
    let mut arguments = [0; 6];
    arguments[at] = value;
    arguments
}

#[test]
fn programs_can_do_what_programs_do() {
    for filter in [EXPERT, ONLINE, ALONE, ZYGOTE] {
        for call in [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_openat,
            libc::SYS_mmap,
            libc::SYS_clone,
            libc::SYS_futex,
            libc::SYS_execve,
            libc::SYS_exit_group,
        ] {
            assert_eq!(
                decide(filter, call, [0; 6]),
                Decision::Allowed,
                "{call} {filter:?}"
            );
        }
    }
}

#[test]
fn what_looks_into_others_or_changes_the_system_is_refused() {
    for filter in [EXPERT, ONLINE, ALONE] {
        for call in [
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_bpf,
            libc::SYS_kexec_load,
            libc::SYS_init_module,
            libc::SYS_perf_event_open,
            libc::SYS_add_key,
            libc::SYS_mount,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_io_uring_setup,
        ] {
            let decision = decide(filter, call, [0; 6]);
            assert_eq!(decision, Decision::Fails(libc::EPERM), "{call} {filter:?}");
        }
    }
}

#[test]
fn flags_are_looked_at() {
    let refused = Decision::Fails(libc::EPERM);
    let user = with(0, libc::CLONE_NEWUSER as u64);
    assert_eq!(decide(EXPERT, libc::SYS_clone, user), refused);
    assert_eq!(decide(ZYGOTE, libc::SYS_clone, user), Decision::Allowed);
    for flag in [
        libc::MAP_GROWSDOWN,
        libc::MAP_HUGETLB,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
    ] {
        assert_eq!(
            decide(EXPERT, libc::SYS_mmap, with(3, flag as u64)),
            refused
        );
    }
    let private = with(3, (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64);
    assert_eq!(decide(EXPERT, libc::SYS_mmap, private), Decision::Allowed);
    assert_eq!(
        decide(EXPERT, libc::SYS_ioctl, with(1, libc::TIOCSTI)),
        refused
    );
    let lease = with(1, libc::F_SETLEASE as u64);
    assert_eq!(decide(EXPERT, libc::SYS_fcntl, lease), refused);
    let flags = with(1, libc::F_SETFL as u64);
    assert_eq!(decide(EXPERT, libc::SYS_fcntl, flags), Decision::Allowed);
    // Limits of others with the same user are not its business.
    assert_eq!(decide(EXPERT, libc::SYS_prlimit64, with(0, 17)), refused);
    assert_eq!(
        decide(EXPERT, libc::SYS_prlimit64, [0; 6]),
        Decision::Allowed
    );
}

#[test]
fn the_network_is_a_matter_of_the_lane() {
    let refused = Decision::Fails(libc::EPERM);
    let inet = with(0, libc::AF_INET as u64);
    assert_eq!(decide(EXPERT, libc::SYS_socket, inet), refused);
    assert_eq!(decide(ONLINE, libc::SYS_socket, inet), Decision::Allowed);
    for family in [libc::AF_UNIX, libc::AF_PACKET, libc::AF_ALG, libc::AF_VSOCK] {
        assert_eq!(
            decide(ONLINE, libc::SYS_socket, with(0, family as u64)),
            refused
        );
    }
}

#[test]
fn without_namespaces_more_is_refused() {
    for call in [libc::SYS_getxattr, libc::SYS_listxattr] {
        let alone = decide(ALONE, call, [0; 6]);
        assert_eq!(alone, Decision::Fails(libc::EOPNOTSUPP));
        assert_eq!(decide(EXPERT, call, [0; 6]), Decision::Allowed);
    }
}

#[test]
fn what_is_not_known_or_has_a_substitute_is_not_there() {
    for number in [i64::from(KNOWN), 500, 0x4000_0000] {
        let decision = decide(EXPERT, number, [0; 6]);
        assert_eq!(decision, Decision::Fails(libc::ENOSYS), "{number}");
    }
    for call in [libc::SYS_clone3, libc::SYS_flock, libc::SYS_splice] {
        assert_eq!(decide(EXPERT, call, [0; 6]), Decision::Fails(libc::ENOSYS));
    }
    let allocate = decide(EXPERT, libc::SYS_fallocate, [0; 6]);
    assert_eq!(allocate, Decision::Fails(libc::EOPNOTSUPP));
}

#[test]
fn a_kernel_is_asked_on_sockets_and_its_cells_make_none_to_meet_anybody() {
    let kernel = |network, alone| Filter::Kernel { network, alone };
    let (unix, inet, stream) = (libc::AF_UNIX, libc::AF_INET, libc::SOCK_STREAM);
    let socket = |filter, family: i32, kind: i32| {
        let arguments = [family as u64, kind as u64, 0, 0, 0, 0];
        decide(filter, libc::SYS_socket, arguments)
    };
    let refused = Decision::Fails(libc::EPERM);
    let close_on_exec = stream | libc::SOCK_CLOEXEC;
    assert_eq!(
        socket(kernel(false, false), unix, close_on_exec),
        Decision::Allowed
    );
    assert_eq!(
        socket(kernel(false, false), inet, stream),
        Decision::Allowed
    );
    assert_eq!(
        socket(kernel(false, false), inet, libc::SOCK_DGRAM),
        refused
    );
    assert_eq!(
        socket(kernel(false, false), libc::AF_PACKET, stream),
        refused
    );
    for network in [false, true] {
        let cell = Filter::Cell { network };
        assert_eq!(socket(cell, unix, stream), refused);
        assert_eq!(socket(cell, inet, stream), Decision::Allowed);
        let to_others = decide(kernel(network, true), libc::SYS_connect, [3, 0, 0, 0, 0, 0]);
        assert_eq!(to_others == Decision::Allowed, network);
        let rights = decide(cell, libc::SYS_sendmsg, [3, 0, 0, 0, 0, 0]);
        assert_eq!(rights == Decision::Allowed, network);
    }
    assert_eq!(
        decide(kernel(false, true), libc::SYS_ptrace, [0; 6]),
        refused
    );
}

#[test]
fn the_numbers_of_requests_are_those_of_the_c_library() {
    let ours = [TIOCSTI, TIOCLINUX].map(i128::from);
    assert_eq!(ours, [libc::TIOCSTI, libc::TIOCLINUX].map(i128::from));
}
