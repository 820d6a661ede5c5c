//! The report shows everything, and names what is wrong.

use pillion_runtime::discovery::DiscoveryRequest;
use pillion_runtime::doctor::report;

use crate::support::World;

#[tokio::test]
async fn a_broken_environment_is_a_problem_though_another_python_serves() {
    let world = World::new().await;
    world.fake("failing", "project/.venv/bin/python");
    world.fake("too-old", "bin/python");
    world.real("bin/python3");
    let search_path = world.search_path(&["bin"]);
    let request = DiscoveryRequest {
        search_path: Some(&search_path),
        ..DiscoveryRequest::new(&world.root)
    };
    let report = report(request, &world.dirs).await;
    let json = serde_json::to_value(&report).unwrap();

    let verdicts: Vec<_> = json["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["verdict"]["is"].clone())
        .collect();
    assert_eq!(verdicts, ["unusable", "chosen", "unusable"]);
    assert_eq!(json["why"], "`python3` on `PATH`");
    assert_eq!(
        json["choice"]["interpreter"]["version"],
        world.python.version.to_string()
    );
    assert_eq!(json["managed"]["state"], "absent");
    assert!(report.worker.unwrap().join("__main__.py").is_file());
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert!(
        report.problems[0]
            .what
            .starts_with("`.venv` in the project root: ")
    );
}

#[tokio::test]
async fn no_python_is_one_problem_with_a_hint() {
    let world = World::new().await;
    let search_path = world.search_path(&["empty"]);
    let request = DiscoveryRequest {
        search_path: Some(&search_path),
        ..DiscoveryRequest::new(&world.root)
    };
    let report = report(request, &world.dirs).await;
    assert!(report.choice.is_none() && report.managed.is_none());
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].what, "no usable Python was found");
    assert!(report.problems[0].hint.contains("install Python 3.10"));
}
