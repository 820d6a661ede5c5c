//! The life of a box on macOS: it starts the program behind its profile, watches what it uses,
//! and reports how it ended. A guard below it sees to it that nothing is left.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use pillion_process::environment::ChildVariables;
use pillion_process::{Launch, Running, StreamTarget, descendants, stat};
use tokio::io::AsyncReadExt;

use super::profile::profile;
use crate::level::Level;
use crate::policy::{Folder, Limits, Policy};
use crate::spec::{BoxRole, Disk, InitMessage, Spec, WatchedLimits};
#[cfg(target_os = "macos")]
use crate::streams;
use crate::walk::{self, Walk};
use crate::{message, outputs};

/// What puts a profile around a program.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";
/// Exit code of a box that could not do its work; why is on its control socket.
const FAILED: i32 = 126;
/// Looks at memory and processes between two looks at the folder, which take longer.
const DISK_EVERY: u32 = 10;
/// Limits, then the program in place of the shell. What is limited more already stays so.
const LIMITED: &str = r#"ulimit -c 0; ulimit -t "$1"; ulimit -n "$2"; ulimit -f "$3"; shift 3
umask 077; exec /usr/bin/nice -n 5 "$@""#;
/// It fails if the wall does not stand: a file that no policy shows can be read.
const TRIAL: &str = "if (exec < /private/etc/services) 2>/dev/null; then exit 3; fi; exit 0";

/// The box's whole life. Returns its exit code.
#[cfg(target_os = "macos")]
pub(crate) fn run_box(ctl: std::os::fd::RawFd, life: std::os::fd::RawFd) -> i32 {
    // Its program is guarded, too.
    pillion_process::guard::init();
    let adopt = pillion_process::adopt;
    let (Ok(ctl), Ok(life)) = (adopt(ctl), adopt(life)) else {
        return FAILED;
    };
    let Ok((spec, _)) = message::receive::<Spec>(&ctl) else {
        return FAILED;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(async {
            let mut spec = spec;
            let started = start(&mut spec);
            streams::let_go();
            attend(&spec, started, &ctl.into(), life).await
        }),
        Err(error) => complain(&ctl.into(), format!("a box without a runtime: {error}")),
    }
}

/// Stay with the program until it ends, or its owner lets go.
async fn attend(
    spec: &Spec,
    started: Result<Running, String>,
    ctl: &UnixStream,
    life: OwnedFd,
) -> i32 {
    let mut running = match started {
        Ok(running) => running,
        Err(why) => return complain(ctl, why),
    };
    // It reads its end when the owner lets go of the other.
    let Ok(mut life) = tokio::net::unix::pipe::Receiver::from_owned_fd(life) else {
        return FAILED;
    };
    let ready = InitMessage {
        ready: Some(0),
        ..InitMessage::default()
    };
    if spec.role != BoxRole::Trial && message::send(ctl, &ready, &[]).is_err() {
        return FAILED;
    }
    let every = Duration::from_millis(spec.every_ms.max(1).into());
    let mut seen = Seen::default();
    let mut killed = None;
    let mut byte = [0];
    let exit = loop {
        tokio::select! {
            exit = running.wait() => break exit,
            _ = life.read(&mut byte) => {
                running.kill();
                running.wait().await;
                return FAILED;
            }
            () = tokio::time::sleep(every) => {
                killed = killed.or_else(|| seen.look(&running, &spec.watch));
                if killed.is_some() {
                    running.kill();
                }
            }
        }
    };
    killed = killed.or_else(|| is_full(&spec.watch).then_some("disk"));
    let end = InitMessage {
        exit: exit.code,
        signal: exit.signal,
        killed: killed.map(ToOwned::to_owned),
        peak_bytes: seen.peak,
        processes: seen.processes,
        ..InitMessage::default()
    };
    outputs::report(ctl, &spec.cwd, &spec.outputs, end);
    0
}

/// Tell the owner why it could not be done.
fn complain(ctl: &UnixStream, why: String) -> i32 {
    let said = InitMessage {
        failed: Some(why),
        ..InitMessage::default()
    };
    let _ = message::send(ctl, &said, &[]);
    FAILED
}

fn start(spec: &mut Spec) -> Result<Running, String> {
    let arguments = arguments(spec)?;
    let mut launch = Launch::new("/bin/sh")
        .args(["-c", LIMITED, crate::NAME])
        .args(arguments)
        .cwd(&spec.cwd)
        .variables(ChildVariables::default())
        .stdin(StreamTarget::Inherit)
        .stdout(StreamTarget::Inherit)
        .stderr(StreamTarget::Inherit);
    for (name, value) in &spec.env {
        launch = launch.env(name, value);
    }
    for fd in std::mem::take(&mut spec.keep) {
        let fd = pillion_process::adopt(fd).map_err(|error| format!("descriptors: {error}"))?;
        launch = launch.inherit(fd);
    }
    launch.spawn().map_err(|error| error.to_string())
}

