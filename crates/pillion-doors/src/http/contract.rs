//! `GET /api/contract`: what is served, for clients that look before they rely on it.

use pillion_catalogue::{Method, Stability};
use serde::Serialize;

use super::routes;
use crate::DoorState;

/// Where it is.
pub(super) const PATH: &str = "/api/contract";
/// The contract that clients ask for.
const VERSION: &str = "v1";

/// Paths that are no operation's own, and what answers them.
const FIXED: &[(Method, &str, Stability, &str)] = &[
    (Method::Get, PATH, Stability::Frozen, "http.contract"),
    (Method::Get, "/", Stability::Stable, "http.home"),
    (Method::Get, "/docs", Stability::Stable, "http.docs"),
    (Method::Get, "/metrics", Stability::Stable, "http.metrics"),
    (
        Method::Get,
        "/openapi.json",
        Stability::Stable,
        "http.openapi",
    ),
    (
        Method::Post,
        super::access::OPEN,
        Stability::Stable,
        "http.open",
    ),
    (
        Method::Post,
        "/v1/{operation}",
        Stability::Stable,
        "http.call",
    ),
    (Method::Get, "/mcp", Stability::Stable, "mcp"),
    (Method::Post, "/mcp", Stability::Stable, "mcp"),
    (Method::Delete, "/mcp", Stability::Stable, "mcp"),
];

/// What is served.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct Contract {
    /// The contract that is kept.
    contract_version: &'static str,
    /// The version of pillion.
    api_version: &'static str,
    /// Every path.
    routes: Vec<Served>,
    /// The types of events that sessions stream.
    sse_event_types: Vec<&'static str>,
}

/// A path that is served.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Served {
    /// How it is asked.
    method: &'static str,
    /// Where.
    path: &'static str,
    /// `frozen`: a shipped client uses it as it is; `stable`: it may gain members.
    stability: &'static str,
    /// The operation behind it.
    source: &'static str,
}

impl Contract {
    pub(super) fn of(state: &DoorState) -> Self {
        let fixed = FIXED
            .iter()
            .map(|(method, path, stability, source)| Served {
                method: method.as_str(),
                path,
                stability: stability.word(),
                source,
            });
        let offered = routes::all(state).map(|(definition, route)| Served {
            method: route.method.as_str(),
            path: route.path,
            stability: route.stability.word(),
            source: definition.name,
        });
        let mut served: Vec<Served> = offered.chain(fixed).collect();
        if state.exposed.is_some() {
            served.push(Served {
                method: Method::Post.as_str(),
                path: "/{function}",
                stability: Stability::Stable.word(),
                source: "http.call",
            });
        }
        served.sort_by_key(|one| (one.path, one.method));
        Self {
            contract_version: VERSION,
            api_version: env!("CARGO_PKG_VERSION"),
            routes: served,
            sse_event_types: state.event_types.to_vec(),
        }
    }
}
