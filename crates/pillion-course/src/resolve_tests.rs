//! Tests of where a chapter's files are looked for, and in which order.

use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::testing::{Tree, chapter, expert};

fn id(text: &str) -> ChapterId {
    text.parse().unwrap()
}

fn bundle(tree: &Tree, path: &str) -> Bundles {
    Bundles {
        chapter: Some(tree.path(path)),
        ..Bundles::default()
    }
}

fn from_bundle(tree: &Tree, name: &str) -> Result<Chapter, Error> {
    resolve(&Roots::default(), &id(name), &bundle(tree, "b"))
}

#[test]
fn places_are_tried_in_the_order_of_the_contract() {
    let tree = Tree::new();
    std::fs::create_dir(tree.path("b")).unwrap();
    let error = from_bundle(&tree, "c/ch").unwrap_err();
    let Error::NotFound { looked, .. } = error else {
        panic!("{error:?}")
    };
    let places = [
        "b/courses/c/chapters/ch",
        "b/content/curriculum/courses/c/chapters/ch",
        "b/ch",
        "b/content/ch",
        "b",
    ];
    assert_eq!(looked, places.map(|place| tree.path(place)));
    // From the last to the first, each place takes precedence over those after it.
    for place in places.iter().rev() {
        chapter(&tree, place, place);
        let found = from_bundle(&tree, "c/ch").unwrap();
        assert_eq!(found.title, *place);
        assert_eq!(found.folder, tree.path(place));
        let prompts = format!("{place}/prompts/chapter_context.md");
        tree.write(&prompts, &format!("# prompts of {place}"));
        let found = from_bundle(&tree, "c/ch").unwrap();
        assert_eq!(found.title, format!("prompts of {place}"));
    }
}

#[test]
fn the_course_is_the_ids_or_the_scopes_or_the_only_one() {
    let tree = Tree::new();
    chapter(&tree, "b/courses/one/chapters/ch", "One");
    chapter(&tree, "b/courses/two/chapters/ch", "Two");
    chapter(&tree, "b/courses/two/chapters/only", "Only");
    let mut bundles = bundle(&tree, "b");
    let find = |bundles: &Bundles, name: &str| resolve(&Roots::default(), &id(name), bundles);
    assert_eq!(find(&bundles, "only").unwrap().title, "Only");
    let error = find(&bundles, "ch").unwrap_err();
    assert_eq!(
        error.to_string(),
        "several courses have a chapter `ch`: one, two"
    );
    bundles.course_id = Some("two".into());
    assert_eq!(find(&bundles, "ch").unwrap().title, "Two");
    assert_eq!(find(&bundles, "one/ch").unwrap().title, "One");
    // An empty value counts as none.
    bundles.course_id = Some(String::new());
    assert_eq!(find(&bundles, "only").unwrap().title, "Only");
    bundles.course_id = Some("../two".into());
    assert_eq!(find(&bundles, "ch").unwrap_err().status(), 400);
}

#[test]
fn the_curriculum_is_no_chapter_and_no_way_out_of_a_bundle() {
    let tree = Tree::new();
    chapter(&tree, "curriculum", "Root");
    chapter(&tree, "curriculum/courses/c/chapters/ch", "Ch");
    std::fs::create_dir(tree.path("b")).unwrap();
    let roots = Roots {
        curriculum: Some(tree.path("curriculum")),
        ..Roots::default()
    };
    let find = |name: &str, bundles: &Bundles| resolve(&roots, &id(name), bundles);
    let none = Bundles::default();
    assert_eq!(find("c/ch", &none).unwrap().title, "Ch");
    assert_eq!(find("ch", &none).unwrap().title, "Ch");
    assert_eq!(find("other", &none).unwrap_err().status(), 404);
    // A bundle that was given and does not have it is an error.
    assert_eq!(find("c/ch", &bundle(&tree, "b")).unwrap_err().status(), 404);
    let error = find("c/ch", &bundle(&tree, "nowhere")).unwrap_err();
    assert_eq!(error.status(), 404);
    assert!(error.to_string().contains("nowhere"), "{error}");
    let nothing = resolve(&Roots::default(), &id("ch"), &none);
    assert_eq!(nothing.unwrap_err().status(), 404);
}

