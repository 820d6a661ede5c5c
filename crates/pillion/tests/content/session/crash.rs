//! `kill -9` in the middle of turns, which is how a desktop stops its server: what was committed
//! is whole, and of everything else there is nothing.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use pillion_testing::{DEADLINE, processes, rounds};
use serde_json::{Value, json};

use super::client::{Client, good};
use super::model_server::{Act, Agent, Asked, Piece, manager_answer, memo_answer, merged, reply};
use super::world::{CHAPTER, World};

/// Sessions that have a turn when the server is killed: each is at another moment of it.
const SESSIONS: usize = 5;

/// How often the server is killed: 200 moments in a long run, 25 else.
fn kills() -> usize {
    if rounds(4) == 4 { 40 } else { 5 }
}

/// A model in whose answers everything is told by the marker of the learner's message. Every turn
/// unlocks once, so that a turn, a state and a packet belong together.
fn behave(world: &World) {
    let marker = |asked: &Asked| asked.marker().expect("a marker in every prompt");
    world.model.on(Agent::Companion, move |asked| {
        let marker = marker(asked);
        let steered = asked.text().contains(&format!("GUIDE({marker})"));
        let text = format!("Answer to {marker}: {}THE END", "and so on ".repeat(20));
        let more = json!({ "checkpoint_reached": !steered,
            "what_user_attempted": format!("[[{marker}]]") });
        Act::split(&reply(&text, more), 40)
    });
    world.model.on(Agent::Manager, move |asked| {
        let marker = marker(asked);
        let mut answer: Value = serde_json::from_str(&manager_answer(1, json!({}))).unwrap();
        let packet = answer["instruction_packet"].take();
        let guidance = json!({ "guidance_for_ca": format!("GUIDE({marker})") });
        answer["instruction_packet"] = merged(packet, guidance);
        Act::Say(vec![Piece::Text(answer.to_string())])
    });
    world.model.on(Agent::Memo, move |asked| {
        Act::say(memo_answer(&format!("Report of {}", marker(asked))))
    });
}

