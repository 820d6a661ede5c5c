//! Recording and replaying, without keys.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use pillion_model::{ChatMessage, Model, ModelErrorKind, ModelSettings, Prompt, Provider};

use crate::server::{
    KEY, OPENAI_END, Server, ask, good, openai_text, prompt, send, status, stream_head,
};

fn said(text: &str) -> Prompt {
    Prompt {
        messages: vec![ChatMessage::User(text.to_owned())],
        ..prompt()
    }
}

#[tokio::test]
async fn what_was_recorded_is_answered_again() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("record.jsonl");
    let (head, tail) = KEY.split_at(9);
    let leaky = vec![
        stream_head(),
        send(&openai_text(&format!("your key is {head}"))),
        send(&openai_text(tail)),
        send(OPENAI_END),
    ];
    let plays = vec![good("one"), leaky, status(401, "", KEY)];
    let server = Server::start(plays).await;
    let mut settings = server.settings(Provider::OpenAi);
    settings.record = Some(file.clone());
    let model = Model::new(settings).unwrap();
    ask(&model, &said("first")).await.1.unwrap();
    ask(&model, &said(&format!("is {KEY} my key?")))
        .await
        .1
        .unwrap();
    ask(&model, &said("third")).await.1.unwrap_err();

    let recorded = fs::read_to_string(&file).unwrap();
    assert_eq!(recorded.lines().count(), 3);
    assert!(
        !recorded.contains(KEY) && !recorded.contains(tail),
        "{recorded}"
    );
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let replay = Model::new(ModelSettings {
        replay: Some(file),
        ..ModelSettings::default()
    })
    .unwrap();
    assert!(replay.is_offline());
    // By its prompt first, then in order.
    assert_eq!(
        ask(&replay, &said("third")).await.1.unwrap_err().kind,
        ModelErrorKind::Unauthorized
    );
    let (heard, answer) = ask(&replay, &said("something else")).await;
    assert_eq!(
        (heard.concat().as_str(), answer.unwrap().text.as_str()),
        ("one", "one")
    );
    let (heard, answer) = ask(&replay, &said("first")).await;
    assert!(heard.concat().contains("[redacted]") && answer.unwrap().text.contains("[redacted]"));
    let none = ask(&replay, &said("first")).await.1.unwrap_err();
    assert_eq!(none.kind, ModelErrorKind::Script);
    assert!(none.message.contains("no further answer"), "{none}");
}

#[tokio::test]
async fn a_cancelled_question_is_recorded_as_one() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("record.jsonl");
    let play = vec![
        stream_head(),
        send(&openai_text("half")),
        crate::server::Step::WaitForEnd,
    ];
    let server = Server::start(vec![play]).await;
    let mut settings = server.settings(Provider::OpenAi);
    settings.record = Some(file.clone());
    let model = Model::new(settings).unwrap();
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let asking = tokio::spawn(async move {
        let mut hear = |text: &str| told.send(text.to_owned()).unwrap();
        model.ask(&prompt(), &mut hear).await
    });
    heard.recv().await.unwrap();
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    let written = async {
        while !fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(crate::server::DEADLINE, written)
        .await
        .unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\"cancelled\"") && text.contains("half"),
        "{text}"
    );
}

/// Everything that is logged, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_is_in_no_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let body = format!("no such key: {KEY}");
    let server = Server::start(vec![status(401, "", &body)]).await;
    ask(&server.model(Provider::OpenAi), &prompt())
        .await
        .1
        .unwrap_err();
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("no such key: [redacted]"), "{text}");
    assert!(!text.contains(KEY), "{text}");
}

#[tokio::test]
async fn a_file_that_is_no_record_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("record.jsonl");
    fs::write(&file, "{}\n").unwrap();
    let settings = ModelSettings {
        replay: Some(file),
        ..ModelSettings::default()
    };
    let error = Model::new(settings).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Script);
    assert!(error.message.contains("line 1"), "{error}");
}
