//! Frameworks of macOS, as far as its linker has to know them.
//!
//! zig brings the C library of macOS, but no frameworks: those are in Apple's SDK, which may
//! not be handed on. To link against one, the linker needs only its name and the names of what
//! is used of it, in a text file; the framework itself is on every Mac. So these files are
//! written here. What a new dependency uses besides is named by the linker's error, and added.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::tools;
use crate::error::{Error, Result};

/// Names of functions and constants by framework: the certificates that the user trusts
/// (Security), the proxies of this network (SystemConfiguration), and what both are told in
/// (CoreFoundation).
const FRAMEWORKS: &[(&str, &[&str])] = &[
    ("CoreFoundation", &[]),
    ("Security", &[]),
    ("SystemConfiguration", &[]),
];

/// Write the files below `folder`, where the linker is to look.
pub(super) fn write(folder: &Path) -> Result<PathBuf> {
    for (name, symbols) in FRAMEWORKS {
        let framework = folder.join(format!("{name}.framework"));
        std::fs::create_dir_all(&framework).map_err(|error| Error::file(&framework, &error))?;
        tools::write(&framework.join(format!("{name}.tbd")), &stub(name, symbols))?;
    }
    Ok(folder.to_owned())
}

/// What a linker reads of a framework.
fn stub(name: &str, symbols: &[&str]) -> String {
    let targets = "[ x86_64-macos, arm64-macos ]";
    let mut names = String::new();
    for symbol in symbols {
        // Names of C have an underscore in front.
        let _ = write!(
            names,
            "{}_{symbol}",
            if names.is_empty() { "" } else { ", " }
        );
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
    fn a_stub_names_the_framework_where_it_is_on_a_mac() {
        let text = stub("Security", &["SecTrustCreateWithCertificates", "kSecClass"]);
        assert!(text.starts_with("--- !tapi-tbd\ntbd-version: 4\n"));
        let place = "/System/Library/Frameworks/Security.framework/Versions/A/Security";
        assert!(text.contains(&format!("install-name: '{place}'\n")));
        assert!(text.contains("symbols: [ _SecTrustCreateWithCertificates, _kSecClass ]\n"));
    }

    #[test]
    fn names_are_sorted_and_there_once() {
        for (name, symbols) in FRAMEWORKS {
            assert!(symbols.is_sorted_by(|a, b| a < b), "{name}");
        }
    }
}
