//! Keys that a string may be: of an enumeration, of a typed dictionary.

use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_index::parsed::parsed;
use pillion_index::source::Source;
use pillion_symbols::ask::span;
use pillion_symbols::closure;
use pillion_symbols::definitions::meaning;
use pillion_symbols::occurrences::Sort;
use pillion_symbols::open_files::FileSpan;

use super::meanings::{Context, Lookup, Object};
use super::{Finder, Verdict, annotations};

impl Finder<'_> {
    /// A key of something: of an enumeration, or of a typed dictionary.
    pub(super) async fn key(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        lookup: &Lookup,
        object: &Object,
    ) -> Result<Verdict> {
        if self.subject.sort != Sort::Member {
            return Ok(Verdict::Nothing);
        }
        let at = source.position(lookup.at.start().to_usize());
        let known = self.engine.definition(file, at).await?;
        let mut known = known.iter().map(|l| (l.path.clone(), span(l.range)));
        if known.any(|place| self.subject.family.places.contains(&place)) {
            return Ok(Verdict::Ours);
        }
        let (classes, modules) = self.object(file, source, object).await?;
        let is_unknown = classes.is_empty() && modules.is_empty();
        Ok(match self.is_ours(&classes) {
            true => Verdict::Ours,
            // A dictionary may hold the attributes of an object.
            false if self.keys.is_empty() => Verdict::Nothing,
            false if is_unknown => Verdict::Unknown("the type of what has this key is not known"),
            false => Verdict::Foreign,
        })
    }

    pub(super) async fn in_dict(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        keys: &[String],
        context: &Context,
    ) -> Result<Verdict> {
        if self.keys.is_empty() {
            return Ok(Verdict::Nothing);
        }
        if !keys.iter().all(|key| self.keys.contains(key)) {
            return Ok(Verdict::Foreign);
        }
        let classes = match context {
            Context::Nothing => Vec::new(),
            Context::Annotated(names) => self.named(file, source, names).await?,
            Context::Assigned(at) => self.object(file, source, &Object::Named(*at)).await?.0,
            Context::Merged(object) => self.object(file, source, object).await?.0,
            Context::Passed(at, place, name) => {
                self.parameter(file, source, *at, *place, name.as_deref())
                    .await?
            }
        };
        Ok(match (self.is_ours(&classes), classes.is_empty()) {
            (true, _) => Verdict::Ours,
            (false, true) => Verdict::Unknown("a dictionary with keys like these"),
            (false, false) => Verdict::Foreign,
        })
    }

    async fn named(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        names: &[usize],
    ) -> Result<Vec<FileSpan>> {
        let mut found = Vec::new();
        for at in names {
            found.extend(meaning(self.engine, file, source, *at).await?);
        }
        Ok(found)
    }

    /// What the annotation of a parameter names.
    async fn parameter(
        &mut self,
        file: &str,
        source: &Arc<Source>,
        at: usize,
        place: usize,
        name: Option<&str>,
    ) -> Result<Vec<FileSpan>> {
        for (path, span) in meaning(self.engine, file, source, at).await? {
            if !closure::is_inside(self.engine, &path) {
                continue;
            }
            let Some(source) = self.opened.source(&path) else {
                continue;
            };
            let Some(at) = source.offset(span.start) else {
                continue;
            };
            let file = self.opened.name(&path).0;
            let names = parsed(source.text(), &file, |parsed| {
                annotations::annotation(parsed.body(), at, place, name)
            });
            if let Some(names) = names {
                return self.named(&file, &source, &names).await;
            }
        }
        Ok(Vec::new())
    }
}
