//! Turns as scripts, and whatever may happen in whatever order.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ConsultationResult;
use crate::outcome::BlockerType;
use crate::packet::{LockUntil, PacketRule};
use crate::prompts::{ChapterTexts, ExpertInfo};
use crate::rules::{initial_packet, initial_state};
use crate::state::{Task, TaskStatus};

const PLAIN: &str =
    "Try it.\n```json\n{\"checkpoint_reached\": false, \"blocker_type\": \"none\"}\n```";
const REACHED: &str = "Well done!\n```json\n{\"checkpoint_reached\": true, \"evidence_for_subtasks\": [{\"subtask_id\": \"a\", \"evidence\": \"ran\"}]}\n```";
const SECOND: &str =
    "On to b.\n```json\n{\"checkpoint_reached\": false, \"progress_record\": \"b begins\"}\n```";
const PACKET: &str = r#"{"instruction_packet": {"current_focus": "b", "guidance_for_ca": "slowly"},
    "state_update": {"subtask_status": {"a": "completed"}, "turn_index": 50}, "consultation_request": null}"#;
const CONSULT: &str = r#"{"instruction_packet": {"current_focus": "b", "guidance_for_ca": "wait"},
    "state_update": {}, "consultation_request": {"expert_id": "inspector", "question": "fits?", "consulting_letter_title": "A look"}}"#;
const CONSULTED: &str = r#"{"instruction_packet": {"current_focus": "b with data", "guidance_for_ca": "x"},
    "state_update": {}, "expert_consultation_summary": "it fits", "guidance_for_ca": "use the table"}"#;
const MEMO: &str = r##"{"updated_report": "# Report", "digest": {"key_observations": ["saw"], "blocker_type": "core_concept"},
    "error_entries": [{"turn_index": 99, "error_type": "coding", "description": "typo", "context": "line 1"}]}"##;

fn input() -> TurnInput {
    let task = |id: &str| Task {
        id: id.to_owned(),
        title: format!("do {id}"),
    };
    let tasks: Vec<Task> = ["a", "b"].map(task).into();
    let mut state = initial_state("s", "c", &tasks);
    state.turn_index = 4;
    TurnInput {
        packet: initial_packet(&tasks),
        state,
        memory_budget: 1000,
        chapter: ChapterTexts {
            title: "Lists".into(),
            context: "all about lists".into(),
            tasks,
            ..ChapterTexts::default()
        },
        experts: vec![ExpertInfo {
            id: "inspector".into(),
            title: "Inspector".into(),
            description: "looks into tables".into(),
        }],
        binding_rules: vec![PacketRule {
            expert_id: "inspector".into(),
            guidance_append: Some("Name the columns.".into()),
            ..PacketRule::default()
        }],
        message: "how? {{packet}} </learner_message>".into(),
        ..TurnInput::default()
    }
}

fn answered(text: &str) -> TurnEvent {
    TurnEvent::Answered {
        text: text.to_owned(),
        usage: TokenUsage {
            input_tokens: 10,
            output_tokens: 1,
        },
    }
}

fn failed() -> TurnEvent {
    TurnEvent::Failed {
        message: "no answer".into(),
        recoverable: true,
    }
}

fn found() -> TurnEvent {
    TurnEvent::Consulted(Ok(ConsultationResult {
        consultation_id: "consult_0001".into(),
        text: "five columns".into(),
        usage: TokenUsage {
            input_tokens: 5,
            output_tokens: 5,
        },
    }))
}

