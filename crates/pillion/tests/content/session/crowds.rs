//! Many at once: sessions, clients, readers that are slow and clients that vanish.

use serde_json::{Value, json};

use super::client::{Client, Stream};
use super::model_server::{Act, Agent, Gate, reply};
use super::world::{CHAPTER, World};

/// More than anybody has open.
const MANY: usize = 50;

/// A companion that says whose message it answers, and waits in the middle.
fn echo(world: &World, gate: &Gate) {
    let gate = gate.clone();
    world.model.on(Agent::Companion, move |asked| {
        let marker = asked.marker().unwrap();
        let rest = reply(&format!("and ended {marker}."), json!({}));
        Act::held(&format!("Begun {marker} "), &gate, &rest)
    });
}

/// Say something in each session, and read until each model has begun.
fn begin(client: &Client, sessions: &[String]) -> Vec<Stream> {
    let say = |session: &String| client.say(session, &format!("[[{session}-1]]"));
    let mut streams: Vec<Stream> = sessions.iter().map(say).collect();
    for (stream, session) in streams.iter_mut().zip(sessions) {
        let chunk = stream.until("companion_chunk");
        let content = chunk["content"].as_str().unwrap();
        assert!(content.starts_with("Begun"), "{session}: {content}");
    }
    streams
}

#[test]
fn fifty_sessions_talk_at_once() {
    let world = World::new();
    let client = world.serve();
    let sessions: Vec<String> = (0..MANY).map(|_| client.create(CHAPTER)).collect();
    let gate = Gate::default();
    echo(&world, &gate);
    let streams = begin(&client, &sessions);
    // All models have begun, and none has ended: others are still served.
    assert_eq!(client.get("/health").json()["status"], "healthy");
    assert_eq!(client.sessions().len(), MANY);
    gate.open();
    for (stream, session) in streams.into_iter().zip(&sessions) {
        let turn = stream.finish();
        assert_eq!(turn.index(), 1);
        let expected = format!("Begun {session}-1 and ended {session}-1.");
        assert_eq!(turn.shown().trim(), expected);
        assert_eq!(client.said(session)[0].1.trim(), expected);
    }
}

#[test]
fn two_clients_stream_at_once_and_do_not_mix() {
    let world = World::new();
    let client = world.serve();
    let sessions = [client.create(CHAPTER), client.create("alone")];
    world.model.on(Agent::Companion, |asked| {
        let marker = asked.marker().unwrap();
        Act::split(&reply(&format!("{marker} ").repeat(30), json!({})), 5)
    });
    std::thread::scope(|scope| {
        for session in &sessions {
            let client = &client;
            scope.spawn(move || {
                for round in 1..=4 {
                    let marker = format!("{session}-{round}");
                    let turn = client.turn(session, &format!("[[{marker}]]"));
                    let words: Vec<String> =
                        turn.shown().split_whitespace().map(str::to_owned).collect();
                    assert_eq!(words, vec![marker; 30]);
                    assert_eq!(turn.index(), round);
                }
            });
        }
    });
    for session in &sessions {
        let messages: Vec<String> = client
            .said(session)
            .into_iter()
            .map(|(said, _)| said)
            .collect();
        let expected: Vec<String> = (1..=4)
            .map(|round| format!("[[{session}-{round}]]"))
            .collect();
        assert_eq!(messages, expected);
    }
}

#[test]
fn many_clients_of_one_session_have_one_turn() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let gate = world.model.held("One. ", &reply("Only.", json!({})));
    let outcomes: Vec<Result<Stream, u16>> = std::thread::scope(|scope| {
        let ask = |n: usize| {
            let (client, session) = (&client, &session);
            scope.spawn(move || {
                let said = client.try_say(session, &format!("from {n}"));
                said.map_err(|reply| reply.status)
            })
        };
        let asking: Vec<_> = (0..8).map(ask).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    gate.open();
    let mut taken = 0;
    for outcome in outcomes {
        match outcome {
            Ok(stream) => {
                assert_eq!(stream.finish().index(), 1);
                taken += 1;
            }
            Err(status) => assert_eq!(status, 409),
        }
    }
    assert_eq!(taken, 1);
    assert_eq!(client.history(&session).len(), 1);
}

#[test]
fn a_slow_reader_holds_up_nobody() {
    let world = World::new();
    let client = world.serve();
    let (slow, other) = (client.create(CHAPTER), client.create(CHAPTER));
    let text: String = (0..2000).map(|n| format!("{n:099} ")).collect();
    let said = reply(text.trim(), json!({}));
    world
        .model
        .on(Agent::Companion, move |_| Act::split(&said, 100));
    // It does not read a word.
    let stream = client.say(&slow, "tell me everything");
    world.model.wait_for(Agent::Companion, 1);
    world
        .model
        .in_turn(Agent::Companion, vec![Act::say(reply("Hello.", json!({})))]);
    assert_eq!(client.turn(&other, "hello").index(), 1);
    super::world::eventually("the turn to be kept", || {
        (client.history(&slow).len() == 1).then_some(())
    });
    let turn = stream.finish();
    assert_eq!(turn.shown().trim(), text.trim(), "nothing was lost");
    assert_eq!(turn.index(), 1);
}

#[test]
fn clients_that_vanish_do_no_harm() {
    let world = World::new();
    let client = world.serve();
    let sessions: Vec<String> = (0..8).map(|_| client.create(CHAPTER)).collect();
    let gate = Gate::default();
    echo(&world, &gate);
    let streams = begin(&client, &sessions);
    drop(streams);
    for session in &sessions {
        // In the middle of a request.
        let path = format!("/api/session/{session}/message/stream");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: 500\r\n\r\n{{\"mess"
        );
        drop(client.web.send(head.as_bytes()));
    }
    gate.open();
    for session in &sessions {
        super::world::eventually("a turn without its client", || {
            (client.history(session).len() == 1).then_some(())
        });
        let expected = format!("Begun {session}-1 and ended {session}-1.");
        assert_eq!(client.said(session)[0].1.trim(), expected);
    }
    let left: Vec<Value> = client.sessions();
    assert!(left.iter().all(|one| one["turn_index"] == 1), "{left:?}");
}

#[test]
fn turns_and_runs_leave_time_for_others() {
    let world = World::new();
    let client = world.serve();
    let sessions: Vec<String> = (0..20).map(|_| client.create(CHAPTER)).collect();
    let gate = Gate::default();
    echo(&world, &gate);
    let streams = begin(&client, &sessions);
    let jobs: Vec<(String, String)> = sessions[..4]
        .iter()
        .map(|session| {
            let path = format!("/api/session/{session}/code/jobs");
            let job = client
                .post(&path, json!({ "code": "while True: pass" }))
                .json();
            (path, job["job_id"].as_str().unwrap().to_owned())
        })
        .collect();
    for (path, id) in &jobs {
        super::world::eventually("a job to be known", || {
            let job = client.get(&format!("{path}/{id}")).json();
            ["running", "queued"]
                .contains(&job["status"].as_str()?)
                .then_some(())
        });
    }
    for _ in 0..20 {
        assert_eq!(client.get("/health").json()["status"], "healthy");
    }
    for (path, id) in &jobs {
        client.post(&format!("{path}/{id}/cancel"), json!({}));
    }
    gate.open();
    for stream in streams {
        assert_eq!(stream.finish().index(), 1);
    }
}
