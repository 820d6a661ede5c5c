//! Replies, cut anywhere.

use proptest::prelude::*;

use super::*;

const TAIL: &str = "{\"checkpoint_reached\": true, \"progress_record\": \"a ``` b\"}";

fn whole(text: &str) -> (String, Option<String>) {
    let mut splitter = ReplySplitter::new();
    let mut shown = splitter.push(text);
    let (rest, tail) = splitter.finish();
    shown.push_str(&rest);
    (shown, tail)
}

#[test]
fn tails_are_held_back() {
    let tail = Some(TAIL.to_owned());
    let cases = [
        format!("Hi\n```json\n{TAIL}\n```"),
        format!("Hi\n```json\n{TAIL}\n```\n\n"),
        format!("Hi\n```JSON {TAIL}```"),
        format!("Hi\n~~~\n{TAIL}\n~~~\n"),
        format!("Hi\n```\n{TAIL}\n```"),
        format!("Hi\n```{TAIL}\n```"),
        format!("Hi\n````json\n{TAIL}\n````"),
        format!("Hi\n{TAIL}"),
        format!("Hi\n```json\n{TAIL}"),
        format!("Hi\n```json\n{TAIL}\n``"),
        format!("Hi\n```json title=\"outcome\"\n{TAIL}\n```"),
        format!("Hi\n```json turn_outcome \r\n{TAIL}\n```"),
        format!("Hi\n```json:TurnOutcome\n{TAIL}\n```"),
        format!("Hi\n~~~Turn-Outcome\n{TAIL}\n~~~"),
    ];
    for case in cases {
        let (shown, found) = whole(&case);
        assert_eq!(shown, "Hi\n", "{case}");
        let found = found.map(|text| text.trim_end_matches(['`', '\n']).to_owned());
        assert_eq!(found, tail, "{case}");
    }
}

#[test]
fn a_tail_behind_other_code_is_found() {
    let code = "```python\nd = {\"checkpoint_reached\": 1}\n```\n";
    assert_eq!(
        whole(&format!("{code}{TAIL}")),
        (code.into(), Some(TAIL.into()))
    );
    let fenced = format!("{code}\n```json\n{TAIL}\n```");
    assert_eq!(whole(&fenced), (format!("{code}\n"), Some(TAIL.into())));
    // A block that was never closed.
    let open = "```python\nprint()\n";
    assert_eq!(
        whole(&format!("{open}```json\n{TAIL}\n```")),
        (open.into(), Some(TAIL.into()))
    );
    let midline = format!("Well done! ```json\n{TAIL}\n```");
    assert_eq!(whole(&midline), ("Well done! ".into(), Some(TAIL.into())));
}

#[test]
fn what_is_no_tail_is_shown_in_the_end() {
    let cases = [
        "plain `code` and ``more`` text".to_owned(),
        "```python\nprint({})\n```".into(),
        "```\n{\"name\": 1}\n```".into(),
        "```json\n{\"name\": 1}\n```\n".into(),
        "```json\n[1]\n```".into(),
        "a {brace} and {\"other\": 1}".into(),
        "{\"checkpoint".to_owned() + "s\": 1}",
        "```print(1)``` is code, {\"x\": 1}".into(),
        "~~~\ntext\n~~~".into(),
        "```json title=\"a.json\"\n{\"name\": 1}\n```".into(),
        "```json ".to_owned() + &"x".repeat(100) + "\n{}\n```",
        "```json-lines\n{\"name\": 1}\n```".into(),
        "```".to_owned() + &"x".repeat(10) + "\n{\n```",
    ];
    for case in cases {
        assert_eq!(whole(&case), (case.clone(), None));
    }
}

#[test]
fn an_outcome_with_text_behind_it_is_taken_out() {
    let cases = [
        (
            format!("Hi\n```json\n{TAIL}\n```\n\nand more"),
            "Hi\nand more",
        ),
        (format!("```json\n{TAIL}\n```\nHi"), "Hi"),
        (format!("{TAIL} Hi"), "Hi"),
        (
            format!("Hi ```json\n{TAIL}\n```\nand more"),
            "Hi \nand more",
        ),
        (
            format!("Hi\n{{\"checkpoint_reached\": false}}\nand\n{TAIL}"),
            "Hi\nand\n",
        ),
        (
            format!("{TAIL}\n```json\n{{\"name\": 1}}\n```"),
            "```json\n{\"name\": 1}\n```",
        ),
    ];
    for (case, text) in cases {
        assert_eq!(
            whole(&case),
            (text.to_owned(), Some(TAIL.to_owned())),
            "{case}"
        );
    }
}

