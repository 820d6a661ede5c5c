//! Client and daemon of different versions.

use pillion_client::{Client, Code};
use serde_json::json;

use crate::fake_daemon::FakeDaemon;

#[tokio::test]
async fn an_older_idle_daemon_is_replaced() {
    let fake = FakeDaemon::new(&json!({"version": "0.1.0"}));
    let old = Client::connect_or_start(&fake.options()).await.unwrap();
    fake.behave(&json!({"version": "0.2.0"}));
    let options = fake.options().version("0.2.0");
    let client = Client::connect_or_start(&options).await.unwrap();
    assert_eq!(client.version().await.unwrap().version, "0.2.0");
    assert!(client.started().is_some());
    assert_eq!(old.started(), None);
    assert_eq!(fake.spawns().len(), 2);
}

#[tokio::test]
async fn an_older_busy_daemon_is_left_alone() {
    let fake = FakeDaemon::new(&json!({"version": "0.1.0", "idle": false}));
    Client::connect_or_start(&fake.options()).await.unwrap();
    let near = fake.options().version("0.1.7");
    let client = Client::connect_or_start(&near).await.unwrap();
    assert_eq!(client.version().await.unwrap().version, "0.1.0");
    let far = fake.options().version("0.2.0");
    let error = Client::connect_or_start(&far).await.unwrap_err();
    assert_eq!(error.code, Code::VersionMismatch);
    assert!(error.hint.is_some());
    assert_eq!(fake.running().len(), 1);
}

#[tokio::test]
async fn a_started_daemon_that_does_not_fit_is_not_left_running() {
    let fake = FakeDaemon::new(&json!({"version": "0.1.0"}));
    let options = fake.options().version("0.2.0");
    let error = Client::connect_or_start(&options).await.unwrap_err();
    assert_eq!(error.code, Code::VersionMismatch);
    while !fake.running().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
