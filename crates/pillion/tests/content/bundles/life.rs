//! The life of a store: install, upgrade, go back, damage, repair, collect.

use std::fs;
use std::os::unix::fs::MetadataExt;

use pillion_bundle::Digest;
use serde_json::json;

use super::world::World;

#[test]
fn a_bundle_is_installed_upgraded_damaged_repaired_and_rolled_back() {
    let world = World::new();
    let (one, two) = (world.experts("1.0.0"), world.experts("2.0.0"));
    let verified = world.done(&["bundle", "verify", &one, "--trust", "keys/bundle.pub"]);
    assert_eq!(verified["archive"]["files"], 2, "{verified}");
    assert!(verified["archive"]["signed_by"].is_string());

    let installed = world.install(&one);
    assert_eq!(installed["outcome"], "installed");
    let upgraded = world.install(&two);
    assert_eq!(
        (&upgraded["version"], &upgraded["before"]),
        (&json!("2.0.0"), &json!("1.0.0"))
    );
    let again = world.install(&two);
    assert_eq!(again["outcome"], "kept");

    // The index is that of the contract.
    let index = world.index();
    let core = &index["experts"]["core"];
    assert_eq!(core["version"], "2.0.0");
    let path = core["path"].as_str().unwrap();
    assert!(path.ends_with("store/experts/core/2.0.0"), "{path}");
    let names: Vec<&String> = core.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["version", "path", "sha256", "installedAt", "versions"]
    );
    let names: Vec<&String> = core["versions"]["1.0.0"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["path", "sha256", "installedAt"]);

    // What is damaged is found and made whole again.
    let file = world.path("store/experts/core/2.0.0/prompts/expert.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), "2.0.0");
    fs::write(&file, "2.0.X").unwrap();
    let verify = world.run(&["--json", "bundle", "verify", "--store", "store"]);
    assert_eq!(verify.code, Some(1), "{verify}");
    let health = &verify.json()["bundles"][1];
    assert_eq!(health["state"], "damaged", "{verify}");
    assert!(health["hint"].as_str().unwrap().contains("bundle repair"));
    let repaired = world.bundle("repair", &[]);
    assert_eq!(repaired["ok"], true, "{repaired}");
    assert_eq!(repaired["bundles"][1]["state"], "repaired");
    assert_eq!(fs::read_to_string(&file).unwrap(), "2.0.0");
    assert_eq!(world.bundle("verify", &[])["ok"], true);

    let back = world.bundle("rollback", &[]);
    assert_eq!(back["version"], "1.0.0", "{back}");
    assert_eq!(world.index()["experts"]["core"]["version"], "1.0.0");
    let error = world.refused(&["bundle", "rollback", "--store", "store"]);
    assert_eq!(error["code"], "not_found", "{error}");
    let forward = world.bundle("activate", &["--version", "2.0.0"]);
    assert_eq!(forward["outcome"], "switched");
    assert_eq!(world.bundle("activate", &[])["outcome"], "unchanged");
}

#[test]
fn a_file_that_was_changed_together_with_the_manifest_is_found() {
    let world = World::new();
    let archive = world.experts("1.0.0");
    let folder = world.path("store/experts/core/1.0.0");
    let file = folder.join("prompts/expert.md");
    let tamper = || {
        let was = Digest::of(b"1.0.0").to_string();
        fs::write(&file, "9.9.9").unwrap();
        let manifest = folder.join("bundle.manifest.json");
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(text.contains(&was));
        let text = text.replace(&was, &Digest::of(b"9.9.9").to_string());
        fs::write(manifest, text).unwrap();
    };
    world.install(&archive);
    tamper();
    let verify = world.run(&["--json", "bundle", "verify", "--store", "store"]);
    assert_eq!(verify.code, Some(1), "{verify}");
    let problem = verify.json()["bundles"][0]["problem"].to_string();
    assert!(problem.contains("bundle.manifest.json"), "{problem}");
    assert_eq!(
        world.bundle("repair", &[])["bundles"][0]["state"],
        "repaired"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "1.0.0");
    assert_eq!(world.bundle("verify", &[])["ok"], true);
    // To install it again mends it as well.
    tamper();
    assert_eq!(world.install(&archive)["outcome"], "installed");
    assert_eq!(fs::read_to_string(&file).unwrap(), "1.0.0");
    assert_eq!(world.bundle("verify", &[])["ok"], true);
}

