//! Experts: who there is, and what one knows and can do.
//!
//! A folder of experts lists them in `yellow_page.generated.json`, or each expert's
//! `principles.md` tells of itself by its metadata. Several folders are merged: where two know
//! the same expert, the later one's files are used, and what the later one leaves open is told
//! by the earlier. The order is: `experts/` beside the courses, `EXPERTS_DIR`, the shared
//! bundle, then the bundles of single experts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::Flaws;
use crate::files::{Bundle, SCRIPT_BYTES, TEXT_BYTES, Text};
use crate::title::title;
use crate::yaml;
use crate::{Bundles, CopiedFile, Document, Error, Expert, Roots, Skill, id, is_plain};

/// The list of experts that a folder may have.
pub(crate) const PAGE: &str = "yellow_page.generated.json";
/// The file that makes a folder an expert's.
pub(crate) const PRINCIPLES: &str = "principles.md";
/// Where a bundle may keep its experts.
pub(crate) const FOLDERS: [&str; 3] = ["", "experts", "content/experts"];
/// Experts of all folders together.
const MOST_EXPERTS: usize = 500;
/// Texts that one expert knows.
const MOST_DOCUMENTS: usize = 64;
/// Skills of one expert.
const MOST_SKILLS: usize = 64;
/// All texts of one expert together.
const MOST_TEXT: usize = 4 << 20;
/// The longest description that is taken from a text.
const MOST_DESCRIPTION: usize = 500;
/// Names of fields in metadata and pages.
const ID: [&str; 2] = ["expert_id", "id"];
const TITLE: [&str; 2] = ["title", "name"];
const DESCRIPTION: [&str; 2] = ["description", "summary"];
const SKILL_FIELDS: [&str; 6] = [
    "name",
    "description",
    "python",
    "auto",
    "tools",
    "parameters",
];

/// All experts that are known, whether or not a chapter may ask them.
#[derive(Debug, Clone, Default)]
pub struct ExpertRegistry {
    entries: BTreeMap<String, ExpertEntry>,
    /// What could not be used, and why.
    pub warnings: Vec<String>,
}

/// An expert that is known.
#[derive(Debug, Clone)]
pub struct ExpertEntry {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What it can be asked about.
    pub description: String,
    /// All that is said of it.
    pub metadata: Map<String, Value>,
    place: Option<(Bundle, PathBuf)>,
}

impl ExpertEntry {
    fn new(id: &str, metadata: Map<String, Value>, place: Option<(Bundle, PathBuf)>) -> Self {
        Self {
            id: id.to_owned(),
            title: yaml::text(&metadata, &TITLE).unwrap_or_default(),
            description: yaml::text(&metadata, &DESCRIPTION).unwrap_or_default(),
            metadata,
            place,
        }
    }

    /// Its folder, if one of the bundles has it.
    pub fn folder(&self) -> Option<PathBuf> {
        self.place
            .as_ref()
            .map(|(bundle, folder)| bundle.shown(folder))
    }
}

impl ExpertRegistry {
    /// All of them by their ids.
    pub fn entries(&self) -> impl Iterator<Item = &ExpertEntry> {
        self.entries.values()
    }

    /// One of them.
    pub fn get(&self, id: &str) -> Option<&ExpertEntry> {
        self.entries.get(id)
    }

    /// Read one with all that it knows and can do; what is left out of it is told.
    pub(crate) fn load(&self, id: &str) -> Result<(Expert, Vec<String>), Error> {
        let missing = |looked| Error::NotFound {
            what: format!("expert `{id}`"),
            looked,
        };
        let entry = self.get(id).ok_or_else(|| missing(Vec::new()))?;
        let (bundle, folder) = entry.place.as_ref().ok_or_else(|| missing(Vec::new()))?;
        load(bundle, folder, entry)
    }

    fn add(&mut self, mut entry: ExpertEntry) {
        if let Some(earlier) = self.entries.remove(&entry.id) {
            if entry.title.is_empty() {
                entry.title = earlier.title;
            }
            if entry.description.is_empty() {
                entry.description = earlier.description;
            }
            entry.place = entry.place.or(earlier.place);
            for (name, value) in earlier.metadata {
                entry.metadata.entry(name).or_insert(value);
            }
        }
        if self.entries.len() < MOST_EXPERTS {
            self.entries.insert(entry.id.clone(), entry);
        } else {
            let (id, most) = (&entry.id, MOST_EXPERTS);
            self.warnings.push(format!(
                "expert `{id}` is left out: {most} are known already"
            ));
        }
    }

