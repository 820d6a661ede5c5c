//! What other programs keep in a store: newer pillions and desktops know types that this one does
//! not. Theirs is listed as unknown and survives every change, and ours works beside it.

use std::fs;

use serde_json::{Value, json};

use super::world::World;

/// What a newer one wrote, as it wrote it. A number that no reader here could keep is in it.
const THEIRS: &str = r#"{ "dark": {"version": "the 3rd", "weight": 1.50, "big": 123456789012345678901234567890}, "light": null }"#;

/// A store with two versions of ours, and with theirs.
fn shared() -> World {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    world.install(&world.experts("2.0.0"));
    let mut index = world.index();
    index["experts"]["core"]["pinned"] = json!(true);
    index["experts"]["core"]["versions"]["1.0.0"]["by"] = json!({"name": "them"});
    write(&world, &index);
    world
}

/// Write the list with their type in it.
fn write(world: &World, ours: &Value) {
    let text = ours.to_string();
    let inner = text.strip_prefix('{').unwrap();
    let text = format!("{{\"themes\": {THEIRS}, \"sounds\": [], {inner}");
    fs::write(world.store().join("active_index.json"), text).unwrap();
}

/// Their part of the list is as they wrote it.
fn assert_kept(world: &World, after: &str) {
    let text = fs::read_to_string(world.store().join("active_index.json")).unwrap();
    assert!(text.contains(THEIRS), "after {after}: {text}");
    assert_eq!(world.index()["sounds"], json!([]), "after {after}: {text}");
}

#[test]
fn a_type_that_only_others_know_survives_every_change_and_is_listed() {
    let world = shared();
    let listed = world.bundle("list", &[]);
    assert_eq!(listed["bundles"].as_array().unwrap().len(), 2, "{listed}");
    let unknown = json!([
        {"bundle_type": "sounds", "scope_id": null, "version": null},
        {"bundle_type": "themes", "scope_id": "dark", "version": "the 3rd"},
        {"bundle_type": "themes", "scope_id": "light", "version": null},
    ]);
    assert_eq!(listed["unknown"], unknown);
    let said = world.run(&["bundle", "list", "--store", "store"]);
    assert!(said.stdout.contains("themes/dark the 3rd"), "{said}");
    assert!(said.stdout.contains("unknown"), "{said}");
    assert_eq!(world.bundle("verify", &[])["unknown"], unknown);
    let ours = world.bundle("list", &["--type", "experts"]);
    assert!(ours.get("unknown").is_none(), "{ours}");

    assert_eq!(world.bundle("rollback", &[])["version"], "1.0.0");
    assert_kept(&world, "rollback");
    world.bundle("activate", &["--version", "2.0.0"]);
    assert_kept(&world, "activate");
    world.install(&world.experts("3.0.0"));
    assert_kept(&world, "install");
    let core = &world.index()["experts"]["core"];
    assert_eq!(core["pinned"], true, "members that only others know stay");
    assert_eq!(core["versions"]["1.0.0"]["by"]["name"], "them");
    world.install("experts-1.0.0.tar.zst");
    let core = &world.index()["experts"]["core"];
    assert_eq!(core["versions"]["1.0.0"]["by"]["name"], "them");
    world.bundle("gc", &["--keep", "0"]);
    assert_kept(&world, "gc");
    fs::write(
        world.path("store/experts/core/1.0.0/prompts/expert.md"),
        "x",
    )
    .unwrap();
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    assert_kept(&world, "repair");
}