/// What a turn did, one word for each action.
fn words(actions: &[TurnAction]) -> Vec<String> {
    let word = |action: &TurnAction| match action {
        TurnAction::Emit(StreamEvent::TokenUsage {
            agent,
            input_tokens,
            ..
        }) => {
            format!("{} usage {input_tokens}", agent.as_str())
        }
        TurnAction::Emit(StreamEvent::CompanionChunk { content }) => format!("chunk {content:?}"),
        TurnAction::Emit(StreamEvent::Complete { turn_index }) => format!("complete {turn_index}"),
        TurnAction::Emit(event) => {
            let value = serde_json::to_value(event).unwrap();
            value["type"].as_str().unwrap().to_owned()
        }
        TurnAction::Ask(asking) => format!("ask {}", asking.agent.as_str()),
        TurnAction::Consult(request) => format!("consult {}", request.expert_id),
        TurnAction::Commit(commit) => format!("commit {}", commit.turn_index),
        TurnAction::SaveMemo(_) => "save".to_owned(),
        TurnAction::Abort => "abort".to_owned(),
        TurnAction::Finish(Ending::Completed { reported, .. }) => format!("finish {reported}"),
        TurnAction::Finish(Ending::Failed { .. }) => "finish failed".to_owned(),
        TurnAction::Finish(Ending::Cancelled) => "finish cancelled".to_owned(),
    };
    actions.iter().map(word).collect()
}

fn run(input: TurnInput, events: Vec<TurnEvent>) -> (Turn, Vec<TurnAction>) {
    let mut turn = Turn::new(input);
    let mut actions = turn.step(TurnEvent::Begin);
    for event in events {
        actions.extend(turn.step(event));
    }
    (turn, actions)
}

fn commit_of(actions: &[TurnAction]) -> &TurnCommit {
    let found = actions.iter().find_map(|action| match action {
        TurnAction::Commit(commit) => Some(commit),
        _ => None,
    });
    found.expect("a commit")
}

fn asked(actions: &[TurnAction], number: usize) -> &ModelRequest {
    let questions: Vec<&ModelRequest> = actions
        .iter()
        .filter_map(|action| match action {
            TurnAction::Ask(asking) => Some(&**asking),
            _ => None,
        })
        .collect();
    questions[number]
}

