//! Tests of what authors are told.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;

use super::*;
use crate::testing::{Tree, chapter, expert};

/// Problems as `severity path:line message`.
fn shown(tree: &Tree, path: &str) -> Vec<String> {
    let report = check(&tree.path(path));
    let line = |problem: &ContentProblem| {
        let path = problem.path.strip_prefix(tree.path("")).unwrap();
        let mut text = format!("{:?} {}", problem.severity, path.display());
        if let Some(line) = problem.line {
            write!(text, ":{line}").unwrap();
        }
        format!("{text} {}", problem.message)
    };
    report.problems.iter().map(line).collect()
}

#[test]
fn the_example_has_no_problem() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/course");
    let report = check(&root);
    assert_eq!(report.problems, []);
    assert_eq!((report.courses, report.chapters, report.experts), (1, 2, 1));
    let roots = crate::Roots {
        curriculum: Some(root.clone()),
        ..crate::Roots::default()
    };
    for listed in crate::chapters(&roots, None).unwrap() {
        let id = listed.chapter_id.parse().unwrap();
        let found = crate::resolve(&roots, &id, &crate::Bundles::default()).unwrap();
        assert_eq!(found.warnings, Vec::<String>::new());
        assert!(!found.scripts.is_empty());
        // Parts of the course are well by themselves, too.
        assert_eq!(check(&found.folder).problems, []);
        for expert in found.experts {
            assert!(expert.skills.iter().any(|skill| skill.python.is_some()));
            assert_eq!(check(&expert.folder).problems, []);
        }
    }
}

#[test]
fn everything_wrong_with_a_chapter_is_told_by_file_and_line() {
    let tree = Tree::new();
    chapter(&tree, "c/courses/py/chapters/ch", "Title");
    expert(&tree, "c/experts/one", "description: One\n");
    let file = |name: &str, text: &str| {
        tree.write(&format!("c/courses/py/chapters/ch/{name}"), text);
    };
    file("chapter_context.md", "no heading");
    file(
        "task_list.md",
        "- **a** x\n- **b** y\n- **a** z\n1. **c** w\n",
    );
    std::fs::remove_file(tree.path("c/courses/py/chapters/ch/task_completion_principles.md"))
        .unwrap();
    file(
        "consultation_config.yaml",
        "available_experts:\n  - one\n  - two\nbinding_rules:\n  - expert_id: three\n  \
         - expert_id: one\n    set:\n      color: red\n  - expert_id: one\n    set:\n      \
         color: blue\n  - set: {}\n",
    );
    file("prompts/memo.md", "{{report}}\n{{ unknown }}\n");
    file("memo.md", "shadowed");
    file("prompts/tutor.md", "nobody reads it");
    file("scripts/solution.py", "");
    file("scripts/photo.png", "");
    file("scripts/sub/x.py", "");
    tree.write(
        "c/courses/py/course.yaml",
        "title: Py\nchapters:\n  - ch\n  - gone\n",
    );
    let expected = [
        "Error c/courses/py/chapters/ch/consultation_config.yaml:11 a packet has no field `color` \
         that a rule may set",
        "Error c/courses/py/chapters/ch/consultation_config.yaml:12 a binding rule needs an \
         `expert_id`",
        "Error c/courses/py/chapters/ch/consultation_config.yaml:3 there is no expert `two`",
        "Error c/courses/py/chapters/ch/consultation_config.yaml:5 the rule's expert `three` is \
         not available",
        "Error c/courses/py/chapters/ch/consultation_config.yaml:8 a packet has no field `color` \
         that a rule may set",
        "Error c/courses/py/chapters/ch/prompts/memo.md:2 there is no placeholder `{{unknown}}`",
        "Error c/courses/py/chapters/ch/task_completion_principles.md \
         `task_completion_principles.md` is missing",
        "Error c/courses/py/chapters/ch/task_list.md:3 the task `a` is there twice",
        "Error c/courses/py/course.yaml:4 the course has no chapter `gone`",
        "Note c/courses/py/chapters/ch/scripts/solution.py this is kept from learners",
        "Warning c/courses/py/chapters/ch/chapter_context.md there is no heading to take the \
         title from",
        "Warning c/courses/py/chapters/ch/memo.md this is never read: `prompts/memo.md` is",
        "Warning c/courses/py/chapters/ch/prompts/tutor.md nothing reads a file of this name",
        "Warning c/courses/py/chapters/ch/scripts/photo.png learners cannot open a file of this \
         kind in their workspace",
        "Warning c/courses/py/chapters/ch/scripts/sub this folder is left out",
        "Warning c/courses/py/chapters/ch/task_list.md:4 this looks like a task, and is none",
    ];
    let mut all = shown(&tree, "c");
    all.sort();
    assert_eq!(all, expected);
    // Looked at alone, the chapter knows the experts beside its course.
    let mut alone = shown(&tree, "c/courses/py/chapters/ch");
    alone.sort();
    let of_chapter = |line: &&&str| !line.contains("course.yaml");
    let expected: Vec<&str> = expected.iter().filter(of_chapter).copied().collect();
    assert_eq!(alone, expected);
    assert_eq!(check(&tree.path("c")).count(ContentSeverity::Error), 9);
}

