//! The harness itself: a marker that is wrong must fail.

use super::*;

fn wrong(text: &str) -> Vec<String> {
    let mut claims = Claims::default();
    claims.read("a.py", text);
    claims.wrong
}

#[test]
fn a_marker_points_at_the_line_above_in_characters() {
    let mut claims = Claims::default();
    claims.read(
        "a.py",
        "x = 1\n# <- @x\n\ty = '😀', x\n#         ^ defs @x; uses @x\n",
    );
    assert_eq!(claims.wrong, Vec::<String>::new());
    assert_eq!(claims.names["x"].0.to_string(), "a.py:1:1");
    assert_eq!(claims.names["x"].1, "x");
    let told: Vec<String> = claims
        .markers
        .iter()
        .map(|m| format!("{} {}", m.verb, m.at))
        .collect();
    assert_eq!(told, ["defs a.py:3:11", "uses a.py:3:11"]);
}

#[test]
fn a_marker_that_cannot_be_right_is_told() {
    assert_eq!(wrong("x\n# <- @x\n# a comment, ^ no marker\n").len(), 0);
    for text in [
        "x\n#   ^ @x\n",
        "x\n# <- @x more\n",
        "x\n# <- @x; @x\n",
        "x\n# <- finds @x\n",
        "x\n# <- defs\n",
        "x\n# <- hover\n",
        "x\n# <- uses @x outside\n",
        "x\n# <- renamed @x @y\n",
        "# <- @x\n",
    ] {
        assert_eq!(wrong(text).len(), 1, "{text:?}: {:?}", wrong(text));
    }
}

#[test]
#[should_panic(expected = "nothing needs `@unused`")]
fn a_name_that_no_claim_needs_fails() {
    check(&mut TestProject::with(&[(
        "a.py",
        "x = 1\n# <- @unused; defs nothing\n",
    )]));
}

#[test]
#[should_panic(expected = "there is no `@nobody`")]
fn a_name_that_is_not_there_fails() {
    check(&mut TestProject::with(&[(
        "a.py",
        "x = 1\n# <- defs @nobody\n",
    )]));
}

#[test]
#[should_panic(expected = "expected {\"a.py:3:1 y\"}")]
fn a_wrong_claim_fails() {
    check(&mut TestProject::with(&[(
        "a.py",
        "x = 1\n# <- defs @y\ny = 2\n# <- @y\n",
    )]));
}

#[test]
#[should_panic(expected = "uses of @x")]
fn a_use_without_a_marker_fails() {
    let text = "x = 1\n# <- @x\nprint(x)\n#     ^ uses @x\nprint(x)\n";
    check(&mut TestProject::with(&[("a.py", text)]));
}