#[test]
fn scripts() {
    use TurnEvent::{Cancelled, CommitFailed, Committed, Consulted, MemoFailed, MemoSaved, Text};
    let text = |text: &str| Text(text.to_owned());
    let broken = || CommitFailed {
        message: "disk full".into(),
    };
    let table: Vec<(&str, Vec<TurnEvent>, &str)> = vec![
        (
            "a plain turn, streamed",
            vec![
                text("Try"),
                text(" it.\n``"),
                text("`json\n{\"check"),
                answered(PLAIN),
                Committed,
                answered(MEMO),
                MemoSaved,
            ],
            "start, ask CA, companion_start, chunk \"Try\", chunk \" it.\\n\", CA usage 10, companion_complete, commit 4, \
             ask MA, MA usage 10, save, complete 5, finish true",
        ),
        (
            "a model that does not stream, and a memo that cannot be saved",
            vec![answered(PLAIN), Committed, answered(MEMO), MemoFailed],
            "start, ask CA, companion_start, chunk \"Try it.\\n\", CA usage 10, companion_complete, commit 4, \
             ask MA, MA usage 10, save, complete 5, finish false",
        ),
        (
            "an unlock",
            vec![
                answered(REACHED),
                answered(PACKET),
                text("On to"),
                answered(SECOND),
                Committed,
                answered(MEMO),
                MemoSaved,
            ],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, RMA usage 10, ask CA, \
             companion_start, chunk \"On to\", chunk \" b.\\n\", CA usage 20, companion_complete, commit 4, \
             ask MA, MA usage 10, save, complete 5, finish true",
        ),
        (
            "a consultation",
            vec![
                answered(REACHED),
                answered(CONSULT),
                found(),
                answered(CONSULTED),
                answered(SECOND),
                Committed,
                failed(),
            ],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, RMA usage 10, consultation_start, \
             consult inspector, consultation_complete, ask RMA, RMA usage 15, ask CA, companion_start, chunk \"On to b.\\n\", \
             CA usage 20, companion_complete, commit 4, ask MA, complete 5, finish false",
        ),
        (
            "a consultation that fails",
            vec![
                answered(REACHED),
                answered(CONSULT),
                Consulted(Err("too slow".into())),
                answered(SECOND),
            ],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, RMA usage 10, consultation_start, \
             consult inspector, consultation_error, ask CA, companion_start, chunk \"On to b.\\n\", CA usage 20, \
             companion_complete, commit 4, ask MA",
        ),
        (
            "a manager who fails after the consultation",
            vec![
                answered(REACHED),
                answered(CONSULT),
                found(),
                failed(),
                answered(SECOND),
            ],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, RMA usage 10, consultation_start, \
             consult inspector, consultation_complete, ask RMA, RMA usage 5, ask CA, companion_start, \
             chunk \"On to b.\\n\", CA usage 20, companion_complete, commit 4, ask MA",
        ),
        (
            "a manager who corrects itself",
            vec![
                answered(REACHED),
                answered("sorry"),
                answered(PACKET),
                answered(SECOND),
            ],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, ask RMA, RMA usage 20, ask CA, \
             companion_start, chunk \"On to b.\\n\", CA usage 20, companion_complete, commit 4, ask MA",
        ),
        (
            "a manager who does not, and a memo agent neither",
            vec![
                answered(REACHED),
                answered("sorry"),
                answered("{}"),
                Committed,
                answered("?"),
                answered("??"),
            ],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, ask RMA, RMA usage 20, CA usage 10, \
             companion_complete, commit 4, ask MA, ask MA, MA usage 20, complete 5, finish false",
        ),
        (
            "a manager who fails",
            vec![answered(REACHED), failed(), Committed],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, CA usage 10, companion_complete, \
             commit 4, ask MA",
        ),
        (
            "a companion who fails in the middle",
            vec![text("Try"), failed(), answered(PLAIN), Committed],
            "start, ask CA, companion_start, chunk \"Try\", llm_error, complete 4, finish failed",
        ),
        (
            "a companion who fails in the second run",
            vec![answered(REACHED), answered(PACKET), failed()],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, RMA usage 10, ask CA, CA usage 10, \
             llm_error, complete 4, finish failed",
        ),
        (
            "a reply of nothing but the tail",
            vec![answered(PLAIN.split_once('\n').unwrap().1)],
            "start, ask CA, CA usage 10, llm_error, complete 4, finish failed",
        ),
        (
            "a commit that fails",
            vec![answered(PLAIN), broken(), Committed],
            "start, ask CA, companion_start, chunk \"Try it.\\n\", CA usage 10, companion_complete, commit 4, ask MA, \
             abort, error, complete 4, finish failed",
        ),
        (
            "cancelled while it streams",
            vec![
                text("Try"),
                Cancelled,
                text(" it"),
                answered(PLAIN),
                Cancelled,
            ],
            "start, ask CA, companion_start, chunk \"Try\", abort, cancelled, finish cancelled",
        ),
        (
            "cancelled while the expert works",
            vec![answered(REACHED), answered(CONSULT), Cancelled, found()],
            "start, ask CA, companion_start, chunk \"Well done!\\n\", ask RMA, RMA usage 10, consultation_start, \
             consult inspector, abort, cancelled, finish cancelled",
        ),
        (
            "cancelled while it is committed",
            vec![answered(PLAIN), Cancelled, Committed],
            "start, ask CA, companion_start, chunk \"Try it.\\n\", CA usage 10, companion_complete, commit 4, ask MA, \
             abort, complete 5, finish false",
        ),
        (
            "cancelled while a commit fails",
            vec![answered(PLAIN), Cancelled, broken()],
            "start, ask CA, companion_start, chunk \"Try it.\\n\", CA usage 10, companion_complete, commit 4, ask MA, \
             abort, cancelled, finish cancelled",
        ),
        (
            "cancelled while the memo is written",
            vec![answered(PLAIN), Committed, Cancelled, answered(MEMO)],
            "start, ask CA, companion_start, chunk \"Try it.\\n\", CA usage 10, companion_complete, commit 4, ask MA, \
             abort, complete 5, finish false",
        ),
    ];
    for (name, events, wanted) in table {
        let (_, actions) = run(input(), events);
        assert_eq!(words(&actions).join(", "), wanted, "{name}");
    }
}

