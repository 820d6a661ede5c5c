//! A read writes nothing, a preview applies nothing, and neither runs what a project brings
//! along: on a project whose every configuration invites to it.

use std::os::unix::fs::PermissionsExt;

use pillion::Safety;
use pillion_testing::project::{bare, git};
use pillion_testing::rpc::Rpc;
use pillion_testing::{THINGS, TestContext, set_up};
use serde_json::{Value, json};

use super::examples::{example, previews, variations, write_shop};
use super::tree::Tree;

/// ruff writes where its configuration says so, whatever else it is asked for.
const RUFF: &str = "
[project]
name = \"shop\"
[tool.ruff]
fix = true
fix-only = true
unsafe-fixes = true
show-fixes = true
output-format = \"grouped\"
cache-dir = \"cache-of-ruff\"
[tool.ruff.lint]
select = [\"ALL\"]
[tool.rope]
autoimport.autoimported = true
save_history = true
";

/// A project that wants every tool to write or to run something. A program of the project
/// that was run leaves a file beside the project.
fn inviting() -> TestContext {
    let context = bare();
    context.write("things.py", THINGS);
    context.write("pyproject.toml", RUFF);
    write_shop(&context);
    let ran = |name: &str| format!("open({:?}, 'w')\n", context.path(&format!("ran-{name}")));
    context.write(".ropeproject/config.py", &ran("rope"));
    // Names that pillion's own tools import.
    for name in ["jedi", "rope", "parso", "pytoolconfig"] {
        context.write(&format!("{name}.py"), &ran(name));
    }
    // A Python that came with the folder.
    context.write(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
    let python = format!(
        "#!/bin/sh\ntouch {}\nexec python3 \"$@\"\n",
        context.path("ran-python")
    );
    let python = context.write(".venv/bin/python", &python);
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    context.write(".gitattributes", "*.py filter=own diff=own\n");
    git(&context, &["init", "-q", "-b", "main"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-q", "-m", "first"]);
    let script = |name: &str| {
        let path = context.write(
            &format!(".git/own/{name}"),
            &format!(
                "#!/bin/sh\ntouch {}\ncat\n",
                context.path(&format!("ran-{name}"))
            ),
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("core.pager", "pager"),
        ("core.sshCommand", "ssh"),
        ("filter.own.clean", "clean"),
        ("filter.own.smudge", "smudge"),
        ("filter.process-own.process", "process"),
        ("diff.external", "external"),
        ("diff.own.command", "command"),
        ("diff.own.textconv", "textconv"),
    ] {
        git(&context, &["config", key, &script(name)]);
    }
    for hook in ["post-index-change", "pre-commit", "fsmonitor-watchman"] {
        script(hook);
    }
    git(&context, &["config", "filter.own.required", "true"]);
    git(&context, &["config", "core.hooksPath", ".git/own"]);
    // A change that git sees, and a file that only seems to have changed.
    context.write(
        "shop/other.py",
        "import sys\nimport os\n\n\ndef other():\n    return os.sep + os.sep\n",
    );
    context.write("web/b.ts", "export function b() { return 1; }\n");
    // Variables that make tools write.
    let mut context = context;
    let trace = context.path("ran-git-trace");
    context.set_env("GIT_TRACE", &trace);
    context.set_env("GIT_TRACE2_EVENT", &trace);
    let external = context.project.join(".git/own/external");
    context.set_env("GIT_EXTERNAL_DIFF", external);
    context.set_env("RUFF_OUTPUT_FILE", context.path("ran-ruff-output"));
    context
}

fn ran(context: &TestContext) -> Vec<String> {
    let beside = std::fs::read_dir(&context.base).unwrap();
    let names = beside.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("ran-")).collect()
}

/// A session with a turn and a file.
fn a_session(context: &TestContext, rpc: &mut Rpc) -> Value {
    let course = context.path("course");
    let made = rpc.call("course.new", json!({"path": course, "title": "Course"}));
    made.unwrap();
    let chapters = json!({"bundle_paths": {"chapter_bundle_path": course}});
    let courses = std::fs::read_dir(format!("{course}/courses")).unwrap();
    let name = courses.map(|one| one.unwrap().file_name()).next().unwrap();
    let name = name.to_string_lossy().into_owned();
    let chapter = std::fs::read_dir(format!("{course}/courses/{name}/chapters")).unwrap();
    let chapter = chapter.map(|one| one.unwrap().file_name()).next().unwrap();
    let chapter = format!("{name}/{}", chapter.to_string_lossy());
    let new = json!({"chapter_id": chapter, "session_id": "reads", "desktop_context": chapters});
    let begun = rpc.call("session.new", new).unwrap();
    let id = begun["session_id"].clone();
    let said = json!({"session_id": id, "message": "hello"});
    rpc.call("session.message", said).unwrap();
    let file = json!({"session_id": id, "name": "notes.md", "content": "text"});
    rpc.call("session.write_file", file).unwrap();
    id
}

/// A bundle in a folder that is a registry; the bundle and the folder.
fn a_bundle(context: &TestContext) -> (Value, Value) {
    let (agents, folder) = (context.path("agents"), context.path("registry"));
    std::fs::create_dir_all(format!("{agents}/prompts")).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(format!("{agents}/prompts/companion.md"), "Be kind.\n").unwrap();
    let file = format!("{folder}/agents-1.tar.zst");
    let mut build = vec![
        "bundle",
        "build",
        "--type",
        "app_agents",
        "--scope",
        "agents",
    ];
    build.extend(["--version", "1", "--from", &agents, "--out", &file]);
    for command in [
        build.as_slice(),
        &["registry", "build", &folder, "--allow-unsigned"],
    ] {
        let made = context.pillion(command);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    (json!(file), json!(folder))
}

#[test]
fn reads_and_previews_leave_the_project_as_it_is() {
    let context = inviting();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let job = json!({"code": "print(1)", "root": context.project});
    let job = rpc.call("exec.start", job).unwrap()["job_id"].clone();
    let python = set_up("dev-python/bin/python");
    let opened = json!({"path": "a.ipynb", "root": context.project, "python": python});
    let opened = rpc.call("kernel.open_session", opened).unwrap();
    let session = a_session(&context, &mut rpc);
    let (bundle, registry) = a_bundle(&context);
    let before = Tree::of(&context.project);
    let mut wrong = Vec::new();
    for definition in pillion::definitions() {
        if definition.safety != Safety::Read && !previews(&definition) {
            continue;
        }
        let plain = example(&definition, &context);
        let requests = std::iter::once(plain).chain(variations(&definition, &context));
        for (number, mut params) in requests.enumerate() {
            if params.get("job_id").is_some() {
                params["job_id"] = job.clone();
            }
            if definition.name.starts_with("kernel.") {
                for (name, value) in [
                    ("kernel_id", &opened["kernel"]["id"]),
                    ("session_id", &opened["id"]),
                ] {
                    if params.get(name).is_some() {
                        params[name] = value.clone();
                    }
                }
            }
            if definition.name.starts_with("session.") && params.get("session_id").is_some() {
                params["session_id"] = session.clone();
            }
            if definition.name.starts_with("bundle.") && params.get("file").is_some() {
                params["file"] = bundle.clone();
                params["allow_unsigned"] = json!(true);
            }
            if definition.name.starts_with("registry.") {
                params["folder"] = registry.clone();
                if number == 0 {
                    params["type"] = json!("app_agents");
                }
            }
            let outcome = rpc.call(definition.name, params.clone());
            // Only the first is sure to mean something.
            if let (0, Err(error)) = (number, &outcome) {
                wrong.push(format!("{} {params}: {:#}", definition.name, error["data"]));
            }
            let differences = before.differences(&Tree::of(&context.project));
            if definition.name.starts_with("py.") {
                // These import the project's modules, by the project's Python: that is what
                // they are asked for.
                let _ = std::fs::remove_file(context.base.join("ran-python"));
            }
            let ran = ran(&context);
            if !differences.is_empty() || !ran.is_empty() {
                wrong.push(format!(
                    "{} {params}: {differences:?} {ran:?}",
                    definition.name
                ));
                // What the next one does cannot be told any more.
                assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
