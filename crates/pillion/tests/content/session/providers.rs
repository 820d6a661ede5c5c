//! Models: none at all, and each kind of endpoint.

use serde_json::json;

use super::model_server::{Agent, ModelServer};
use super::turns::unlocks_once;
use super::world::{CHAPTER, KEY, World};

#[test]
fn without_a_key_there_is_a_model_offline() {
    let mut world = World::without_model(ModelServer::start());
    // An empty value counts as unset.
    for name in ["LLM_PROVIDER", "LLM_API_KEY", "LLM_MODEL", "LLM_BASE_URL"] {
        world.context.set_env(name, "");
    }
    let client = world.serve();
    client.preflight();
    let session = client.create(CHAPTER);
    for (turn, message) in ["hello", "I need help with lists", "I am done", "done"]
        .into_iter()
        .enumerate()
    {
        let told = client.turn(&session, message);
        assert_eq!(told.index(), turn as u64 + 1, "{told:?}");
        assert!(!told.shown().trim().is_empty(), "{told:?}");
        assert!(!told.shown().contains("checkpoint_reached"), "{told:?}");
        assert_eq!(told.of("llm_error").len(), 0, "{told:?}");
        if message == "I am done" {
            // The manager has gone on to the second task when the reply is given.
            let [first, second] = ["Make a list", "Add it up"];
            let finished = told.shown().find("is finished").expect("it says so");
            assert!(told.shown()[..finished].contains(first), "{told:?}");
            assert!(!told.shown()[..finished].contains(second), "{told:?}");
            assert!(told.shown()[finished..].contains(second), "{told:?}");
            let outcome = &client.history(&session)[turn]["turn_outcome"];
            let evidence = outcome["evidence_for_subtasks"].as_array().unwrap();
            assert_eq!(evidence.len(), 1, "{outcome}");
            assert_eq!(evidence[0]["subtask_id"], "t1");
            let report = client.report(&session);
            assert!(report.contains(&format!("finished {first}")), "{report}");
        }
    }
    assert!(!client.end(&session).trim().is_empty());
    let state = client.state(&session);
    let first = &state["subtask_status"]["t1"]["status"];
    assert_eq!(first, "completed", "what is done is done: {state}");
    assert_eq!(world.model.all().len(), 0);
}

/// A world whose model is named so, at this path of the server.
fn world(provider: &str, base: &str, key: &str) -> World {
    let mut world = World::without_model(ModelServer::start());
    let base = format!("{}{base}", world.model.url());
    for (name, value) in [
        ("LLM_PROVIDER", provider),
        ("LLM_API_KEY", key),
        ("LLM_MODEL", "m-1"),
        ("LLM_BASE_URL", &base),
    ] {
        world.context.set_env(name, value);
    }
    world
}

/// A turn with all agents, and the path that they were asked at.
fn path(world: &World) -> String {
    let client = world.serve();
    let session = client.create(CHAPTER);
    unlocks_once(world);
    let turn = client.turn(&session, "done");
    assert_eq!(turn.shown().trim(), "Reply 2.");
    assert_eq!(turn.usage("RMA"), Agent::Manager.usage());
    assert_eq!(turn.usage("MA"), Agent::Memo.usage());
    let (input, output) = Agent::Companion.usage();
    assert_eq!(turn.usage("CA"), (2 * input, 2 * output));
    assert_eq!(client.report(&session), "# Report 1");
    let asked = world.model.all();
    for one in &asked {
        assert_eq!(one.body["model"], "m-1", "{one:?}");
        assert_eq!(one.path, asked[0].path);
    }
    let companion = world.model.wait_for(Agent::Companion, 1);
    assert_eq!(companion.body["stream"], true, "{companion:?}");
    asked[0].path.clone()
}

#[test]
fn openai() {
    let world = world("openai", "", KEY);
    assert_eq!(path(&world), "/v1/chat/completions");
    let bearer = format!("Bearer {KEY}");
    for asked in world.model.all() {
        assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    }
}

#[test]
fn anthropic() {
    let world = world("anthropic", "/", KEY);
    assert_eq!(path(&world), "/v1/messages");
    for asked in world.model.all() {
        assert_eq!(asked.header("x-api-key"), Some(KEY));
        assert!(asked.header("anthropic-version").is_some());
        assert!(asked.body["max_tokens"].is_u64(), "{asked:?}");
        assert!(!asked.body["system"].is_null(), "{asked:?}");
    }
}

#[test]
fn an_endpoint_of_ones_own_needs_no_key() {
    let world = world("custom", "", "");
    assert_eq!(path(&world), "/chat/completions");
    for asked in world.model.all() {
        assert_eq!(asked.header("authorization"), None, "{asked:?}");
    }
}

#[test]
fn a_provider_that_nobody_knows_is_told() {
    let world = world("oracle", "", KEY);
    let mut command = world.command();
    command.env("PILLION_LOG", "warn");
    // It may refuse to start, or to answer; it does not pretend.
    let output = command.stdout(std::process::Stdio::piped());
    let mut child = output.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    if line.is_empty() {
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(
            said.contains("LLM_PROVIDER") || said.contains("oracle"),
            "{said}"
        );
        assert!(!said.contains(KEY));
        return;
    }
    let _ = child.kill();
    let _ = child.wait();
    let client = world.serve();
    let body = json!({ "chapter_id": CHAPTER, "session_id": "o" });
    let made = client.post("/api/session/new", body);
    if made.status == 200 {
        let turn = client.turn("o", "hello");
        let told = turn.events.iter().any(|event| {
            event["type"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("error"))
        });
        assert!(told, "{turn:?}");
    }
    assert_eq!(world.model.all().len(), 0);
}