/// Say something to a server that may die meanwhile; whether the end of the turn was heard.
fn say(port: u16, session: &str, message: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let body = json!({ "message": message }).to_string();
    let request = format!(
        "POST /api/session/{session}/message/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
         Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut heard = Vec::new();
    if stream.write_all(request.as_bytes()).is_err() || stream.read_to_end(&mut heard).is_err() {
        // What had come before counts.
    }
    let heard = String::from_utf8_lossy(&heard);
    assert!(!heard.contains("llm_error"), "{heard}");
    heard.contains("\"complete\"")
}

/// A moment between nothing and `most`, another one each time.
fn moment(seed: &mut u64, most: Duration) -> Duration {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let part = (*seed >> 33) % 1000;
    most * u32::try_from(part).unwrap() / 1000
}

#[test]
fn a_kill_in_the_middle_of_a_turn_leaves_it_whole_or_not_at_all() {
    let world = World::new();
    behave(&world);
    let mut client = world.serve();
    let names: Vec<String> = (0..SESSIONS).map(|n| format!("s{n}")).collect();
    let mut versions = HashMap::new();
    for name in &names {
        client.create_with(json!({ "chapter_id": CHAPTER, "session_id": name }));
        let packet = world.file(name, "instruction_packet.json");
        versions.insert(
            name.clone(),
            packet["instruction_version"].as_u64().unwrap(),
        );
    }
    // How long turns take here, while all have one: moments are chosen from that time and a bit.
    let began = Instant::now();
    let mut kept: HashMap<String, Vec<usize>> = HashMap::new();
    for (name, complete) in all_say(&client, &names, 0) {
        assert!(complete, "{name}");
        kept.entry(name).or_default().push(0);
    }
    let span = began.elapsed() + began.elapsed() / 4;
    let mut seed = 13;
    for round in 1..=kills() {
        let pid = client.web.pid;
        let delay = moment(&mut seed, span);
        let heard = std::thread::scope(|scope| {
            let speaking = scope.spawn(|| all_say(&client, &names, round));
            std::thread::sleep(delay);
            processes::kill(pid);
            speaking.join().unwrap()
        });
        drop(client);
        world.context.wait_until_alone(DEADLINE);
        client = world.serve();
        for (name, complete) in heard {
            let kept = kept.entry(name.clone()).or_default();
            let found = check(&world, &client, &name, versions[&name]);
            let earlier: Vec<usize> = found.iter().copied().filter(|at| *at < round).collect();
            let where_ = format!("{name}, round {round}, after {delay:?}");
            assert_eq!(&earlier, kept, "{where_}: what was there stays");
            let there = found.last() == Some(&round);
            assert!(
                there || !complete,
                "{where_}: the client was told that it is there"
            );
            *kept = found;
        }
    }
    // And it goes on.
    let round = kills() + 1;
    for (name, complete) in all_say(&client, &names, round) {
        assert!(complete, "{name}");
        assert_eq!(
            check(&world, &client, &name, versions[&name]).last(),
            Some(&round)
        );
        assert_eq!(client.report(&name), format!("Report of {name}-{round}"));
    }
}

/// Every session says its message of this round; who was told of its end.
fn all_say(client: &Client, names: &[String], round: usize) -> Vec<(String, bool)> {
    let port = client.web.port;
    std::thread::scope(|scope| {
        let say = |name: &String| {
            let name = name.clone();
            scope.spawn(move || {
                let complete = say(port, &name, &format!("[[{name}-{round}]] what now?"));
                (name, complete)
            })
        };
        let speaking: Vec<_> = names.iter().map(say).collect();
        speaking
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect()
    })
}

/// The rounds whose turns a session has. Each is whole, and state, packet and files agree.
fn check(world: &World, client: &Client, name: &str, first_version: u64) -> Vec<usize> {
    good(&client.reattach(name, json!({})));
    let history = client.history(name);
    let mut rounds = Vec::new();
    for (at, turn) in history.iter().enumerate() {
        assert_eq!(turn["turn_index"], at, "{turn}");
        let message = turn["user_message"].as_str().unwrap();
        let marker = message
            .strip_prefix("[[")
            .and_then(|rest| rest.split_once("]]"));
        let (marker, rest) = marker.unwrap_or_else(|| panic!("{turn}"));
        assert_eq!(rest, " what now?");
        let answer = turn["companion_response"].as_str().unwrap().trim();
        assert!(
            answer.starts_with(&format!("Answer to {marker}: ")),
            "{turn}"
        );
        assert!(answer.ends_with("THE END"), "{turn}");
        let attempted = &turn["turn_outcome"]["what_user_attempted"];
        assert_eq!(attempted, &json!(format!("[[{marker}]]")), "{turn}");
        let (session, round) = marker.rsplit_once('-').unwrap();
        assert_eq!(session, name);
        rounds.push(round.parse().unwrap());
    }
    assert!(rounds.is_sorted_by(|a, b| a < b), "{name}: {rounds:?}");
    let (state, packet) = (
        client.state(name),
        world.file(name, "instruction_packet.json"),
    );
    let count = history.len() as u64;
    assert_eq!(state["turn_index"], count, "{name}: {state}");
    assert_eq!(
        world.file(name, "session_state.json")["turn_index"],
        count,
        "{name}"
    );
    assert_eq!(
        packet["instruction_version"],
        first_version + count,
        "{name}: {packet}"
    );
    assert_eq!(
        state["current_instruction_version"],
        first_version + count,
        "{name}: {state}"
    );
    let last = rounds.last().unwrap();
    assert_eq!(
        packet["guidance_for_ca"],
        format!("GUIDE({name}-{last})"),
        "{packet}"
    );
    let files = world.turns(name);
    for (file, _) in &files {
        let number: u64 = file[..3]
            .parse()
            .unwrap_or_else(|_| panic!("{name}: {file}"));
        assert!(number < count, "{name}: {file} of a turn that is not there");
    }
    for at in 0..count {
        for rest in ["user.txt", "companion.txt", "turn_outcome.json"] {
            let wanted = format!("{at:03}_{rest}");
            assert!(
                files.iter().any(|(file, _)| *file == wanted),
                "{name}: {wanted}: {files:?}"
            );
        }
    }
    rounds
}
