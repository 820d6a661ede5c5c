//! Tests of who is known as an expert, and of what one is made of.

use serde_json::json;

use super::*;
use crate::testing::{Tree, expert};

fn found(tree: &Tree, folder: &str) -> ExpertRegistry {
    let roots = Roots {
        experts: Some(tree.path(folder)),
        ..Roots::default()
    };
    registry(&roots, &Bundles::default()).unwrap()
}

fn titles(registry: &ExpertRegistry) -> Vec<(&str, &str)> {
    registry
        .entries()
        .map(|entry| (entry.id.as_str(), entry.title.as_str()))
        .collect()
}

#[test]
fn metadata_make_the_registry() {
    let tree = Tree::new();
    expert(
        &tree,
        "e/one",
        "expert_id: one\ntitle: The One\ndescription: Knows it\n",
    );
    tree.write(
        "e/two/principles.md",
        "# Two\n```yaml\nname: Second\n```\nSays\nthis.\n\nMore.",
    );
    tree.write("e/three/principles.md", "# Third\n\nDoes that.\n");
    tree.write("e/bad/principles.md", "---\na: [\n---\n");
    tree.write("e/notes/readme.md", "no expert");
    let all = found(&tree, "e");
    let shown = [("one", "The One"), ("three", "Third"), ("two", "Second")];
    assert_eq!(titles(&all), shown);
    assert_eq!(all.get("two").unwrap().description, "Says this.");
    assert_eq!(all.warnings.len(), 1);
    assert!(
        all.warnings[0].contains("bad/principles.md:"),
        "{:?}",
        all.warnings
    );
}

#[test]
fn a_page_comes_first_in_each_of_its_shapes() {
    let entry = json!({"expert_id": "one", "title": "Paged", "description": "From the page"});
    let pages = [
        json!({"experts": [entry], "generated_at": "now"}),
        json!([{"id": "one", "name": "Paged", "description": "From the page"}]),
        json!({"one": {"title": "Paged", "description": "From the page"}, "version": 1}),
        json!({"experts": {"one": {"name": "Paged", "description": "From the page"}}}),
    ];
    for page in pages {
        let tree = Tree::new();
        expert(&tree, "e/one", "title: Own\noutput_types: [report]\n");
        expert(&tree, "e/unlisted", "title: Unlisted\n");
        tree.write("e/yellow_page.generated.json", &page.to_string());
        let all = found(&tree, "e");
        assert_eq!(titles(&all), [("one", "Paged")], "{page}");
        let (one, warnings) = all.load("one").unwrap();
        assert_eq!(one.description, "From the page");
        assert_eq!(one.output_types, ["report"]);
        assert!(warnings.is_empty());
    }
    let tree = Tree::new();
    expert(&tree, "e/one", "title: Own\n");
    tree.write("e/yellow_page.generated.json", "{oops");
    let all = found(&tree, "e");
    assert_eq!(titles(&all), [("one", "Own")]);
    assert_eq!(all.warnings.len(), 1);
    let odd = json!([{"id": "../x"}, 3, {"title": "no id"}]);
    tree.write("e/yellow_page.generated.json", &odd.to_string());
    let all = found(&tree, "e");
    assert_eq!((titles(&all).len(), all.warnings.len()), (0, 3));
}