#[test]
fn what_is_committed_follows_from_both_agents() {
    let events = vec![
        answered(REACHED),
        answered(CONSULT),
        found(),
        answered(CONSULTED),
        answered(SECOND),
    ];
    let (turn, actions) = run(input(), events);
    let commit = commit_of(&actions);
    assert_eq!(commit.companion_response, "On to b.");
    assert_eq!(commit.packet.instruction_version, 2);
    assert_eq!(
        commit.packet.guidance_for_ca,
        "use the table\n\nName the columns."
    );
    assert_eq!(commit.state.turn_index, 5);
    assert_eq!(commit.state.current_instruction_version, 2);
    assert_eq!(commit.state.attempts_since_last_progress, 0);
    assert_eq!(commit.state.last_progress_turn, 4);
    // What the first record saw is kept beside the second.
    assert!(commit.outcome.checkpoint_reached);
    assert_eq!(commit.outcome.progress_record, "b begins");
    assert_eq!(commit.outcome.evidence_for_subtasks.len(), 1);
    assert_eq!(commit.token_usage[&Agent::Companion].input_tokens, 20);
    assert_eq!(commit.token_usage[&Agent::Manager].input_tokens, 25);
    assert_eq!(commit.memory.recent[0].companion_response, "On to b.");
    assert_eq!(turn.index(), 4);
    let second = asked(&actions, 3);
    assert!(second.system.contains("use the table") && second.system.contains("it fits"));
    assert_eq!(second.facts["phase"], "2");
    assert!(asked(&actions, 2).messages[0].1.contains("five columns"));
}

#[test]
fn a_state_update_is_checked_and_what_is_refused_is_noted() {
    let (turn, actions) = run(
        input(),
        vec![answered(REACHED), answered(PACKET), answered(SECOND)],
    );
    let state = &commit_of(&actions).state;
    assert_eq!(state.status("a"), TaskStatus::Completed);
    assert_eq!(state.current_subtask_id.as_deref(), Some("b"));
    assert_eq!(state.turn_index, 5);
    let refused = turn
        .notes()
        .iter()
        .filter(|note| note.place == "turn_index");
    assert_eq!(refused.count(), 1);
}

#[test]
fn a_bad_manager_changes_neither_packet_nor_state() {
    let bad =
        r#"{"instruction_packet": {"current_focus": {}}, "state_update": {"end_suggested": true}}"#;
    let (_, actions) = run(
        input(),
        vec![answered(REACHED), answered(bad), answered(bad)],
    );
    let commit = commit_of(&actions);
    assert_eq!(commit.packet, input().packet);
    assert_eq!(commit.companion_response, "Well done!");
    assert!(!commit.state.end_suggested);
    assert_eq!(commit.state.current_instruction_version, 1);
    let again = asked(&actions, 2);
    assert_eq!(again.messages.len(), 3);
    assert!(
        again.messages[2]
            .1
            .contains("`instruction_packet.current_focus` must be a text")
    );
}

#[test]
fn an_expert_that_is_not_available_is_not_asked() {
    let other = CONSULT.replace("inspector", "hacker");
    let (turn, actions) = run(
        input(),
        vec![answered(REACHED), answered(&other), answered(SECOND)],
    );
    assert!(
        !words(&actions)
            .iter()
            .any(|word| word.starts_with("consult"))
    );
    assert!(
        turn.notes()
            .iter()
            .any(|note| note.message.contains("`hacker` is not available"))
    );
    assert_eq!(commit_of(&actions).packet.instruction_version, 2);
}

#[test]
fn a_reply_without_a_record_is_a_turn() {
    let (turn, actions) = run(input(), vec![answered("Just text")]);
    let commit = commit_of(&actions);
    assert_eq!(commit.outcome.blocker_type, BlockerType::None);
    assert!(commit.outcome.what_user_attempted.starts_with("how?"));
    assert_eq!(commit.state.attempts_since_last_progress, 1);
    assert_eq!(turn.notes().len(), 1);
}

