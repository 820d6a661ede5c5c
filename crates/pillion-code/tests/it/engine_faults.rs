//! What becomes of answers when ty does not live to give them.

use pillion_engines::engine::LspChangeKind;
use pillion_process::stat::Identity;

use crate::support::{DEADLINE, World};

#[tokio::test]
async fn a_killed_process_costs_no_answer() {
    let many: Vec<_> = (0..300)
        .map(|n| {
            (
                format!("m{n}.py"),
                format!("from a import target\nx{n} = target({n})\n"),
            )
        })
        .collect();
    let mut files = vec![("a.py", "def target(x: int) -> int:\n    return x\n")];
    files.extend(many.iter().map(|(name, text)| (&**name, &**text)));
    let world = World::new(&files).await;
    for round in 0..3 {
        // A moment in which it certainly runs, and certainly is not done.
        world.definition("m0.py", "= |target").await;
        let text = format!(
            "{}def target(x: int) -> int:\n    return x\n",
            "\n".repeat(round)
        );
        world.edit("a.py", &text, LspChangeKind::Changed);
        let before = world.pid().unwrap();
        let killing = async {
            tokio::task::yield_now().await;
            assert!(Identity::of(before).unwrap().kill());
        };
        let (found, ()) = tokio::join!(world.references("a.py", "|target", true), killing);
        assert_eq!(found.len(), 601);
        assert_ne!(world.pid(), Some(before));
        // The third death in a row opens the breaker: that answer comes from a process of its own.
        let status = &world.server.pool().status()[0];
        assert_eq!(status.crashes, u64::try_from(round).unwrap() + 1);
    }
}

#[tokio::test]
async fn edits_and_questions_at_the_same_time_all_get_answers() {
    let files = [
        ("a.py", "def target(): pass\n"),
        ("b.py", "from a import target\ntarget()\n"),
    ];
    let world = World::new(&files).await;
    let at = world.find("b.py", "\n|target");
    let path = world.path("b.py");
    for round in 0..50 {
        let asking = (0..8).map(|_| world.server.references(&path, at, true, DEADLINE));
        let editing = async {
            tokio::task::yield_now().await;
            let text = format!("{}def target(): pass\n", "\n".repeat(round % 3));
            world.edit("a.py", &text, LspChangeKind::Changed);
        };
        let (found, ()) = tokio::join!(futures::future::join_all(asking), editing);
        for places in found {
            assert_eq!(places.unwrap().len(), 3);
        }
    }
}
