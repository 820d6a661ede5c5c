//! What of the system a confined program sees, whichever wall shows it.

use std::path::PathBuf;

use crate::policy::Policy;

/// Libraries, time zones and certificates.
pub(crate) const SYSTEM: &[&str] = &[
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
];
/// What of `/etc` programs look at.
pub(crate) const ETC: &[&str] = &[
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
];
pub(crate) const PROGRAMS: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/usr/share"];
pub(crate) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];
/// Where terminals are, for who can make some.
pub(crate) const PTS: &str = "/dev/pts";

/// Everything outside of `/etc`, `/dev` and its folder that a program can read.
pub(crate) fn shown(policy: &Policy) -> Vec<PathBuf> {
    let programs = PROGRAMS.iter().filter(|_| policy.programs);
    let mut all: Vec<PathBuf> = SYSTEM.iter().chain(programs).map(PathBuf::from).collect();
    all.extend(policy.view.iter().cloned());
    // The parent first; what is below it is there then.
    all.sort();
    all.dedup_by(|below, parent| below.starts_with(&*parent));
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::policy::{Folder, Limits};

    fn policy(view: &[&str], programs: bool) -> Policy {
        Policy {
            view: view.iter().map(PathBuf::from).collect(),
            programs,
            folder: Folder::Throwaway,
            runs_own_files: false,
            terminals: false,
            network: false,
            limits: Limits::default(),
        }
    }

    fn is_shown(shown: &[PathBuf], path: &str) -> bool {
        shown.iter().any(|known| known == Path::new(path))
    }

    #[test]
    fn what_is_below_a_shown_folder_comes_with_it() {
        // By letters, `py-x` would stand between `py` and what is below that.
        let view = [
            "/opt/py/lib",
            "/opt/py-x",
            "/opt/py",
            "/opt/python",
            "/opt/py",
        ];
        let shown = shown(&policy(&view, false));
        let of_view = shown.iter().filter(|path| path.starts_with("/opt"));
        let of_view: Vec<_> = of_view.map(|path| path.to_string_lossy()).collect();
        assert_eq!(of_view, ["/opt/py", "/opt/py-x", "/opt/python"]);
        let of_system = super::shown(&policy(&["/usr/lib/python3/site"], false));
        assert!(!is_shown(&of_system, "/usr/lib/python3/site"));
        assert!(is_shown(&of_system, "/usr/lib"));
    }

    #[test]
    fn programs_of_the_system_are_shown_to_who_may_run_them() {
        let (without, with) = (shown(&policy(&[], false)), shown(&policy(&[], true)));
        for path in ["/bin", "/usr/bin", "/usr/local/bin", "/usr/share"] {
            assert!(!is_shown(&without, path), "{path}");
            assert!(is_shown(&with, path), "{path}");
        }
        assert!(is_shown(&without, "/usr/share/zoneinfo"));
        assert!(!is_shown(&with, "/usr/share/zoneinfo"), "it is below");
    }

    #[test]
    fn nothing_of_users_and_services_is_shown_by_itself() {
        for path in shown(&policy(&[], true)) {
            for private in [
                "/home", "/root", "/etc", "/var", "/run", "/proc", "/dev", "/tmp",
            ] {
                let private = Path::new(private);
                let (below, above) = (path.starts_with(private), private.starts_with(&path));
                assert!(!below && !above, "{}", path.display());
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn all_of_a_view_is_shown_and_nothing_twice(
            view in proptest::collection::vec("(/[ab-]{1,2}){1,3}", 0..8),
        ) {
            let view: Vec<&str> = view.iter().map(String::as_str).collect();
            let shown = shown(&policy(&view, false));
            for wanted in &view {
                let found = shown.iter().filter(|path| Path::new(wanted).starts_with(path));
                assert_eq!(found.count(), 1, "{wanted}");
            }
            assert!(shown.is_sorted(), "parents are first");
        }
    }
}
