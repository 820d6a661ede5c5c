//! Pythons with kernels in them: ipykernel for everybody, and kernels of other languages.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{TestContext, copy, set_up};

/// ipykernel, and what it imports.
const IPYKERNEL: &[&str] = &[
    "IPython",
    "asttokens",
    "comm",
    "dateutil",
    "executing",
    "ipykernel",
    "ipython_pygments_lexers.py",
    "jedi",
    "jupyter_client",
    "jupyter_core",
    "matplotlib_inline",
    "nest_asyncio2.py",
    "packaging",
    "parso",
    "pexpect",
    "platformdirs",
    "prompt_toolkit",
    "psutil",
    "ptyprocess",
    "pure_eval",
    "pygments",
    "pyzmq.libs",
    "stack_data",
    "tornado",
    "traitlets",
    "typing_extensions.py",
    "wcwidth",
    "zmq",
];

/// Kernels of other languages, and what they import besides ipykernel.
const PACKAGES: &[&str] = &["bash_kernel", "filetype"];

/// A kernel that has nothing in common with ipykernel.
const ADDER: &str = include_str!("adder.py");

/// An environment of the system's Python with ipykernel. The Python that `cargo xtask test` sets up
/// may be in a home that nobody else can enter.
pub fn python_for_all(context: &TestContext) -> PathBuf {
    let libraries = set_up("dev-python/lib").read_dir().unwrap().flatten();
    let version = libraries
        .map(|entry| entry.file_name().into_string().unwrap())
        .find(|name| name.starts_with("python3."))
        .unwrap();
    let folder = context.base.join("python-for-all");
    let packages = format!("lib/{version}/site-packages");
    let theirs = set_up(&format!("dev-python/{packages}"));
    let own = folder.join(&packages);
    std::fs::create_dir_all(&own).unwrap();
    // Copies: a second name for a file would change it, for all who have proof of it.
    for name in IPYKERNEL {
        copy(&theirs.join(name), &own.join(name));
    }
    std::fs::write(folder.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let python = folder.join("bin/python");
    std::fs::create_dir(folder.join("bin")).unwrap();
    std::os::unix::fs::symlink(format!("/usr/bin/{version}"), &python).unwrap();
    python
}

/// A Python that has kernels of other languages beside ipykernel, and their kernelspecs.
pub fn python_with_kernels(context: &TestContext) -> PathBuf {
    let python = python_for_all(context);
    let prefix = python.ancestors().nth(2).unwrap().to_owned();
    let packages = packages_of(&prefix);
    let theirs = packages_of(&set_up("dev-python"));
    for name in PACKAGES {
        copy(&theirs.join(name), &packages.join(name));
    }
    let argv = |module: &str| json!([python, "-m", module, "-f", "{connection_file}"]);
    for (name, spec) in [
        (
            "bash",
            json!({
                "argv": argv("bash_kernel"), "display_name": "Bash", "language": "bash",
                "env": {"PS1": "$", "GREETING": "hello ${USER}"},
            }),
        ),
        (
            "bash-by-message",
            json!({
                "argv": argv("bash_kernel"), "display_name": "Bash", "language": "bash",
                "interrupt_mode": "message",
            }),
        ),
        (
            "Adder",
            json!({
                // As kernels that come with an environment say it.
                "argv": ["python3", "{resource_dir}/adder.py", "{connection_file}"],
                "display_name": "Adder", "language": "adder",
            }),
        ),
        (
            "own-python",
            json!({
                "argv": argv("ipykernel_launcher"), "display_name": "P", "language": "python",
            }),
        ),
        (
            "ends",
            json!({
                "argv": ["sh", "-c", "echo {resource_dir} is all I say >&2; exit 7"],
                "display_name": "Ends", "language": "none",
            }),
        ),
    ] {
        let folder = install_spec(&prefix.join("share/jupyter"), name, &spec);
        std::fs::write(folder.join("adder.py"), ADDER).unwrap();
    }
    python
}

fn packages_of(prefix: &Path) -> PathBuf {
    let libraries = prefix.join("lib").read_dir().unwrap().flatten();
    let mut paths = libraries.map(|entry| entry.path());
    let library = paths.find(|path| path.join("site-packages").is_dir());
    library.unwrap().join("site-packages")
}

/// Write a kernelspec into a data folder of Jupyter; its folder.
pub fn install_spec(data: &Path, name: &str, spec: &Value) -> PathBuf {
    let folder = data.join("kernels").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("kernel.json"), spec.to_string()).unwrap();
    folder
}
