//! Building the managed environment, for real.

use std::path::Path;
use std::sync::Mutex;

use pillion_runtime::managed::{EnvironmentState, Managed, ManagedError, ProgressListener, Silent};
use pillion_runtime::{Interpreter, PythonVersion};
use tokio::sync::Notify;

use crate::support::{World, run};

/// Something small to install, locked as pillion's own list is.
const SMALL: &str = "iniconfig==2.1.0 \
    --hash=sha256:9deba5723312380e77435581c6bf4935c94cbfab9b1ed33ef8d238ea168eb760\n";

/// Writes down the steps and tells when one begins.
#[derive(Default)]
struct Steps {
    all: Mutex<Vec<String>>,
    began: Notify,
}

impl ProgressListener for Steps {
    fn step(&self, message: &str) {
        self.all.lock().unwrap().push(message.to_owned());
        self.began.notify_one();
    }
}

impl Steps {
    async fn reached(&self, step: &str) {
        while !self.all().iter().any(|other| other == step) {
            self.began.notified().await;
        }
    }

    fn all(&self) -> Vec<String> {
        self.all.lock().unwrap().clone()
    }
}

/// The life of the real environment: a build that is cut off, one that two ask for at the
/// same time, use, damage, repair.
#[tokio::test]
async fn it_is_built_once_used_and_repaired() {
    let world = World::new().await;
    let managed = Managed::new(&world.dirs, &world.python).searching("");
    assert_eq!(managed.state(), EnvironmentState::Absent);
    assert_eq!(managed.uv(), None);

    let cut_off = Steps::default();
    tokio::select! {
        _ = managed.ensure(&cut_off) => panic!("it was to be cut off"),
        () = cut_off.reached("making the environment") => {}
    }
    assert!(!matches!(managed.state(), EnvironmentState::Ready { .. }));

    let (first, second) = (Steps::default(), Steps::default());
    let (one, two) = tokio::join!(managed.ensure(&first), managed.ensure(&second));
    let python = one.unwrap();
    assert_eq!(python, two.unwrap());
    // Whoever gets the lock first builds. Both may have to wait for it, since a child that was
    // just being started when the build was cut off has the lock's file until its `exec`.
    let waiting = "waiting for another process that builds the environment";
    let (mut built, mut waited) = (first.all(), second.all());
    if built.len() < waited.len() {
        std::mem::swap(&mut built, &mut waited);
    }
    assert_eq!(waited, [waiting]);
    built.retain(|step| step != waiting);
    assert_eq!(
        built,
        [
            "fetching uv",
            "making the environment",
            "installing packages",
            "making the environment",
            "installing packages",
            "checking the environment",
        ]
    );
    assert!(
        matches!(managed.state(), EnvironmentState::Ready { built_with, .. } if built_with == "uv")
    );
    assert_eq!(managed.uv(), Some(world.dirs.data.join("uv/bin/uv")));

    assert_eq!(python.prefix, managed.path());
    assert_eq!(python.version, world.python.version);
    let where_from = ["-I", "-c", "import numpy; print(numpy.__file__)"];
    let file = run(&python.executable, where_from, |launch| launch).await;
    assert!(Path::new(file.trim()).starts_with(managed.path()), "{file}");

    let again = Steps::default();
    assert_eq!(managed.ensure(&again).await.unwrap(), python);
    assert!(again.all().is_empty(), "nothing to do");

    let package = std::fs::read_dir(&python.site_packages[0])
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "dist-info"))
        .unwrap();
    std::fs::remove_dir_all(&package).unwrap();
    assert!(matches!(managed.state(), EnvironmentState::Broken { .. }));
    let repair = Steps::default();
    managed.ensure(&repair).await.unwrap();
    assert!(package.is_dir());
    assert!(
        !repair.all().contains(&"fetching uv".to_owned()),
        "uv is still there"
    );
}

#[tokio::test]
async fn pip_serves_where_uv_does_not() {
    let world = World::new().await;
    world.fake("failing", "bin/uv");
    let managed = Managed::with_requirements(&world.dirs, &world.python, SMALL)
        .searching(world.search_path(&["bin"]));

    // What a killed build and earlier releases left.
    let leftover = managed.path().join("lib/leftover");
    std::fs::create_dir_all(&leftover).unwrap();
    assert_eq!(managed.state(), EnvironmentState::Incomplete);
    let all = managed.path().parent().unwrap();
    for (age, name) in ["newest", "newer", "old", "older"].into_iter().enumerate() {
        leave(&world, &all.join(name), age);
    }
    std::fs::create_dir(all.join("half-done")).unwrap();

    let python = managed.ensure(&Silent).await.unwrap();
    assert!(
        matches!(managed.state(), EnvironmentState::Ready { built_with, .. } if built_with == "pip")
    );
    assert!(!leftover.exists());
    assert_eq!(managed.verified(), managed.state());
    let module = python.site_packages[0].join("iniconfig/__init__.py");
    let whole = std::fs::read(&module).unwrap();
    std::fs::write(&module, &whole[..whole.len() / 2]).unwrap();
    let cut = managed.verified();
    assert!(
        matches!(&cut, EnvironmentState::Broken { reason } if reason.contains("iniconfig")),
        "{cut:?}"
    );
    std::fs::write(&module, whole).unwrap();
    run(
        &python.executable,
        ["-I", "-c", "import iniconfig"],
        |launch| launch,
    )
    .await;
    let mut left: Vec<_> = all
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !managed.path().ends_with(name))
        .collect();
    left.sort();
    assert_eq!(left, [".lock", "newer", "newest"]);
}

