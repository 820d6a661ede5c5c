//! One of each service, what they share, and what one of them does for another.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use pillion_catalogue::{Catalogue, Code, Definition, Door, DoorMode, Error, Request, Result};
use pillion_code::{CodeService, Unsaved};
use pillion_doors::DoorState;
use pillion_exec::ExecService;
use pillion_install::InstallService;
use pillion_lanes::{Executor, SessionsRoot};
use pillion_notebook::{NotebookService, Reader, ReaderFuture, TypedText};
use pillion_project::Projects;
use pillion_python::PythonService;
use pillion_runtime::Dirs;
use pillion_session::SessionService;
use pillion_store::{Retention, StoreHandle};
use pillion_supervisor::{Events, Supervisor};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::system::{self, EngineAddress, KnownOperations, SystemService};

/// How long sidecars may take to end by themselves.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// How an engine is set up.
#[derive(Debug, Clone, Default)]
pub struct EngineOptions {
    /// The folders to keep things in; those of the environment if not given.
    pub dirs: Option<Dirs>,
    /// The folder that stands for `root` where a request names none.
    pub root: Option<PathBuf>,
    /// Where this engine can be reached, for `system.status`.
    pub place: EngineAddress,
    /// Where sessions are kept; among pillion's own data if not given.
    pub sessions: Option<SessionsRoot>,
}

/// A whole pillion inside this process.
#[derive(Debug, Clone)]
pub struct Engine {
    catalogue: Arc<Catalogue>,
    supervisor: Arc<Supervisor>,
    exec: Arc<ExecService>,
    session: Arc<SessionService>,
    shutdown: CancellationToken,
    root: Option<PathBuf>,
    mode: DoorMode,
}

impl Engine {
    /// An engine with all services. Nothing is started before the first call.
    pub fn new(options: EngineOptions) -> Self {
        let mut catalogue = Catalogue::default();
        let mode = options.place.mode;
        let dirs = options.dirs.unwrap_or_else(Dirs::from_env);
        let supervisor = Arc::new(Supervisor::new(catalogue.activity().clone()));
        let shutdown = CancellationToken::new();
        let projects = Arc::new(Projects::new(dirs.clone()));
        let code = Arc::new(CodeService::new(
            Arc::clone(&supervisor),
            Arc::clone(&projects),
        ));
        let system = SystemService::new(
            Arc::clone(&supervisor),
            Arc::clone(catalogue.stats()),
            catalogue.activity().clone(),
            shutdown.clone(),
            options.place,
            (Arc::clone(&code), dirs.clone()),
            KnownOperations {
                definitions,
                contract,
            },
        );
        catalogue.add(system::operations(), &Arc::new(system));
        catalogue.add(pillion_code::operations::operations(), &code);
        let executor = Arc::new(Executor::new(
            Arc::clone(&projects),
            catalogue.activity().clone(),
            Arc::clone(&supervisor),
        ));
        if let Some(sessions) = options.sessions {
            executor.set_sessions(sessions);
        }
        let store = store(&dirs);
        let exec = Arc::new(ExecService::new(
            Arc::clone(&executor),
            dirs.clone(),
            store.clone(),
            shutdown.clone(),
        ));
        catalogue.add(pillion_exec::operations::operations(), &exec);
        let session = Arc::new(SessionService::new(
            Arc::clone(&executor),
            dirs.clone(),
            store,
            shutdown.clone(),
        ));
        catalogue.add(pillion_session::operations::operations(), &session);
        let reader = Arc::new(CellReader(Arc::clone(&code)));
        let notebook = NotebookService::new(Arc::clone(&executor), reader);
        catalogue.add(
            pillion_notebook::operations::operations(),
            &Arc::new(notebook),
        );
        let install = InstallService::new(dirs);
        catalogue.add(
            pillion_install::operations::operations(),
            &Arc::new(install),
        );
        let python = PythonService::new(Arc::clone(&supervisor), projects);
        catalogue.add(pillion_python::operations::operations(), &Arc::new(python));
        let catalogue = Arc::new(catalogue);
        executor.set_host(Arc::new(Functions(Arc::downgrade(&catalogue))));
        Self {
            catalogue,
            supervisor,
            exec,
            session,
            shutdown,
            root: options.root,
            mode,
        }
    }

    /// Ask for an operation.
    pub async fn call(&self, operation: &str, params: &(impl Serialize + Sync)) -> Result<Value> {
        let params = to_raw_value(params).map_err(Error::internal)?;
        let request = Request::new(Door::Embedded).root(self.root.clone());
        let result = self.call_raw(operation, Some(&params), request).await?;
        serde_json::from_str(result.get()).map_err(Error::internal)
    }

