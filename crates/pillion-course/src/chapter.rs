//! Reading one chapter, once it is known where to look.
//!
//! Every file is taken from the first place that has it. A place is a folder, and its
//! `prompts/` comes before the folder itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_saphyr::Spanned;

use crate::error::Flaws;
use crate::files::{Bundle, DATASET_BYTES, SCRIPT_BYTES, Text};
use crate::rules::MOST_RULES;
use crate::title::title;
use crate::yaml;
use crate::{
    BindingRule, Chapter, ChapterId, ConsultationRules, CopiedFile, Error, ExpertRegistry, tasks,
};

/// Files that every chapter has.
pub const REQUIRED: [&str; 3] = [
    "chapter_context.md",
    "task_list.md",
    "task_completion_principles.md",
];
/// Files that a chapter may have.
pub const OPTIONAL: [&str; 4] = [
    "interaction_protocol.md",
    "socratic_vs_direct.md",
    "consultation_config.yaml",
    "consultation_guide.md",
];
/// Prompts that an application or a chapter may override: the companion's, the roadmap
/// manager's before and after a consultation, the memo agent's, and the first message.
pub const PROMPTS: [&str; 5] = [
    "companion.md",
    "manager.md",
    "manager_consulted.md",
    "memo.md",
    "welcome.md",
];
/// What `{{...}}` in a prompt can stand for.
pub const PLACEHOLDERS: [&str; 19] = [
    "chapter_title",
    "chapter_context",
    "task_list",
    "task_completion_principles",
    "interaction_protocol",
    "socratic_vs_direct",
    "consultation_guide",
    "available_experts",
    "state",
    "packet",
    "digest",
    "report",
    "memory",
    "history",
    "turn_outcome",
    "consultation",
    "learner_message",
    "error_summary",
    "language",
];
/// Starter files and datasets of one chapter, each.
const MOST_FILES: usize = 100;
/// Experts that one chapter may ask.
const MOST_EXPERTS: usize = 50;

/// A folder of a bundle that may have a chapter's files.
#[derive(Debug, Clone)]
pub(crate) struct ChapterFolder {
    pub(crate) bundle: Bundle,
    pub(crate) folder: PathBuf,
}

impl ChapterFolder {
    /// The folder as it is told to people.
    pub(crate) fn shown(&self) -> PathBuf {
        self.bundle.shown(&self.folder)
    }

    /// A file of the place: from its `prompts/`, else from the folder itself.
    pub(crate) fn text(&self, name: &str) -> Result<Option<Text>, Error> {
        let prompts = self.folder.join("prompts").join(name);
        match self.bundle.text(&prompts)? {
            Some(text) => Ok(Some(text)),
            None => self.bundle.text(&self.folder.join(name)),
        }
    }