#[test]
fn a_repair_of_the_list_loses_nothing_of_others() {
    let world = shared();
    // Ours makes no sense, so the list is made anew.
    let mut ours = world.index();
    let ours = ours.as_object_mut().unwrap();
    ours.retain(|kind, _| kind == "experts");
    ours["experts"]["core"]["version"] = json!("9.9.9");
    write(&world, &json!(ours));
    let error = world.refused(&["bundle", "list", "--store", "store"]);
    assert_eq!(error["code"], "bundle_damaged", "{error}");
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    assert_kept(&world, "repair");
    assert_eq!(world.index()["experts"]["core"]["version"], "2.0.0");

    // Where nothing can be read any more, what was lost is told.
    let manifest = r#"{"format_version": "bundle-v9", "bundle_type": "themes"}"#;
    world.write("store/themes/dark/the 3rd/bundle.manifest.json", manifest);
    // A copy of ours is no type of anybody's.
    let copied = "store/experts.bak/core/2.0.0/bundle.manifest.json";
    world.write(copied, r#"{"bundle_type": "experts"}"#);
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    for broken in [Some("{ broken"), None] {
        let path = world.store().join("active_index.json");
        match broken {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let repair = world.run(&["--json", "bundle", "repair", "--store", "store"]);
        assert_eq!(repair.code, Some(1), "{repair}");
        let report = repair.json();
        assert_eq!(report["bundles"].as_array().unwrap().len(), 2, "{report}");
        let lost = report["unknown"].as_array().unwrap();
        assert_eq!(lost.len(), 1, "{report}");
        let folder = lost[0].as_str().unwrap();
        assert!(folder.ends_with("store/themes/dark/the 3rd"), "{report}");
    }
    world.bundle("gc", &["--keep", "0"]);
    assert!(world.path("store/themes/dark/the 3rd").is_dir());
    let said = world.run(&["bundle", "repair", "--store", "store"]);
    assert!(said.stdout.contains("does not know"), "{said}");
}

#[test]
fn a_store_of_others_alone_is_one_without_ours() {
    let world = World::new();
    fs::create_dir(world.store()).unwrap();
    fs::write(
        world.store().join("active_index.json"),
        format!("{{\"themes\": {THEIRS}}}"),
    )
    .unwrap();
    assert_eq!(world.bundle("list", &[])["bundles"], json!([]));
    for verb in ["verify", "repair"] {
        assert_eq!(world.bundle(verb, &[])["ok"], true, "{verb}");
    }
    let error = world.refused(&["bundle", "rollback", "--store", "store"]);
    assert_eq!(error["code"], "not_found", "{error}");
    world.install(&world.experts("1.0.0"));
    let text = fs::read_to_string(world.store().join("active_index.json")).unwrap();
    assert!(text.contains(THEIRS), "{text}");
}

#[test]
fn a_history_with_types_of_others_is_still_one() {
    let world = shared();
    let path = world.store().join(".history.json");
    let ours = fs::read_to_string(&path).unwrap();
    let theirs = ours.replacen('{', r#"{"themes":{"dark":["the 2nd"]},"#, 1);
    fs::write(&path, theirs).unwrap();
    assert_eq!(world.bundle("rollback", &[])["version"], "1.0.0");
    let kept = fs::read_to_string(&path).unwrap();
    assert!(kept.contains(r#""themes":{"dark":["the 2nd"]}"#), "{kept}");
}

#[test]
fn a_registry_with_types_and_platforms_of_others_is_still_one() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    fs::create_dir(world.path("registry")).unwrap();
    for ending in ["", ".minisig", ".sha256"] {
        let name = format!("{archive}{ending}");
        fs::copy(world.path(&name), world.path(&format!("registry/{name}"))).unwrap();
    }
    world.done(&[
        "registry",
        "build",
        "registry",
        "--trust",
        "keys/bundle.pub",
    ]);
    let path = world.path("registry/index.json");
    let mut list: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for (name, value) in [("bundle_type", "themes"), ("platform", "plan9-mips")] {
        let mut theirs = list["bundles"][0].clone();
        theirs[name] = json!(value);
        list["bundles"].as_array_mut().unwrap().insert(0, theirs);
    }
    fs::write(&path, list.to_string()).unwrap();
    let installed = world.bundle(
        "install",
        &[
            "registry",
            "--type",
            "experts",
            "--trust",
            "keys/bundle.pub",
        ],
    );
    assert_eq!(installed["version"], "1.0.0", "{installed}");
}