#[test]
fn attempts_unlock_and_new_guidance_has_its_own() {
    let mut stuck = input();
    stuck.state.attempts_since_last_progress = 2;
    let packet = PACKET.replace("{\"a\": \"completed\"}", "{}");
    let (_, actions) = run(
        stuck.clone(),
        vec![answered(PLAIN), answered(&packet), answered(PLAIN)],
    );
    assert_eq!(commit_of(&actions).state.attempts_since_last_progress, 0);
    assert_eq!(asked(&actions, 1).facts["unlock"], "attempts_exceeded");
    let (_, actions) = run(stuck.clone(), vec![answered(PLAIN), failed()]);
    assert_eq!(commit_of(&actions).state.attempts_since_last_progress, 3);
    stuck.packet.lock_until = LockUntil(vec![LockCondition::Upload]);
    let (_, actions) = run(stuck.clone(), vec![answered(PLAIN)]);
    commit_of(&actions);
    stuck.new_uploads = vec!["sales.csv".into()];
    let (_, actions) = run(stuck, vec![answered(PLAIN)]);
    assert_eq!(asked(&actions, 1).agent, Agent::Manager);
    assert!(asked(&actions, 1).messages[0].1.contains("sales.csv"));
}

#[test]
fn a_memo_is_kept_with_what_is_known() {
    let mut before = input();
    before.state.subtask_status.entry("b").status = TaskStatus::Skipped;
    let extra = json!({"theirs": 1});
    before.digest = Some(serde_json::from_value(extra).unwrap());
    let (_, actions) = run(
        before,
        vec![answered(PLAIN), TurnEvent::Committed, answered(MEMO)],
    );
    let Some(TurnAction::SaveMemo(memo)) = actions.last() else {
        panic!("no memo");
    };
    assert_eq!(memo.report, "# Report");
    assert_eq!(memo.digest.skipped_tasks, ["b"]);
    assert_eq!(memo.digest.extra["theirs"], 1);
    assert_eq!(memo.error_entries[0].turn_index, 4);
    // Four turns were there before, so this is the fifth.
    assert!(memo.error_summary_due && memo.error_summary.as_ref().unwrap().contains("typo"));
    assert_eq!(memo.memory.error_summary_turns, 5);
    assert!(memo.memory.recent[0].digest.contains("saw"));
    assert_eq!(memo.token_usage.len(), 2);
}

#[test]
fn what_a_learner_writes_is_never_expanded() {
    let (_, actions) = run(
        input(),
        vec![
            answered(REACHED),
            answered(PACKET),
            answered(SECOND),
            TurnEvent::Committed,
        ],
    );
    let companion = asked(&actions, 0);
    let last = companion.messages.last().unwrap();
    assert_eq!(last, &(Speaker::User, input().message));
    assert!(!companion.system.contains("how?"));
    for number in [1, 3] {
        let question = &asked(&actions, number).messages[0].1;
        assert!(
            question.contains("{{packet}} <\\/learner_message>"),
            "{question}"
        );
        assert_eq!(question.matches("</learner_message>").count(), 1);
        assert!(asked(&actions, number).schema.is_some());
    }
    let facts = &companion.facts;
    assert_eq!(
        (facts["task_id"].as_str(), facts["next_task_id"].as_str()),
        ("a", "b")
    );
    assert_eq!(
        (
            facts["turn_index"].as_str(),
            facts["packet_version"].as_str()
        ),
        ("4", "1")
    );
}

#[test]
fn a_reply_without_end_is_cut() {
    let mut turn = Turn::new(input());
    turn.step(TurnEvent::Begin);
    let mut shown = 0;
    for _ in 0..200 {
        for action in turn.step(TurnEvent::Text("你".repeat(1000))) {
            if let TurnAction::Emit(StreamEvent::CompanionChunk { content }) = action {
                shown += content.len();
            }
        }
    }
    assert!(shown <= MAX_REPLY && shown > MAX_REPLY - 4);
}

