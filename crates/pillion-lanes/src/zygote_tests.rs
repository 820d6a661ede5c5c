//! What a zygote is made of and what its slots are confined by.

use super::*;
use pillion_sandbox::{Folder, Limits as SandboxLimits};
use std::io::Write;
use std::path::Path;

fn policy(runs_own_files: bool) -> Policy {
    Policy {
        view: vec!["/python".into()],
        programs: runs_own_files,
        folder: Folder::Throwaway,
        runs_own_files,
        terminals: false,
        network: false,
        limits: SandboxLimits {
            disk: 1000,
            disk_files: 10,
            ..SandboxLimits::default()
        },
    }
}

fn make(lane: Lane) -> Make {
    Make {
        root: "/project".into(),
        lane,
        runtime: Runtime {
            executable: "/python/bin/python".into(),
            worker: "/worker".into(),
            view: vec!["/python".into()],
            packages: vec!["/python/packages".into()],
            proof: pillion_project::Stamps::default(),
            is_foreign: false,
        },
        policy: policy(lane == Lane::User),
        imports: vec!["json".to_owned()],
        handed: (lane == Lane::User).then(|| "/sessions".into()),
        idle: Duration::from_secs(60),
    }
}

fn told(make: &Make) -> Value {
    serde_json::to_value(setup(make).unwrap()).unwrap()
}

/// The mount at a place.
fn at<'a>(mounts: &'a [Value], place: &str) -> &'a Value {
    let found = mounts.iter().find(|mount| mount["at"] == place);
    found.unwrap_or_else(|| panic!("{place}"))
}

fn flags(mount: &Value) -> u32 {
    u32::try_from(mount["flags"].as_u64().unwrap()).unwrap()
}

#[test]
fn a_slot_without_a_folder_has_one_in_memory_of_the_size_of_its_limits() {
    let mounts = mounts(&policy(false), None);
    let work = at(&mounts, WORK);
    assert_eq!(work["kind"], "tmpfs");
    assert_eq!(work["options"], "size=1000,nr_inodes=10,mode=700");
    assert_eq!(at(&mounts, "/proc")["kind"], "proc");
}

#[test]
fn a_slot_with_a_folder_has_that_part_of_what_was_handed_on_and_no_other() {
    let mounts = mounts(&policy(true), Some(Path::new("session-1")));
    let work = at(&mounts, WORK);
    assert_eq!((&work["kind"], work.get("options")), (&json!("bind"), None));
    assert_eq!(work["from"], format!("{HANDED}/session-1"));
    let binds = mounts.iter().filter(|mount| mount["kind"] == "bind");
    assert_eq!(binds.count(), 1);
}

#[test]
fn programs_run_from_the_own_folder_only_in_lanes_that_may() {
    for folder in [None, Some(Path::new("session"))] {
        for runs_own_files in [false, true] {
            let mounts = mounts(&policy(runs_own_files), folder);
            let is_noexec = |place: &str| flags(at(&mounts, place)) & NOEXEC != 0;
            assert_eq!(is_noexec(WORK), !runs_own_files);
            assert!(is_noexec(TMP) && is_noexec("/dev/shm"), "never from these");
            for place in [WORK, TMP, "/dev/shm"] {
                assert_eq!(flags(at(&mounts, place)) & NOSUID_NODEV, NOSUID_NODEV);
            }
        }
    }
}

#[test]
fn a_slot_is_nobody_and_sees_no_sessions_of_others() {
    let strict = told(&make(Lane::Expert));
    assert_eq!(strict["hide"], json!([]), "there are none");
    let user = told(&make(Lane::User));
    assert_eq!(user["hide"], json!([HANDED]));
    for told in [strict, user] {
        assert_eq!((&told["uid"], &told["gid"]), (&json!(1000), &json!(1000)));
        assert_eq!(told["env"], json!(environment::of_program()));
        assert_eq!(
            (&told["imports"], &told["path"]),
            (&json!(["json"]), &json!(["/python/packages"]))
        );
        assert!(!told["rlimits"].as_array().unwrap().is_empty());
        assert_eq!(told["landlock"].is_null(), landlock::version() == 0);
        assert_eq!(told["oom_score_adj"], 1000, "the first to go");
    }
}

