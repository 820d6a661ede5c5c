//! The token reaches the backend, and nothing else.

use std::io::Write;
use std::sync::{Arc, Mutex};

use pillion_sync::{Backend, DeliveryKind};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::server::{Reply, Server};
use crate::{Fixture, TOKEN, backend, until};

/// What was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn the_token_is_in_no_log_no_status_and_no_file() {
    let lines = Lines::default();
    // Everything that crates of ours say, also in the other tests of this program: whether
    // something is logged is decided once for all threads.
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(
            "off,pillion_sync=trace,pillion_store=trace,pillion_process=trace",
        ))
        .with_writer(lines.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    tracing::callsite::rebuild_interest_cache();

    let fixture = Fixture::new();
    let server = Server::answering(|seen| {
        assert_eq!(seen.token, Some(format!("Bearer {TOKEN}")));
        Reply::Status(match seen.route.split('/').nth(3) {
            Some("down") => 503,
            Some("refused") => 401,
            Some("bad") => 422,
            _ => 200,
        })
    })
    .await;
    for session in ["down", "refused", "bad", "good"] {
        fixture.enqueue(session, &[(DeliveryKind::Turn, 0)]).await;
        fixture.attach(session, &server);
    }
    until("every answer was heard", || {
        let status = fixture.sync.status();
        status.failed >= 3 && status.given_up == 1 && status.delivered == 1
    })
    .await;
    let mut shown = format!("{:?} {:?}", fixture.sync, fixture.sync.status());
    let listed = fixture.sync.given_up(None, 10).await.unwrap();
    shown.push_str(&format!("{listed:?}"));
    fixture.sync.stop().await;

    let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("a delivery is given up"), "{logged}");
    assert!(logged.contains("a delivery is put off"), "{logged}");
    for text in [&logged, &shown] {
        assert!(!text.contains(TOKEN), "{text}");
    }
    let files = fixture.path.parent().unwrap().read_dir().unwrap();
    let mut looked_at = 0;
    for file in files {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let found = bytes
            .windows(TOKEN.len())
            .any(|part| part == TOKEN.as_bytes());
        assert!(!found, "the token is in a file");
        looked_at += 1;
    }
    assert!(looked_at > 0);
}

#[tokio::test]
async fn a_token_stays_with_its_backend() {
    let fixture = Fixture::new();
    let (server, other) = (Server::start().await, Server::start().await);
    let nameless = |url: &str| Backend {
        token: None,
        ..backend(url)
    };
    fixture.attach("s", &server);
    fixture
        .sync
        .attach("s", &nameless(&format!("{}/", server.url)))
        .unwrap();
    fixture.enqueue("s", &[(DeliveryKind::Turn, 0)]).await;
    fixture.until_waiting(0).await;
    let seen = server.seen();
    assert_eq!(seen[0].token, Some(format!("Bearer {TOKEN}")));
    fixture.sync.attach("s", &nameless(&other.url)).unwrap();
    fixture.enqueue("s", &[(DeliveryKind::Turn, 1)]).await;
    fixture.until_waiting(0).await;
    let seen = other.seen();
    assert_eq!((seen.len(), &seen[0].token), (1, &None));
}
