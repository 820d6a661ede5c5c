//! Notebook files.

use pillion_notebook::file::{Budget, Notebook, diff, html, show};

/// A file is read or refused. One that is read is written as it was, and what is changed in it
/// can be read again.
pub fn notebook(data: &[u8]) {
    let Ok(mut notebook) = Notebook::read(data) else {
        return;
    };
    assert_eq!(notebook.text().as_bytes(), data);
    let _ = (notebook.check(), html(&notebook, "title"));
    for cell in notebook.cells() {
        let _ = show(&cell.outputs(), Budget::default());
    }
    let before = notebook.clone();
    let done = notebook.repair();
    let text = notebook.text();
    assert!(!done.is_empty() || text.as_bytes() == data);
    let Ok(mut again) = Notebook::read(text.as_bytes()) else {
        panic!("what was written cannot be read: {text}");
    };
    assert!(
        again.repair().is_empty(),
        "a repair left something to repair"
    );
    assert_eq!(again.cells().len(), before.cells().len());
    let _ = diff(&before, &again).to_string();
}
