//! The root itself comes and goes.

use std::fs;
use std::os::unix::fs::symlink;

use pillion_protocol::Code;

use crate::common::{Reader, Tree, compare_with_new, options, write};

#[tokio::test]
async fn a_root_is_deleted_and_made_again() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        let mut reader = Reader::default();
        for round in 0..20 {
            tree.write("a.py", &round.to_string());
            tree.write(&format!("{round}/b.py"), "");
            let snapshot = tree.synced().await;
            reader.check(&snapshot, &format!("round {round}"));
            compare_with_new(&tree, &snapshot, "made").await;
            fs::remove_dir_all(&tree.root).unwrap();
            if round % 2 == 0 {
                let error = tree.workspace.synced().await.unwrap_err();
                assert_eq!(error.code, Code::NotFound);
                assert!(error.hint.is_some());
            }
        }
    }
}

#[tokio::test]
async fn a_root_is_replaced() {
    for watch in [true, false] {
        let tree = Tree::new(options(watch));
        let mut reader = Reader::default();
        tree.write("a.py", "1");
        reader.check(&tree.synced().await, "first");
        let other = tree.root.with_file_name("other");
        write(&other.join("a.py"), "2");
        write(&other.join("b.py"), "2");
        let aside = tree.root.with_file_name("aside");
        fs::rename(&tree.root, &aside).unwrap();
        fs::rename(&other, &tree.root).unwrap();
        reader.check(&tree.synced().await, "replaced");
        fs::remove_dir_all(&tree.root).unwrap();
        symlink(&aside, &tree.root).unwrap();
        reader.check(&tree.synced().await, "replaced by a link");
        fs::write(aside.join("a.py"), "3").unwrap();
        reader.check(&tree.synced().await, "written behind the link");
        fs::remove_file(&tree.root).unwrap();
        fs::write(&tree.root, "").unwrap();
        let error = tree.workspace.synced().await.unwrap_err();
        assert_eq!(error.code, Code::NotFound, "a file is no root");
    }
}

#[tokio::test]
async fn a_folder_above_is_moved() {
    let tree = Tree::at("a/root", options(true));
    let mut reader = Reader::default();
    tree.write("a.py", "1");
    reader.check(&tree.synced().await, "first");
    let above = tree.root.parent().unwrap();
    fs::rename(above, above.with_file_name("b")).unwrap();
    assert!(tree.workspace.synced().await.is_err());
    tree.write("a.py", "2");
    reader.check(&tree.synced().await, "another");
}
