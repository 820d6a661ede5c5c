//! What rules find and make.

use super::*;

fn run(yaml: &str, text: &str) -> Rewritten {
    let codemod = CodemodRules::read(yaml).unwrap();
    codemod.on("pkg/m.py", &Source::decode(text.as_bytes()), usize::MAX)
}

fn made(yaml: &str, text: &str) -> String {
    let done = run(yaml, text);
    match done.files.as_slice() {
        [file] => file.text.clone(),
        _ => text.to_owned(),
    }
}

const PRINT: &str = "id: log\nlanguage: python\nrule:\n  pattern: print($A)\nfix: log($A)\n";

#[test]
fn matches_have_places_in_characters_from_one() {
    let done = run(
        PRINT,
        "s = 'é😀'; print(s)\nif s:\n    print(\n        1)\n",
    );
    let places: Vec<_> = done
        .matches
        .iter()
        .map(|m| (m.line, m.column, m.end_line, m.end_column, &*m.text))
        .collect();
    assert_eq!(
        places,
        [
            (1, 11, 1, 19, "print(s)"),
            (3, 5, 4, 11, "print(\n        1)")
        ]
    );
    assert_eq!(done.matches[0].replacement.as_deref(), Some("log(s)"));
    assert_eq!(
        (done.total, done.skipped, done.matches[0].rule.as_str()),
        (2, 0, "log")
    );
    assert_eq!(done.files[0].text, "s = 'é😀'; log(s)\nif s:\n    log(1)\n");
}

#[test]
fn fixes_use_constraints_transforms_and_many_nodes() {
    let constrained = "id: a\nlanguage: py\nrule:\n  pattern: f($A)\nconstraints:\n  A:\n    kind: integer\nfix: g($A)\n";
    assert_eq!(made(constrained, "f(1)\nf(x)\n"), "g(1)\nf(x)\n");
    let transformed = "id: a\nlanguage: python\nrule:\n  pattern: $N = old($$$ARGS)\ntransform:\n  UP:\n    convert:\n      source: $N\n      toCase: upperCase\nfix: $UP = new($$$ARGS)\n";
    assert_eq!(made(transformed, "x = old(1, b=2)\n"), "X = new(1, b=2)\n");
    let inside = "id: a\nlanguage: python\nrule:\n  pattern: $X.foo\n  inside:\n    kind: class_definition\n    stopBy: end\nfix: $X.bar\n";
    assert_eq!(
        made(
            inside,
            "a.foo\nclass C:\n    def f(self):\n        return self.foo\n"
        ),
        "a.foo\nclass C:\n    def f(self):\n        return self.bar\n"
    );
    let deleted = "id: a\nlanguage: python\nrule:\n  pattern: noise()\nfix: ''\n";
    assert_eq!(made(deleted, "a()\nnoise()\n"), "a()\n\n");
}

#[test]
fn several_rules_keep_their_order_and_the_first_wins() {
    let second = "id: other\nlanguage: python\nrule:\n  pattern: print(1)\nfix: gone()\n---\nid: third\nlanguage: python\nrule:\n  pattern: keep\nfix: kept\n";
    let done = run(&format!("{PRINT}---\n{second}"), "print(1)\nkeep\n");
    assert_eq!(done.files[0].text, "log(1)\nkept\n");
    assert_eq!((done.total, done.skipped), (3, 1));
    let rules: Vec<_> = done.matches.iter().map(|m| &*m.rule).collect();
    assert_eq!(rules, ["log", "other", "third"]);
    // Nested matches of one rule: the outer one comes first.
    let nested = run(PRINT, "print(print(1))\n");
    assert_eq!(nested.files[0].text, "log(print(1))\n");
    assert_eq!(nested.skipped, nested.total - 1);
}

#[test]
fn a_rule_without_a_fix_only_reports() {
    let done = run("id: a\nlanguage: python\nrule:\n  kind: call\n", "f()\n");
    assert_eq!((done.total, done.files.len(), done.skipped), (1, 0, 0));
    assert_eq!(done.matches[0].replacement, None);
}

#[test]
fn line_ends_and_files_are_kept() {
    assert_eq!(made(PRINT, "print(1)\r\nx\r\n"), "log(1)\r\nx\r\n");
    assert_eq!(made(PRINT, "print(1)"), "log(1)");
    let elsewhere = format!("{PRINT}files:\n  - other/**\n");
    assert_eq!(run(&elsewhere, "print(1)\n").total, 0);
    let here = format!("{PRINT}files:\n  - pkg/**\n");
    assert_eq!(run(&here, "print(1)\n").total, 1);
    let ignored = format!("{PRINT}ignores:\n  - pkg/**\n");
    assert_eq!(run(&ignored, "print(1)\n").total, 0);
    let off = format!("{PRINT}severity: off\n");
    assert_eq!(run(&off, "print(1)\n").total, 0);
}

#[test]
fn a_fix_that_breaks_a_file_leaves_it_alone() {
    let broken = "id: a\nlanguage: python\nrule:\n  pattern: f($A)\nfix: 'f($A'\n";
    let done = run(broken, "f(1)\n");
    assert_eq!(
        (done.files.len(), done.total, done.warnings.len()),
        (0, 1, 1)
    );
    // One that was broken before is not made worse by being fixed elsewhere.
    assert_eq!(made(PRINT, "print(1)\nx = = 2\n"), "log(1)\nx = = 2\n");
}

