//! Killed writers, and several at once.

use std::collections::BTreeMap;

use pillion_store::{JobFilter, JobState};

use crate::two::{TASKS, Writer, write};
use crate::{open, place, total};

#[tokio::test]
async fn what_was_answered_survives_a_kill() {
    let (_temp, path) = place();
    let mut answered: BTreeMap<String, String> = BTreeMap::new();
    for answers in [1, 2, 7, 30, 61, 110] {
        let mut writer = Writer::start(&path, usize::MAX);
        let mut take = |writer: &mut Writer| {
            let answer = writer.answer();
            answer.map(|(status, id)| answered.insert(id, status))
        };
        for _ in 0..answers {
            take(&mut writer).expect("the writer goes on");
        }
        writer.kill();
        while take(&mut writer).is_some() {}

        let store = open(&path).await;
        assert_eq!(store.set_aside(), None);
        for (id, status) in &answered {
            let found = store.get(id).await.unwrap();
            // More may have been committed than was said.
            let order = ["queued", "running", "succeeded"];
            let place = |word: &str| order.iter().position(|other| *other == word);
            let now = found.job.status.word();
            assert!(
                now == "lost" || place(now) >= place(status),
                "{id}: {status}, {now}"
            );
            assert!(now != "lost" || status != "succeeded", "{id}");
            if now == "succeeded" {
                let result = found.result.unwrap();
                assert_eq!(result.get(), format!("{{\"for\":\"{id}\"}}"));
            }
        }
        let lost = store.lose().await.unwrap();
        assert!(lost.len() <= TASKS, "each task had one job: {lost:?}");
        let unfinished = JobFilter {
            statuses: vec![JobState::Queued, JobState::Running],
            ..JobFilter::default()
        };
        assert_eq!(store.list(unfinished).await.unwrap().total, 0);
    }
    assert!(answered.len() >= 60, "{}", answered.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_write_at_once() {
    let (_temp, path) = place();
    let mut writers = [Writer::start(&path, 25), Writer::start(&path, 25)];
    let store = open(&path).await;
    for _ in 0..50 {
        write(&store).await;
    }
    for writer in &mut writers {
        let mut finished = 0;
        while let Some((status, id)) = writer.answer() {
            if status == "succeeded" {
                finished += 1;
                let found = store.get(&id).await.unwrap();
                assert_eq!(found.job.status, JobState::Succeeded);
            }
        }
        assert!(writer.wait());
        assert_eq!(finished, TASKS * 25);
    }
    assert_eq!(total(&store).await, 50 + 2 * TASKS as u64 * 25);
}

#[tokio::test]
async fn a_kill_does_not_keep_others_from_writing() {
    let (_temp, path) = place();
    let store = open(&path).await;
    for _ in 0..3 {
        let mut writer = Writer::start(&path, usize::MAX);
        for _ in 0..20 {
            writer.answer().unwrap();
        }
        writer.kill();
        write_more(&store).await;
    }
}

async fn write_more(store: &pillion_store::Store) {
    store.lose().await.unwrap();
    for _ in 0..5 {
        write(store).await;
    }
}
