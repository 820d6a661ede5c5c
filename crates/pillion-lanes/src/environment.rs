//! The variables that a program in a lane finds. None of them comes from the daemon's own
//! environment, so none can be a secret.

use std::collections::BTreeMap;
use std::path::Path;

use pillion_sandbox::{TMP, WORK};

/// Variables by name.
pub type VariableMap = BTreeMap<String, String>;

/// Those of a program whose folder is at [`WORK`].
pub fn of_program() -> VariableMap {
    at(Path::new(WORK), Path::new(TMP))
}

/// Those of a program with another folder.
pub fn at(folder: &Path, tmp: &Path) -> VariableMap {
    let folder = folder.to_string_lossy();
    let tmp = tmp.to_string_lossy();
    let config = format!("{tmp}/config");
    let mut variables: VariableMap = [
        ("HOME", folder.as_ref()),
        ("TMPDIR", tmp.as_ref()),
        ("USER", "lane"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("PYTHONUTF8", "1"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("MPLBACKEND", "Agg"),
        ("MPLCONFIGDIR", &config),
        ("XDG_CACHE_HOME", &config),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    variables.extend(small());
    variables
}

/// Those of a zygote.
pub(crate) fn of_zygote(fixed_hashes: bool) -> VariableMap {
    let mut variables = of_program();
    if fixed_hashes {
        variables.insert("PYTHONHASHSEED".to_owned(), "0".to_owned());
    }
    variables
}

/// Libraries that would take as many threads as there are processors, and memory for each.
fn small() -> VariableMap {
    [
        ("MALLOC_ARENA_MAX", "2"),
        ("OMP_NUM_THREADS", "1"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("MKL_NUM_THREADS", "1"),
        ("NUMEXPR_NUM_THREADS", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that a program finds.
    const NAMES: [&str; 15] = [
        "HOME",
        "LANG",
        "MALLOC_ARENA_MAX",
        "MKL_NUM_THREADS",
        "MPLBACKEND",
        "MPLCONFIGDIR",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUTF8",
        "TMPDIR",
        "USER",
        "XDG_CACHE_HOME",
    ];

    #[test]
    fn no_variable_of_this_process_gets_through() {
        for variables in [of_program(), at(Path::new("/a"), Path::new("/b"))] {
            let names: Vec<&str> = variables.keys().map(String::as_str).collect();
            assert_eq!(names, NAMES);
        }
        // Those of the same name have their own values.
        let ours = std::env::var("HOME").unwrap_or_default();
        assert_ne!(of_program()["HOME"], ours);
        assert_eq!(of_program()["PATH"], "/usr/local/bin:/usr/bin:/bin");
        assert_eq!(of_program()["USER"], "lane");
    }

    #[test]
    fn everything_that_is_written_goes_to_the_own_folders() {
        let variables = at(Path::new("/data/s"), Path::new("/data/s/.tmp"));
        assert_eq!(variables["HOME"], "/data/s");
        for name in ["TMPDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME"] {
            assert!(variables[name].starts_with("/data/s/.tmp"), "{name}");
        }
        assert_eq!(of_program(), at(Path::new(WORK), Path::new(TMP)));
    }

    #[test]
    fn a_zygote_has_the_variables_of_its_programs_and_maybe_fixed_hashes() {
        assert_eq!(of_zygote(false), of_program());
        let mut fixed = of_zygote(true);
        assert_eq!(fixed.remove("PYTHONHASHSEED").as_deref(), Some("0"));
        assert_eq!(fixed, of_program());
    }
}
