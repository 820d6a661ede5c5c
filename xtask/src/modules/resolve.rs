//! Where a path leads: to a module, or to the module that an item stands in, whoever
//! re-exports it on the way.

use super::{Kind, Tree, Use};

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// Something that stands in this module.
    Item(usize),
}

/// Names that are being looked up, each in its module: `use a::a` must not go round.
type Asked<'a> = Vec<(usize, &'a str)>;

impl Tree {
    /// The module that a use in `module` leads to, if it is in this crate.
    pub(super) fn target(&self, module: usize, place: &Use) -> Option<usize> {
        let mut asked = Vec::new();
        let target = match place.kind {
            Kind::Path => self.resolve(module, &place.path, &mut asked),
            // Other names stand in the module itself, or a `use` brought them.
            Kind::Name => {
                let [name] = place.path.as_slice() else {
                    return None;
                };
                let known = &self.modules[module];
                if known.items.contains(name) || known.aliases.contains_key(name) {
                    return None;
                }
                self.through_globs(module, name, &mut asked)
            }
        };
        target.map(|(Target::Module(found) | Target::Item(found))| found)
    }

    fn resolve<'a>(
        &'a self,
        module: usize,
        path: &'a [String],
        asked: &mut Asked<'a>,
    ) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(module),
            "super" => Target::Module(self.modules[module].parent?),
            "Self" => return None,
            name => self.lookup(module, name, asked)?,
        };
        while let (Target::Module(at), [name, more @ ..]) = (target, rest) {
            rest = more;
            target = match name.as_str() {
                "super" => Target::Module(self.modules[at].parent?),
                "self" => Target::Module(at),
                name if self.has(at, name) => self.lookup(at, name, asked)?,
                // A macro made it.
                _ => Target::Item(at),
            };
        }
        Some(target)
    }

    /// Whether a module says itself what a name is.
    fn has(&self, module: usize, name: &str) -> bool {
        let module = &self.modules[module];
        module.children.contains_key(name)
            || module.items.contains(name)
            || module.aliases.contains_key(name)
            || !module.globs.is_empty()
    }

    fn lookup<'a>(&'a self, module: usize, name: &'a str, asked: &mut Asked<'a>) -> Option<Target> {
        if asked.contains(&(module, name)) {
            return None;
        }
        let known = &self.modules[module];
        if let Some(child) = known.children.get(name) {
            return Some(Target::Module(*child));
        }
        if known.items.contains(name) {
            return Some(Target::Item(module));
        }
        asked.push((module, name));
        let aliases = known.aliases.get(name).into_iter().flatten();
        let found = aliases
            .filter_map(|path| self.resolve(module, path, asked))
            .next();
        asked.pop();
        found.or_else(|| self.through_globs(module, name, asked))
    }

    fn through_globs<'a>(
        &'a self,
        module: usize,
        name: &'a str,
        asked: &mut Asked<'a>,
    ) -> Option<Target> {
        if asked.contains(&(module, name)) {
            return None;
        }
        asked.push((module, name));
        let globs = self.modules[module].globs.iter();
        let found = globs
            .filter_map(|path| match self.resolve(module, path, asked)? {
                Target::Module(other) => self.lookup(other, name, asked),
                Target::Item(_) => None,
            })
            .next();
        asked.pop();
        found
    }
}
