//! Asking Pythons, and remembering what they said.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_runtime::{Interpreter, ProbeCache, ProbeError, PythonVersion};

use crate::support::{World, run};

async fn refusal(path: &Path) -> ProbeError {
    Interpreter::probe(path).await.unwrap_err()
}

/// The package folders that exist, as Python itself sees them.
async fn as_python_says(python: &Path) -> Vec<PathBuf> {
    let script = "import os, site, sys; print('\\n'.join(p for p in sys.path if 'packages' in p))";
    let said = run(python, ["-c", script], |launch| launch).await;
    said.lines().map(PathBuf::from).collect()
}

fn existing(found: &Interpreter) -> Vec<PathBuf> {
    found
        .site_packages
        .iter()
        .filter(|folder| folder.is_dir())
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_real_python_says_who_it_is() {
    let world = World::new().await;
    let found = &world.python;
    assert!(found.version >= PythonVersion::MINIMUM);
    assert!(found.executable.is_file());
    assert_eq!(found.implementation, "cpython");
    assert!(!found.platform.is_empty() && found.cache_tag.starts_with("cpython-3"));
    assert_eq!(existing(found), as_python_says(&found.executable).await);
}

#[tokio::test]
async fn an_environment_has_its_own_packages() {
    let world = World::new().await;
    let alone = world.environment("alone", &[]).await;
    let found = Interpreter::probe(&alone.join("bin/python")).await.unwrap();
    assert!(found.is_environment());
    assert_eq!(
        (&found.prefix, &found.base_prefix),
        (&alone, &world.python.base_prefix)
    );
    assert_eq!(found.executable, alone.join("bin/python"));
    assert_eq!(existing(&found), as_python_says(&found.executable).await);
    assert!(
        found
            .site_packages
            .iter()
            .all(|folder| folder.starts_with(&alone))
    );

    let open = world.environment("open", &["--system-site-packages"]).await;
    let found = Interpreter::probe(&open.join("bin/python")).await.unwrap();
    assert_eq!(existing(&found), as_python_says(&found.executable).await);
    assert!(
        existing(&found)
            .iter()
            .any(|folder| !folder.starts_with(&open))
    );
}

#[tokio::test]
async fn a_probe_runs_no_code_of_the_environment() {
    let world = World::new().await;
    let path = world.environment("env", &[]).await;
    let found = Interpreter::probe(&path.join("bin/python")).await.unwrap();
    let mark = world.home.join("was-run");
    let code = format!("import os; open({mark:?}, 'w').close()\n");
    let packages = &existing(&found)[0];
    std::fs::write(packages.join("evil.pth"), &code).unwrap();
    std::fs::write(packages.join("sitecustomize.py"), &code).unwrap();
    Interpreter::probe(&path.join("bin/python")).await.unwrap();
    assert!(!mark.exists());
    run(&path.join("bin/python"), ["-c", "pass"], |launch| launch).await;
    assert!(mark.exists(), "the trap itself works");
}

#[tokio::test]
async fn what_is_no_python_is_told_apart() {
    let world = World::new().await;
    let home = &world.home;
    let error = refusal(&home.join("missing")).await;
    assert!(matches!(error, ProbeError::NotFound { .. }), "{error}");
    let error = refusal(home).await;
    assert!(matches!(error, ProbeError::NotExecutable { .. }), "{error}");
    std::fs::write(home.join("text"), "print(1)").unwrap();
    let error = refusal(&home.join("text")).await;
    assert!(matches!(error, ProbeError::NotExecutable { .. }), "{error}");
    assert!(error.to_string().contains("ermission"), "{error}");
    std::os::unix::fs::symlink("/nowhere/python3.9", home.join("dangling")).unwrap();
    let error = refusal(&home.join("dangling")).await;
    assert!(matches!(error, ProbeError::BrokenLink { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/python3.9"), "{error}");

    for (fake, said) in [
        (
            "too-old",
            "is Python 3.6.15, and pillion needs 3.10 or newer",
        ),
        (
            "python2",
            "is Python 2.7.18, and pillion needs 3.10 or newer",
        ),
        (
            "nonsense",
            "does not answer like Python: \"hello, I am a parrot\"",
        ),
        ("silent", "does not answer like Python: \"\""),
        ("failing", "exited with code 1\n  Fatal Python error"),
    ] {
        let path = world.fake(fake, fake);
        let error = refusal(&path).await;
        let text = error
            .to_string()
            .replace(&format!("`{}` ", path.display()), "");
        assert!(text.starts_with(said), "{fake}: {text}");
        assert!(!error.hint().is_empty());
    }
}

#[tokio::test]
async fn a_python_that_hangs_is_stopped_with_its_children() {
    let world = World::new().await;
    let path = world.fake("hanging", "hanging");
    let mut limit = Duration::from_secs(3);
    let pids = loop {
        let error = Interpreter::probe_in(&path, None, limit, false)
            .await
            .unwrap_err();
        assert!(matches!(error, ProbeError::Hangs { .. }), "{error}");
        // On a busy machine it may not have begun to hang.
        match std::fs::read_to_string(world.home.join("pids")) {
            Ok(pids) => break pids,
            Err(error) => assert!(limit < Duration::from_secs(60), "{error}"),
        }
        limit *= 3;
    };
    for pid in pids.split_whitespace() {
        let mut left = 1000;
        while is_running(pid) && left > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            left -= 1;
        }
        assert!(!is_running(pid), "process {pid} is still there");
    }
}

fn is_running(pid: &str) -> bool {
    let pid = pid.parse().unwrap();
    pillion_process::stat::Identity::of(pid).is_some_and(|process| process.is_alive())
}

/// Change what the cache remembers, so that one can see whether it was asked.
fn forge(world: &World) {
    let file = world.dirs.cache.join("interpreters.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let version = format!("\"version\":\"{}\"", world.python.version);
    assert!(text.contains(&version), "{text}");
    std::fs::write(&file, text.replace(&version, "\"version\":\"3.77.0\"")).unwrap();
}

#[tokio::test]
async fn a_result_is_remembered_while_its_proof_holds() {
    let world = World::new().await;
    let path = world.environment("env", &[]).await;
    let python = path.join("bin/python");
    let cache = ProbeCache::new(&world.dirs);
    let version = async || {
        cache
            .probe(&python, &world.root, false)
            .await
            .unwrap()
            .version
    };
    let real = world.python.version;

    assert_eq!(version().await, real);
    forge(&world);
    assert_eq!(version().await, PythonVersion::new(3, 77, 0), "remembered");

    let config = path.join("pyvenv.cfg");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text + "# changed\n").unwrap();
    assert_eq!(version().await, real, "the environment changed");

    forge(&world);
    std::fs::remove_file(&python).unwrap();
    cache.probe(&python, &world.root, false).await.unwrap_err();
    std::os::unix::fs::symlink(world.fake("too-old", "old"), &python).unwrap();
    let error = cache.probe(&python, &world.root, false).await.unwrap_err();
    assert!(
        matches!(error, ProbeError::TooOld { .. }),
        "another Python stands there: {error}"
    );
}

#[tokio::test]
async fn a_damaged_cache_is_as_good_as_none() {
    let world = World::new().await;
    let cache = ProbeCache::new(&world.dirs);
    let file = world.dirs.cache.join("interpreters.json");
    for damage in ["", "{", "[1, 2]", "{\"format\": 99, \"entries\": []}"] {
        std::fs::write(&file, damage).unwrap();
        cache
            .probe(&world.python.executable, &world.root, false)
            .await
            .unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains(&*world.python.executable.to_string_lossy()),
            "{damage}"
        );
    }
}

#[tokio::test]
async fn neither_failures_nor_shims_are_remembered() {
    let world = World::new().await;
    let cache = ProbeCache::new(&world.dirs);
    let failing = world.fake("failing", "failing");
    cache.probe(&failing, &world.root, false).await.unwrap_err();
    assert!(!world.dirs.cache.join("interpreters.json").exists());

    world.real("bin/real-python");
    let shim = world.fake("shim", "bin/python3");
    for _ in 0..2 {
        let found = cache.probe(&shim, &world.root, false).await.unwrap();
        assert_eq!(found.executable, world.home.join("bin/real-python"));
    }
    let count = std::fs::read_to_string(world.home.join("bin/count")).unwrap();
    assert_eq!(count.lines().count(), 2, "a shim is asked each time");
}