#[test]
fn wrong_rules_are_mistakes_of_the_caller() {
    let cases = [
        ("", "no rule"),
        ("id: [", "line"),
        ("id: a\nlanguage: python\n", "rule"),
        ("id: a\nlanguage: javascript\nrule:\n  pattern: a\n", ""),
        ("id: a\nlanguage: nosuch\nrule:\n  pattern: a\n", ""),
        ("id: a\nlanguage: python\nrule:\n  kind: nosuch\n", "nosuch"),
        (
            "id: a\nlanguage: python\nrule:\n  pattern: f($A)\nfix: g($B)\n",
            "B",
        ),
        ("id: a\nlanguage: python\nrule:\n  patern: a\n", "patern"),
        (
            "id: a\nlanguage: python\nrule:\n  pattern: a\nfixx: b\n",
            "fixx",
        ),
        ("id: a\nlanguage: python\nrule:\n  regex: '['\n", ""),
        ("just text", ""),
        (
            "id: a\nlanguage: python\nrule:\n  pattern: a\nfiles: ['[']\n",
            "",
        ),
    ];
    for (yaml, part) in cases {
        let error = CodemodRules::read(yaml).expect_err(yaml);
        assert_eq!(error.code, Code::InvalidParams, "{yaml}");
        assert!(error.message.contains(part), "{yaml}: {}", error.message);
        assert!(error.hint.is_some());
    }
}

#[test]
fn folders_are_searched_with_totals() {
    let temp = tempfile::tempdir().unwrap();
    let mut files: Vec<Arc<str>> = Vec::new();
    for n in 0..20 {
        let name = format!("m{n:02}.py");
        std::fs::write(temp.path().join(&name), "print(1)\nprint(2)\n").unwrap();
        files.push(name.into());
    }
    std::fs::write(
        temp.path().join("latin.py"),
        b"# coding: latin-1\nprint('\xe9')\n",
    )
    .unwrap();
    files.push("latin.py".into());
    files.push("missing.py".into());
    let done = CodemodRules::read(PRINT)
        .unwrap()
        .run(temp.path(), &files, 5)
        .unwrap();
    assert_eq!(
        (done.total, done.matches.len(), done.truncated),
        (41, 5, true)
    );
    assert_eq!((done.files.len(), done.warnings.len()), (21, 1));
    assert!(done.files[20].text.ends_with("log('é')\n"));
    assert_eq!(done.matches[4].file, "m02.py");
}

#[test]
fn what_is_held_and_shown_is_bounded_whatever_matches() {
    // Every node of a nested file matches, each with all that lies in it.
    let every = "id: every\nlanguage: python\nrule: {any: [{kind: list}, {kind: string}]}\n";
    let nested = format!("x = {}1{}\n", "[".repeat(900), "]".repeat(900));
    let text = format!("s = '{}'\n{nested}", "long ".repeat(200_000));
    let done = run(every, &text.repeat(20));
    assert!(done.total > 15_000, "{}", done.total);
    let size: usize = done.matches.iter().map(CodemodMatch::size).sum();
    assert!(size <= MAX_MATCHES + 2 * MAX_SHOWN + 1_000, "{size}");
    assert!(
        done.matches
            .iter()
            .all(|found| found.text.len() <= MAX_SHOWN + 3)
    );
    assert!(done.matches.iter().any(|found| found.text.ends_with("...")));
}

#[test]
fn a_fix_that_makes_too_much_leaves_the_file_alone() {
    let rule =
        |fix: &str| format!("id: r\nlanguage: python\nrule: {{pattern: f($A)}}\nfix: \"{fix}\"\n");
    let text = format!("f('{}')\n", "x".repeat(1 << 20));
    for (fix, why) in [
        ("$A ".repeat(500), "repeats too much"),
        (
            format!("f($A, {})", "1, ".repeat(100_000)),
            "larger than 16 MiB",
        ),
    ] {
        let done = run(&rule(&fix), &text.repeat(60));
        assert_eq!(done.files.len(), 0);
        assert!(done.warnings[0].contains(why), "{:?}", done.warnings);
    }
}

#[test]
fn what_nests_too_deeply_is_refused_or_left_alone() {
    for pattern in [
        "-".repeat(30_000) + "1",
        "[".repeat(30_000) + &"]".repeat(30_000),
    ] {
        let rule = format!("id: r\nlanguage: python\nrule: {{pattern: '{pattern}'}}\n");
        let error = CodemodRules::read(&rule).unwrap_err();
        assert!(
            error.message.contains("nests too deeply"),
            "{}",
            &error.message[..200]
        );
    }
    let text = format!("print({}1)\n", "-".repeat(30_000));
    let done = run(PRINT, &text);
    assert_eq!((done.total, done.files.len()), (0, 0));
    assert!(
        done.warnings[0].contains("nests too deeply"),
        "{:?}",
        done.warnings
    );
    assert_eq!(
        run(PRINT, &format!("print({}1)\n", "-".repeat(1_000))).total,
        1
    );
}
