//! Rebuild when a Python file that is embedded changes. Files are named one by one:
//! naming the folder would also rebuild whenever Python writes its `__pycache__`.

use std::path::Path;

fn main() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    watch(&python.join("__main__.py"));
    watch(&python.join("pillion"));
}

fn watch(path: &Path) {
    if let Ok(entries) = path.read_dir() {
        for entry in entries.flatten() {
            watch(&entry.path());
        }
    } else if path.extension().is_some_and(|e| e == "py") {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
