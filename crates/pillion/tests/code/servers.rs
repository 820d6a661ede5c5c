//! What a running server tells about itself.

use pillion_testing::project::{bare, fixture, members, post};
use pillion_testing::{DEADLINE, processes, wait_for};
use serde_json::{Value, json};

#[test]
fn health_has_every_field_of_the_contract() {
    let context = fixture("hover");
    let web = context.serve();
    let place = json!({"file": "app.py", "line": 1, "col": 8});
    assert_eq!(post(&web, "/defs", &place).status, 200);
    let health = web.get("/health").json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["workspace"], json!(context.project));
    for number in ["uptime", "requests", "cache_size", "cache_invalidations"] {
        assert!(health[number].is_number(), "{number} in {health}");
    }
    assert!(health["requests"].as_u64().unwrap() >= 1, "{health}");
    assert!(health["cache_size"].as_u64().unwrap() >= 1, "{health}");
    // It counts files, and requests other than itself.
    let again = web.get("/health").json();
    assert_eq!(again["requests"], health["requests"], "{again}");
    for col in [8, 8, 1] {
        post(
            &web,
            "/hover",
            &json!({"file": "app.py", "line": 1, "col": col}),
        );
    }
    let asked = web.get("/health").json();
    assert_eq!(asked["cache_size"], health["cache_size"], "{asked}");
    assert_eq!(
        asked["requests"],
        json!(health["requests"].as_u64().unwrap() + 3)
    );
    // A change counts when it happens, not with the next question.
    context.write("things.py", "");
    let after = web.get("/health").json();
    let count = |health: &Value| health["cache_invalidations"].as_u64().unwrap();
    assert!(count(&after) > count(&health), "{after}");
    assert_eq!(after["cache_size"], 0, "{after}");
    let stats = web.get("/stats").json();
    let operations = members(&stats["operations"], "operation");
    assert!(operations.contains(&"code.defs".to_owned()), "{stats:#}");
}

#[test]
fn status_lists_running_servers_and_forgets_killed_ones() {
    let context = bare();
    let servers = || context.pillion_json(&["status", "--json"])["servers"].clone();
    assert_eq!(servers(), json!([]));
    let (one, two) = (context.serve(), context.serve());
    // The address is told before the connection file is written.
    wait_for(DEADLINE, "both servers to be listed", || {
        let listed = servers();
        let count = listed.as_array().unwrap().len();
        if count == 2 { Ok(()) } else { Err(listed) }
    });
    let listed = servers();
    for web in [&one, &two] {
        let all = listed.as_array().unwrap();
        let own = all.iter().find(|server| server["pid"] == web.pid);
        let own = own.unwrap_or_else(|| panic!("{listed:#}"));
        assert_eq!(own["port"], web.port);
        assert_eq!(own["workspace_root"], json!(context.project));
        for time in ["started_at", "last_activity"] {
            assert!(own[time].as_str().unwrap().ends_with('Z'), "{own}");
        }
    }
    processes::kill(one.pid);
    wait_for(DEADLINE, "the killed one to be forgotten", || {
        let left = members(&servers(), "pid");
        if left == [two.pid.to_string()] {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    });
    drop(two);
    assert_eq!(servers(), json!([]));
}