    /// Add all experts of a folder. Those of a bundle may be one level down.
    fn add_folder(&mut self, root: &Path) -> Result<(), Error> {
        let Some(bundle) = Bundle::open(root)? else {
            let message = format!("the folder of experts `{}` does not exist", root.display());
            self.warnings.push(message);
            return Ok(());
        };
        for folder in FOLDERS.map(Path::new) {
            self.add_entries(&bundle, folder)?;
        }
        Ok(())
    }

    pub(crate) fn add_entries(&mut self, bundle: &Bundle, folder: &Path) -> Result<(), Error> {
        match bundle.text(&folder.join(PAGE)).and_then(|found| {
            let page = found.map(|found| page(&found)).transpose()?;
            Ok(page)
        }) {
            Ok(Some((experts, flaws))) => {
                self.warnings.extend(flaws);
                for (id, metadata) in experts {
                    let own = folder.join(&id);
                    let here = bundle.find(&own.join(PRINCIPLES))?.is_some();
                    let place = here.then(|| (bundle.clone(), own));
                    self.add(ExpertEntry::new(&id, metadata, place));
                }
                return Ok(());
            }
            Ok(None) => {}
            // The folders tell the same.
            Err(error) => self.warnings.push(error.to_string()),
        }
        for item in bundle.list(folder)? {
            let own = folder.join(&item.name);
            if item.is_folder && bundle.find(&own.join(PRINCIPLES))?.is_some() {
                self.add_expert(bundle, &own, None);
            }
        }
        Ok(())
    }

    /// Add the expert of one folder: under the id that is given, else that of its metadata,
    /// else that of its folder.
    fn add_expert(&mut self, bundle: &Bundle, folder: &Path, id: Option<&str>) {
        let found = match principles(bundle, folder) {
            Ok(found) => found,
            Err(error) => {
                self.warnings
                    .push(format!("an expert is left out: {error}"));
                return;
            }
        };
        let name = folder.file_name().and_then(|name| name.to_str());
        let own = yaml::text(&found.fields, &ID);
        let Some(id) = id.or(own.as_deref()).or(name).filter(|id| is_plain(id)) else {
            let shown = bundle.shown(folder);
            let message = format!("the expert of `{}` has no plain id", shown.display());
            self.warnings.push(message);
            return;
        };
        let place = Some((bundle.clone(), folder.to_owned()));
        let mut entry = ExpertEntry::new(id, found.fields, place);
        if entry.title.is_empty() {
            entry.title = title(&found.body).unwrap_or_else(|| id.to_owned());
        }
        if entry.description.is_empty() {
            entry.description = description(&found.body);
        }
        self.add(entry);
    }

    /// Add one expert by its own bundle.
    fn add_single(&mut self, name: &str, root: &Path) -> Result<(), Error> {
        let Some(bundle) = Bundle::open(root)? else {
            let path = root.display();
            let message = format!("the bundle `{path}` of expert `{name}` does not exist");
            self.warnings.push(message);
            return Ok(());
        };
        let below = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
        for folder in std::iter::once(PathBuf::new()).chain(below) {
            if bundle.find(&folder.join(PRINCIPLES))?.is_some() {
                self.add_expert(&bundle, &folder, Some(name));
                return Ok(());
            }
        }
        let message = format!("the bundle `{}` has no `{PRINCIPLES}`", root.display());
        self.warnings.push(message);
        Ok(())
    }
}

/// All experts of the folders of this machine and of the bundles for one session.
pub fn registry(roots: &Roots, bundles: &Bundles) -> Result<ExpertRegistry, Error> {
    for name in bundles.experts.keys() {
        id::check("expert", name)?;
    }
    let mut registry = ExpertRegistry::default();
    let courses = bundles.chapter.as_ref().or(roots.curriculum.as_ref());
    if let Some(bundle) = courses
        .map(|root| Bundle::open(root))
        .transpose()?
        .flatten()
    {
        for folder in &FOLDERS[1..] {
            registry.add_entries(&bundle, Path::new(folder))?;
        }
    }
    for root in [&roots.experts, &bundles.experts_shared]
        .into_iter()
        .flatten()
    {
        registry.add_folder(root)?;
    }
    for (name, root) in &bundles.experts {
        registry.add_single(name, root)?;
    }
    Ok(registry)
}

