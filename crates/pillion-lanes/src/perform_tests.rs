//! What a run is told and allowed, by its request and its setting.

use super::*;
use crate::tools::{Readable, Tools, ToolsGiven};

fn request() -> RunRequest {
    RunRequest {
        lane: Lane::Expert,
        program: Program::Code("1".to_owned()),
        name: "<string>".to_owned(),
        args: vec!["-v".to_owned()],
        stdin: None,
        files: Vec::new(),
        outputs: Vec::new(),
        session: None,
        timeout: None,
        memory_mb: None,
        seed: Some(3),
        clock: None,
        tools: Tools::default(),
        fresh: false,
        whereabouts: Whereabouts::default(),
        peer: Peer::default(),
    }
}

fn runtime() -> Runtime {
    Runtime {
        executable: "/python".into(),
        worker: "/worker".into(),
        view: Vec::new(),
        packages: vec!["/python/site-packages".into()],
        proof: pillion_project::Stamps::default(),
        is_foreign: false,
    }
}

/// Do something with the setting of a run whose folder held `before`.
/// What the folder of a run may hold.
fn room(setting: &Setting<'_>, network: bool) -> Disk {
    let place = &setting.place.seen;
    disk(&setting.limits, place, setting.before, network)
}

fn in_setting<T>(
    (lane, level): (Lane, Level),
    before: &session::Survey,
    act: impl FnOnce(&Setting<'_>) -> T,
) -> T {
    let home = tempfile::tempdir().unwrap();
    let place = RunFolder::new(home.path(), lane, Some("s"), level).unwrap();
    act(&Setting {
        root: Path::new("/project"),
        runtime: &runtime(),
        config: &LaneConfig::default(),
        limits: Limits {
            disk: 1000,
            disk_files: 10,
            ..Limits::default()
        },
        level,
        place: &place,
        before,
    })
}

const STRICT: (Lane, Level) = (Lane::Expert, Level::L3);

fn means(level: Level) -> Means {
    Means {
        level,
        namespaces: Err("forbidden here".to_owned()),
        landlock: 6,
        seccomp: true,
        seatbelt: false,
        root: false,
    }
}

#[test]
fn a_lane_runs_where_its_walls_can_be_had_and_else_says_what_to_do() {
    let config = LaneConfig::default();
    for reached in [Level::L2, Level::L3] {
        let level = level(&means(reached), Lane::Expert, &config);
        assert_eq!(level.unwrap(), reached, "as strong as it can be had");
    }
    let error = level(&means(Level::L1), Lane::User, &config).unwrap_err();
    assert_eq!(error.code, Code::StartFailed);
    assert!(error.message.contains("user lane") && error.message.contains("forbidden here"));
    assert!(error.hint.unwrap().contains("[lanes.user]"));
    let weaker = LaneConfig {
        allow_weaker: true,
        ..config
    };
    let level = level(&means(Level::L1), Lane::User, &weaker);
    assert_eq!(level.unwrap(), Level::L1);
}

#[test]
fn files_go_along_with_their_sizes_in_the_order_they_are_sent_in() {
    let mut request = request();
    request.files = vec![("b".to_owned(), vec![0; 3]), ("a/c".to_owned(), Vec::new())];
    let order = in_setting(STRICT, &session::Survey::default(), |setting| {
        order(&request, setting)
    });
    let files: Vec<_> = order
        .files
        .iter()
        .map(|file| (&*file.name, file.size))
        .collect();
    assert_eq!(files, [("b", 3), ("a/c", 0)]);
}

#[test]
fn a_program_is_told_its_own_folder_first_and_then_the_packages() {
    let request = request();
    let order = in_setting(STRICT, &session::Survey::default(), |setting| {
        order(&request, setting)
    });
    assert_eq!(order.folder, Path::new(WORK));
    assert_eq!(order.path, [WORK.into(), runtime().packages[0].clone()]);
    assert_eq!(order.env, environment::of_program());
    assert_eq!((order.seed, order.clock), (Some(3), None));
    assert_eq!(
        (order.args, order.name.as_str()),
        (request.args, "<string>")
    );
}

#[test]
fn only_who_was_given_tools_is_told_of_them() {
    let mut request = request();
    let told = |request: &RunRequest| {
        let order = in_setting(STRICT, &session::Survey::default(), |setting| {
            order(request, setting)
        });
        (order.tools, order.tool_names)
    };
    assert_eq!(told(&request), (false, std::collections::BTreeMap::new()));
    let given = ToolsGiven {
        read: [("a".to_owned(), Readable::Text("1".to_owned()))].into(),
        ..ToolsGiven::default()
    };
    request.tools = Tools::new(given, Path::new("/")).unwrap();
    let names = [("read".to_owned(), vec!["a".to_owned()])].into();
    assert_eq!(told(&request), (true, names));
}

#[test]
fn a_slot_lowers_its_own_limits_and_a_box_has_them_already() {
    let request = request();
    let limits_in = |lane_and_level| {
        in_setting(lane_and_level, &session::Survey::default(), |setting| {
            order(&request, setting).rlimits
        })
    };
    assert!(!limits_in(STRICT).is_empty());
    // Who is behind no namespace cannot be told from others of its user by then.
    assert!(limits_in((Lane::User, Level::L2)).is_empty());
    assert!(limits_in((Lane::User, Level::L1)).is_empty());
}

#[test]
fn without_namespaces_a_program_sees_its_folder_where_it_is() {
    let request = request();
    in_setting(
        (Lane::User, Level::L2),
        &session::Survey::default(),
        |setting| {
            let order = order(&request, setting);
            let folder = setting.place.folder.clone().unwrap();
            assert_eq!((&order.folder, &order.path[0]), (&folder, &folder));
            assert_eq!(order.env["HOME"], folder.to_string_lossy());
            assert_eq!(order.env["TMPDIR"], folder.join(".tmp").to_string_lossy());
        },
    );
}

#[test]
fn a_folder_that_holds_too_much_already_may_be_cleaned_up() {
    let kept = (Lane::User, Level::L3);
    let mut before = session::Survey::default();
    (before.bytes, before.names, before.left) = (100, 5, (7, 8));
    let usual = in_setting(kept, &before, |setting| room(setting, false));
    assert_eq!(
        (usual.bytes, usual.files),
        (1000, 100),
        "ten times as many files on disk"
    );
    assert_eq!((usual.used, usual.named, usual.left), (100, 5, (7, 8)));
    assert_eq!(
        (usual.path.as_path(), usual.sends),
        (Path::new(WORK), false)
    );
    (before.bytes, before.names) = (5000, 400);
    let full = in_setting(kept, &before, |setting| room(setting, true));
    assert_eq!((full.bytes, full.files), (5000, 400));
    assert!(full.sends, "who has the network can send descriptors");
}

#[test]
fn no_folder_holds_more_names_than_can_be_looked_through() {
    let before = session::Survey::default();
    let disk = in_setting((Lane::User, Level::L3), &before, |setting| {
        let setting = Setting {
            limits: Limits {
                disk_files: u64::MAX,
                ..setting.limits
            },
            ..*setting
        };
        room(&setting, false)
    });
    assert_eq!(disk.files, session::MOST_NAMES);
}