    /// Whether it has one of the files that make a chapter.
    pub(crate) fn has_chapter(&self) -> Result<bool, Error> {
        for name in REQUIRED {
            for folder in [self.folder.join("prompts"), self.folder.clone()] {
                if self.bundle.find(&folder.join(name))?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Where the files of a chapter are looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChapterFolders {
    /// The chapter's own places.
    pub(crate) chapter: Vec<ChapterFolder>,
    /// The application's, then the machine's resources for all chapters.
    pub(crate) agents: Vec<ChapterFolder>,
    /// Texts for chapters that have none.
    pub(crate) templates: Vec<ChapterFolder>,
}

fn first<'a>(
    places: impl IntoIterator<Item = &'a ChapterFolder>,
    name: &str,
) -> Result<Option<Text>, Error> {
    for place in places {
        if let Some(text) = place.text(name)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Read a chapter from its places. The caller made sure that one of them has a chapter.
pub(crate) fn read(
    id: &ChapterId,
    places: &ChapterFolders,
    registry: &ExpertRegistry,
) -> Result<Chapter, Error> {
    let required = |name: &str| -> Result<Text, Error> {
        first(&places.chapter, name)?.ok_or_else(|| Error::NotFound {
            what: format!("`{name}` of chapter `{id}`"),
            looked: places.chapter.iter().map(ChapterFolder::shown).collect(),
        })
    };
    let context = required("chapter_context.md")?.text;
    let list = required("task_list.md")?;
    let completion_principles = required("task_completion_principles.md")?.text;
    let (tasks, again) = tasks::parse(&list.text);
    if tasks.is_empty() {
        return Err(Error::invalid(&list.path, None, NO_TASKS));
    }
    let mut warnings: Vec<String> = Vec::new();
    for task in again {
        let (path, line) = (list.path.display(), task.line);
        warnings.push(format!("`{path}:{line}`: {}", twice(&task.id)));
    }

    let own = || places.chapter.iter();
    let shared = |name: &str| -> Result<Option<String>, Error> {
        let all = own().chain(&places.agents).chain(&places.templates);
        Ok(first(all, name)?.map(|found| found.text))
    };
    let mut prompts = BTreeMap::new();
    for name in PROMPTS {
        if let Some(found) = first(own().chain(&places.agents), name)? {
            prompts.insert(name.to_owned(), found.text);
        }
    }

    let mut consultation = ConsultationRules::default();
    if let Some(source) = first(own(), "consultation_config.yaml")? {
        let (found, flaws) = consultation_config(&source)?;
        consultation = found;
        let shown = source.path.display();
        warnings.extend(flaws.into_iter().map(|(line, message)| match line {
            Some(line) => format!("`{shown}:{line}`: {message}"),
            None => format!("`{shown}`: {message}"),
        }));
    }
    let mut experts = Vec::new();
    for id in &consultation.available_experts {
        match registry.load(id) {
            Ok((expert, flaws)) => {
                experts.push(expert);
                warnings.extend(flaws);
            }
            Err(error) => warnings.push(format!("expert `{id}` is left out: {error}")),
        }
    }

    let mut folder = PathBuf::new();
    for place in own() {
        if place.has_chapter()? {
            folder = place.shown();
            break;
        }
    }
    Ok(Chapter {
        id: id.clone(),
        title: title(&context).unwrap_or_else(|| id.name().to_owned()),
        folder,
        context,
        task_list: list.text,
        tasks,
        completion_principles,
        interaction_protocol: shared("interaction_protocol.md")?,
        socratic_vs_direct: shared("socratic_vs_direct.md")?,
        consultation,
        consultation_guide: shared("consultation_guide.md")?,
        prompts,
        scripts: sources(&places.chapter, "scripts", SCRIPT_BYTES, &mut warnings)?,
        datasets: sources(&places.chapter, "datasets", DATASET_BYTES, &mut warnings)?,
        experts,
        warnings,
    })
}

pub(crate) const NO_TASKS: &str = "there is no task: write lines like `- **id** what to do`";

pub(crate) fn twice(id: &str) -> String {
    format!("the task `{id}` is there twice")
}

/// Read `consultation_config.yaml`. What cannot be used is left out and told.
pub(crate) fn consultation_config(source: &Text) -> Result<(ConsultationRules, Flaws), Error> {
    let value = yaml::parse(&source.path, &source.text, 1)?;
    let mut found = ConsultationRules::default();
    let mut flaws: Flaws = Vec::new();
    let line_of = |word: &str| yaml::line_of(&source.text, word);
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return Ok((found, flaws)),
        _ => {
            let message = "this is a map of `available_experts` and `binding_rules`";
            return Err(Error::invalid(&source.path, Some(1), message));
        }
    };
    for name in fields.keys() {
        if !["available_experts", "binding_rules"].contains(&name.as_str()) {
            flaws.push((line_of(name), format!("there is no setting `{name}`")));
        }
    }
    let ids: Vec<Option<&str>> = match fields.get("available_experts") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list
            .iter()
            .map(|item| match item {
                Value::Object(fields) => yaml::field(fields, &["expert_id", "id"])?.as_str(),
                other => other.as_str(),
            })
            .collect(),
        Some(Value::Object(map)) => map.keys().map(|id| Some(id.as_str())).collect(),
        Some(_) => vec![None],
    };
    for id in ids {
        match id.filter(|id| crate::is_plain(id)) {
            Some(id) if found.available_experts.iter().any(|known| known == id) => {}
            Some(id) if found.available_experts.len() < MOST_EXPERTS => {
                found.available_experts.push(id.to_owned());
            }
            Some(_) => flaws.push((
                None,
                format!("at most {MOST_EXPERTS} experts are available"),
            )),
            None => {
                let message = "`available_experts` is a list of ids of experts";
                let word = id.unwrap_or("available_experts");
                flaws.push((
                    line_of(word).or_else(|| line_of("available_experts")),
                    message.into(),
                ));
            }
        }
    }
    let rules = match fields.get("binding_rules") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(list)) => list.as_slice(),
        Some(_) => {
            flaws.push((line_of("binding_rules"), "`binding_rules` is a list".into()));
            &[]
        }
    };
    if rules.len() > MOST_RULES {
        let message = format!("at most {MOST_RULES} binding rules are used");
        flaws.push((line_of("binding_rules"), message));
    }
    let lines = lines_of_rules(&source.text);
    for (number, rule) in rules.iter().take(MOST_RULES).enumerate() {
        let wrong = match BindingRule::parse(rule) {
            Ok(rule) => {
                found.binding_rules.push(rule);
                continue;
            }
            Err(wrong) => wrong,
        };
        // The words of a rule are in other rules, too.
        let first = lines.get(number).copied();
        let end = lines.get(number + 1).copied().unwrap_or(usize::MAX);
        let line = |word: &str| match first {
            Some(first) => yaml::line_between(&source.text, word, first, end).or(Some(first)),
            None => line_of(word),
        };
        flaws.extend(
            wrong
                .into_iter()
                .map(|flaw| (line(&flaw.word), flaw.message)),
        );
    }
    Ok((found, flaws))
}

/// The line at which each binding rule begins. There are none where that cannot be said: a
/// document of JSON, for one, need not be YAML.
fn lines_of_rules(text: &str) -> Vec<usize> {
    #[derive(Default, Deserialize)]
    struct Lines {
        #[serde(default)]
        binding_rules: Vec<Spanned<IgnoredAny>>,
    }
    let lines: Lines = serde_saphyr::from_str(text).unwrap_or_default();
    let line = |rule: &Spanned<IgnoredAny>| usize::try_from(rule.referenced.line()).ok();
    lines.binding_rules.iter().filter_map(line).collect()
}

/// Whether a learner must not see this file.
pub(crate) fn is_solution(name: &str) -> bool {
    name.eq_ignore_ascii_case("solution.py")
}

/// The files of `scripts/` or `datasets/`, from the first place that has such a folder.
fn sources(
    places: &[ChapterFolder],
    name: &str,
    limit: u64,
    warnings: &mut Vec<String>,
) -> Result<Vec<CopiedFile>, Error> {
    for place in places {
        let folder = place.folder.join(name);
        if !place.bundle.has_folder(&folder)? {
            continue;
        }
        let shown = place.bundle.shown(&folder);
        let mut files = Vec::new();
        for item in place.bundle.list(&folder)? {
            if is_solution(&item.name) {
                continue;
            }
            if item.is_folder {
                let path = shown.join(&item.name);
                warnings.push(format!("the folder `{}` is left out", path.display()));
                continue;
            }
            files.push(CopiedFile::of(&shown, item, limit)?);
        }
        if files.len() > MOST_FILES {
            return Err(Error::TooLarge {
                path: shown,
                limit: MOST_FILES as u64,
                unit: "files",
            });
        }
        return Ok(files);
    }
    Ok(Vec::new())
}

/// The placeholders of a prompt with their lines, known or not.
pub fn placeholders(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line;
        while let Some((_, behind)) = rest.split_once("{{") {
            let Some((name, after)) = behind.split_once("}}") else {
                break;
            };
            let name = name.trim();
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            // Braces around anything else are text, as in an example of JSON.
            if !name.is_empty() && name.chars().all(word) {
                found.push((number + 1, name));
                rest = after;
            } else {
                rest = behind;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> (ConsultationRules, Flaws) {
        let source = Text {
            path: "consultation_config.yaml".into(),
            text: text.into(),
        };
        consultation_config(&source).unwrap()
    }

    #[test]
    fn a_consultation_is_read_and_what_is_wrong_in_it_is_left_out() {
        let (found, flaws) = config(
            "available_experts:\n  - one\n  - expert_id: two\n  - ../three\n  - one\n\
             binding_rules:\n  - expert_id: one\n    set: {task_type: core}\n  - expert_id: two\n    \
             color: red\nextra: 1\n",
        );
        assert_eq!(found.available_experts, ["one", "two"]);
        assert_eq!(found.binding_rules.len(), 1);
        let lines: Vec<_> = flaws.iter().map(|(line, _)| line.unwrap()).collect();
        assert_eq!(lines, [11, 4, 10], "{flaws:?}");
        assert_eq!(config(""), (ConsultationRules::default(), Vec::new()));
        assert_eq!(config("available_experts:\nbinding_rules: []\n").1, []);
        assert_eq!(
            config("available_experts: {a: 1}\n").0.available_experts,
            ["a"]
        );
    }

    #[test]
    fn placeholders_are_words_in_double_braces() {
        let text = "Hi {{ language }} and {{state}}{{oops}}\n{\"a\": {\"b\": {}}}\n{{ {{packet}}";
        assert_eq!(
            placeholders(text),
            [(1, "language"), (1, "state"), (1, "oops"), (3, "packet")]
        );
    }
}