#[test]
fn a_missing_file_is_named_with_its_places_and_no_tasks_is_an_error() {
    let tree = Tree::new();
    chapter(&tree, "b", "B");
    std::fs::remove_file(tree.path("b/task_list.md")).unwrap();
    let error = from_bundle(&tree, "ch").unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("`task_list.md` of chapter `ch`"),
        "{message}"
    );
    assert!(message.contains("content/ch"), "{message}");
    tree.write("b/task_list.md", "# Tasks\n- nothing\n");
    let error = from_bundle(&tree, "ch").unwrap_err();
    assert_eq!((error.status(), error.code()), (422, "content_invalid"));
    tree.write("b/task_list.md", "- **a** One\n- **a** Two\n");
    let found = from_bundle(&tree, "ch").unwrap();
    assert_eq!(
        (found.tasks.len(), found.tasks[0].title.as_str()),
        (1, "One")
    );
    assert_eq!(found.warnings.len(), 1);
    assert!(
        found.warnings[0].contains("task_list.md:2"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn the_chapter_overrides_the_application_and_that_the_machine() {
    let tree = Tree::new();
    chapter(&tree, "b", "B");
    let prompts = ["companion.md", "manager.md", "memo.md"];
    for (folder, count) in [("machine", 3), ("app/prompts", 2), ("b/prompts", 1)] {
        for name in &prompts[..count] {
            tree.write(&format!("{folder}/{name}"), folder);
        }
    }
    tree.write("app/manager.md", "shadowed");
    tree.write("machine/socratic_vs_direct.md", "machine");
    tree.write("templates/socratic_vs_direct.md", "templates");
    tree.write("templates/interaction_protocol.md", "templates");
    tree.write("templates/companion.md", "no prompt is taken from here");
    tree.write("b/unknown.md", "not a prompt");
    let roots = Roots {
        agents: Some(tree.path("machine")),
        templates: Some(tree.path("templates")),
        ..Roots::default()
    };
    let bundles = Bundles {
        app_agents: Some(tree.path("app")),
        ..bundle(&tree, "b")
    };
    let found = resolve(&roots, &id("ch"), &bundles).unwrap();
    let prompts: Vec<_> = found
        .prompts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        prompts,
        [
            ("companion.md", "b/prompts"),
            ("manager.md", "app/prompts"),
            ("memo.md", "machine"),
        ]
    );
    assert_eq!(found.socratic_vs_direct.as_deref(), Some("machine"));
    assert_eq!(found.interaction_protocol.as_deref(), Some("templates"));
    assert_eq!(found.consultation_guide, None);
    let bundles = Bundles {
        app_agents: Some(tree.path("gone")),
        ..bundle(&tree, "b")
    };
    let found = resolve(&roots, &id("ch"), &bundles).unwrap();
    assert!(found.warnings[0].contains("gone"), "{:?}", found.warnings);
}

#[test]
fn starter_files_and_datasets_are_found_and_solutions_are_not() {
    let tree = Tree::new();
    chapter(&tree, "b", "B");
    for name in [
        "start.py",
        "solution.py",
        "Solution.PY",
        ".hidden",
        "sub/x.py",
    ] {
        tree.write(&format!("b/scripts/{name}"), "print(1)");
    }
    tree.write("b/scripts/__pycache__/start.pyc", "");
    tree.write("b/datasets/sales.csv", "a,b\n1,2\n");
    let found = from_bundle(&tree, "ch").unwrap();
    let names = |files: &[crate::CopiedFile]| -> Vec<String> {
        files.iter().map(|file| file.name.clone()).collect()
    };
    assert_eq!(names(&found.scripts), ["start.py"]);
    assert_eq!(names(&found.datasets), ["sales.csv"]);
    assert_eq!(found.datasets[0].read().unwrap(), b"a,b\n1,2\n");
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
}

#[test]
fn a_link_that_leads_out_is_refused() {
    let tree = Tree::new();
    chapter(&tree, "b", "B");
    tree.write("secret.py", "key");
    tree.write("b/scripts/start.py", "");
    symlink(tree.path("secret.py"), tree.path("b/scripts/more.py")).unwrap();
    let error = from_bundle(&tree, "ch").unwrap_err();
    assert_eq!(error.code(), "content_outside");
    std::fs::remove_file(tree.path("b/scripts/more.py")).unwrap();
    std::fs::remove_file(tree.path("b/chapter_context.md")).unwrap();
    symlink(tree.path("secret.py"), tree.path("b/chapter_context.md")).unwrap();
    assert_eq!(
        from_bundle(&tree, "ch").unwrap_err().code(),
        "content_outside"
    );
}

#[test]
fn only_available_experts_are_read_and_missing_ones_are_told() {
    let tree = Tree::new();
    chapter(&tree, "b", "B");
    tree.write(
        "b/consultation_config.yaml",
        "available_experts: [one, ghost]\nbinding_rules:\n  - expert_id: one\n    \
         set: {task_type: core}\n",
    );
    expert(&tree, "shared/one", "title: One\n");
    expert(&tree, "shared/two", "title: Two\n");
    let bundles = Bundles {
        experts_shared: Some(tree.path("shared")),
        ..bundle(&tree, "b")
    };
    let found = resolve(&Roots::default(), &id("ch"), &bundles).unwrap();
    assert_eq!(found.consultation.available_experts, ["one", "ghost"]);
    assert_eq!(found.consultation.binding_rules.len(), 1);
    assert_eq!(found.experts.len(), 1);
    assert_eq!(found.experts[0].title, "One");
    assert!(
        found.warnings[0].contains("`ghost`"),
        "{:?}",
        found.warnings
    );
    tree.write("b/consultation_config.yaml", "available_experts: [one\n");
    let error = resolve(&Roots::default(), &id("ch"), &bundles).unwrap_err();
    assert_eq!(error.code(), "content_invalid");
    assert!(
        error.to_string().contains("consultation_config.yaml:"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_id_finds_what_is_not_in_the_bundle(
        name in "([.]{1,2}|/|a|courses|ch|~|%2e){1,6}",
        course in proptest::option::of("([.]{1,2}|/|a|c){1,4}"),
    ) {
        let tree = Tree::new();
        chapter(&tree, "outside", "Outside");
        chapter(&tree, "a", "Outside");
        chapter(&tree, "x/curriculum/courses/c/chapters/ch", "Inside");
        let roots = Roots {
            curriculum: Some(tree.path("x/curriculum")),
            ..Roots::default()
        };
        let bundles = Bundles { course_id: course, ..Bundles::default() };
        if let Ok(id) = name.parse::<ChapterId>()
            && let Ok(found) = resolve(&roots, &id, &bundles)
        {
            prop_assert_eq!(found.title, "Inside");
            prop_assert!(found.folder.starts_with(Path::new(&tree.path("x/curriculum"))));
        }
    }
}