#[test]
fn filters_of_system_calls_are_whole_and_differ_by_the_network() {
    let filters = |network| {
        let mut make = make(Lane::User);
        make.policy.network = network;
        let told = told(&make);
        let filters = told["filters"].as_array().unwrap().clone();
        assert!(!filters.is_empty());
        for filter in &filters {
            let bytes = BASE64_STANDARD.decode(filter.as_str().unwrap()).unwrap();
            assert!(
                !bytes.is_empty() && bytes.len() % 8 == 0,
                "steps of eight bytes"
            );
        }
        filters
    };
    assert_ne!(filters(false), filters(true));
}

#[test]
fn zygotes_are_the_same_if_they_are_made_of_the_same() {
    let one = make(Lane::User);
    assert_eq!(one.key(), make(Lane::User).key());
    let changes: [fn(&mut Make); 7] = [
        |make| make.root = "/other".into(),
        |make| make.lane = Lane::Expert,
        |make| make.runtime.executable = "/other/python".into(),
        |make| make.policy.network = true,
        |make| make.imports.push("os".to_owned()),
        |make| make.handed = None,
        |make| make.idle = Duration::from_secs(61),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = make(Lane::User);
        change(&mut other);
        assert_ne!(other.key(), one.key(), "{number}");
    }
}

#[test]
fn packages_that_changed_make_another_zygote() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("METADATA");
    let key = || {
        let mut make = make(Lane::User);
        make.runtime.proof = pillion_project::Stamps::of([file.clone()]);
        make.key()
    };
    let before = key();
    assert_eq!(key(), before);
    std::fs::write(&file, "2").unwrap();
    assert_ne!(key(), before);
}

#[test]
fn a_supervisor_knows_a_zygote_by_its_lane_and_never_kills_one_for_its_memory() {
    let spec = make(Lane::Expert).spec();
    assert_eq!(spec.name, "zygote-expert");
    assert!(matches!(spec.kind, SidecarKind::Zygote) && matches!(spec.dialect, Dialect::Held));
    assert_eq!(spec.workspace, Path::new("/project"));
    assert_eq!(spec.limits.idle, Some(Duration::from_secs(60)));
    assert_eq!(
        (spec.limits.memory_hard, spec.limits.calls),
        (None, Some(RUNS))
    );
    let error = not_started(io::Error::other("no box"));
    assert_eq!(error.code, Code::StartFailed);
    assert!(error.message.contains("no box"));
}

#[tokio::test]
async fn a_message_is_heard_with_its_descriptors_however_it_comes() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut ours = tokio::net::UnixStream::from_std(ours).unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let bytes = message::encode(&"slot").unwrap();
    let sending = tokio::task::spawn(async move {
        // The first byte brings the descriptor, the others come later.
        message::send_first(theirs.as_fd(), &bytes[..1], &[null.as_fd()]).unwrap();
        for byte in &bytes[1..] {
            tokio::task::yield_now().await;
            theirs.write_all(&[*byte]).unwrap();
        }
    });
    let (said, fds): (String, _) = message::hear(&mut ours).await.unwrap();
    assert_eq!((said.as_str(), fds.len()), ("slot", 1));
    sending.await.unwrap();
    let error = hear::<String>(&mut ours).await.unwrap_err();
    assert_eq!(
        error.kind(),
        io::ErrorKind::UnexpectedEof,
        "nobody is there any more"
    );
}

#[tokio::test]
async fn dropping_a_slot_kills_what_is_in_it() {
    let mut child = pillion_process::Launch::new("sleep")
        .arg("600")
        .unguarded()
        .spawn()
        .unwrap();
    let init = SlotInit::of_process(child.id().unwrap());
    assert!(init.is_alive());
    drop(init);
    assert_eq!(child.wait().await.signal, Some(9));
}