/// The experts of a page by their ids, and what is wrong with the others.
type Page = (Vec<(String, Map<String, Value>)>, Vec<String>);

pub(crate) fn page(source: &Text) -> Result<Page, Error> {
    let value: Value = serde_json::from_str(&source.text).map_err(|error| {
        let message = format!("this is no valid JSON: {error}");
        Error::invalid(&source.path, Some(error.line()), message)
    })?;
    let list = match value {
        Value::Object(mut fields) => fields.remove("experts").unwrap_or(Value::Object(fields)),
        other => other,
    };
    let named: Vec<(Option<String>, Value)> = match list {
        Value::Array(list) => list.into_iter().map(|expert| (None, expert)).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(id, expert)| (Some(id), expert))
            .collect(),
        _ => {
            let message = "this is a list of experts, or a map of them by id";
            return Err(Error::invalid(&source.path, Some(1), message));
        }
    };
    let (mut experts, mut flaws) = (Vec::new(), Vec::new());
    let path = source.path.display();
    for (number, (key, expert)) in named.into_iter().enumerate().take(MOST_EXPERTS) {
        let Value::Object(metadata) = expert else {
            // Beside experts by id, a page may say when it was made.
            if key.is_none() {
                flaws.push(format!("`{path}`: expert {} is no map", number + 1));
            }
            continue;
        };
        match yaml::text(&metadata, &ID).or(key).filter(|id| is_plain(id)) {
            Some(id) => experts.push((id, metadata)),
            None => flaws.push(format!("`{path}`: expert {} has no plain id", number + 1)),
        }
    }
    Ok((experts, flaws))
}

pub(crate) fn principles(bundle: &Bundle, folder: &Path) -> Result<yaml::Front, Error> {
    let relative = folder.join(PRINCIPLES);
    let found = bundle.text(&relative)?.ok_or_else(|| Error::NotFound {
        what: format!("`{PRINCIPLES}`"),
        looked: vec![bundle.shown(folder)],
    })?;
    yaml::front(&found.path, &found.text)
}

/// The first paragraph that is no heading.
fn description(text: &str) -> String {
    let body = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !body(line))
        .take_while(body)
        .map(str::trim)
        .collect();
    lines.join(" ").chars().take(MOST_DESCRIPTION).collect()
}

fn load(
    bundle: &Bundle,
    folder: &Path,
    entry: &ExpertEntry,
) -> Result<(Expert, Vec<String>), Error> {
    let found = principles(bundle, folder)?;
    let shown = bundle.shown(folder);
    let mut metadata = entry.metadata.clone();
    for (name, value) in found.fields {
        metadata.entry(name).or_insert(value);
    }
    let mut files = Vec::new();
    let kept = bundle.find(&folder.join(PRINCIPLES))?;
    files.extend(kept.map(|path| CopiedFile {
        name: PRINCIPLES.to_owned(),
        size: path.metadata().map_or(0, |meta| meta.len()),
        path,
    }));
    let mut left = MOST_TEXT;
    let mut spend = |text: &str| -> Result<(), Error> {
        left = left
            .checked_sub(text.len())
            .ok_or_else(|| Error::TooLarge {
                path: shown.clone(),
                limit: MOST_TEXT as u64,
                unit: "bytes",
            })?;
        Ok(())
    };
    let mut knowledge = Vec::new();
    for file in sources(bundle, folder, "knowledge", MOST_DOCUMENTS)? {
        if let Some(text) = markdown(bundle, folder, &file)? {
            spend(&text.text)?;
            knowledge.push(Document {
                name: file.name.trim_start_matches("knowledge/").to_owned(),
                text: text.text,
            });
            files.push(file);
        }
    }
    let (mut skills, mut warnings) = (Vec::new(), Vec::new());
    for file in sources(bundle, folder, "skills", MOST_SKILLS * 2)? {
        if let Some(text) = markdown(bundle, folder, &file)? {
            spend(&text.text)?;
            let (skill, flaws) = skill(bundle, folder, &text)?;
            skills.push(skill);
            let path = text.path.display();
            let flaws = flaws
                .into_iter()
                .map(|(_, message)| format!("`{path}`: {message}"));
            warnings.extend(flaws);
        }
        files.push(file);
    }
    let either = |text: &str, other: String| match text.is_empty() {
        true => other,
        false => text.to_owned(),
    };
    let title = || {
        yaml::text(&metadata, &TITLE)
            .or_else(|| title(&found.body))
            .unwrap_or_else(|| entry.id.clone())
    };
    let expert = Expert {
        id: entry.id.clone(),
        title: either(&entry.title, title()),
        description: either(&entry.description, description(&found.body)),
        folder: bundle.find(folder)?.unwrap_or(shown.clone()),
        principles: found.body,
        knowledge,
        skills,
        output_types: yaml::texts(&metadata, &["output_types", "expected_output_types"]),
        scenarios: match metadata.get("scenarios") {
            Some(Value::Array(list)) => list.clone(),
            _ => Vec::new(),
        },
        metadata,
        files,
    };
    Ok((expert, warnings))
}

