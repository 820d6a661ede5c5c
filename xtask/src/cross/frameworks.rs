//! Frameworks of macOS, as far as its linker has to know them.
//!
//! zig brings the C library of macOS, but no frameworks: those are in Apple's SDK, which may
//! not be handed on. To link against one, the linker needs only its name and the names that it
//! exports, in a text file; the framework itself is on every Mac. The names are taken from the
//! crates that bind a framework: all that can be used of it is among them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::tools;
use crate::error::{Error, Result};
use crate::repository::Repository;

/// Crates that bind a framework, and the framework: the certificates that the user trusts
/// (Security), the proxies of the network (SystemConfiguration), and what both are told in
/// (CoreFoundation).
const BINDINGS: &[(&str, &str)] = &[
    ("core-foundation-sys", "CoreFoundation"),
    ("security-framework-sys", "Security"),
    ("system-configuration-sys", "SystemConfiguration"),
];

/// Write the files below `folder`, where the linker is to look.
pub(super) fn write(repository: &Repository, folder: &Path) -> Result<()> {
    let asked = repository.cargo().args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform=aarch64-apple-darwin",
    ]);
    let metadata = asked.output()?.success()?;
    for (binding, name) in BINDINGS {
        let mut names = BTreeSet::new();
        for source in sources(&metadata, binding) {
            collect(&source, &mut names)?;
        }
        if names.is_empty() {
            let why = format!("`{binding}` declares nothing of the framework {name}");
            return Err(
                Error::new(why).hint("the list of bindings is in xtask/src/cross/frameworks.rs")
            );
        }
        let framework = folder.join(format!("{name}.framework"));
        std::fs::create_dir_all(&framework).map_err(|error| Error::file(&framework, &error))?;
        tools::write(&framework.join(format!("{name}.tbd")), &stub(name, &names))?;
    }
    Ok(())
}

/// The source folders of a package, of which there may be several versions.
fn sources(metadata: &str, package: &str) -> Vec<PathBuf> {
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let manifests = manifests.filter_map(|rest| rest.split('"').next());
    let folders = manifests.filter_map(|manifest| Path::new(manifest).parent());
    let is_meant = |folder: &&Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let version = name
            .strip_prefix(package)
            .and_then(|rest| rest.strip_prefix('-'));
        version.is_some_and(|version| version.starts_with(|sign: char| sign.is_ascii_digit()))
    };
    folders
        .filter(is_meant)
        .map(|folder| folder.join("src"))
        .collect()
}

/// All names in the sources below a folder.
fn collect(folder: &Path, names: &mut BTreeSet<String>) -> Result<()> {
    let failed = |error: std::io::Error| Error::file(folder, &error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, names)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).map_err(|e| Error::file(&path, &e))?;
            names.extend(names_in(&text).map(ToOwned::to_owned));
        }
    }
    Ok(())
}

/// Every name in a source that could be a framework's. Some bindings are made by macros, so
/// what declares a name cannot be told; one that is no framework's does no harm in the list.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    words.filter(|word| {
        let is_name = word.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_');
        is_name && word.contains(|sign: char| sign.is_ascii_uppercase())
    })
}

/// What a linker reads of a framework.
fn stub(name: &str, symbols: &BTreeSet<String>) -> String {
    let targets = "[ x86_64-macos, arm64-macos ]";
    let mut names = String::new();
    for symbol in symbols {
        // Names of C have an underscore in front. Writing to a string does not fail.
        let separator = if names.is_empty() { "" } else { ",\n      " };
        let _ = write!(names, "{separator}_{symbol}");
    }
    format!(
        "--- !tapi-tbd\n\
         tbd-version: 4\n\
         targets: {targets}\n\
         install-name: '/System/Library/Frameworks/{name}.framework/Versions/A/{name}'\n\
         current-version: 1\n\
         compatibility-version: 1\n\
         exports:\n  \
         - targets: {targets}\n    \
         symbols: [ {names} ]\n\
         ...\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_also_where_a_macro_declares_them() {
        let text = "pub fn SecTrustCreate(a: u8);\nnames! { kSecKeyAlgorithmRSA, 10X }";
        let found: Vec<&str> = names_in(text).collect();
        assert_eq!(found, ["SecTrustCreate", "kSecKeyAlgorithmRSA"]);
    }

    #[test]
    fn sources_of_every_version_are_looked_at_and_of_no_other_package() {
        let metadata = r#"{"manifest_path":"/r/core-foundation-sys-0.8.7/Cargo.toml"},{"manifest_path":"/r/core-foundation-0.9.4/Cargo.toml"},{"manifest_path":"/r/core-foundation-sys-extra-1.0.0/Cargo.toml"}"#;
        let found = sources(metadata, "core-foundation-sys");
        assert_eq!(found, [Path::new("/r/core-foundation-sys-0.8.7/src")]);
    }

    #[test]
    fn a_stub_names_the_framework_where_it_is_on_a_mac() {
        let names = ["SecTrustCreate", "kSecClass"].map(ToOwned::to_owned);
        let text = stub("Security", &names.into());
        assert!(text.starts_with("--- !tapi-tbd\ntbd-version: 4\n"));
        let place = "/System/Library/Frameworks/Security.framework/Versions/A/Security";
        assert!(text.contains(&format!("install-name: '{place}'\n")));
        assert!(
            text.contains("symbols: [ _SecTrustCreate,\n      _kSecClass ]\n"),
            "{text}"
        );
    }
}