#[test]
fn one_mistake_in_a_folder_hides_no_other() {
    let tree = Tree::new();
    chapter(&tree, "c/courses/py/chapters/ch", "Title");
    let scripts = "c/courses/py/chapters/ch/scripts";
    tree.write(&format!("{scripts}/sub/a.py"), "");
    tree.write(&format!("{scripts}/big.py"), &"#".repeat((1 << 20) + 1));
    for name in ["p.py", "q.py"] {
        symlink("/etc/passwd", tree.path(&format!("{scripts}/{name}"))).unwrap();
    }
    let all = shown(&tree, "c");
    let begins = [
        "Error c/courses/py/chapters/ch/scripts/big.py this is too large",
        "Error c/courses/py/chapters/ch/scripts/p.py ",
        "Error c/courses/py/chapters/ch/scripts/q.py ",
        "Warning c/courses/py/chapters/ch/scripts/sub this folder",
    ];
    assert_eq!(all.len(), begins.len(), "{all:?}");
    for begin in begins {
        assert!(all.iter().any(|line| line.starts_with(begin)), "{all:?}");
    }
}

#[test]
fn everything_wrong_with_an_expert_is_told_by_file_and_line() {
    let tree = Tree::new();
    expert(&tree, "experts/one", "expert_id: other\n");
    tree.write(
        "experts/one/skills/look.md",
        "---\nname: look\npython: gone.py\ntools: 3\nparameters: text\nspeed: high\n---\nx\n",
    );
    tree.write("experts/one/skills/bad.md", "---\nname: [\n---\n");
    tree.write("experts/one/skills/run.md", "---\npython: look.py\n---\nx");
    tree.write("experts/one/skills/look.py", "def other():\n    pass\n");
    std::fs::write(tree.path("experts/one/knowledge/old.md"), b"a\nb\xff\n").unwrap();
    let all = shown(&tree, "experts/one");
    let begins = [
        "Error experts/one/knowledge/old.md:2 this is not UTF-8",
        "Warning experts/one/principles.md:2 the id `other`",
        "Warning experts/one/principles.md:2 the metadata have no `description`",
        "Error experts/one/skills/bad.md:",
        "Error experts/one/skills/look.md:3 there is no file `gone.py`",
        "Error experts/one/skills/look.md:4 `tools` is",
        "Error experts/one/skills/look.md:5 `parameters` is",
        "Error experts/one/skills/look.md:6 a skill has no field `speed`",
        "Error experts/one/skills/look.py there is no function `run`",
    ];
    assert_eq!(all.len(), begins.len(), "{all:#?}");
    for begin in begins {
        assert!(
            all.iter().any(|line| line.starts_with(begin)),
            "{begin}: {all:#?}"
        );
    }
}

#[test]
fn broken_yaml_large_files_and_links_out_are_told() {
    let tree = Tree::new();
    chapter(&tree, "ch", "Title");
    tree.write(
        "ch/consultation_config.yaml",
        "available_experts:\n  - a\n bad: [\n",
    );
    tree.write("secret.csv", "");
    tree.write("ch/datasets/ok.csv", "");
    symlink(tree.path("secret.csv"), tree.path("ch/datasets/out.csv")).unwrap();
    let big = std::fs::File::create(tree.path("ch/interaction_protocol.md")).unwrap();
    big.set_len(10 << 20).unwrap();
    let all = shown(&tree, "ch");
    assert_eq!(all.len(), 3, "{all:#?}");
    assert!(
        all[0].starts_with("Error ch/consultation_config.yaml:"),
        "{all:#?}"
    );
    assert!(all[1].contains("leads out of"), "{all:#?}");
    assert!(all[2].contains("too large"), "{all:#?}");
}

#[test]
fn a_chapter_without_experts_beside_it_may_name_some() {
    let tree = Tree::new();
    chapter(&tree, "ch", "Title");
    tree.write("ch/consultation_config.yaml", "available_experts: [far]\n");
    let expected =
        "Warning ch/consultation_config.yaml:1 there is no expert `far` beside the course";
    assert_eq!(shown(&tree, "ch"), [expected]);
}

#[test]
fn what_is_not_there_and_what_is_nothing_are_told() {
    let tree = Tree::new();
    assert_eq!(shown(&tree, "gone"), ["Error gone there is no such folder"]);
    tree.write("empty/readme.md", "");
    tree.write("file", "");
    assert_eq!(
        shown(&tree, "empty"),
        ["Error empty there is neither a course, nor a chapter, nor an expert"]
    );
    assert_eq!(shown(&tree, "file"), ["Error file this is no folder"]);
    tree.write("c/courses/odd name/chapters/x/readme.md", "");
    let all = shown(&tree, "c");
    assert_eq!(all.len(), 4, "{all:#?}");
    assert!(all[0].contains("cannot be the id of a course"), "{all:#?}");
}