/// What the shell is told: three limits, and the program with what is around it.
fn arguments(spec: &Spec) -> Result<Vec<String>, String> {
    if spec.role == BoxRole::Zygote {
        return Err("zygotes need namespaces, which macOS does not have".to_owned());
    }
    let Limits {
        cpu_s,
        open_files,
        disk,
        ..
    } = spec.policy.limits;
    // Files are limited in blocks of 512 bytes.
    let mut all: Vec<String> = [cpu_s, open_files, disk.div_ceil(512)]
        .iter()
        .map(ToString::to_string)
        .collect();
    if spec.level >= Level::L2 {
        let mut policy = resolved(&spec.policy);
        policy.programs |= spec.role == BoxRole::Trial;
        let profile = profile(&policy, spec.role).map_err(|unsaid| unsaid.to_string())?;
        all.extend([SANDBOX_EXEC.to_owned(), "-p".to_owned(), profile]);
    }
    match spec.role {
        BoxRole::Trial => all.extend(["/bin/sh", "-c", TRIAL].map(ToOwned::to_owned)),
        _ => {
            all.push(spec.program.to_string_lossy().into_owned());
            all.extend(spec.args.iter().cloned());
        }
    }
    Ok(all)
}

/// The policy with each path as it is and as it is at the end of all links: programs name the
/// one, and the kernel compares the other.
fn resolved(policy: &Policy) -> Policy {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut view = policy.view.clone();
    view.extend(policy.view.iter().map(|path| real(path)));
    view.sort();
    view.dedup();
    let folder = match &policy.folder {
        Folder::Kept(folder) => Folder::Kept(real(folder)),
        other => other.clone(),
    };
    Policy {
        view,
        folder,
        ..policy.clone()
    }
}

/// What was seen so far.
#[derive(Debug, Default)]
struct Seen {
    peak: u64,
    processes: u32,
    looks: u32,
}

impl Seen {
    /// Look at everything below the program's guard; says which limit is passed.
    fn look(&mut self, running: &Running, watch: &WatchedLimits) -> Option<&'static str> {
        let below = running.id().map(descendants).unwrap_or_default();
        let processes = u32::try_from(below.len()).unwrap_or(u32::MAX);
        let memory: u64 = below
            .iter()
            .filter_map(|pid| stat::resident_bytes(*pid))
            .sum();
        self.processes = self.processes.max(processes);
        self.peak = self.peak.max(memory);
        self.looks = self.looks.wrapping_add(1);
        if watch.processes.is_some_and(|most| processes > most) {
            return Some("processes");
        }
        if watch.memory.is_some_and(|most| memory > most) {
            return Some("memory");
        }
        let is_time = self.looks.is_multiple_of(DISK_EVERY);
        (is_time && is_full(watch)).then_some("disk")
    }
}

/// Whether the folder holds more than it may.
fn is_full(watch: &WatchedLimits) -> bool {
    watch.disk.as_ref().is_some_and(|disk| !fits(disk))
}

