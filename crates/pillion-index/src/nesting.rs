//! How deep a tree of tree-sitter nests: what walks one goes down level by level.

use tree_sitter::Tree;

use crate::steps;

/// Whether a tree has more levels than so many.
pub fn is_deeper(tree: &Tree, than: u32) -> bool {
    let mut cursor = tree.walk();
    loop {
        steps::take(1);
        if cursor.goto_first_child() {
            if cursor.depth() > than {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}
