//! What a desktop says about the content of a chapter.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pillion_course::Bundles;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// What a desktop says about the content of a chapter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DesktopContext {
    /// Where its bundles are.
    #[serde(deserialize_with = "or_default")]
    pub bundle_paths: BundlePaths,
    /// Where prompts came from; pillion finds that out by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_sources: Option<Value>,
    /// What the chapter is a part of.
    #[serde(deserialize_with = "or_default")]
    pub chapter_scope: ChapterScope,
}

/// Where bundles are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BundlePaths {
    /// The chapter's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chapter_bundle_path: Option<PathBuf>,
    /// The application's prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_agents_path: Option<PathBuf>,
    /// Experts for all chapters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experts_shared_path: Option<PathBuf>,
    /// Experts by name.
    #[serde(deserialize_with = "given")]
    pub expert_bundle_paths: BTreeMap<String, PathBuf>,
}

/// What a chapter is a part of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChapterScope {
    /// The name of the bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    /// The course.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub course_id: Option<String>,
    /// What else the desktop says.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// `null` where an object could be.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Paths by name, of which some may be `null`.
fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, PathBuf>, D::Error> {
    let paths = Option::<BTreeMap<String, Option<PathBuf>>>::deserialize(deserializer)?;
    let paths = paths.into_iter().flatten();
    Ok(paths.filter_map(|(id, path)| Some((id, path?))).collect())
}

impl DesktopContext {
    pub(crate) fn bundles(&self) -> Bundles {
        let paths = &self.bundle_paths;
        // An empty text is no path.
        let given = |path: &Option<PathBuf>| path.clone().filter(|p| !p.as_os_str().is_empty());
        Bundles {
            chapter: given(&paths.chapter_bundle_path),
            app_agents: given(&paths.app_agents_path),
            experts_shared: given(&paths.experts_shared_path),
            experts: paths.expert_bundle_paths.clone(),
            course_id: self.chapter_scope.course_id.clone(),
            scope_id: self.chapter_scope.scope_id.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_of_a_desktop_may_say_little() {
        let read = |text| serde_json::from_str::<DesktopContext>(text).unwrap();
        let empty = read("{}");
        assert_eq!(
            empty,
            read(r#"{"bundle_paths": null, "chapter_scope": null}"#)
        );
        let nulls =
            r#"{"bundle_paths": {"app_agents_path": null, "expert_bundle_paths": {"x": null}}}"#;
        assert_eq!(empty, read(nulls));
        let some = read(
            r#"{"bundle_paths": {"chapter_bundle_path": "", "app_agents_path": "/a"},
                "prompt_sources": {"x": 1}, "chapter_scope": {"course_id": "c", "more": 2}}"#,
        );
        let bundles = some.bundles();
        assert_eq!(bundles.chapter, None, "an empty text is no path");
        assert_eq!(bundles.app_agents, Some("/a".into()));
        assert_eq!(bundles.course_id.as_deref(), Some("c"));
    }
}