#[test]
fn a_collection_keeps_what_is_active_and_what_was() {
    let world = World::new();
    for version in ["1.0.0", "2.0.0", "3.0.0", "3.0.1"] {
        world.install(&world.experts(version));
    }
    let versions = || {
        let listed = world.bundle("list", &[]);
        let bundles = listed["bundles"].as_array().unwrap().clone();
        bundles
            .iter()
            .map(|bundle| bundle["version"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let before = world.installed();
    let preview = world.bundle("gc", &["--dry-run"]);
    assert_eq!(preview["removed"].as_array().unwrap().len(), 2, "{preview}");
    assert_eq!(world.installed(), before, "a preview applies nothing");
    let done = world.bundle("gc", &[]);
    assert_eq!(done["removed"], preview["removed"]);
    assert_eq!(versions(), ["3.0.0", "3.0.1"]);
    let archives = world.path("store/.archives/experts/core");
    // Each has its archive and its signature.
    assert_eq!(archives.read_dir().unwrap().count(), 4);
    assert_eq!(world.bundle("rollback", &[])["version"], "3.0.0");
    world.bundle("gc", &["--keep", "0"]);
    assert_eq!(versions(), ["3.0.0"]);
    assert_eq!(world.bundle("verify", &[])["ok"], true);
}

#[test]
fn keys_are_private_and_signatures_count() {
    let world = World::new();
    let key = world.path("keys/bundle.key");
    assert_eq!(key.metadata().unwrap().mode() & 0o777, 0o600);
    let secret = fs::read_to_string(&key).unwrap();
    let secret = secret.lines().nth(1).unwrap();
    let error = world.refused(&["bundle", "keygen", "--out", "keys"]);
    assert_eq!(error["code"], "conflict", "{error}");

    let one = world.experts("1.0.0");
    assert_eq!(world.refusal(&one, &[]), "unknown_key");
    world.done(&["bundle", "keygen", "--out", "other"]);
    let other = ["--trust", "other/bundle.pub"];
    assert_eq!(world.refusal(&one, &other), "unknown_key");
    // Keys of the configuration count as well.
    let public = fs::read_to_string(world.path("keys/bundle.pub")).unwrap();
    let public = public.lines().nth(1).unwrap();
    let config = world.context.base.join("pillion/config/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(
        &config,
        format!("[bundles]\ntrusted_keys = [\"{public}\"]\n"),
    )
    .unwrap();
    world.bundle("install", &[&one]);

    // Nobody is ever told the key, not even who uses a wrong one.
    let output = world.run(&[
        "--json",
        "bundle",
        "build",
        "--type",
        "experts",
        "--scope",
        "core",
        "--version",
        "9",
        "--from",
        "experts-1.0.0",
        "--out",
        "x.tar.zst",
        "--key",
        "keys/bundle.key",
        "--password-file",
        "keys/bundle.pub",
    ]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(!output.to_string().contains(secret));

    fs::remove_file(world.path(&format!("{one}.minisig"))).unwrap();
    world.bundle("gc", &[]);
    let two = world.experts("2.0.0");
    fs::remove_file(world.path(&format!("{two}.minisig"))).unwrap();
    let trusted = ["--trust", "keys/bundle.pub"];
    assert_eq!(world.refusal(&two, &trusted), "unsigned");
    let taken = world.bundle("install", &[&two, "--allow-unsigned"]);
    assert!(taken.get("signed_by").is_none(), "{taken}");
}

#[test]
fn another_build_of_an_installed_version_is_a_conflict() {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    world.write("experts-1.0.0/prompts/more.md", "more");
    world.build(&[
        "--type",
        "experts",
        "--scope",
        "core",
        "--version",
        "1.0.0",
        "--from",
        "experts-1.0.0",
        "--out",
        "again.tar.zst",
    ]);
    let trusted = [
        "bundle",
        "install",
        "again.tar.zst",
        "--store",
        "store",
        "--trust",
        "keys/bundle.pub",
    ];
    let error = world.refused(&trusted);
    assert_eq!(error["code"], "conflict", "{error}");
    assert!(
        !world
            .path("store/experts/core/1.0.0/prompts/more.md")
            .exists()
    );
}

#[test]
fn names_that_differ_in_capitals_only_are_a_conflict() {
    let world = World::new();
    world.install(&world.experts("1.0.0-rc.1"));
    for (scope, version) in [("Core", "2.0.0"), ("core", "1.0.0-RC.1")] {
        world.build(&[
            "--type",
            "experts",
            "--scope",
            scope,
            "--version",
            version,
            "--from",
            "experts-1.0.0-rc.1",
            "--out",
            "twin.tar.zst",
        ]);
        let trusted = ["--store", "store", "--trust", "keys/bundle.pub"];
        let args = [&["bundle", "install", "twin.tar.zst"], &trusted[..]].concat();
        let error = world.refused(&args);
        assert_eq!(error["code"], "conflict", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("experts/core 1.0.0-rc.1"), "{error}");
    }
    assert_eq!(world.bundle("verify", &[])["ok"], true);
    // Of another type it is another folder.
    world.build(&[
        "--type",
        "app_agents",
        "--scope",
        "Core",
        "--version",
        "1.0.0",
        "--from",
        "experts-1.0.0-rc.1",
        "--out",
        "agents.tar.zst",
    ]);
    assert_eq!(world.install("agents.tar.zst")["outcome"], "installed");
}

#[test]
fn a_list_that_makes_no_sense_is_made_anew() {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    world.install(&world.experts("2.0.0"));
    fs::write(world.store().join("active_index.json"), "{ broken").unwrap();
    let error = world.refused(&["bundle", "list", "--store", "store"]);
    assert_eq!(error["code"], "bundle_damaged", "{error}");
    assert!(error["hint"].as_str().unwrap().contains("bundle repair"));
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    assert_eq!(world.index()["experts"]["core"]["version"], "2.0.0");
}

#[test]
fn nothing_is_collected_where_the_list_is_gone() {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    world.install(&world.experts("2.0.0"));
    fs::remove_file(world.store().join("active_index.json")).unwrap();
    // Somebody made a copy by hand. It is no version of its own.
    let folder = world.path("store/experts/core");
    let mut copy = world.context.command("cp");
    copy.arg("-a")
        .args([folder.join("2.0.0"), folder.join("2.0.0.bak")]);
    assert_eq!(pillion_testing::CommandOutput::of(copy).code, Some(0));
    let before = world.installed();
    for preview in [&["--dry-run"][..], &[]] {
        let args = [&["bundle", "gc", "--store", "store"], preview].concat();
        let error = world.refused(&args);
        assert_eq!(error["code"], "bundle_damaged", "{error}");
        assert!(error["hint"].as_str().unwrap().contains("bundle repair"));
        assert_eq!(world.installed(), before);
    }
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    let path = world.index()["experts"]["core"]["path"].clone();
    assert!(path.as_str().unwrap().ends_with("/2.0.0"), "{path}");
    assert_eq!(world.bundle("verify", &[])["ok"], true);
    // An installation finds the others, too.
    fs::remove_file(world.store().join("active_index.json")).unwrap();
    assert_eq!(world.install(&world.experts("3.0.0"))["before"], "2.0.0");
    let listed = world.bundle("list", &[]);
    assert_eq!(listed["bundles"].as_array().unwrap().len(), 3, "{listed}");
}

#[test]
fn a_list_that_names_other_folders_is_none() {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    let path = world.store().join("active_index.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"core\"", "\"../../keys\"")).unwrap();
    for verb in ["list", "verify", "gc"] {
        let error = world.refused(&["bundle", verb, "--store", "store"]);
        assert_eq!(error["code"], "bundle_damaged", "{error}");
    }
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    assert_eq!(world.bundle("list", &[])["bundles"][0]["scope_id"], "core");
}

#[test]
fn a_list_of_what_is_not_there_is_none() {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    world.install(&world.experts("2.0.0"));
    let path = world.store().join("active_index.json");
    let sound = fs::read_to_string(&path).unwrap();
    let other = sound.replacen("\"version\": \"2.0.0\"", "\"version\": \"9.9.9\"", 1);
    assert_ne!(sound, other);
    fs::write(&path, other).unwrap();
    for verb in ["list", "verify", "gc", "rollback"] {
        let error = world.refused(&["bundle", verb, "--store", "store"]);
        assert_eq!(error["code"], "bundle_damaged", "{verb}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("experts/core 9.9.9"), "{verb}: {error}");
    }
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    // So is one that is no file, and nobody waits for what comes out of it.
    fs::remove_file(&path).unwrap();
    let mut pipe = world.context.command("mkfifo");
    pipe.arg(&path);
    assert_eq!(pillion_testing::CommandOutput::of(pipe).code, Some(0));
    world.refused(&["bundle", "list", "--store", "store"]);
}

#[test]
fn the_archive_with_the_hash_of_the_list_is_the_one_that_mends() {
    let world = World::new();
    let other = world.experts("1.0.0");
    let args = ["--type", "experts", "--scope", "core", "--version", "1.0.0"];
    let from = ["--from", "experts-1.0.0", "--out", "same.tar.gz"];
    world.build(&[&args[..], &from].concat());
    world.install("same.tar.gz");
    // Somebody who did not come to an end left the other one.
    let archives = world.path("store/.archives/experts/core");
    fs::copy(world.path(&other), archives.join("1.0.0.tar.zst")).unwrap();
    let file = world.path("store/experts/core/1.0.0/prompts/expert.md");
    fs::write(&file, "damaged").unwrap();
    assert_eq!(
        world.bundle("repair", &[])["bundles"][0]["state"],
        "repaired"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "1.0.0");
    // It is not taken for that of the version where the list is made anew, and it goes when that
    // is installed again.
    let digest = world.index()["experts"]["core"]["sha256"].clone();
    world.write("experts-1.0.0/prompts/more.md", "more");
    let from = ["--from", "experts-1.0.0", "--out", "changed.tar.zst"];
    world.build(&[&args[..], &from].concat());
    fs::copy(
        world.path("changed.tar.zst"),
        archives.join("1.0.0.tar.zst"),
    )
    .unwrap();
    fs::remove_file(world.store().join("active_index.json")).unwrap();
    assert_eq!(world.bundle("repair", &[])["ok"], true);
    assert_eq!(world.index()["experts"]["core"]["sha256"], digest);
    assert_eq!(world.install("same.tar.gz")["outcome"], "kept");
    assert!(!archives.join("1.0.0.tar.zst").exists());
}

#[test]
fn a_bundle_whose_archive_and_list_are_gone_is_told_of_and_not_collected() {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    let two = world.experts("2.0.0");
    world.install(&two);
    let archives = world.path("store/.archives/experts/core");
    for ending in ["tar.zst", "tar.zst.minisig"] {
        fs::remove_file(archives.join(format!("2.0.0.{ending}"))).unwrap();
    }
    fs::remove_file(world.store().join("active_index.json")).unwrap();
    for verb in ["list", "verify", "rollback"] {
        let error = world.refused(&["bundle", verb, "--store", "store"]);
        assert_eq!(error["code"], "bundle_damaged", "{verb}: {error}");
    }
    for _ in 0..2 {
        let repair = world.run(&["--json", "bundle", "repair", "--store", "store"]);
        assert_eq!(repair.code, Some(1), "{repair}");
        let report = repair.json();
        assert_eq!(report["bundles"][0]["state"], "whole", "{report}");
        let unlisted = report["unlisted"][0].as_str().unwrap();
        assert!(unlisted.ends_with("store/experts/core/2.0.0"), "{report}");
        world.bundle("gc", &["--keep", "0"]);
        assert!(world.path("store/experts/core/2.0.0").exists());
    }
    let said = world.run(&["bundle", "repair", "--store", "store"]);
    assert!(
        said.stdout.contains("pillion bundle install FILE"),
        "{said}"
    );
    assert_eq!(world.install(&two)["before"], "1.0.0");
    assert_eq!(world.bundle("repair", &[])["ok"], true);
}

#[test]
fn only_what_we_made_is_collected() {
    let world = World::new();
    world.install(&world.experts("1.0.0"));
    world.write("precious/9.9.9/file", "precious");
    world.write("store/chapter/mine/1.0.0/notes.md", "precious");
    world.write("store/experts/core/2.0.0.bak/file", "precious");
    std::os::unix::fs::symlink(world.path("precious"), world.path("store/experts/linked")).unwrap();
    // What was never renamed to its place goes.
    let temporary = world.store().join(".active_index.json.1.tmp");
    fs::write(&temporary, "{").unwrap();
    let done = world.bundle("gc", &["--keep", "0"]);
    assert_eq!(done["others"].as_array().unwrap().len(), 1, "{done}");
    assert!(!temporary.exists());
    for kept in [
        "precious/9.9.9/file",
        "store/chapter/mine/1.0.0/notes.md",
        "store/experts/core/2.0.0.bak/file",
    ] {
        assert!(world.path(kept).is_file(), "{kept}");
    }
}

#[test]
fn who_changes_a_store_that_is_not_there_makes_none() {
    let world = World::new();
    for verb in ["activate", "rollback", "repair"] {
        let error = world.refused(&["bundle", verb, "--store", "missing"]);
        assert_eq!(error["code"], "not_found", "{verb}: {error}");
    }
    world.done(&["bundle", "gc", "--store", "missing"]);
    assert!(!world.path("missing").exists());
}
