//! Endpoints that refuse, break off, flood or say nothing.

use std::time::{Duration, SystemTime};

use pillion_model::{Model, ModelErrorKind, Provider};

use crate::server::{
    KEY, OPENAI_END, Server, Step, ask, good, openai_text, prompt, send, status, stream_head,
};

#[tokio::test]
async fn what_passes_is_tried_again() {
    for (first, what) in [
        (status(429, "retry-after: 0\r\n", "{}"), "429"),
        (status(500, "", "oops"), "500"),
        (
            status(529, "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", ""),
            "529",
        ),
        (vec![], "closed at once"),
        (vec![stream_head()], "closed before the text"),
        (
            vec![
                stream_head(),
                send("data: {\"error\":{\"type\":\"server_error\"}}\n\n"),
            ],
            "in-stream",
        ),
    ] {
        let server = Server::start(vec![first, good("fine")]).await;
        let (heard, answer) = ask(&server.model(Provider::OpenAi), &prompt()).await;
        assert_eq!(answer.unwrap().text, "fine", "{what}");
        assert_eq!(heard, ["fine"]);
        assert_eq!(server.requests().len(), 2, "{what}");
    }
}

#[tokio::test]
async fn a_page_for_people_is_no_answer() {
    for kind in [
        "content-type: text/html\r\n",
        "content-type: application/json\r\n",
        "",
    ] {
        let server = Server::start(vec![status(200, kind, "{\"hello\": 1}")]).await;
        let answer = ask(&server.model(Provider::OpenAi), &prompt()).await.1;
        assert_eq!(answer.unwrap_err().kind, ModelErrorKind::BadAnswer);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn encryption_that_is_never_answered_has_an_end() {
    let server = Server::start(vec![vec![]]).await;
    let mut settings = server.settings(Provider::OpenAi);
    settings.base_url = Some(format!("https://127.0.0.1:{}", server.port));
    settings.limits.connect = Duration::from_millis(500);
    settings.limits.retries = 0;
    // The server waits for a request that never comes in plain text.
    let error = ask(&Model::new(settings).unwrap(), &prompt())
        .await
        .1
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert!(error.message.contains("cannot reach"), "{error}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn it_is_not_tried_forever() {
    let server = Server::start(vec![status(503, "", "")]).await;
    let mut settings = server.settings(Provider::Anthropic);
    settings.limits.retries = 2;
    let error = ask(&Model::new(settings).unwrap(), &prompt())
        .await
        .1
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Overloaded);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    let server = Server::start(vec![status(429, "retry-after: 50\r\n", "")]).await;
    let mut settings = server.settings(Provider::OpenAi);
    settings.limits.whole = Duration::from_secs(40);
    let error = ask(&Model::new(settings).unwrap(), &prompt())
        .await
        .1
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(50)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn who_wants_to_be_asked_much_later_is_not_asked_before() {
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    for when in ["7200".to_owned(), httpdate::fmt_http_date(tomorrow)] {
        let head = format!("retry-after: {when}\r\n");
        let server = Server::start(vec![status(429, &head, "{}")]).await;
        let (_, answer) = ask(&server.model(Provider::OpenAi), &prompt()).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::RateLimited, "{when}");
        assert!(error.hint.contains(" minutes"), "{}", error.hint);
        assert_eq!(server.requests().len(), 1, "{when}");
    }
}

#[tokio::test]
async fn refusals_are_told_apart_and_tell_nothing_of_the_provider() {
    let body = format!("PROVIDER SAYS: incorrect key {KEY}");
    for (code, kind) in [
        (401, ModelErrorKind::Unauthorized),
        (403, ModelErrorKind::Unauthorized),
        (404, ModelErrorKind::Refused),
        (413, ModelErrorKind::TooLarge),
        (418, ModelErrorKind::Refused),
        (307, ModelErrorKind::Refused),
    ] {
        let elsewhere = "location: http://127.0.0.1:1/elsewhere\r\n";
        let server = Server::start(vec![status(code, elsewhere, &body)]).await;
        let model = server.model(Provider::OpenAi);
        let error = ask(&model, &prompt()).await.1.unwrap_err();
        assert_eq!(error.kind, kind, "{code}");
        let shown = format!("{error} {error:?} {model:?} {}", model.label());
        assert!(
            !shown.contains("secret") && !shown.contains("PROVIDER"),
            "{shown}"
        );
        assert!(!error.hint.is_empty());
        assert_eq!(server.requests().len(), 1, "{code}");
    }
}

#[tokio::test]
async fn after_text_was_heard_nothing_is_repeated() {
    for (rest, kind) in [
        ("", ModelErrorKind::Unreachable),
        (
            "data: {\"error\":{\"type\":\"server_error\"}}\n\n",
            ModelErrorKind::Overloaded,
        ),
        ("data: {broken\n\n", ModelErrorKind::BadAnswer),
    ] {
        let play = vec![stream_head(), send(&openai_text("half")), send(rest)];
        let server = Server::start(vec![play]).await;
        let (heard, answer) = ask(&server.model(Provider::OpenAi), &prompt()).await;
        let error = answer.unwrap_err();
        assert_eq!(heard, ["half"]);
        assert_eq!(error.kind, kind);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn silence_has_an_end() {
    let short = Duration::from_millis(300);
    let whole = vec![stream_head(), send(": still here\n\n"), Step::WaitForEnd];
    for (play, heard_text) in [
        (vec![Step::WaitForEnd], false),
        (vec![stream_head(), Step::WaitForEnd], false),
        (
            vec![stream_head(), send(&openai_text("half")), Step::WaitForEnd],
            true,
        ),
        (whole, false),
    ] {
        let mut server = Server::start(vec![play]).await;
        let mut settings = server.settings(Provider::OpenAi);
        settings.limits.first_byte = short;
        settings.limits.silence = short;
        settings.limits.retries = 1;
        let (heard, answer) = ask(&Model::new(settings).unwrap(), &prompt()).await;
        assert_eq!(answer.unwrap_err().kind, ModelErrorKind::Timeout);
        assert_eq!(!heard.is_empty(), heard_text);
        assert!(server.requests().len() <= 2);
        let gone = tokio::time::timeout(crate::server::DEADLINE, server.gone.recv()).await;
        assert_eq!(gone.unwrap(), Some(()));
    }
}

#[tokio::test]
async fn the_whole_answer_has_a_deadline() {
    let play = vec![stream_head(), send(&openai_text("half")), Step::WaitForEnd];
    let server = Server::start(vec![play]).await;
    let mut settings = server.settings(Provider::OpenAi);
    settings.limits.whole = Duration::from_millis(500);
    let error = ask(&Model::new(settings).unwrap(), &prompt())
        .await
        .1
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Timeout);
}

#[tokio::test]
async fn floods_are_cut_off() {
    let piece = openai_text(&"x".repeat(10_000));
    let mut many = vec![stream_head()];
    many.extend((0..20).map(|_| send(&piece)));
    many.push(send(OPENAI_END));
    let mut line = vec![stream_head(), send("data: ")];
    line.extend((0..6).map(|_| Step::Send(vec![b'x'; 1024 * 1024])));
    for play in [many, line] {
        let server = Server::start(vec![play]).await;
        let mut settings = server.settings(Provider::OpenAi);
        settings.limits.max_answer_bytes = 100_000;
        let error = ask(&Model::new(settings).unwrap(), &prompt())
            .await
            .1
            .unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TooLarge);
    }
}

#[tokio::test]
async fn nobody_listening_is_unreachable() {
    let server = Server::start(vec![vec![]]).await;
    let mut settings = server.settings(Provider::Custom);
    settings.limits.retries = 1;
    drop(server);
    let error = ask(&Model::new(settings).unwrap(), &prompt())
        .await
        .1
        .unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert!(error.message.contains("127.0.0.1"), "{error}");
}
