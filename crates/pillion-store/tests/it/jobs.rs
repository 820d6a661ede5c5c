//! The ways of a job, what is kept of it and what is let go.

use std::time::Duration;

use pillion_store::{
    JobEnd, JobFilter, JobState, MAX_REQUEST_BYTES, MAX_RESULT_BYTES, NewJob, Pruned, Retention,
    Store, StoreError, StoreOptions,
};

use crate::{json, new_job, open, place, total};

#[tokio::test]
async fn a_job_goes_its_way_and_keeps_what_came_out() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let job = store.create(new_job(Some("s1"))).await.unwrap();
    assert_eq!(job.status, JobState::Queued);
    assert_eq!((job.id.len(), job.owner.as_str()), (26, store.owner()));
    assert_eq!((&job.started_at, &job.ended_at), (&None, &None));
    let started = store.start(&job.id).await.unwrap();
    assert_eq!(started.status, JobState::Running);
    let result = json(r#"{"outcome":  "ok", "n": 1.0}"#);
    let ended = store
        .finish(&job.id, JobEnd::Succeeded, Some(result))
        .await
        .unwrap();
    let times = [
        Some(job.created_at),
        started.started_at,
        ended.ended_at.clone(),
    ];
    assert!(times.is_sorted(), "{times:?}");
    assert!(
        times
            .iter()
            .flatten()
            .all(|time| time.len() == 24 && time.ends_with('Z'))
    );
    store.close().await;

    let detail = open(&path).await.get(&job.id).await.unwrap();
    assert_eq!(detail.job, ended);
    assert_eq!(detail.request.get(), r#"{"code": "print(1)"}"#);
    assert_eq!(
        detail.result.unwrap().get(),
        r#"{"outcome":  "ok", "n": 1.0}"#
    );
}

#[tokio::test]
async fn there_is_no_way_back() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let job = store.create(new_job(None)).await.unwrap();
    let early = store.finish(&job.id, JobEnd::Succeeded, None).await;
    let error = early.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("job `{}` is queued and cannot become succeeded", job.id)
    );
    store.start(&job.id).await.unwrap();
    assert!(matches!(
        store.start(&job.id).await,
        Err(StoreError::Conflict {
            found: JobState::Running,
            ..
        })
    ));
    store.finish(&job.id, JobEnd::Failed, None).await.unwrap();
    for end in [JobEnd::Succeeded, JobEnd::Failed, JobEnd::Cancelled] {
        let again = store.finish(&job.id, end, Some(json("1"))).await;
        let error = again.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
        assert!(error.hint().contains("stays as it is"));
    }
    assert!(store.get(&job.id).await.unwrap().result.is_none());
    let unknown = store.start("nobody").await.unwrap_err();
    assert!(matches!(unknown, StoreError::NoJob { .. }), "{unknown}");
    let unknown = store.get("nobody").await.unwrap_err();
    assert!(matches!(unknown, StoreError::NoJob { .. }), "{unknown}");
}

#[tokio::test]
async fn what_waits_can_be_cancelled() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let job = store.create(new_job(None)).await.unwrap();
    let cancelled = store
        .finish(&job.id, JobEnd::Cancelled, None)
        .await
        .unwrap();
    assert_eq!(cancelled.status, JobState::Cancelled);
    assert_eq!(cancelled.started_at, None);
    assert!(store.start(&job.id).await.is_err());
}

#[tokio::test]
async fn lists_are_newest_first_and_count_all() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let mut ids = Vec::new();
    for number in 0..6 {
        let session = if number % 2 == 0 { "even" } else { "odd" };
        ids.push(store.create(new_job(Some(session))).await.unwrap().id);
    }
    store.start(&ids[4]).await.unwrap();
    let listed = async |filter: JobFilter| {
        let found = store.list(filter).await.unwrap();
        let ids: Vec<_> = found.jobs.into_iter().map(|job| job.id).collect();
        (ids, found.total)
    };
    let even = |statuses: &[JobState], limit| JobFilter {
        session: Some("even".into()),
        statuses: statuses.to_vec(),
        limit,
    };
    let pick = |places: &[usize]| places.iter().map(|at| ids[*at].clone()).collect::<Vec<_>>();
    assert_eq!(
        listed(JobFilter::default()).await,
        (pick(&[5, 4, 3, 2, 1, 0]), 6)
    );
    assert_eq!(listed(even(&[], 2)).await, (pick(&[4, 2]), 3));
    let twice = [JobState::Queued, JobState::Queued, JobState::Lost];
    assert_eq!(listed(even(&twice, 9)).await, (pick(&[2, 0]), 2));
    assert_eq!(listed(even(&[JobState::Failed], 9)).await, (vec![], 0));
}

