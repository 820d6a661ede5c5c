//! Folders of consultations: numbers, whole files, names, and what is taken away.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::time::{Duration, Instant};

/// Until `done`; a busy machine is waited for.
fn wait_until(done: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "it did not come about");
        std::thread::yield_now();
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    all.sort();
    all
}

#[test]
fn numbers_go_on_and_no_two_claims_share_one() {
    let home = tempfile::tempdir().unwrap();
    let claim = Claim::next(home.path()).unwrap();
    assert_eq!(claim.id(), "consult_0001");
    claim.keep();
    let all = home.path().join(CONSULTATIONS);
    for name in ["consult_0041", "consult_x", "consult_5", "other_0099"] {
        fs::create_dir(all.join(name)).unwrap();
    }
    let claims: Vec<Claim> = std::thread::scope(|scope| {
        let claim = || Claim::next(home.path()).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(claim)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let mut ids: Vec<&str> = claims.iter().map(Claim::id).collect();
    ids.sort_unstable();
    let expected: Vec<String> = (42..50).map(|n| format!("consult_{n:04}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn a_claim_that_is_not_kept_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let claim = Claim::next(home.path()).unwrap();
    write(claim.path(), RESULT, b"{}").unwrap();
    let path = claim.path().to_owned();
    drop(claim);
    assert!(!path.exists(), "its name is free at once");
    let all = home.path().join(CONSULTATIONS);
    wait_until(|| names(&all).is_empty());
    assert_eq!(Claim::next(home.path()).unwrap().id(), "consult_0001");
}

#[test]
fn a_file_is_whole_or_what_it_was() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), REPORT, b"first").unwrap();
    write(home.path(), REPORT, b"second").unwrap();
    assert_eq!(fs::read(home.path().join(REPORT)).unwrap(), b"second");
    assert_eq!(names(home.path()), [REPORT], "no draft is left");
    // A folder is in the way: the draft goes away again.
    fs::create_dir_all(home.path().join("a/b")).unwrap();
    assert!(write(home.path(), "a", b"x").is_err());
    assert_eq!(names(home.path()), ["a", REPORT]);
}

#[test]
fn the_transcript_has_an_end() {
    let home = tempfile::tempdir().unwrap();
    let entry = json!({"text": "x".repeat(100_000)});
    for _ in 0..30 {
        note(home.path(), &entry).unwrap();
    }
    let text = fs::read_to_string(home.path().join(LOG)).unwrap();
    assert!(text.len() as u64 <= TRANSCRIPT && text.len() > 900_000);
    for line in text.lines() {
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(line).unwrap(),
            entry
        );
    }
}

#[test]
fn a_folder_says_itself_that_its_process_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let claim = Claim::next(home.path()).unwrap();
    let id = claim.id().to_owned();
    let says = |text: &str| {
        write(claim.path(), RESULT, text.as_bytes()).unwrap();
        status(home.path(), &id)
    };
    assert_eq!(
        status(home.path(), &id),
        Some(ConsultationStatus::Lost),
        "no result"
    );
    assert_eq!(says(r#"{"status": "compl"#), Some(ConsultationStatus::Lost));
    assert_eq!(
        says(r#"{"status": "complete"}"#),
        Some(ConsultationStatus::Complete)
    );
    for id in ["consult_0009", "../consultations/consult_0001", "..", ""] {
        assert_eq!(status(home.path(), id), None, "{id}");
    }
    discard(home.path(), "../consultations/consult_0001");
    assert!(claim.path().exists());
    discard(home.path(), &id);
    assert!(!claim.path().exists());
}

#[test]
fn consultations_of_turns_that_were_not_committed_are_swept() {
    let home = tempfile::tempdir().unwrap();
    let of_turn = |turn: serde_json::Value| {
        let claim = Claim::next(home.path()).unwrap();
        let request = json!({"turn_index": turn}).to_string();
        write(claim.path(), REQUEST, request.as_bytes()).unwrap();
        claim.keep();
    };
    for turn in [json!(3), json!(null), json!(4), json!(5)] {
        of_turn(turn);
    }
    Claim::next(home.path()).unwrap().keep();
    let all = home.path().join(CONSULTATIONS);
    fs::create_dir(all.join(format!("{LEAVING}1-1"))).unwrap();
    fs::create_dir(all.join("notes")).unwrap();
    assert_eq!(sweep(home.path(), 4), 4);
    assert_eq!(names(&all), ["consult_0001", "consult_0002", "notes"]);
    assert_eq!(sweep(&home.path().join("none"), 0), 0);
}

#[test]
fn names_of_files_are_plain_and_none_is_written_over() {
    let free = |name| free_name(name, |taken| taken == "plot.png" || taken == "plot_2.png");
    for (wanted, expected) in [
        ("outputs/a.csv", "a.csv"),
        ("outputs/plot.png", "plot_3.png"),
        ("report.md", "report_2.md"),
        ("Result.JSON", "Result_2.JSON"),
        (".hidden", "hidden"),
        ("..", "file"),
        ("a b\n\u{e4}.png", "a_b__.png"),
        ("", "file"),
    ] {
        assert_eq!(free(wanted), expected, "{wanted:?}");
    }
}

proptest! {
    #[test]
    fn no_name_leads_out_or_over_the_files_of_the_consultation(wanted in "[a./\\\\]{0,9}|.*") {
        let name = free_name(&wanted, |name| name == "a");
        assert!(!name.is_empty() && !name.starts_with('.') && name.len() <= 100);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        assert!(name.chars().all(is_plain), "{name}");
        assert!(name != "a" && ![REQUEST, LETTER, LOG, REPORT, RESULT].contains(&&*name));
    }

    #[test]
    fn only_names_of_consultations_are_taken_for_one(name in "consult_[0-9]{0,20}|.*") {
        if let Some(number) = number(&name) {
            assert!(name.len() >= 12 && name.ends_with(&number.to_string()));
            assert!(!name.contains(['/', '.']));
        }
    }
}
