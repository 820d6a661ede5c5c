//! Starting the daemon.

use std::time::Duration;

use pillion_client::{Client, Code};
use serde_json::json;

use crate::fake_daemon::FakeDaemon;

#[tokio::test]
async fn a_missing_daemon_is_started_and_a_running_one_is_used() {
    let fake = FakeDaemon::new(&json!({}));
    let first = Client::connect_or_start(&fake.options()).await.unwrap();
    let started = first.started().unwrap();
    let second = Client::connect_or_start(&fake.options()).await.unwrap();
    assert_eq!(second.started(), None);
    let pid: u32 = second.call_as("pid", ()).await.unwrap();
    assert_eq!(pid, started.pid);
    assert!(started.identity.unwrap().is_alive());

    let spawn = &fake.spawns()[0];
    let socket = fake.endpoint().socket;
    assert_eq!(
        spawn["args"],
        json!(["daemon", "--socket", socket, "--idle-timeout", "300"])
    );
    assert_eq!(spawn["cwd"], json!(fake.endpoint().dir()));
    drop((first, second));
    assert_eq!(fake.running(), [pid], "a daemon outlives its clients");
}

#[tokio::test]
async fn the_options_become_arguments() {
    let fake = FakeDaemon::new(&json!({}));
    let log = fake.endpoint().dir().join("logs/daemon.log");
    let options = fake.options().idle_timeout(None).log_file(&log);
    Client::connect_or_start(&options).await.unwrap();
    let args = fake.spawns()[0]["args"].clone();
    let rest: Vec<_> = args.as_array().unwrap()[3..].to_vec();
    assert_eq!(json!(rest), json!(["--no-timeout", "--log-file", log]));
    assert!(log.exists());
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_no_obstacle() {
    let fake = FakeDaemon::new(&json!({}));
    let options = fake.options().log_file("/proc/none/daemon.log");
    Client::connect_or_start(&options).await.unwrap();
    let args = fake.spawns()[0]["args"].to_string();
    assert!(!args.contains("--log-file"), "{args}");
}

#[tokio::test]
async fn a_daemon_that_exits_is_reported_with_its_last_words() {
    let fake = FakeDaemon::new(&json!({"fail": "no space left on the moon"}));
    // The start timeout is a minute: waiting for it would fail the test runner's patience.
    let error = Client::connect_or_start(&fake.options()).await.unwrap_err();
    assert_eq!(error.code, Code::StartFailed);
    assert!(error.message.contains("exited with code 1"), "{error}");
    assert!(
        error.message.contains("no space left on the moon"),
        "{error}"
    );
    assert!(error.hint.unwrap().contains("daemon.sock.log"));
    assert_eq!(error.data.unwrap()["exit_code"], 1);
}

#[tokio::test]
async fn a_daemon_that_never_answers_is_given_up_and_ended() {
    let fake = FakeDaemon::new(&json!({"hang": true}));
    let options = fake.options().start_timeout(Duration::from_millis(500));
    let error = Client::connect_or_start(&options).await.unwrap_err();
    assert_eq!(error.code, Code::StartFailed);
    assert!(error.message.contains("within 0.5 s"), "{error}");
    while !fake.running().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn dropping_a_start_ends_what_was_started() {
    let fake = FakeDaemon::new(&json!({"hang": true}));
    let options = fake.options();
    let start = tokio::spawn(async move { Client::connect_or_start(&options).await });
    while fake.spawns().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    start.abort();
    while !fake.running().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn ten_racing_clients_start_one_daemon() {
    let fake = FakeDaemon::new(&json!({}));
    let clients: Vec<_> = (0..10)
        .map(|_| {
            let options = fake.options();
            tokio::spawn(async move { Client::connect_or_start(&options).await })
        })
        .collect();
    let mut starters = 0;
    for client in clients {
        let client = client.await.unwrap().unwrap();
        client.call("system.ping", ()).await.unwrap();
        starters += usize::from(client.started().is_some());
    }
    assert_eq!(starters, 1);
    assert_eq!(fake.spawns().len(), 1);
}

#[tokio::test]
async fn a_lost_race_is_waited_out() {
    let fake = FakeDaemon::new(&json!({"lose": true}));
    let options = fake.options();
    let start = tokio::spawn(async move { Client::connect_or_start(&options).await });
    while fake.spawns().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The winner, played by the test.
    let listener = tokio::net::UnixListener::bind(fake.endpoint().socket).unwrap();
    let winner = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let (mut read, mut write) = socket.into_split();
        let body = br#"{"jsonrpc":"2.0","result":{"pong":true},"id":0}"#;
        let mut asked = [0; 1024];
        let _ = tokio::io::AsyncReadExt::read(&mut read, &mut asked).await;
        let frame = format!("Content-Length: {}\r\n\r\n", body.len());
        let frame = [frame.as_bytes(), body].concat();
        tokio::io::AsyncWriteExt::write_all(&mut write, &frame)
            .await
            .unwrap();
    });
    let client = start.await.unwrap().unwrap();
    assert_eq!(client.started(), None);
    winner.await.unwrap();
}

#[tokio::test]
async fn a_race_lost_against_a_daemon_on_its_way_out_is_run_again() {
    let fake = FakeDaemon::new(&json!({"lose_first": true}));
    let client = Client::connect_or_start(&fake.options()).await.unwrap();
    assert!(client.started().is_some());
    assert_eq!(fake.spawns().len(), 2);
}

#[tokio::test]
async fn a_daemon_that_died_is_started_again_by_the_next_call() {
    let fake = FakeDaemon::new(&json!({}));
    let client = Client::connect_or_start(&fake.options()).await.unwrap();
    let error = client.call("die", ()).await.unwrap_err();
    assert_eq!(error.code, Code::Unreachable);
    let pid: u32 = client.call_as("pid", ()).await.unwrap();
    assert_eq!(client.started().unwrap().pid, pid);
    assert_eq!(fake.spawns().len(), 2);
    assert_eq!(fake.running(), [pid]);
}

#[tokio::test]
async fn callers_that_wait_for_one_start_share_its_failure() {
    let fake = FakeDaemon::new(&json!({"fail": "broken"}));
    let client = Client::lazy(fake.options());
    let calls = (0..8).map(|_| client.call("pid", ()));
    for outcome in futures::future::join_all(calls).await {
        assert_eq!(outcome.unwrap_err().code, Code::StartFailed);
    }
    assert_eq!(fake.spawns().len(), 1);
}