/// Whether what is below a folder fits into it. Whoever hides something has something to hide.
fn fits(disk: &Disk) -> bool {
    let Ok(walk) = Walk::open(&disk.path) else {
        return false;
    };
    let (mut bytes, mut names) = (walk::bytes(walk.root()), 0);
    for found in walk {
        let Ok(found) = found else {
            return false;
        };
        names += 1;
        // A file with several names counts for each of them: that is never less than it is.
        bytes += found.bytes();
        if bytes > disk.bytes || names > disk.files {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::OutputsSpec;

    fn spec(level: Level, folder: &Path, script: &str) -> Spec {
        Spec {
            role: BoxRole::Program,
            level,
            policy: Policy {
                view: Vec::new(),
                programs: true,
                folder: Folder::Kept(folder.to_owned()),
                runs_own_files: false,
                terminals: false,
                network: false,
                limits: Limits {
                    open_files: 33,
                    ..Limits::default()
                },
            },
            run_user: None,
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("WORD".to_owned(), "said".to_owned())],
            cwd: folder.to_owned(),
            keep: Vec::new(),
            handed: None,
            naming: -1,
            watch: WatchedLimits {
                memory: Some(1 << 30),
                processes: Some(20),
                disk: None,
            },
            outputs: OutputsSpec {
                names: vec!["*.txt".to_owned()],
                bytes: 1 << 20,
                files: 10,
            },
            every_ms: 5,
        }
    }

    /// The whole life of a box, in this process: what it said, and the files behind that.
    /// There is no profile around its program: only macOS has what puts it there.
    fn lived(spec: Spec, let_go: bool) -> (Vec<InitMessage>, i32) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let life = pillion_process::Pipe::new().unwrap();
        let held = (!let_go).then_some(life.write);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut spec = spec;
        let code = runtime.block_on(async {
            let started = start(&mut spec);
            attend(&spec, started, &theirs, life.read).await
        });
        drop(theirs);
        drop(held);
        let mut all = Vec::new();
        while let Ok((said, _)) = message::receive::<InitMessage>(&ours) {
            all.push(said);
            if all.len() == 2 {
                break;
            }
        }
        (all, code)
    }

    #[test]
    fn limits_come_before_the_profile_and_that_before_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let args = arguments(&spec(Level::L2, folder.path(), "true")).unwrap();
        assert_eq!(args[..3], ["120", "33", "524288"]);
        assert_eq!(args[3..5], [SANDBOX_EXEC, "-p"]);
        assert!(args[5].starts_with("(version 1)\n(deny default)\n"));
        assert_eq!(args[6..], ["/bin/sh", "-c", "true"]);
        let bare = arguments(&spec(Level::L1, folder.path(), "true")).unwrap();
        assert_eq!(bare[3..], ["/bin/sh", "-c", "true"]);
        let mut zygote = spec(Level::L2, folder.path(), "true");
        zygote.role = BoxRole::Zygote;
        assert!(arguments(&zygote).unwrap_err().contains("namespaces"));
    }

    #[test]
    fn a_trial_asks_for_what_no_policy_shows() {
        let folder = tempfile::tempdir().unwrap();
        let mut trial = spec(Level::L2, folder.path(), "true");
        trial.role = BoxRole::Trial;
        trial.policy.programs = false;
        let args = arguments(&trial).unwrap();
        assert!(args[5].contains(r#"(subpath "/bin")"#), "its shell runs");
        assert!(!args[5].contains("/private/etc/services"));
        assert_eq!(args[6..], ["/bin/sh", "-c", TRIAL]);
    }

    #[test]
    fn links_in_a_policy_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut policy = spec(Level::L2, &link, "true").policy;
        policy.view = vec![link.clone()];
        let real = real.canonicalize().unwrap();
        let resolved = resolved(&policy);
        assert_eq!(resolved.folder, Folder::Kept(real.clone()));
        assert!(resolved.view.contains(&real) && resolved.view.contains(&link));
    }

    #[test]
    fn a_program_has_its_limits_its_variables_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let script =
            "ulimit -n > files.txt; echo $WORD > word.txt; umask > mask.txt; env > env.txt; exit 7";
        let (said, code) = lived(spec(Level::L1, folder.path(), script), false);
        assert_eq!(code, 0);
        assert_eq!(said[0].ready, Some(0));
        assert_eq!((said[1].exit, said[1].killed.as_deref()), (Some(7), None));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("files.txt"), "33\n");
        assert_eq!(read("word.txt"), "said\n");
        assert!(read("mask.txt").ends_with("077\n"));
        assert!(!read("env.txt").contains("CARGO"), "nothing of ours");
        let names: Vec<&str> = said[1]
            .outputs
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        assert_eq!(names, ["env.txt", "files.txt", "mask.txt", "word.txt"]);
    }

    #[test]
    fn who_has_too_many_processes_or_too_much_on_disk_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let script = "for i in 1 2 3 4 5 6; do sleep 600 & done; wait";
        let mut many = spec(Level::L1, folder.path(), script);
        many.watch.processes = Some(3);
        let (said, _) = lived(many, false);
        assert_eq!(said[1].killed.as_deref(), Some("processes"));
        let script = "head -c 300000 /dev/zero > big; sleep 600";
        let mut full = spec(Level::L1, folder.path(), script);
        full.watch.disk = Some(Disk {
            path: folder.path().to_owned(),
            bytes: 100_000,
            files: 10,
            used: 0,
            named: 0,
            left: (0, 0),
            sends: false,
        });
        let (said, _) = lived(full, false);
        assert_eq!(said[1].killed.as_deref(), Some("disk"));
    }

    #[test]
    fn an_owner_that_lets_go_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let (said, code) = lived(spec(Level::L1, folder.path(), "sleep 600"), true);
        assert_eq!(code, FAILED);
        assert!(said.len() <= 1, "{said:?}");
    }
}
