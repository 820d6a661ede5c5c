//! Which projects there are, on which branch, and which of them uses which.

use std::fs;

use serde_json::{Value, json};

use super::{Mapped, empty, git, git_in};

/// What a question about the project's folder as `root` is answered.
fn below(mapped: &mut Mapped, operation: &str) -> Value {
    let root = mapped.context.project.clone();
    let answer = mapped.rpc.call(operation, json!({"root": root}));
    answer.unwrap_or_else(|error| panic!("{operation}: {error:#}"))
}

/// `group/name:language@branch` of each project.
fn shown(projects: &Value) -> Vec<String> {
    let text = |project: &Value, name: &str| project[name].as_str().unwrap().to_owned();
    let all = projects.as_array().unwrap().iter();
    all.map(|one| {
        let [group, name] = ["group", "name"].map(|name| text(one, name));
        let [language, branch] = ["language", "git_branch"].map(|name| text(one, name));
        format!("{group}/{name}:{language}@{branch}")
    })
    .collect()
}

#[test]
fn projects_are_listed_by_group_and_name() {
    let mut mapped = Mapped::new(empty());
    assert_eq!(below(&mut mapped, "map.projects"), json!([]));
    let context = &mapped.context;
    for (file, text) in [
        ("tools/go/go.mod", "module x\n"),
        ("tools/web/package.json", "{}\n"),
        ("apps/shop/pyproject.toml", "[project]\nname = 'shop'\n"),
        ("apps/old/setup.py", "\n"),
        ("apps/rust/Cargo.toml", "\n"),
        ("apps/gradle/build.gradle", "\n"),
        ("apps/maven/pom.xml", "\n"),
        ("apps/both/go.mod", "module y\n"),
        ("apps/both/package.json", "{}\n"),
        ("ignored/go.mod", "module z\n"),
        (".gitignore", "/ignored\n"),
        ("apps/web/node_modules/x/package.json", "{}\n"),
        ("plain/readme", "\n"),
    ] {
        context.write(file, text);
    }
    fs::create_dir_all(context.project.join("plain/repo/.git")).unwrap();
    context.write("plain/repo/.git/HEAD", "ref: refs/heads/trunk\n");
    assert_eq!(
        shown(&below(&mut mapped, "map.projects")),
        [
            "apps/both:go@",
            "apps/gradle:java@",
            "apps/maven:java@",
            "apps/old:python@",
            "apps/rust:rust@",
            "apps/shop:python@",
            "plain/repo:unknown@trunk",
            "tools/go:go@",
            "tools/web:typescript@",
        ]
    );
    // What is new is there at once.
    mapped.context.write("a/go.mod", "module a\n");
    assert_eq!(shown(&below(&mut mapped, "map.projects"))[0], "/a:go@");
}

#[test]
fn a_path_belongs_to_the_nearest_project() {
    let context = empty();
    context.write("apps/shop/pyproject.toml", "");
    context.write("apps/shop/src/a.py", "");
    context.write("loose/b.py", "");
    let mut mapped = Mapped::new(context);
    let root = mapped.context.project.clone();
    let path = root.join("apps/shop/src/a.py");
    let found = mapped
        .rpc
        .call("map.resolve", json!({"path": path, "root": root}));
    assert_eq!(
        found.unwrap(),
        json!({
            "name": "shop", "path": root.join("apps/shop"), "language": "python",
            "group": "apps", "git_branch": "",
        })
    );
    for path in ["loose/b.py", "nosuch"] {
        let path = root.join(path);
        let error = mapped.rpc.call("map.resolve", json!({"path": path}));
        assert_eq!(error.unwrap_err()["data"]["code"], "not_found");
    }
}

#[test]
fn branches_are_read_in_every_state_of_a_repository() {
    let context = empty();
    context.write("repo/pyproject.toml", "");
    context.write("repo/pkg/pyproject.toml", "");
    git_in(&context, "repo", &["init", "-q", "-b", "start"]);
    let mut mapped = Mapped::new(context);
    let unborn = ["/repo:python@start"];
    assert_eq!(shown(&below(&mut mapped, "map.projects")), unborn);

    let context = &mapped.context;
    git_in(context, "repo", &["add", "."]);
    git_in(context, "repo", &["commit", "-qm", "one"]);
    let lib = ["submodule", "add", "-q", "-b", "start", "./", "lib"];
    let mut lib = lib.map(ToOwned::to_owned);
    lib[5] = context.project.join("repo").display().to_string();
    git_in(context, "repo", &lib.each_ref().map(String::as_str));
    let tree = ["worktree", "add", "-q", "-b", "feature/x", "../tree"];
    git_in(context, "repo", &tree);
    git_in(context, "repo", &["checkout", "-q", "--detach"]);
    let head = fs::read_to_string(context.project.join("repo/.git/HEAD")).unwrap();
    let short = &head[..7].to_owned();
    assert_eq!(
        shown(&below(&mut mapped, "map.projects")),
        [
            format!("/repo:python@{short}"),
            "/tree:python@feature/x".to_owned(),
            "repo/lib:python@start".to_owned(),
        ]
    );
}

