//! The outbox under random sequences of operations, compared with a list.

use std::time::Duration;

use pillion_store::{DeliveryKind, OutboxCounts, OutboxLimits, Store, StoreError, StoreOptions};
use proptest::prelude::*;

use crate::outbox::delivery;
use crate::place;

const SESSIONS: [&str; 3] = ["a", "b", "c"];

/// So few that random steps meet the limits.
const LIMITS: OutboxLimits = OutboxLimits {
    waiting: 7,
    bytes: u64::MAX,
    ended: 6,
};

#[derive(Debug, Clone)]
enum Step {
    Enqueue(usize, Vec<(DeliveryKind, u32)>),
    Settle(usize),
    GiveUp(usize),
    PutOff(usize, bool),
    /// Say something about one that ended long ago.
    Late(usize),
    Forget(usize),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0..SESSIONS.len();
    let kind = prop::sample::select(DeliveryKind::ALL.to_vec());
    let batch = prop::collection::vec((kind, 0..6_u32), 0..5);
    prop_oneof![
        8 => (session.clone(), batch).prop_map(|(session, batch)| Step::Enqueue(session, batch)),
        8 => session.clone().prop_map(Step::Settle),
        2 => session.clone().prop_map(Step::GiveUp),
        3 => (session.clone(), any::<bool>()).prop_map(|(session, long)| Step::PutOff(session, long)),
        1 => (0..30_usize).prop_map(Step::Late),
        1 => session.prop_map(Step::Forget),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting { held: bool },
    Settled,
    GivenUp,
    Superseded,
}

#[derive(Debug, Clone)]
struct Known {
    session: &'static str,
    kind: DeliveryKind,
    number: u32,
    attempts: u32,
    state: State,
    ended: usize,
}

impl Known {
    fn waits(&self) -> bool {
        matches!(self.state, State::Waiting { .. })
    }
}

/// Deliveries in the order in which they came.
#[derive(Debug, Clone, Default)]
struct Model {
    known: Vec<Known>,
    ends: usize,
    /// Names of what has ended.
    gone: Vec<i64>,
}

impl Model {
    fn enqueue(&mut self, session: &'static str, batch: &[(DeliveryKind, u32)]) -> bool {
        let before = self.clone();
        let mut added = false;
        for (kind, number) in batch.iter().copied() {
            let same = |known: &&mut Known| known.session == session && known.kind == kind;
            let mut of_kind: Vec<_> = self.known.iter_mut().filter(same).collect();
            let newest = kind != DeliveryKind::Turn;
            let is_known =
                |known: &&mut Known| known.number == number || (newest && known.number > number);
            if of_kind.iter().any(is_known) {
                continue;
            }
            for known in of_kind.iter_mut().filter(|known| newest && known.waits()) {
                self.ends += 1;
                known.state = State::Superseded;
                known.ended = self.ends;
            }
            self.known.push(Known {
                session,
                kind,
                number,
                attempts: 0,
                state: State::Waiting { held: false },
                ended: 0,
            });
            added = true;
        }
        let fits = !added || self.known.iter().filter(|k| k.waits()).count() <= LIMITS.waiting;
        if !fits {
            *self = before;
        }
        self.prune();
        fits
    }

    fn head(&mut self, session: &str) -> Option<&mut Known> {
        let mut of_session = self.known.iter_mut().filter(|k| k.session == session);
        of_session.find(|known| known.waits())
    }

    fn end(&mut self, session: &str, state: State) {
        self.ends += 1;
        let ended = self.ends;
        let head = self.head(session).unwrap();
        head.state = state;
        head.attempts += 1;
        head.ended = ended;
        self.prune();
    }

    fn prune(&mut self) {
        let mut ended: Vec<usize> = self.known.iter().map(|known| known.ended).collect();
        ended.retain(|ended| *ended > 0);
        ended.sort_unstable();
        let gone = ended.len().saturating_sub(LIMITS.ended);
        self.known
            .retain(|known| !ended[..gone].contains(&known.ended));
    }