#[test]
fn a_tail_that_was_cut_off_is_not_shown() {
    let text = format!("Hi\n```json\n{TAIL}\n```");
    for end in 3..text.len() {
        if end > 5 {
            assert_eq!(whole(&text[..end]).0, "Hi\n", "{}", &text[..end]);
        }
    }
}

#[test]
fn plain_text_is_not_delayed() {
    let mut splitter = ReplySplitter::new();
    for word in ["Hello ", "wor", "ld `x` ", "and {na", "me} "] {
        let shown = splitter.push(word);
        assert!(!shown.is_empty(), "{word}");
    }
    assert_eq!(splitter.push("a\n```py"), "a\n```py");
}

#[test]
fn what_is_held_is_bounded() {
    let long = format!(
        "```json\n{{\"checkpoint_reached\": \"{}",
        "x".repeat(2 * MAX_HELD)
    );
    let mut splitter = ReplySplitter::new();
    assert!(splitter.push(&long).len() > MAX_HELD);
}

fn reply() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```json\n"),
        Just("```"),
        Just("~~~"),
        Just("\n"),
        Just(" "),
        Just("`"),
        Just("{"),
        Just("}"),
        Just("\""),
        Just("{\"checkpoint_reached\": true, \"blocker_type\": 'none'}"),
        Just("text"),
        Just("é你"),
        Just("python"),
        Just("json"),
        Just("{\"check"),
        Just("\"blocker_type\":"),
        Just("'"),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    /// Whatever a record says, in whatever fence: the learner sees what stands before it,
    /// also of an answer that breaks off anywhere.
    #[test]
    fn a_tail_is_never_shown(
        prose in "[A-Za-z你.,\n-]{1,40}\n",
        said in "[a-z`~{}\"'\\[\\]\n\\\\,: é]{0,30}",
        form in 0usize..6,
        pretty in any::<bool>(),
        cut in 0usize..400,
    ) {
        let record = serde_json::json!({
            "what_user_attempted": said,
            "checkpoint_reached": true,
            "evidence_for_subtasks": [{"subtask_id": "a", "evidence": said}],
        });
        let json = if pretty { serde_json::to_string_pretty(&record) } else { serde_json::to_string(&record) };
        let json = json.unwrap();
        let tail = match form {
            0 => format!("```json\n{json}\n```"),
            1 => format!("```\n{json}\n```\n"),
            2 => format!("~~~json\n{json}\n~~~"),
            3 => format!("```json {json} ```"),
            4 => json.clone(),
            _ => format!("````\n{json}\n````"),
        };
        let (shown, found) = whole(&format!("{prose}{tail}"));
        prop_assert_eq!(&shown, &prose);
        let found: serde_json::Value = serde_json::from_str(&found.unwrap()).unwrap();
        prop_assert_eq!(found, record);
        let end = (3..=tail.len().min(cut + 3)).rev().find(|at| tail.is_char_boundary(*at));
        prop_assert_eq!(whole(&format!("{prose}{}", &tail[..end.unwrap_or(3)])).0, prose);
    }

    #[test]
    fn how_a_reply_is_cut_makes_no_difference(text in reply(), cuts in prop::collection::vec(1usize..6, 1..20)) {
        let mut splitter = ReplySplitter::new();
        let mut shown = String::new();
        let letters: Vec<char> = text.chars().collect();
        let (mut at, mut turn) = (0, 0);
        while at < letters.len() {
            let end = (at + cuts[turn % cuts.len()]).min(letters.len());
            shown.push_str(&splitter.push(&letters[at..end].iter().collect::<String>()));
            at = end;
            turn += 1;
        }
        let (rest, tail) = splitter.finish();
        shown.push_str(&rest);
        if tail.is_none() {
            prop_assert!(text.starts_with(&shown));
        }
        if tail.is_none() && !text.trim_end().ends_with(['`', '~', 'n', '{']) {
            prop_assert_eq!(&shown, &text);
        }
        prop_assert_eq!(whole(&text), (shown, tail));
    }
}