/// What each project uses: `from -> to (type, via)`.
fn uses(answer: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for one in answer["projects"].as_array().unwrap() {
        for used in one["depends_on"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let [kind, via] = ["type", "via"].map(|name| text(&used[name]));
            let ends = [text(&one["project"]), text(&used["project"])];
            all.push(format!("{} -> {} ({kind}, {via})", ends[0], ends[1]));
        }
    }
    all
}

#[test]
fn manifests_say_which_project_uses_which() {
    let context = empty();
    for (file, text) in [
        ("core/go.mod", "module example.com/core\n\ngo 1.22\n"),
        (
            "api/go.mod",
            "module example.com/api\n\nrequire (\n\texample.com/core v1.0.0 // indirect\n\texample.com/util v0.1.0\n\tgithub.com/x/y v1\n)\n\nreplace example.com/util => ../util\n",
        ),
        ("util/go.mod", "module example.com/util\n"),
        ("lib/pyproject.toml", "[project]\nname = \"My.Lib\"\n"),
        (
            "uv/pyproject.toml",
            "[project]\nname = 'uv-app'\ndependencies = ['my-lib', 'other @ file:../poetry', 'requests']\n[tool.uv.sources]\nmy-lib = { workspace = true }\nweb = { path = '../nosuch' }\n",
        ),
        (
            "poetry/pyproject.toml",
            "[tool.poetry]\nname = 'poetry-app'\n[tool.poetry.dependencies]\npython = '^3.10'\nlib = { path = '../lib', develop = true }\n[tool.poetry.group.dev.dependencies]\nuv = { path = '../uv' }\n",
        ),
        ("pip/setup.py", ""),
        (
            "pip/requirements-dev.txt",
            "# all\n-e ../lib[extra]  # ours\nrequests==2\n-e .\n--editable ../poetry\n",
        ),
        ("plugin/package.json", "{}"),
        (
            "plugin/.claude-plugin/plugin.json",
            r#"{"name": "helper", "dependencies": ["tools@market", "unknown"], "mcpServers": {"a": {"command": "${CLAUDE_PLUGIN_ROOT}/../api/run"}}}"#,
        ),
        ("api/run", ""),
        ("tools/package.json", "{}"),
        ("tools/.claude-plugin/plugin.json", r#"{"name": "tools"}"#),
        ("broken/pyproject.toml", "[project\n"),
        ("broken/.claude-plugin/plugin.json", "{"),
    ] {
        context.write(file, text);
    }
    let mut mapped = Mapped::new(context);
    let answer = below(&mut mapped, "map.cross_project");
    assert_eq!(
        uses(&answer),
        [
            "api -> core (go_module, go.mod: require example.com/core)",
            "api -> util (go_module, go.mod: replace example.com/util => ../util)",
            "pip -> lib (python_path, requirements-dev.txt: -e ../lib[extra])",
            "pip -> poetry (python_path, requirements-dev.txt: --editable ../poetry)",
            "plugin -> api (plugin_ref, .claude-plugin/plugin.json: ${CLAUDE_PLUGIN_ROOT}/../api/run)",
            "plugin -> tools (plugin_ref, .claude-plugin/plugin.json: dependencies tools@market)",
            "poetry -> lib (python_path, pyproject.toml: tool.poetry.dependencies.lib)",
            "poetry -> uv (python_path, pyproject.toml: tool.poetry.group.dev.dependencies.uv)",
            "uv -> lib (python_path, pyproject.toml: tool.uv.sources.my-lib)",
            "uv -> poetry (python_path, pyproject.toml: other @ file:../poetry)",
        ]
    );
    assert_eq!(answer["root"], json!(mapped.context.project));
    assert_eq!(answer["total_projects"], 10);
    assert_eq!(answer["total_edges"], 10);
}

#[test]
fn people_get_tables() {
    let context = empty();
    context.write("apps/shop/pyproject.toml", "");
    git(&context, &["init", "-q", "-b", "main"]);
    let list = context.pillion(&["map", "projects", "--text"]).stdout;
    assert!(list.starts_with("name"), "{list}");
    assert!(list.contains("shop"), "{list}");
    assert!(list.contains("python    apps   main"), "{list}");
    let one = context.pillion_json(&["map", "resolve", "apps/shop"]);
    assert_eq!(one["name"], "shop");
    let uses = context.pillion(&["map", "cross-project", "--text"]).stdout;
    assert!(uses.ends_with("2 projects, 0 uses\n"), "{uses}");
}

#[test]
fn variables_of_servers_name_other_projects() {
    let context = empty();
    context.write("hub/intermute/go.mod", "module intermute\n");
    context.write("hub/map/go.mod", "module map\n");
    context.write(
        "hub/map/.claude-plugin/plugin.json",
        r#"{"name": "map", "mcpServers": {"map": {"command": "x", "env": {"INTERMUTE_URL": "", "INTERMUTED": ""}}}}"#,
    );
    // What is built on its own inside of a project is no project.
    context.write("hub/map/web/package.json", "{}");
    let mut mapped = Mapped::new(context);
    let answer = below(&mut mapped, "map.cross_project");
    assert_eq!(
        uses(&answer),
        ["map -> intermute (plugin_ref, env.INTERMUTE_URL)"]
    );
    assert_eq!(answer["total_projects"], 2);
}
