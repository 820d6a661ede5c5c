//! Which Python a project gets, and what it is told about it.

use std::path::Path;

use pillion_runtime::discovery::{CandidateOrigin, Choice, DiscoveryError, DiscoveryRequest, find};

use crate::support::World;

/// What was taken, why, and what was passed over; with the home shortened.
fn transcript(world: &World, choice: &Choice) -> Vec<String> {
    let short = |text: String| text.replace(&*world.home.to_string_lossy(), "~");
    let taken = format!(
        "{}: {}",
        choice.source,
        choice.interpreter.executable.display()
    );
    let skipped = choice
        .skipped
        .iter()
        .map(|skipped| format!("not {skipped}"));
    skipped.chain([taken]).map(short).collect()
}

#[tokio::test]
async fn an_active_environment_comes_before_the_projects_own() {
    let world = World::new().await;
    let active = world.environment("active", &[]).await;
    world.environment("project/.venv", &[]).await;
    let search_path = world.search_path(&[]);
    let request = DiscoveryRequest {
        search_path: Some(&search_path),
        ..DiscoveryRequest::new(&world.root)
    };

    let choice = find(request, &world.dirs).await.unwrap();
    assert_eq!(
        transcript(&world, &choice),
        ["`.venv` in the project root: ~/project/.venv/bin/python"]
    );

    let choice = find(
        DiscoveryRequest {
            virtual_env: Some(&active),
            ..request
        },
        &world.dirs,
    )
    .await
    .unwrap();
    assert_eq!(
        transcript(&world, &choice),
        ["the active virtual environment (`VIRTUAL_ENV`): ~/active/bin/python"]
    );
}

#[tokio::test]
async fn broken_and_old_ones_are_passed_over_with_a_reason() {
    let world = World::new().await;
    std::fs::create_dir_all(world.root.join(".venv/bin")).unwrap();
    std::os::unix::fs::symlink("/gone/python3.9", world.root.join(".venv/bin/python")).unwrap();
    world.fake("too-old", "bin/python3");
    world.fake("python2", "bin/python");
    world.real("bin/python3.12");
    let search_path = world.search_path(&["bin"]);
    let request = DiscoveryRequest {
        search_path: Some(&search_path),
        ..DiscoveryRequest::new(&world.root)
    };
    let choice = find(request, &world.dirs).await.unwrap();
    assert_eq!(
        transcript(&world, &choice),
        [
            "not `.venv` in the project root: `~/project/.venv/bin/python` is a broken link to `/gone/python3.9`",
            "not `python3` on `PATH`: `~/bin/python3` is Python 3.6.15, and pillion needs 3.10 or newer",
            "not `python` on `PATH`: `~/bin/python` is Python 2.7.18, and pillion needs 3.10 or newer",
            "`python3.12` on `PATH`: ~/bin/python3.12",
        ]
    );
}

#[tokio::test]
async fn what_somebody_named_is_never_replaced() {
    let world = World::new().await;
    world.environment("project/.venv", &[]).await;
    let failing = world.fake("failing", "project/tools/python");
    let request = DiscoveryRequest::new(&world.root);

    let named = DiscoveryRequest {
        explicit: Some(&failing),
        ..request
    };
    let error = find(named, &world.dirs).await.unwrap_err();
    assert!(matches!(
        &error,
        DiscoveryError::Named {
            from: CandidateOrigin::Flag,
            ..
        }
    ));
    let text = error.to_string();
    assert!(
        text.starts_with("the Python named with `--python` cannot be used: `"),
        "{text}"
    );
    assert!(text.contains("No module named 'encodings'"), "{text}");

    let named = DiscoveryRequest {
        configured: Some(Path::new("tools/python")),
        ..request
    };
    let error = find(named, &world.dirs).await.unwrap_err();
    assert!(
        matches!(
            &error,
            DiscoveryError::Named {
                from: CandidateOrigin::Config,
                ..
            }
        ),
        "{error}"
    );

    let named = DiscoveryRequest {
        explicit: Some(Path::new("python3.99")),
        ..request
    };
    let error = find(named, &world.dirs).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the Python named with `--python` cannot be used: no program `python3.99` is on `PATH`"
    );

    let named = DiscoveryRequest {
        configured: Some(Path::new(".venv")),
        ..request
    };
    let choice = find(named, &world.dirs).await.unwrap();
    assert_eq!(
        transcript(&world, &choice),
        ["named in `pillion.toml`: ~/project/.venv/bin/python"]
    );
}

#[tokio::test]
async fn the_environment_of_an_outer_project_is_left_alone() {
    let world = World::new().await;
    world.environment("project/.venv", &[]).await;
    let inner = world.root.join("inner");
    std::fs::create_dir(&inner).unwrap();
    world.real("bin/python3");
    let search_path = world.search_path(&["bin"]);
    let request = DiscoveryRequest {
        search_path: Some(&search_path),
        ..DiscoveryRequest::new(&inner)
    };
    let choice = find(request, &world.dirs).await.unwrap();
    assert_eq!(
        transcript(&world, &choice),
        ["`python3` on `PATH`: ~/bin/python3"]
    );
}

#[tokio::test]
async fn no_python_at_all_is_explained() {
    let world = World::new().await;
    world.fake("nonsense", "bin/python3");
    world.fake("failing", "bin/python3.11");
    let search_path = world.search_path(&["bin"]);
    let request = DiscoveryRequest {
        search_path: Some(&search_path),
        ..DiscoveryRequest::new(&world.root)
    };
    let error = find(request, &world.dirs).await.unwrap_err();
    assert_eq!(error.considered().len(), 2);
    assert_eq!(
        error
            .to_string()
            .replace(&*world.home.to_string_lossy(), "~"),
        "no usable Python was found\
         \n  `python3` on `PATH`: `~/bin/python3` does not answer like Python: \"hello, I am a parrot\"\
         \n  `python3.11` on `PATH`: `~/bin/python3.11` exited with code 1\
         \n    Fatal Python error: init_fs_encoding: failed to get the Python codec\
         \n    ModuleNotFoundError: No module named 'encodings'"
    );
    assert!(error.hint().contains("--python PATH"));
}