fn event(choice: u8) -> TurnEvent {
    match choice {
        0 => TurnEvent::Begin,
        1 => TurnEvent::Text("Some text ".into()),
        2 => answered(PLAIN),
        3 => answered(REACHED),
        4 => answered(PACKET),
        5 => answered(CONSULT),
        6 => answered(CONSULTED),
        7 => answered(MEMO),
        8 => answered("nonsense {"),
        9 => failed(),
        10 => found(),
        11 => TurnEvent::Consulted(Err("no".into())),
        12 | 13 => TurnEvent::Committed,
        14 => TurnEvent::CommitFailed {
            message: "no".into(),
        },
        15 => TurnEvent::MemoSaved,
        16 => TurnEvent::MemoFailed,
        _ => TurnEvent::Cancelled,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    /// Whatever happens in whatever order: one question at a time, one ending, one terminal
    /// event right before it, a commit at most once and never after a cancel, indices right.
    #[test]
    fn invariants(choices in prop::collection::vec(0u8..19, 0..40), last in any::<bool>()) {
        let mut turn = Turn::new(input());
        let mut script: Vec<TurnEvent> = choices.into_iter().map(event).collect();
        script.insert(0, TurnEvent::Begin);
        // However it stands: a cancel, and the answer of a store, end it.
        if last {
            script.extend([TurnEvent::Cancelled, TurnEvent::Committed, TurnEvent::MemoSaved]);
        }
        let (mut open, mut commits, mut terminal, mut finished, mut begun) = (false, 0, 0, 0, 0);
        let (mut committed, mut cancelled) = (false, false);
        for event in script {
            let answers = matches!(event, TurnEvent::Answered { .. } | TurnEvent::Failed { .. } | TurnEvent::Consulted(_));
            let wants_commit = commits > 0 && !committed;
            if wants_commit && event == TurnEvent::Committed && finished == 0 {
                committed = true;
            }
            cancelled |= event == TurnEvent::Cancelled;
            let actions = turn.step(event);
            if answers && !actions.is_empty() {
                open = false;
            }
            for (at, action) in actions.iter().enumerate() {
                prop_assert_eq!(finished, 0, "something after the end");
                match action {
                    TurnAction::Ask(asking) => {
                        prop_assert!(!open, "two questions at once");
                        prop_assert_eq!(asking.messages.last().unwrap().0, Speaker::User);
                        open = true;
                    }
                    TurnAction::Consult(_) => { prop_assert!(!open); open = true; }
                    TurnAction::Abort => { prop_assert!(open, "nothing to abort"); open = false; }
                    TurnAction::Commit(commit) => {
                        prop_assert!(!cancelled, "a commit after a cancel");
                        prop_assert_eq!((commit.turn_index, commit.state.turn_index), (4, 5));
                        commits += 1;
                    }
                    TurnAction::SaveMemo(_) => prop_assert!(committed),
                    TurnAction::Emit(event) => {
                        if *event == (StreamEvent::Start {}) { begun += 1; }
                        if let StreamEvent::Complete { turn_index } = event {
                            prop_assert_eq!(*turn_index, if committed { 5 } else { 4 });
                        }
                        if event.is_terminal() {
                            terminal += 1;
                            prop_assert!(matches!(actions[at + 1], TurnAction::Finish(_)));
                        }
                    }
                    TurnAction::Finish(ending) => {
                        finished += 1;
                        prop_assert_eq!(terminal, 1);
                        prop_assert!(!open, "a question is left open");
                        prop_assert_eq!(matches!(ending, Ending::Completed { .. }), committed);
                    }
                }
            }
        }
        prop_assert!(commits <= 1 && finished <= 1 && begun == 1);
        prop_assert_eq!(finished == 1, turn.is_over());
        if last { prop_assert_eq!(finished, 1); }
    }
}
