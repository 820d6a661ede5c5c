//! Random sequences of operations, compared with the simplest thing that could be right.

use pillion_store::{
    JobEnd, JobFilter, JobState, Retention, Store, StoreError, StoreOptions, StoredJob,
};
use proptest::prelude::*;

use crate::{json, new_job, place};

/// Finished jobs that are kept.
const KEPT: usize = 5;

#[derive(Debug, Clone)]
enum Step {
    Create {
        session: bool,
    },
    Start(usize),
    Finish(usize, JobEnd, Option<u32>),
    List {
        session: bool,
        status: usize,
        limit: usize,
    },
    Lose {
        mine_lives: bool,
    },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let end = prop::sample::select(vec![JobEnd::Succeeded, JobEnd::Failed, JobEnd::Cancelled]);
    prop_oneof![
        4 => any::<bool>().prop_map(|session| Step::Create { session }),
        4 => (0..12_usize).prop_map(Step::Start),
        6 => (0..12_usize, end, any::<Option<u32>>()).prop_map(|(at, end, result)| Step::Finish(at, end, result)),
        2 => (any::<bool>(), 0..7_usize, 0..6_usize)
            .prop_map(|(session, status, limit)| Step::List { session, status, limit }),
        1 => any::<bool>().prop_map(|mine_lives| Step::Lose { mine_lives }),
        1 => Just(Step::Reopen),
    ]
}

/// A job as it should be.
#[derive(Debug, Clone)]
struct Known {
    job: StoredJob,
    result: Option<String>,
}

const STATUSES: [JobState; 6] = [
    JobState::Queued,
    JobState::Running,
    JobState::Succeeded,
    JobState::Failed,
    JobState::Cancelled,
    JobState::Lost,
];

/// In the order of their creation.
#[derive(Debug, Default)]
struct Model {
    known: Vec<Known>,
}

impl Model {
    /// The job that a step means: one of the last, if there is any.
    fn pick(&self, at: usize) -> Option<usize> {
        self.known.len().checked_sub(1 + at)
    }

    fn expected_list(&self, filter: &JobFilter) -> (Vec<StoredJob>, u64) {
        let matching: Vec<StoredJob> = self
            .known
            .iter()
            .rev()
            .map(|known| &known.job)
            .filter(|job| filter.session.is_none() || job.session == filter.session)
            .filter(|job| filter.statuses.is_empty() || filter.statuses.contains(&job.status))
            .cloned()
            .collect();
        let total = matching.len() as u64;
        let limit = if filter.limit == 0 {
            usize::MAX
        } else {
            filter.limit
        };
        (matching.into_iter().take(limit).collect(), total)
    }

    fn prune(&mut self, just_ended: Option<usize>) {
        let mut finished: Vec<(Option<String>, usize)> = self
            .known
            .iter()
            .enumerate()
            .filter(|(_, known)| known.job.ended_at.is_some())
            .map(|(at, known)| (known.job.ended_at.clone(), at))
            .collect();
        finished.sort_by_key(|(end, at)| (just_ended == Some(*at), end.clone(), *at));
        let gone = finished.len().saturating_sub(KEPT);
        let gone: Vec<usize> = finished.drain(..gone).map(|(_, at)| at).collect();
        let mut at = 0;
        self.known.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
    }
}

fn options() -> StoreOptions {
    StoreOptions {
        retention: Retention {
            jobs: KEPT,
            ..Retention::default()
        },
        ..StoreOptions::default()
    }
}

/// Whether the store did or refused what the model does or refuses.
fn same(
    answer: Result<StoredJob, StoreError>,
    before: &StoredJob,
    wanted: JobState,
    allowed: bool,
) -> Option<StoredJob> {
    match answer {
        Ok(job) => {
            assert!(allowed, "{before:?} must not become {wanted}");
            assert_eq!((job.status, &job.id), (wanted, &before.id));
            assert_eq!(job.created_at, before.created_at);
            Some(job)
        }
        Err(StoreError::Conflict {
            id,
            found,
            wanted: told,
        }) => {
            assert!(!allowed, "{before:?} can become {wanted}");
            assert_eq!((&id, found, told), (&before.id, before.status, wanted));
            None
        }
        Err(other) => panic!("{other}"),
    }
}

async fn take(step: Step, store: &mut Store, path: &std::path::Path, model: &mut Model) {
    match step {
        Step::Create { session } => {
            let job = store.create(new_job(session.then_some("s"))).await.unwrap();
            model.known.push(Known { job, result: None });
        }
        Step::Start(at) => {
            let Some(at) = model.pick(at) else { return };
            let before = &model.known[at].job;
            let allowed = before.status == JobState::Queued;
            let answer = store.start(&before.id).await;
            if let Some(job) = same(answer, before, JobState::Running, allowed) {
                model.known[at].job = job;
            }
        }
        Step::Finish(at, end, result) => {
            let Some(at) = model.pick(at) else { return };
            let before = &model.known[at].job;
            let allowed = match before.status {
                JobState::Running => true,
                JobState::Queued => end == JobEnd::Cancelled,
                _ => false,
            };
            let result = result.map(|number| number.to_string());
            let answer = store
                .finish(&before.id, end, result.as_deref().map(json))
                .await;
            if let Some(job) = same(answer, before, end.into(), allowed) {
                model.known[at] = Known { job, result };
                model.prune(Some(at));
            }
        }
        Step::List {
            session,
            status,
            limit,
        } => {
            let filter = JobFilter {
                session: session.then(|| "s".to_owned()),
                statuses: STATUSES.get(status).copied().into_iter().collect(),
                limit,
            };
            let listed = store.list(filter.clone()).await.unwrap();
            assert_eq!((listed.jobs, listed.total), model.expected_list(&filter));
        }
        Step::Lose { mine_lives } => {
            let me = store.owner().to_owned();
            let lost = store
                .lose_unless(move |owner| mine_lives && owner == me)
                .await
                .unwrap();
            let me = store.owner();
            let mut expected = 0;
            for known in &mut model.known {
                let job = &mut known.job;
                let spared = mine_lives && job.owner == me;
                if !job.status.is_final() && !spared {
                    expected += 1;
                    *job = lost.iter().find(|lost| lost.id == job.id).unwrap().clone();
                    assert_eq!(job.status, JobState::Lost);
                }
            }
            assert_eq!(lost.len(), expected);
            store.prune().await.unwrap();
            model.prune(None);
        }
        Step::Reopen => {
            let next = Store::open(path, options()).await.unwrap();
            std::mem::replace(store, next).close().await;
        }
    }
}

async fn compare(steps: Vec<Step>) {
    let (_temp, path) = place();
    let mut store = Store::open(&path, options()).await.unwrap();
    let mut model = Model::default();
    for step in steps {
        take(step, &mut store, &path, &mut model).await;
    }
    let all = store.list(JobFilter::default()).await.unwrap();
    assert_eq!(
        (all.jobs, all.total),
        model.expected_list(&JobFilter::default())
    );
    for known in &model.known {
        let found = store.get(&known.job.id).await.unwrap();
        assert_eq!(found.job, known.job);
        assert_eq!(
            found.result.map(|result| result.get().to_owned()),
            known.result
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(compare(steps));
    }
}
