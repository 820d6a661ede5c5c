//! What is at the socket's path decides whether starting a daemon could help.

use std::os::unix::fs::PermissionsExt;

use pillion_client::{Client, Code, Endpoint, Options};

use crate::server::Server;

fn at(path: std::path::PathBuf) -> Options {
    // Starting would fail loudly: there is no such program.
    Options::at(Endpoint { socket: path }).program("/nonexistent/pillion")
}

#[tokio::test]
async fn a_foreign_file_is_an_error_and_stays() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("daemon.sock");
    std::fs::write(&path, "precious").unwrap();
    let error = Client::connect_or_start(&at(path.clone()))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::Unreachable);
    assert!(error.message.contains("is not a socket"), "{error}");
    assert!(error.hint.is_some());
    assert_eq!(std::fs::read_to_string(path).unwrap(), "precious");
}

#[tokio::test]
async fn a_path_that_is_too_long_is_an_error() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("d".repeat(120));
    let error = Client::connect_or_start(&at(path)).await.unwrap_err();
    assert!(error.message.contains("longer than"), "{error}");
}

#[tokio::test]
async fn a_folder_that_may_not_be_entered_is_an_error() {
    let temp = tempfile::tempdir().unwrap();
    let closed = temp.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let options = at(closed.join("daemon.sock"));
    let error = Client::connect_or_start(&options).await.unwrap_err();
    // Root may enter everything, and then fails to find the program.
    let expected = if pillion_process::effective_uid() == 0 {
        Code::StartFailed
    } else {
        Code::Unreachable
    };
    assert_eq!(error.code, expected);
    assert!(error.hint.is_some());
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let options = at(temp.path().join("daemon.sock"));
    let error = Client::connect_or_start(&options).await.unwrap_err();
    assert_eq!(error.code, Code::StartFailed);
    assert!(error.message.contains("/nonexistent/pillion"), "{error}");
    assert!(error.hint.unwrap().contains("PILLION_BIN"));
}

#[tokio::test]
async fn connect_never_starts() {
    let temp = tempfile::tempdir().unwrap();
    let socket = temp.path().join("daemon.sock");
    // A stale socket refuses, as one left by a killed daemon.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let error = Client::connect(&Endpoint { socket }).await.unwrap_err();
    assert_eq!(error.code, Code::Unreachable);
    assert!(error.message.starts_with("no daemon listens"), "{error}");
    assert!(error.hint.is_some());
}

#[tokio::test]
async fn a_connection_that_is_closed_unread_counts_as_nobody() {
    let server = Server::new();
    let options = server.options();
    let connect = tokio::spawn(async move { Client::connect_or_start(&options).await });
    drop(server.accept_stream().await);
    let error = connect.await.unwrap().unwrap_err();
    assert!(error.message.starts_with("no daemon listens"), "{error}");
}

#[tokio::test]
async fn a_daemon_that_does_not_answer_is_given_up() {
    let server = Server::new();
    let options = server.options().start(true);
    let options = options.start_timeout(std::time::Duration::from_millis(20));
    let error = Client::connect_or_start(&options).await.unwrap_err();
    assert_eq!(error.code, Code::Timeout);
    assert!(error.message.contains("does not answer"), "{error}");
    assert!(error.hint.is_some());
}

#[tokio::test]
async fn a_server_of_another_kind_is_recognised() {
    let server = Server::new();
    let options = server.options().start(true);
    let connect = tokio::spawn(async move { Client::connect_or_start(&options).await });
    let mut peer = server.accept_stream().await;
    peer.raw(b"220 mail ready\r\n\r\n").await;
    let error = connect.await.unwrap().unwrap_err();
    assert!(error.message.contains("does not speak"), "{error}");
}