    fn counts(&self) -> OutboxCounts {
        let count = |is: &dyn Fn(&Known) -> bool| {
            u64::try_from(self.known.iter().filter(|known| is(known)).count()).unwrap()
        };
        OutboxCounts {
            waiting: count(&Known::waits),
            put_off: count(&|known| known.waits() && known.attempts > 0),
            bytes: self
                .known
                .iter()
                .filter(|known| known.waits())
                .map(|known| delivery(known.kind, known.number).body.get().len() as u64)
                .sum(),
            settled: count(&|known| known.state == State::Settled),
            given_up: count(&|known| known.state == State::GivenUp),
        }
    }
}

fn options() -> StoreOptions {
    StoreOptions {
        outbox: LIMITS,
        ..StoreOptions::default()
    }
}

async fn take(step: Step, store: &mut Store, path: &std::path::Path, model: &mut Model) {
    match step {
        Step::Enqueue(session, batch) => {
            let session = SESSIONS[session];
            let deliveries = batch.iter().map(|(kind, n)| delivery(*kind, *n)).collect();
            match store.enqueue(session, deliveries).await {
                Ok(_) => assert!(model.enqueue(session, &batch), "it is full"),
                Err(StoreError::OutboxFull { .. }) => {
                    assert!(!model.enqueue(session, &batch), "there is room");
                }
                Err(other) => panic!("{other}"),
            }
        }
        Step::Settle(session) | Step::GiveUp(session) | Step::PutOff(session, _) => {
            let session = SESSIONS[session];
            let Some(head) = store.next_delivery(session).await.unwrap() else {
                return;
            };
            match step {
                Step::Settle(_) => {
                    assert!(store.settle_delivery(head.id).await.unwrap());
                    model.end(session, State::Settled);
                    model.gone.push(head.id);
                }
                Step::GiveUp(_) => {
                    assert!(store.give_up_delivery(head.id, "no").await.unwrap());
                    model.end(session, State::GivenUp);
                    model.gone.push(head.id);
                }
                _ => {
                    let held = matches!(step, Step::PutOff(_, true));
                    let delay = Duration::from_secs(if held { 3600 } else { 0 });
                    let told = store
                        .put_off_delivery(head.id, delay, "down")
                        .await
                        .unwrap();
                    let known = model.head(session).unwrap();
                    known.attempts += 1;
                    known.state = State::Waiting { held };
                    assert_eq!(told, Some(known.attempts));
                }
            }
        }
        Step::Late(at) => {
            let Some(id) = model.gone.get(at).copied() else {
                return;
            };
            assert!(!store.settle_delivery(id).await.unwrap());
            assert!(!store.give_up_delivery(id, "no").await.unwrap());
            let told = store.put_off_delivery(id, Duration::ZERO, "no").await;
            assert_eq!(told.unwrap(), None);
        }
        Step::Forget(session) => {
            let session = SESSIONS[session];
            let of_session = |known: &&Known| known.session == session && known.waits();
            let waited = model.known.iter().filter(of_session).count();
            model.known.retain(|known| known.session != session);
            assert_eq!(store.forget_deliveries(session).await.unwrap(), waited);
        }
        Step::Reopen => {
            let next = Store::open(path, options()).await.unwrap();
            std::mem::replace(store, next).close().await;
        }
    }
}

async fn look(store: &Store, model: &mut Model) {
    for session in SESSIONS {
        let found = store.next_delivery(session).await.unwrap();
        let expected = model.head(session);
        assert_eq!(found.is_some(), expected.is_some(), "{session}");
        if let (Some(found), Some(expected)) = (found, expected) {
            assert_eq!(
                (found.kind, found.number, found.attempts),
                (expected.kind, expected.number, expected.attempts)
            );
            let held = expected.state == State::Waiting { held: true };
            assert_eq!(!found.wait.is_zero(), held);
            let body = delivery(expected.kind, expected.number).body;
            assert_eq!(found.body.get(), body.get());
        }
    }
    assert_eq!(store.outbox_counts(None).await.unwrap(), model.counts());
    let mut given_up: Vec<_> = model.known.clone();
    given_up.retain(|known| known.state == State::GivenUp);
    given_up.sort_by_key(|known| std::cmp::Reverse(known.ended));
    let listed = store.given_up_deliveries(None, 100).await.unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|found| (found.session.as_str(), found.kind, found.number))
        .collect();
    let expected: Vec<_> = given_up
        .iter()
        .map(|k| (k.session, k.kind, k.number))
        .collect();
    assert_eq!(listed, expected);
}

async fn compare(steps: Vec<Step>) {
    let (_temp, path) = place();
    let mut store = Store::open(&path, options()).await.unwrap();
    let mut model = Model::default();
    for step in steps {
        take(step, &mut store, &path, &mut model).await;
        look(&store, &mut model).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_outbox_does_what_the_model_does(steps in prop::collection::vec(step(), 1..50)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(compare(steps));
    }
}
