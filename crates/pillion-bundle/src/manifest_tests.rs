//! Manifests that are right, and each way in which one can be wrong.

use super::*;
use crate::entry::FileMode;

pub(crate) fn file(path: &str, content: &[u8], mode: FileMode) -> BundleFile {
    BundleFile {
        path: path.to_owned(),
        sha256: Digest::of(content),
        size_bytes: content.len() as u64,
        mode: Some(mode),
    }
}

/// A small runtime: contents by path, and its manifest.
pub(crate) fn runtime(platform: Platform) -> (Vec<(String, Vec<u8>)>, Manifest) {
    let contents = [
        ("python/bin/python3.11", &b"#!ELF"[..], FileMode::Executable),
        (
            "python/lib/python3.11/os.py",
            b"import sys\n",
            FileMode::Plain,
        ),
        ("sidecar/bin/pillion", b"binary", FileMode::Executable),
        ("sidecar/empty", b"", FileMode::Plain),
    ];
    let files: Vec<BundleFile> = contents
        .iter()
        .map(|(path, content, mode)| file(path, content, *mode))
        .collect();
    let links = match platform.is_windows() {
        true => Vec::new(),
        false => vec![BundleLink {
            path: "python/bin/python3".to_owned(),
            target: "python3.11".to_owned(),
        }],
    };
    let python = match platform.is_windows() {
        true => "python/bin/python3.11",
        false => "python/bin/python3",
    };
    let manifest = RuntimeManifest {
        format_version: FORMAT_VERSION.to_owned(),
        bundle_type: BundleType::PythonRuntime,
        scope_id: "core".to_owned(),
        version: "1.2.3".parse().unwrap(),
        created_at: "2026-01-31T12:00:00Z".to_owned(),
        platform,
        python_version: "3.11.7".to_owned(),
        sidecar_version: "0.1.0".to_owned(),
        desktop_min_version: "0.0.0".parse().unwrap(),
        entrypoint: "sidecar/bin/pillion".to_owned(),
        python_executable_relpath: python.to_owned(),
        sha256: Digest::of_tree(&files, &links),
        files,
        links,
        python: PythonPart {
            executable_relpath: python.to_owned(),
        },
        sidecar: SidecarPart {
            root_relpath: "sidecar".to_owned(),
        },
    };
    let contents = contents
        .iter()
        .map(|(path, content, _)| ((*path).to_owned(), content.to_vec()))
        .collect();
    (contents, Manifest::Runtime(Box::new(manifest)))
}

#[test]
fn a_manifest_has_the_members_of_the_contract() {
    let (_, manifest) = runtime(Platform::LinuxX64);
    let value: serde_json::Value = serde_json::from_slice(&manifest.to_bytes().unwrap()).unwrap();
    let names: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        [
            "format_version",
            "bundle_type",
            "scope_id",
            "version",
            "created_at",
            "platform",
            "python_version",
            "sidecar_version",
            "desktop_min_version",
            "entrypoint",
            "python_executable_relpath",
            "sha256",
            "files",
            "links",
            "python",
            "sidecar"
        ]
    );
    assert_eq!(value["format_version"], "bundle-v2");
    assert_eq!(value["files"][0]["mode"], "0755");
    assert_eq!(value["python"]["executable_relpath"], "python/bin/python3");
}