#[test]
fn later_bundles_win_and_earlier_ones_fill_in() {
    let tree = Tree::new();
    expert(&tree, "courses/experts/a", "title: Beside\n");
    expert(
        &tree,
        "courses/experts/b",
        "title: Beside\ndescription: Beside\n",
    );
    expert(&tree, "machine/b", "title: Machine\n");
    expert(&tree, "machine/c", "title: Machine\n");
    expert(&tree, "shared/experts/c", "title: Shared\n");
    expert(&tree, "shared/experts/d", "title: Shared\n");
    expert(&tree, "single", "expert_id: other\ntitle: Single\n");
    expert(&tree, "nested/e", "title: Nested\n");
    tree.write(
        "shared/experts/yellow_page.generated.json",
        &json!([{"id": "c", "title": "Shared"}, {"id": "d"}, {"id": "e", "summary": "Paged"}])
            .to_string(),
    );
    let roots = Roots {
        curriculum: Some(tree.path("courses")),
        experts: Some(tree.path("machine")),
        ..Roots::default()
    };
    let single = |id: &str, path: &str| (id.to_owned(), tree.path(path));
    let bundles = Bundles {
        experts_shared: Some(tree.path("shared")),
        experts: [
            single("d", "single"),
            single("e", "nested"),
            single("f", "gone"),
        ]
        .into(),
        ..Bundles::default()
    };
    let all = registry(&roots, &bundles).unwrap();
    assert_eq!(
        titles(&all),
        [
            ("a", "Beside"),
            ("b", "Machine"),
            ("c", "Shared"),
            ("d", "Single"),
            ("e", "Nested")
        ]
    );
    let folder = |id: &str| all.get(id).unwrap().folder().unwrap();
    assert_eq!(folder("c"), tree.path("shared/experts/c"));
    assert_eq!(folder("d"), tree.path("single"));
    assert_eq!(folder("e"), tree.path("nested/e"));
    assert_eq!(all.get("e").unwrap().metadata["summary"], "Paged");
    assert_eq!(all.warnings.len(), 1, "{:?}", all.warnings);
    let bundles = Bundles {
        experts: [single("../d", "single")].into(),
        ..Bundles::default()
    };
    assert_eq!(registry(&roots, &bundles).unwrap_err().status(), 400);
}

#[test]
fn an_expert_is_read_with_its_skills() {
    let tree = Tree::new();
    expert(&tree, "e/one", "scenarios:\n  - id: s1\n");
    tree.write(
        "e/one/skills/talk.md",
        "---\nauto: true\n---\nOnly words.\n",
    );
    tree.write(
        "e/one/skills/first.md",
        "---\npython: look.py\nauto: true\n---\nx",
    );
    tree.write("e/one/skills/helper.py", "X = 1\n");
    let (one, warnings) = found(&tree, "e").load("one").unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(one.principles, "# Principles\nBe exact.");
    assert_eq!(
        (one.knowledge[0].name.as_str(), one.knowledge.len()),
        ("facts.md", 1)
    );
    assert_eq!(one.scenarios, [json!({"id": "s1"})]);
    let auto: Vec<bool> = one.skills.iter().map(|skill| skill.auto).collect();
    assert_eq!(auto, [true, false, false]);
    let look = &one.skills[1];
    assert_eq!(
        (look.name.as_str(), look.text.as_str()),
        ("look", "How to look.")
    );
    assert_eq!(look.tools, ["read_file"]);
    assert_eq!(look.parameters, Some(json!({"type": "object"})));
    let python = look.python.as_ref().unwrap();
    assert!(python.ends_with("e/one/skills/look.py"));
    assert_eq!(
        (one.skills[2].name.as_str(), &one.skills[2].python),
        ("talk", &None)
    );
    assert_eq!(one.skills[2].description, "Only words.");
    let files: Vec<_> = one.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        files,
        [
            "principles.md",
            "knowledge/facts.md",
            "skills/first.md",
            "skills/helper.py",
            "skills/look.md",
            "skills/look.py",
            "skills/talk.md",
        ]
    );
}

#[test]
fn a_program_is_a_file_beside_its_skill() {
    for name in ["gone.py", "../../x.py", "/etc/passwd", "look.sh", "[1]"] {
        let tree = Tree::new();
        expert(&tree, "e/one", "title: One\n");
        tree.write("x.py", "def run(): pass\n");
        tree.write(
            "e/one/skills/look.md",
            &format!("---\npython: {name}\n---\nx"),
        );
        let (one, warnings) = found(&tree, "e").load("one").unwrap();
        assert_eq!(one.skills[0].python, None, "{name}");
        assert_eq!(warnings.len(), 1, "{name}");
    }
    let tree = Tree::new();
    expert(&tree, "e/one", "title: One\n");
    tree.write("x.py", "def run(): pass\n");
    std::os::unix::fs::symlink(tree.path("x.py"), tree.path("e/one/skills/out.py")).unwrap();
    let error = found(&tree, "e").load("one").unwrap_err();
    assert_eq!(error.code(), "content_outside");
}
