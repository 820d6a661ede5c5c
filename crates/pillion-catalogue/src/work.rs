//! Work that computes or blocks, on a thread of its own, for as long as somebody waits for it.
//!
//! The daemon has one thread for all of its doors, so a job that takes long must not run on
//! it: no deadline would be kept meanwhile, nobody's. A job on another thread cannot be
//! stopped from outside either. It is handed a token and looks at it from time to time: the
//! token is cancelled when the caller's future is dropped, which is what a deadline, a
//! cancelled request and a closed connection all come to.
//!
//! What changes something is another matter: a caller who hears `timeout` would believe that
//! nothing happened. Once it has begun, its request is answered when it is done.

use std::cell::Cell;

use tokio_util::sync::CancellationToken;

use crate::{Code, Error, Result};

/// Do `job` on a thread of its own. Its token says whether anybody still waits.
pub async fn work<T: Send + 'static>(
    job: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T> {
    let token = CancellationToken::new();
    let _caller = token.clone().drop_guard();
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let done = tokio::task::spawn_blocking(move || job(&token));
    done.await.map_err(Error::internal)
}

tokio::task_local! {
    /// Whether the request at hand has begun to change something.
    pub(crate) static COMMITTED: Cell<bool>;
}

/// Do a job that changes something, on a thread of its own. From here on neither the deadline
/// nor a cancel of the request keeps its caller from hearing how it ended.
pub async fn commit<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    // Outside of a request nobody is told anything too early.
    let _ = COMMITTED.try_with(|committed| committed.set(true));
    work(|_| job()).await
}

/// Do a job that is known to be `short` at once, as a change of threads would take longer
/// than it does; any other as [`work`].
pub async fn work_unless<T: Send + 'static>(
    short: bool,
    job: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T> {
    match short {
        true => Ok(job(&CancellationToken::new())),
        false => work(job).await,
    }
}

/// `Err` once nobody waits any more: for jobs that leave by `?`.
pub fn wanted(token: &CancellationToken) -> Result<()> {
    match token.is_cancelled() {
        false => Ok(()),
        true => Err(Error::new(
            Code::Cancelled,
            "nobody waits for this answer any more",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_job_whose_caller_is_gone_is_told() {
        let (began, begin) = tokio::sync::oneshot::channel();
        let (ended, end) = mpsc::channel();
        let job = work(move |token| {
            began.send(()).unwrap();
            while wanted(token).is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
            ended.send(()).unwrap();
        });
        tokio::select! {
            _ = job => panic!("it ends only when it is dropped"),
            begun = begin => begun.unwrap(),
        }
        end.recv_timeout(Duration::from_secs(20)).unwrap();
    }

    #[tokio::test]
    async fn a_job_gives_what_it_made_and_a_panic_is_an_error() {
        assert_eq!(work(|_| 3).await.unwrap(), 3);
        assert_eq!(work_unless(true, |_| 4).await.unwrap(), 4);
        let error = work(|_| panic!("no")).await.unwrap_err();
        assert_eq!(error.code, Code::InternalError);
    }
}
