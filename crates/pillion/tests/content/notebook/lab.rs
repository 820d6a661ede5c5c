//! JupyterLab as people have it, in a real browser, with pillion's kernels.

use std::path::PathBuf;

use pillion_testing::{DEADLINE, TestContext, set_up, skipped};

use super::files::notebook;
use super::jupyter::{context, goes_as_told, jupyter, token};

const WRITTEN: [&str; 3] = [
    "print('printed by pillion')",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([3, 1, 2])\nplt.show()",
    "1 / 0",
];

/// The browser that the set-up found. The name itself, and not where it leads: some are scripts
/// that look at what they were called by.
fn chromium() -> Option<PathBuf> {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/dev-chromium");
    let found = std::fs::read_link(place).ok().filter(|path| path.exists());
    if found.is_none() {
        skipped("JupyterLab in a browser: there is no Chromium; `cargo xtask test` looks for one");
    }
    found
}

/// A notebook that `pillion notebook run` writes into a folder.
fn write(context: &TestContext, folder: &str) {
    let mut daemon = context.daemon();
    notebook(context, "plain.ipynb", &WRITTEN);
    let to = format!("{folder}/written.ipynb");
    let ran = context.pillion(&["notebook", "run", "plain.ipynb", "-o", &to]);
    assert_eq!(ran.code, Some(1), "the last cell fails: {ran}");
    daemon.terminate();
    daemon.wait_for(DEADLINE);
}

#[test]
fn a_notebook_is_run_and_one_of_pillions_is_shown_in_a_real_jupyterlab() {
    let Some(chromium) = chromium() else { return };
    let context = context();
    std::fs::create_dir(context.base.join("jupyter")).unwrap();
    write(&context, "../jupyter");
    let web = context.serve();
    let mut command = jupyter(&context, "jupyter_lab.py");
    command
        .args([&web.port.to_string(), &token(&context, &web)])
        .args([context.base.join("jupyter"), set_up("dev-node"), chromium]);
    goes_as_told(command);
    drop(web);
    context.wait_until_alone(DEADLINE);
}