    /// Ask for an operation, with full control over the request, without decoding.
    pub async fn call_raw(
        &self,
        operation: &str,
        params: Option<&RawValue>,
        request: Request,
    ) -> Result<Box<RawValue>> {
        self.catalogue.call(operation, params, request).await
    }

    /// The operations.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// News about sidecars.
    pub fn events(&self) -> &Events {
        self.supervisor.events()
    }

    /// What doors lead to.
    pub fn door_state(&self) -> DoorState {
        DoorState {
            catalogue: Arc::clone(&self.catalogue),
            shutdown: self.shutdown.clone(),
            root: self.root.clone(),
            surroundings: pillion_catalogue::Caller::default(),
            peer: pillion_catalogue::Peer::default(),
            exposed: None,
            mode: self.mode,
            event_types: pillion_session::EVENTS,
        }
    }

    /// End all jobs and sidecars. What is not gone after half a second is killed.
    pub async fn stop(&self) {
        self.shutdown.cancel();
        tokio::join!(
            self.session.stop(),
            self.exec.stop(),
            self.supervisor.stop_all(STOP_TIMEOUT)
        );
    }
}

/// The store that services share; nothing is opened yet.
fn store(dirs: &Dirs) -> StoreHandle {
    let standard = Retention::default();
    let kept = std::env::var(pillion_protocol::vars::PILLION_JOBS_KEPT);
    let kept = kept.ok().and_then(|kept| kept.parse().ok());
    let options = pillion_store::StoreOptions {
        retention: Retention {
            jobs: kept.unwrap_or(standard.jobs),
            ..standard
        },
        ..pillion_store::StoreOptions::default()
    };
    let dirs = dirs.clone();
    StoreHandle::new(
        move || dirs.usable_data().join(pillion_store::FILE),
        options,
    )
}

/// Functions that code in a lane may call: `py.call`, as everybody else's.
#[derive(Debug)]
struct Functions(Weak<Catalogue>);

impl pillion_lanes::Host for Functions {
    fn call(&self, call: pillion_lanes::FunctionCall) -> pillion_lanes::Returned {
        let catalogue = self.0.upgrade();
        Box::pin(async move {
            let catalogue =
                catalogue.ok_or_else(|| Error::new(Code::ShuttingDown, "pillion is ending"))?;
            let left = call.deadline.saturating_duration_since(Instant::now());
            let params = json!({
                "function": call.function,
                "params": call.arguments,
                "root": call.root,
                "python": call.python,
                "virtual_env": call.virtual_env,
                "conda_prefix": call.conda_prefix,
                "timeout_ms": u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1),
            });
            let params = to_raw_value(&params).map_err(Error::internal)?;
            let mut request = Request::new(Door::Embedded);
            request.deadline = Some(call.deadline);
            request.peer = call.peer;
            let called = catalogue.call("py.call", Some(&params), request).await?;
            #[derive(serde::Deserialize)]
            struct Called {
                result: Box<RawValue>,
            }
            let called: Called = serde_json::from_str(called.get()).map_err(Error::internal)?;
            Ok(called.result)
        })
    }
}

/// Cells that are being typed are read by what reads all other code.
#[derive(Debug)]
struct CellReader(Arc<CodeService>);

impl Reader for CellReader {
    fn complete(&self, typed: TypedText) -> ReaderFuture<Vec<String>> {
        let code = Arc::clone(&self.0);
        Box::pin(async move { code.complete(&unsaved(typed)).await })
    }

    fn describe(&self, typed: TypedText) -> ReaderFuture<Option<String>> {
        let code = Arc::clone(&self.0);
        Box::pin(async move { code.describe(&unsaved(typed)).await })
    }
}

fn unsaved(typed: TypedText) -> Unsaved {
    Unsaved {
        python: typed.python,
        text: typed.text,
        line: typed.line,
        column: typed.column,
    }
}

/// Every operation there is, without an engine: for the command line and the reference.
pub fn definitions() -> Vec<Definition> {
    let mut all: Vec<_> = system::operations()
        .definitions()
        .chain(pillion_code::operations::operations().definitions())
        .chain(pillion_exec::operations::operations().definitions())
        .chain(pillion_install::operations::operations().definitions())
        .chain(pillion_notebook::operations::operations().definitions())
        .chain(pillion_python::operations::operations().definitions())
        .chain(pillion_session::operations::operations().definitions())
        .collect();
    all.sort_by_key(|definition| definition.name);
    all
}

/// A hash over all operations and their schemas: two pillions with the same one understand
/// each other in full.
pub fn contract() -> &'static str {
    static CONTRACT: OnceLock<String> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        let mut hash = Sha256::new();
        for definition in definitions() {
            hash.update(definition.name);
            hash.update(definition.params_schema().to_value().to_string());
            hash.update(definition.output_schema().to_value().to_string());
        }
        let mut digits = hex::encode(hash.finalize());
        digits.truncate(16);
        digits
    })
}
