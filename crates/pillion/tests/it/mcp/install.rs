//! `pillion mcp install`, and the plugin that this repository is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pillion_testing::TestContext;
use serde_json::{Value, json};

fn read(path: impl AsRef<Path>) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_agent_is_shown_and_nothing_is_written() {
    let context = TestContext::new();
    let shown = context.pillion(&["mcp", "install"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    for part in [
        "claude mcp add pillion -- ",
        ".vscode/mcp.json",
        "[mcp_servers.pillion]",
        "context_servers",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
    let all = context.pillion_json(&["mcp", "install", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 7);
    let one = [
        "mcp",
        "install",
        "--agent",
        "zed",
        "--profile",
        "core",
        "--json",
    ];
    let entry = &context.pillion_json(&one)["entry"];
    assert_eq!(entry["args"], json!(["mcp", "--profile", "core"]));
    assert_eq!(fs::read_dir(&context.project).unwrap().count(), 1);
    assert!(!context.base.join(".codex").exists());
}

#[test]
fn writing_adds_one_server_and_is_done_once() {
    let context = TestContext::new();
    let file = context.write(
        ".mcp.json",
        "{\n    \"mcpServers\": {\"other\": {\"command\": \"x\"}},\n    \"more\": 1\n}\n",
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::read_to_string(&file).unwrap();
    let write = ["mcp", "install", "--agent", "claude-code", "--write"];
    let told = context.pillion(&write);
    assert_eq!(told.code, Some(0), "{told}");
    let written = read(&file);
    assert_eq!(written["mcpServers"]["other"]["command"], "x");
    assert_eq!(written["mcpServers"]["pillion"]["args"], json!(["mcp"]));
    assert_eq!(written["more"], 1);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let kept = context.project.join(".mcp.json.before-pillion");
    assert_eq!(fs::read_to_string(&kept).unwrap(), before);

    fs::remove_file(&kept).unwrap();
    let again = context.pillion(&write);
    assert!(again.stdout.contains("already"), "{again}");
    assert!(!kept.exists());
    assert_eq!(read(&file), written);

    // What it wrote is what starts: the entry's own command answers the handshake.
    let entry = &written["mcpServers"]["pillion"];
    let mut command = context.command(entry["command"].as_str().unwrap());
    command.args(
        entry["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a.as_str().unwrap()),
    );
    let mut agent =
        pillion_testing::agent::McpAgent::new(pillion_testing::lines::LineProcess::start(command));
    assert_eq!(
        agent.shake_hands()["result"]["serverInfo"]["name"],
        "pillion"
    );
}

#[test]
fn a_configuration_with_comments_is_left_alone() {
    let mut context = TestContext::new();
    let text = "// mine\n{ \"servers\": {} }\n";
    let file = context.write(".vscode/mcp.json", text);
    let write = ["mcp", "install", "--agent", "vscode", "--write"];
    let refused = context.pillion(&write);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("by hand"), "{refused}");
    assert!(refused.stderr.contains("\"servers\""), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    let home = context.base.join("codex");
    context.set_env("CODEX_HOME", &home);
    fs::create_dir(&home).unwrap();
    // A link stays a link.
    fs::write(context.base.join("real.toml"), "# mine\nmodel = \"x\"\n").unwrap();
    std::os::unix::fs::symlink("../real.toml", home.join("config.toml")).unwrap();
    let written = context.pillion(&["mcp", "install", "--agent", "codex", "--write"]);
    assert_eq!(written.code, Some(0), "{written}");
    assert!(home.join("config.toml").is_symlink());
    let text = fs::read_to_string(context.base.join("real.toml")).unwrap();
    assert!(
        text.starts_with("# mine\nmodel = \"x\"\n\n[mcp_servers.pillion]\ncommand = "),
        "{text}"
    );
}

#[test]
fn the_skill_fits_a_screen_and_names_commands_that_there_are() {
    let context = TestContext::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let skill = fs::read_to_string(root.join("skills/pillion/SKILL.md")).unwrap();
    assert!(skill.lines().count() <= 60, "{}", skill.lines().count());
    let typed = skill
        .lines()
        .filter_map(|line| line.strip_prefix("$ pillion "));
    let typed: Vec<&str> = typed.collect();
    assert!(typed.len() > 10, "{typed:?}");
    for line in typed {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_area = matches!(words[..], ["code" | "map", ..]);
        let mut asked: Vec<&str> = words[..if is_area { 2 } else { 1 }].to_vec();
        asked.push("--help");
        let help = context.pillion(&asked);
        assert_eq!(help.code, Some(0), "{line}: {help}");
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.stdout.contains(flag), "{line}: {help}");
        }
    }
    // Without a terminal, answers are JSON unless text is asked for: the skill says so.
    let plain = context.pillion(&["symbols", "add"]);
    assert!(plain.stdout.starts_with('{'), "{plain}");
    let text = context.pillion(&["symbols", "add", "--text"]);
    assert!(text.stdout.starts_with("things.py:"), "{text}");
}

#[test]
fn the_repository_is_a_plugin() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let plugin = read(root.join(".claude-plugin/plugin.json"));
    assert_eq!(plugin["name"], "pillion");
    assert_eq!(plugin["version"], pillion::VERSION);
    let market = read(root.join(".claude-plugin/marketplace.json"));
    assert_eq!(market["plugins"][0]["name"], plugin["name"]);
    let source = market["plugins"][0]["source"].as_str().unwrap();
    assert!(
        root.join(source)
            .join(".claude-plugin/plugin.json")
            .exists()
    );
    assert!(root.join("skills/pillion/SKILL.md").exists());
    let server = &read(root.join(".mcp.json"))["mcpServers"]["pillion"];
    assert_eq!(
        (&server["command"], &server["args"]),
        (&json!("pillion"), &json!(["mcp"]))
    );
}
