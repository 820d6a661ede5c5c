//! The variables that a program in a lane finds. None of them comes from the daemon's own
//! environment, so none can be a secret.

use std::collections::BTreeMap;
use std::path::Path;

use pillion_sandbox::{TMP, WORK};

/// Variables by name.
pub type Variables = BTreeMap<String, String>;

/// Those of a program whose folder is at [`WORK`].
pub fn of_program() -> Variables {
    at(Path::new(WORK), Path::new(TMP))
}

/// Those of a program with another folder.
pub fn at(folder: &Path, tmp: &Path) -> Variables {
    let folder = folder.to_string_lossy();
    let tmp = tmp.to_string_lossy();
    let config = format!("{tmp}/config");
    let mut variables: Variables = [
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
pub(crate) fn of_zygote(fixed_hashes: bool) -> Variables {
    let mut variables = of_program();
    if fixed_hashes {
        variables.insert("PYTHONHASHSEED".to_owned(), "0".to_owned());
    }
    variables
}

/// Libraries that would take as many threads as there are processors, and memory for each.
fn small() -> Variables {
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
