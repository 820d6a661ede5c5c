//! What a sync costs: `cargo run --release -p pillion-workspace --example sync_cost FOLDER`.
//!
//! The folder is only read, apart from one file that is written and removed again.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pillion_workspace::{Workspace, WorkspaceOptions};

/// The median time of something that is done so many times.
async fn median<F: Future>(times: usize, mut what: impl FnMut(usize) -> F) -> Duration {
    let mut taken = Vec::with_capacity(times);
    for time in 0..times {
        let start = Instant::now();
        what(time).await;
        taken.push(start.elapsed());
    }
    taken.sort_unstable();
    taken[times / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).ok_or("give a folder")?;
    let root = PathBuf::from(root).canonicalize()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for watch in [true, false] {
        let options = WorkspaceOptions {
            watch,
            ..WorkspaceOptions::default()
        };
        let new = || Workspace::new(root.clone(), options.clone());
        runtime.block_on(async {
            let first = median(11, |_| {
                let workspace = new();
                async move { workspace.synced().await }
            });
            println!("watch {watch}: first sync   {:>12.1?}", first.await);
            let workspace = new();
            let kept = workspace.synced().await?;
            let quiet = median(if watch { 10_000 } else { 51 }, |_| workspace.synced());
            println!("watch {watch}: quiet sync   {:>12.1?}", quiet.await);
            let file = root.join("pillion-sync-cost.tmp");
            let mut changed = Vec::new();
            for n in 0..201 {
                std::fs::write(&file, n.to_string())?;
                let start = Instant::now();
                let snapshot = workspace.synced().await?;
                changed.push(start.elapsed());
                drop(snapshot);
            }
            std::fs::remove_file(&file)?;
            changed.sort_unstable();
            println!("watch {watch}: after a write{:>12.1?}", changed[100]);
            println!("{:#?}", workspace.status());
            drop(kept);
            Ok::<_, Box<dyn std::error::Error>>(())
        })?;
    }
    Ok(())
}