#[test]
fn every_field_that_is_changed_is_refused() {
    let (_, manifest) = runtime(Platform::LinuxX64);
    let limits = BundleLimits::default();
    let bytes = manifest.to_bytes().unwrap();
    Manifest::parse(RuntimeManifest::NAME, &bytes, &limits).unwrap();
    let sound: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    for (at, new, expected) in [
        ("/format_version", "\"bundle-v1\"", "format_version"),
        ("/format_version", "\"bundle-v3\"", "format_version"),
        ("/bundle_type", "\"chapter\"", "invalid_manifest"),
        ("/bundle_type", "\"else\"", "invalid_manifest"),
        ("/scope_id", "\"../core\"", "invalid_manifest"),
        ("/scope_id", "\".core\"", "invalid_manifest"),
        ("/scope_id", "\"con\"", "invalid_manifest"),
        ("/version", "\"../../1\"", "invalid_manifest"),
        ("/created_at", "\"yesterday\"", "invalid_manifest"),
        (
            "/created_at",
            "\"1960-01-01T00:00:00Z\"",
            "invalid_manifest",
        ),
        ("/platform", "\"linux-x86\"", "invalid_manifest"),
        ("/platform", "\"windows-x64\"", "link_not_allowed"),
        ("/python_version", "3", "invalid_manifest"),
        ("/python_version", "\"\"", "invalid_manifest"),
        ("/python_version", "\"\\u001b[2J\"", "invalid_manifest"),
        ("/sidecar_version", "null", "invalid_manifest"),
        ("/sidecar_version", "\"../x\"", "invalid_manifest"),
        ("/desktop_min_version", "\"new\"", "invalid_manifest"),
        ("/entrypoint", "\"/bin/sh\"", "invalid_manifest"),
        ("/entrypoint", "\"python\"", "invalid_manifest"),
        (
            "/python_executable_relpath",
            "\"sidecar/bin/pillion\"",
            "invalid_manifest",
        ),
        (
            "/python/executable_relpath",
            "\"sidecar/bin/pillion\"",
            "invalid_manifest",
        ),
        ("/sidecar/root_relpath", "\"..\"", "invalid_manifest"),
        ("/sha256", "\"00\"", "invalid_manifest"),
        (
            "/files/0/sha256",
            "\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
            "tree_hash",
        ),
        ("/files/0/size_bytes", "4", "tree_hash"),
        ("/files/0/size_bytes", "-1", "invalid_manifest"),
        ("/files/0/size_bytes", "999999999999999", "too_large"),
        ("/files/0/mode", "\"0644\"", "tree_hash"),
        ("/files/0/mode", "\"4755\"", "invalid_manifest"),
        ("/files/0/path", "\"/bin/sh\"", "absolute_path"),
        ("/files/0/path", "\"../x\"", "path_traversal"),
        ("/files/0/path", "\"sidecar/empty\"", "duplicate_path"),
        ("/files/0/path", "\"sidecar/EMPTY\"", "case_collision"),
        (
            "/files/0/path",
            "\"runtime.manifest.json\"",
            "duplicate_path",
        ),
        ("/links/0/target", "\"../../../etc/passwd\"", "link_outside"),
        ("/links/0/target", "\"python3.12\"", "dangling_link"),
        ("/links/0/path", "\"sidecar/empty/x\"", "below_file"),
        ("/files", "[]", "dangling_link"),
    ] {
        let mut changed = sound.clone();
        *changed.pointer_mut(at).unwrap() = serde_json::from_str(new).unwrap();
        let bytes = serde_json::to_vec(&changed).unwrap();
        let error = Manifest::parse(RuntimeManifest::NAME, &bytes, &limits).unwrap_err();
        assert_eq!(error.reason(), expected, "{at} = {new}: {error}");
    }
}

#[test]
fn what_a_manifest_says_is_quoted_in_part() {
    let (_, manifest) = runtime(Platform::LinuxX64);
    let bytes = manifest.to_bytes().unwrap();
    let sound: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    for at in [
        "/version",
        "/bundle_type",
        "/platform",
        "/files/0/mode",
        "/scope_id",
    ] {
        let mut changed = sound.clone();
        *changed.pointer_mut(at).unwrap() = "\u{1b}[2J-long".repeat(100_000).into();
        let bytes = serde_json::to_vec(&changed).unwrap();
        let read = Manifest::parse(RuntimeManifest::NAME, &bytes, &BundleLimits::default());
        let told = read.unwrap_err().to_string();
        assert!(
            told.len() < 2000 && !told.contains('\u{1b}'),
            "{at}: {told}"
        );
    }
}

#[test]
fn content_has_chapters_and_no_modes() {
    let chapter = |kind: &str, rest: &str| {
        let text = format!(
            r#"{{"format_version":"bundle-v2","bundle_type":"{kind}","scope_id":"c1-ch01",
            "version":"3","created_at":"2026-01-31T12:00:00Z",
            "files":[{{"path":"prompts/chapter.md","size_bytes":0,
            "sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}]{rest}}}"#
        );
        Manifest::parse(
            ContentManifest::NAME,
            text.as_bytes(),
            &BundleLimits::default(),
        )
        .map_or_else(|error| error.reason(), |_| "fine")
    };
    let about = r#","chapter":{"course_id":"c1","chapter_code":"ch01","title":"One",
        "has_scripts":false,"has_datasets":false,"required_experts":[]}"#;
    let at = |path: &str| {
        let text = format!(
            r#"{{"format_version":"bundle-v2","bundle_type":"experts","scope_id":"s",
            "version":"3","created_at":"2026-01-31T12:00:00Z",
            "files":[{{"path":"{path}","size_bytes":0,
            "sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}]}}"#
        );
        Manifest::parse(
            ContentManifest::NAME,
            text.as_bytes(),
            &BundleLimits::default(),
        )
        .map_or_else(|error| error.reason(), |_| "fine")
    };
    assert_eq!(at("assets/bundle.manifest.json"), "fine");
    assert_eq!(at("bundle.manifest.json"), "duplicate_path");
    assert_eq!(at("runtime.manifest.json"), "duplicate_path");
    assert_eq!(at("bundle.manifest.json/x"), "duplicate_path");
    assert_eq!(at("Bundle.Manifest.JSON"), "case_collision");
    assert_eq!(at("RUNTIME.manifest.json/x"), "case_collision");
    assert_eq!(chapter("chapter", about), "fine");
    assert_eq!(chapter("experts", ""), "fine");
    assert_eq!(chapter("chapter", ""), "invalid_manifest");
    assert_eq!(chapter("experts", about), "invalid_manifest");
    assert_eq!(chapter("python_runtime", ""), "invalid_manifest");
}
