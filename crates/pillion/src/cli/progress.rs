//! Progress as people read it.

use serde_json::Value;

/// What a function printed, if that is what a piece of progress tells.
pub(crate) fn printed(json: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct OutputPiece {
        printed: String,
    }
    serde_json::from_str::<OutputPiece>(json)
        .ok()
        .map(|told| told.printed)
}

/// One line of progress.
pub(crate) fn line(json: &str) -> String {
    let Ok(news) = serde_json::from_str::<Value>(json) else {
        return json.to_owned();
    };
    let part = |name: &str| news.get(name).filter(|v| !v.is_null()).cloned();
    let message = part("message")
        .and_then(|m| m.as_str().map(str::to_owned))
        .unwrap_or_default();
    match (part("value"), part("total")) {
        (Some(value), Some(total)) => format!("[{value}/{total}] {message}"),
        (Some(value), None) => format!("[{value}] {message}"),
        _ => message,
    }
}