/// The files of a folder of an expert, under their names in the expert's folder.
pub(crate) fn sources(
    bundle: &Bundle,
    folder: &Path,
    name: &str,
    most: usize,
) -> Result<Vec<CopiedFile>, Error> {
    let below = folder.join(name);
    let shown = bundle.shown(&below);
    let mut files = Vec::new();
    for item in bundle.list(&below)? {
        if item.is_folder {
            continue;
        }
        let mut file = CopiedFile::of(&shown, item, SCRIPT_BYTES.max(TEXT_BYTES))?;
        file.name = format!("{name}/{}", file.name);
        files.push(file);
    }
    if files.len() > most {
        return Err(Error::TooLarge {
            path: shown,
            limit: most as u64,
            unit: "files",
        });
    }
    Ok(files)
}

/// The text of a file, if it is Markdown.
pub(crate) fn markdown(
    bundle: &Bundle,
    folder: &Path,
    file: &CopiedFile,
) -> Result<Option<Text>, Error> {
    match file.name.ends_with(".md") {
        true => bundle.text(&folder.join(&file.name)),
        false => Ok(None),
    }
}

/// A skill, and what is wrong with it.
pub(crate) fn skill(
    bundle: &Bundle,
    folder: &Path,
    source: &Text,
) -> Result<(Skill, Flaws), Error> {
    let found = yaml::front(&source.path, &source.text)?;
    let mut flaws: Flaws = Vec::new();
    let line_of = |word: &str| yaml::line_of(&source.text, word);
    for name in found.fields.keys() {
        if !SKILL_FIELDS.contains(&name.as_str()) {
            flaws.push((line_of(name), format!("a skill has no field `{name}`")));
        }
    }
    let mut python = None;
    if let Some(value) = yaml::field(&found.fields, &["python"]) {
        let name = value.as_str().unwrap_or_default();
        let file = match is_plain(name) && name.ends_with(".py") {
            true => bundle.find(&folder.join("skills").join(name))?,
            false => None,
        };
        python = file.filter(|file| file.is_file());
        if python.is_none() {
            let message = format!("there is no file `{name}` beside the skill that could run");
            flaws.push((line_of("python"), message));
        }
    }
    let is_list = |value: &Value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().all(Value::is_string))
    };
    if yaml::field(&found.fields, &["tools"]).is_some_and(|value| !is_list(value)) {
        flaws.push((line_of("tools"), "`tools` is a list of names".into()));
    }
    let auto = yaml::field(&found.fields, &["auto"]);
    if auto.is_some_and(|value| !value.is_boolean()) {
        flaws.push((line_of("auto"), "`auto` is `true` or `false`".into()));
    }
    let parameters = yaml::field(&found.fields, &["parameters"]).cloned();
    if parameters.as_ref().is_some_and(|value| !value.is_object()) {
        let message = "`parameters` is a JSON schema, which is a map";
        flaws.push((line_of("parameters"), message.into()));
    }
    let stem = source.path.file_stem().map(|stem| stem.to_string_lossy());
    let own = yaml::text(&found.fields, &["name"]);
    let skill = Skill {
        name: own.unwrap_or_else(|| stem.unwrap_or_default().into_owned()),
        description: yaml::text(&found.fields, &DESCRIPTION)
            .unwrap_or_else(|| description(&found.body)),
        text: found.body,
        auto: python.is_some() && auto.and_then(Value::as_bool).unwrap_or(false),
        python,
        tools: yaml::texts(&found.fields, &["tools"]),
        parameters: parameters.filter(Value::is_object),
    };
    Ok((skill, flaws))
}

#[cfg(test)]
#[path = "experts_tests.rs"]
mod tests;
