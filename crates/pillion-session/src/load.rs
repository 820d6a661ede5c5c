//! What lies in the folder of a session, read as what it means.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pillion_agents::{InstructionPacket, MemoDigest, MemoryState, SessionState};
use pillion_catalogue::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::context::DesktopContext;
use crate::folder::{Folder, names, no_session};

/// Where data of a session is in its workspace.
pub(crate) const DATA: &str = "data";

/// The record of where the content of a session is, `session_paths.json`. Desktops write one of
/// their own, so everything in it may be missing or mean something else, and what else is in it
/// stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Paths {
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    /// The name of the content that the session began with.
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) overlay: Option<String>,
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) desktop_context: Option<DesktopContext>,
    /// Where chapters and experts were looked for.
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) curriculum: Option<std::path::PathBuf>,
    /// The backend, without what it knows the learner by.
    #[serde(deserialize_with = "or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) backend_url: Option<String>,
    /// Data files that were there when the last turn began, with the time of each: one that is
    /// uploaded again is a new one.
    #[serde(
        deserialize_with = "or_none",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub(crate) seen_uploads: BTreeMap<String, String>,
    #[serde(flatten)]
    pub(crate) extra: Map<String, Value>,
}

/// What is not what it should be, as if it were not there.
fn or_none<'de, D, T>(deserializer: D) -> std::result::Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Which files came with the chapter, `workspace_sources.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sources {
    pub(crate) workspace: Vec<String>,
    pub(crate) datasets: Vec<String>,
    #[serde(flatten)]
    pub(crate) extra: Map<String, Value>,
}

/// Everything that a turn needs of a session.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) state: SessionState,
    pub(crate) packet: Option<InstructionPacket>,
    pub(crate) digest: Option<MemoDigest>,
    pub(crate) memory: MemoryState,
    pub(crate) report: String,
    pub(crate) paths: Paths,
}

/// The state of a session.
pub(crate) fn state(folder: &Folder) -> Result<SessionState> {
    let state: Option<SessionState> = folder.json(names::STATE)?;
    let mut state = state.ok_or_else(|| no_session(folder.id()))?;
    // A copy of a session has the name of its folder.
    state.session_id = folder.id().to_owned();
    Ok(state)
}

/// All of it. What may be missing is; what is there and broken is told.
pub(crate) fn snapshot(folder: &Folder) -> Result<Snapshot> {
    Ok(Snapshot {
        state: state(folder)?,
        packet: folder.json(names::PACKET)?,
        digest: folder.json(names::DIGEST)?,
        memory: folder.json(names::MEMORY)?.unwrap_or_default(),
        report: folder.text(names::REPORT)?.unwrap_or_default(),
        paths: paths(folder)?,
    })
}

/// Where its content is.
pub(crate) fn paths(folder: &Folder) -> Result<Paths> {
    Ok(folder.json(names::PATHS)?.unwrap_or_default())
}

/// Which files came with the chapter. A desktop writes this too, in forms of its own: what
/// cannot be read names nothing.
pub(crate) fn sources(folder: &Folder) -> Sources {
    folder
        .json(names::SOURCES)
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// Now, to the microsecond always, so that texts compare as times.
pub(crate) fn now() -> String {
    format!("{:.6}", Timestamp::now())
}