#[tokio::test]
async fn what_is_too_big_is_refused() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let text = |bytes: usize| json(&format!("\"{}\"", "x".repeat(bytes - 2)));
    let with = |request| NewJob {
        request,
        ..new_job(None)
    };
    let job = store.create(with(text(MAX_REQUEST_BYTES))).await.unwrap();
    let error = store.create(with(text(MAX_REQUEST_BYTES + 1))).await;
    assert!(matches!(
        error,
        Err(StoreError::TooBig {
            what: "the request",
            ..
        })
    ));
    store.start(&job.id).await.unwrap();
    let large = Some(text(MAX_RESULT_BYTES + 1));
    let error = store.finish(&job.id, JobEnd::Succeeded, large).await;
    assert!(matches!(
        error,
        Err(StoreError::TooBig {
            what: "the result",
            ..
        })
    ));
    let fitting = Some(text(MAX_RESULT_BYTES));
    store
        .finish(&job.id, JobEnd::Succeeded, fitting)
        .await
        .unwrap();
    let kept = store.get(&job.id).await.unwrap().result.unwrap();
    assert_eq!(kept.get().len(), MAX_RESULT_BYTES);
}

/// Jobs that ended, each with a result of this many bytes.
async fn ended(store: &Store, jobs: usize, bytes: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..jobs {
        let job = store.create(new_job(None)).await.unwrap();
        store.start(&job.id).await.unwrap();
        let result = json(&format!("\"{}\"", "x".repeat(bytes)));
        let ended = store.finish(&job.id, JobEnd::Succeeded, Some(result)).await;
        ids.push(ended.unwrap().id);
    }
    ids
}

async fn keeping(retention: Retention) -> (tempfile::TempDir, Store) {
    let (temp, path) = place();
    let options = StoreOptions {
        retention,
        ..StoreOptions::default()
    };
    let store = Store::open(&path, options).await.unwrap();
    (temp, store)
}

#[tokio::test]
async fn only_so_many_finished_jobs_are_kept_and_all_others() {
    let (_temp, store) = keeping(Retention {
        jobs: 3,
        ..Retention::default()
    })
    .await;
    let queued = store.create(new_job(None)).await.unwrap();
    let running = store.create(new_job(None)).await.unwrap();
    store.start(&running.id).await.unwrap();
    let ids = ended(&store, 5, 1).await;
    assert_eq!(total(&store).await, 5);
    for id in [&queued.id, &running.id, &ids[2], &ids[3], &ids[4]] {
        store.get(id).await.unwrap();
    }
    assert!(store.get(&ids[1]).await.is_err());
}

#[tokio::test]
async fn only_so_many_bytes_are_kept_but_always_the_last() {
    let (_temp, store) = keeping(Retention {
        bytes: 2500,
        ..Retention::default()
    })
    .await;
    let ids = ended(&store, 4, 1000).await;
    assert_eq!(total(&store).await, 2);
    store.get(&ids[2]).await.unwrap();
    let ids = ended(&store, 1, 9000).await;
    assert_eq!(total(&store).await, 1);
    store.get(&ids[0]).await.unwrap();
}

#[tokio::test]
async fn what_is_old_goes_but_not_what_runs() {
    let (_temp, store) = keeping(Retention {
        age: Duration::ZERO,
        ..Retention::default()
    })
    .await;
    let running = store.create(new_job(None)).await.unwrap();
    store.start(&running.id).await.unwrap();
    let ids = ended(&store, 1, 1).await;
    // Old is what ended in an earlier millisecond.
    let end = store.get(&ids[0]).await.unwrap().job.ended_at.unwrap();
    while store.create(new_job(None)).await.unwrap().created_at <= end {}
    assert_eq!(store.prune().await.unwrap(), Pruned { jobs: 1, runs: 0 });
    assert!(store.get(&ids[0]).await.is_err());
    store.get(&running.id).await.unwrap();
}

#[tokio::test]
async fn the_dead_lose_their_jobs_and_the_living_keep_them() {
    let (_temp, path) = place();
    let ended = open(&path).await;
    let left = ended.create(new_job(None)).await.unwrap();
    let run = ended.create(new_job(None)).await.unwrap();
    ended.start(&run.id).await.unwrap();
    let living = open(&path).await;
    let kept = living.create(new_job(None)).await.unwrap();
    assert_eq!(living.lose().await.unwrap(), [], "both are alive");
    drop(ended);

    let lost = living.lose().await.unwrap();
    let mut ids: Vec<_> = lost.iter().map(|job| &job.id).collect();
    ids.sort();
    let mut expected = vec![&left.id, &run.id];
    expected.sort();
    assert_eq!(ids, expected);
    assert!(
        lost.iter()
            .all(|job| job.status == JobState::Lost && job.ended_at.is_some())
    );
    let late = living.finish(&run.id, JobEnd::Succeeded, None).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })));
    assert_eq!(living.get(&kept.id).await.unwrap().job, kept);
    let all = living.lose_unless(|_| false).await.unwrap();
    assert_eq!(all.len(), 1, "by another judgement");
}
