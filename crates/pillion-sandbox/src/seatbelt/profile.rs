//! The text of a profile. What it does not allow is denied.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::policy::{Folder, Policy};
use crate::spec::BoxRole;

/// What the loader and the C library of every program read.
const SYSTEM: &[&str] = &[
    "/usr/lib",
    "/System/Library",
    "/System/Volumes/Preboot/Cryptexes",
    "/Library/Apple",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/usr/share/icu",
    "/usr/share/locale",
    "/usr/share/zoneinfo",
];
/// Single files of the same kind.
const FILES: &[&str] = &[
    "/private/etc/localtime",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];
/// Where the system's programs are, for those who may run them.
const PROGRAMS: &[&str] = &[
    "/bin",
    "/usr/bin",
    "/usr/share",
    "/Library/Developer/CommandLineTools",
];
/// What a terminal is made of.
const TERMINALS: &str = r#"(literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$")"#;

/// Why there is no profile for a policy.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsaid {
    /// A path cannot be written down in a profile.
    #[error("`{0}` cannot be named in a profile of Seatbelt")]
    Path(PathBuf),
    /// It has no mounts.
    #[error("a folder that is named later needs namespaces, which macOS does not have")]
    Later,
}

/// The profile of a program. Paths in the policy are compared with those that the kernel
/// finds at the end of all links, so they must be free of links.
pub(super) fn profile(policy: &Policy, role: BoxRole) -> Result<String, Unsaid> {
    let folder = match &policy.folder {
        Folder::Throwaway => None,
        Folder::Kept(folder) => Some(folder.as_path()),
        Folder::Later(_) => return Err(Unsaid::Later),
    };
    let mut seen: Vec<&Path> = SYSTEM.iter().map(Path::new).collect();
    seen.extend(policy.view.iter().map(PathBuf::as_path));
    if policy.programs {
        seen.extend(PROGRAMS.iter().map(Path::new));
    }
    let shown = filters("subpath", &seen)?;
    let files: Vec<&Path> = FILES.iter().map(Path::new).collect();
    let mut text = String::from("(version 1)\n(deny default)\n");
    let mut allow = |what: &str, which: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "(allow {what}{which})");
    };
    allow("process-fork", "");
    allow("signal", " (target same-sandbox)");
    allow("process-info*", " (target same-sandbox)");
    allow("sysctl-read", "");
    let all: Vec<&Path> = seen.iter().chain(&files).copied().chain(folder).collect();
    // The way to a path is looked at, also by the loader; what lies beside it is not.
    allow("file-read-metadata", &filters("literal", &ways(&all))?);
    allow("file-read*", r#" (literal "/")"#);
    allow("file-read* file-map-executable process-exec", &shown);
    allow("file-read*", &filters("literal", &files)?);
    allow(
        "file-read* file-write-data",
        r#" (literal "/dev/null") (literal "/dev/dtracehelper")"#,
    );
    if let Some(folder) = folder {
        let own = filters("subpath", &[folder])?;
        allow("file-read* file-write*", &own);
        if policy.runs_own_files {
            allow("file-map-executable process-exec", &own);
        }
        if role == BoxRole::Kernel {
            // The sockets that it is asked on.
            allow("network-bind network-inbound", &own);
        }
    }
    if policy.terminals {
        allow("pseudo-tty", "");
        allow(
            &format!("file-read* file-write* file-ioctl {TERMINALS}"),
            "",
        );
    }
    if policy.network {
        allow("network*", "");
        allow("system-socket", "");
        allow("mach-lookup", r#" (global-name "com.apple.dnssd.service")"#);
        allow(
            "file-read*",
            r#" (literal "/private/etc/resolv.conf") (literal "/private/etc/hosts")"#,
        );
    }
    Ok(text)
}

/// Each of these paths as a filter of this kind.
fn filters(kind: &str, paths: &[&Path]) -> Result<String, Unsaid> {
    let mut text = String::new();
    for path in paths {
        let path = quoted(path)?;
        let _ = write!(text, " ({kind} {path})");
    }
    Ok(text)
}

/// A path as a string of the profile's language.
fn quoted(path: &Path) -> Result<String, Unsaid> {
    let unsaid = || Unsaid::Path(path.to_owned());
    let text = path.to_str().ok_or_else(unsaid)?;
    if !path.is_absolute() || text.chars().any(char::is_control) {
        return Err(unsaid());
    }
    let text = text.replace('\\', r"\\").replace('"', "\\\"");
    Ok(format!("\"{text}\""))
}

/// All folders above these paths.
fn ways<'a>(paths: &[&'a Path]) -> Vec<&'a Path> {
    let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
    let above: BTreeSet<&Path> = above.collect();
    above.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Limits;

    fn policy() -> Policy {
        Policy {
            view: vec!["/opt/python".into()],
            programs: false,
            folder: Folder::Kept("/private/tmp/run".into()),
            runs_own_files: false,
            terminals: false,
            network: false,
            limits: Limits::default(),
        }
    }

    fn said(policy: &Policy) -> String {
        profile(policy, BoxRole::Program).unwrap()
    }

    /// The rules that say something of `what`.
    fn rules<'a>(text: &'a str, what: &str) -> Vec<&'a str> {
        let words = |line: &str| {
            let words = line.trim_start_matches("(allow ").split([' ', ')']);
            words
                .take_while(|word| !word.starts_with('('))
                .any(|word| word == what)
        };
        text.lines().filter(|line| words(line)).collect()
    }

    #[test]
    fn the_strictest_policy_is_this_profile() {
        let text = said(&Policy {
            view: Vec::new(),
            folder: Folder::Throwaway,
            ..policy()
        });
        let expected = r#"(version 1)
(deny default)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata (literal "/") (literal "/Library") (literal "/System") (literal "/System/Volumes") (literal "/System/Volumes/Preboot") (literal "/dev") (literal "/private") (literal "/private/etc") (literal "/private/var") (literal "/private/var/db") (literal "/usr") (literal "/usr/share"))
(allow file-read* (literal "/"))
(allow file-read* file-map-executable process-exec (subpath "/usr/lib") (subpath "/System/Library") (subpath "/System/Volumes/Preboot/Cryptexes") (subpath "/Library/Apple") (subpath "/private/var/db/dyld") (subpath "/private/var/db/timezone") (subpath "/usr/share/icu") (subpath "/usr/share/locale") (subpath "/usr/share/zoneinfo"))
(allow file-read* (literal "/private/etc/localtime") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/zero"))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/dtracehelper"))
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn only_the_folder_is_written_to_and_run_from_only_if_it_may_be() {
        let text = said(&policy());
        assert_eq!(rules(&text, "file-write*").len(), 1);
        assert!(rules(&text, "file-write*")[0].ends_with(r#"(subpath "/private/tmp/run"))"#));
        let runs = |text: &str| {
            rules(text, "process-exec")
                .join("\n")
                .contains("/private/tmp/run")
        };
        assert!(!runs(&text));
        let own = Policy {
            runs_own_files: true,
            ..policy()
        };
        assert!(runs(&said(&own)));
        let none = Policy {
            folder: Folder::Throwaway,
            ..policy()
        };
        assert!(rules(&said(&none), "file-write*").is_empty());
    }

    #[test]
    fn the_network_and_the_systems_programs_are_there_only_if_the_policy_says_so() {
        let text = said(&policy());
        assert!(!text.contains("network") && !text.contains("mach-lookup"));
        assert!(!text.contains(r#"(subpath "/usr/bin")"#));
        assert!(!text.contains("pseudo-tty"));
        let open = said(&Policy {
            network: true,
            programs: true,
            terminals: true,
            ..policy()
        });
        assert!(open.contains("(allow network*)") && open.contains(r#"(subpath "/usr/bin")"#));
        assert!(open.contains("(allow pseudo-tty)"));
    }

    #[test]
    fn a_kernel_has_its_sockets_in_its_folder_and_nowhere_else() {
        let text = profile(&policy(), BoxRole::Kernel).unwrap();
        assert_eq!(
            rules(&text, "network-bind"),
            [r#"(allow network-bind network-inbound (subpath "/private/tmp/run"))"#]
        );
        assert!(rules(&text, "network*").is_empty());
    }

    #[test]
    fn a_path_cannot_say_more_than_itself() {
        let named = |path: &str| Policy {
            view: vec![path.into()],
            ..policy()
        };
        let text = said(&named(r#"/a") (subpath "/"#));
        assert!(text.contains(r#"(subpath "/a\") (subpath \"/")"#), "{text}");
        let text = said(&named(r"/a\"));
        assert!(text.contains(r#"(subpath "/a\\")"#), "{text}");
        for bad in ["relative", "/a\nb", "/a\0b"] {
            let unsaid = profile(&named(bad), BoxRole::Program).unwrap_err();
            assert_eq!(unsaid, Unsaid::Path(bad.into()));
        }
        let later = Policy {
            folder: Folder::Later("/data".into()),
            ..policy()
        };
        assert_eq!(profile(&later, BoxRole::Kernel), Err(Unsaid::Later));
    }

    #[test]
    fn every_bracket_is_closed() {
        let all = Policy {
            programs: true,
            runs_own_files: true,
            terminals: true,
            network: true,
            ..policy()
        };
        for line in profile(&all, BoxRole::Kernel).unwrap().lines() {
            let count = |sign| line.matches(sign).count();
            assert_eq!(count('('), count(')'), "{line}");
            assert!(line.starts_with('(') && line.ends_with(')'), "{line}");
        }
    }
}