/// A complete environment of an earlier release.
fn leave(world: &World, path: &Path, age: usize) {
    std::fs::create_dir_all(path).unwrap();
    let record = serde_json::json!({
        "requirements": "of an earlier release",
        "interpreter": world.python,
        "built_with": "uv",
        "packages": [],
    });
    let file = path.join(".complete");
    std::fs::write(&file, record.to_string()).unwrap();
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(60 * age as u64);
    std::fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

#[tokio::test]
async fn a_wrong_hash_is_refused_and_explained() {
    let world = World::new().await;
    let wrong = SMALL.replace("9deba572", "00000000");
    world.fake("failing", "bin/uv");
    let managed = Managed::with_requirements(&world.dirs, &world.python, &wrong)
        .searching(world.search_path(&["bin"]));
    let error = managed.ensure(&Silent).await.unwrap_err();
    let ManagedError::Build { attempts, .. } = &error else {
        panic!("{error}")
    };
    let what: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt.what.as_str())
        .collect();
    assert_eq!(what, ["make the environment with uv", "install with pip"]);
    assert!(
        error
            .hint()
            .contains("not the one pillion was released with"),
        "{error}"
    );
    assert_eq!(
        managed.state(),
        EnvironmentState::Absent,
        "nothing is left behind"
    );
}

#[tokio::test]
async fn a_python_that_cannot_make_environments_is_explained() {
    let world = World::new().await;
    let base = Interpreter {
        executable: world.fake("failing", "python"),
        ..world.python.clone()
    };
    let managed = Managed::new(&world.dirs, &base).searching("");
    let error = managed.ensure(&Silent).await.unwrap_err();
    let ManagedError::Build { attempts, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(attempts[0].what, "fetch uv: make the environment with venv");
    assert_eq!(attempts[1].what, "make the environment with venv");
    assert!(
        attempts[1].output.contains("No module named 'encodings'"),
        "{error}"
    );
}

#[tokio::test]
async fn environments_of_one_python_share_it() {
    let world = World::new().await;
    let path = |base: &Interpreter| Managed::new(&world.dirs, base).path().to_owned();
    let project = world.environment("project/.venv", &[]).await;
    let project = Interpreter::probe(&project.join("bin/python"))
        .await
        .unwrap();
    assert_eq!(path(&project), path(&world.python));
    let newer = Interpreter {
        version: PythonVersion::new(3, 77, 0),
        ..project.clone()
    };
    assert_ne!(path(&newer), path(&project));
    let list = Managed::with_requirements(&world.dirs, &project, SMALL);
    assert_ne!(list.path(), path(&project));
    assert_eq!(list.path().parent().unwrap(), world.dirs.data.join("env"));
}

/// Without a network there is what was fetched before, and nothing else.
#[tokio::test]
async fn vendored_wheels_stand_in_for_the_index() {
    let world = World::new().await;
    let wheels = world.home.join("wheels");
    let small = || Managed::with_requirements(&world.dirs, &world.python, SMALL).searching("");

    small().vendor(&wheels, &Silent).await.unwrap();
    let mut names: Vec<String> = wheels
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let has = |start: &str| names.iter().any(|name| name.starts_with(start));
    assert!(
        has("iniconfig-2.1.0") && has("ipykernel-") && has("uv-"),
        "{names:?}"
    );
    assert!(names.iter().all(|name| name.ends_with(".whl")), "{names:?}");

    let nothing = world.home.join("nothing");
    let missing = small().from_wheels(&nothing).ensure(&Silent).await;
    let missing = missing.unwrap_err();
    assert!(
        missing.to_string().starts_with("cannot read the wheels in"),
        "{missing}"
    );

    std::fs::create_dir(&nothing).unwrap();
    world.fake("failing", "bin/uv");
    let lacking = small().searching(world.search_path(&["bin"]));
    let lacking = lacking.from_wheels(&nothing).ensure(&Silent).await;
    let lacking = lacking.unwrap_err();
    assert!(
        lacking.hint().contains("pillion env vendor"),
        "{lacking}\n{}",
        lacking.hint()
    );
    assert!(!lacking.to_string().contains("http"), "{lacking}");

    let offline = small().from_wheels(&wheels);
    offline.ensure(&Silent).await.unwrap();
    assert!(
        matches!(offline.state(), EnvironmentState::Ready { built_with, .. } if built_with == "uv")
    );
    let scratch = |name: &str| name.contains("vendor");
    let left = world.dirs.cache.read_dir().unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.into_iter().any(|name| scratch(&name)));
}
