//! Which method takes the place of which other.

use std::collections::BTreeSet;

use super::eval::{Place, Thing};
use super::keys::{Key, members_key};
use super::link::Linker;
use super::sketch::{Name, ScopeKind};

/// Methods, each with what it overrides.
type Overrides = Box<[(Key, Key)]>;
/// Classes, each with one above it.
type Bases = Box<[(u32, Key)]>;
/// Classes below some that are not of the workspace, and those whose methods these may call.
type Open = (Box<[u32]>, Box<[u32]>);

impl Linker<'_> {
    /// Methods that override others, what is above classes, and classes below some that are not of the workspace.
    pub(super) fn overrides(&self) -> (Overrides, Bases, Open) {
        let mut overrides = BTreeSet::new();
        let mut bases = Vec::new();
        let mut open = BTreeSet::new();
        let mut hooked = BTreeSet::new();
        for (id, scope) in (0..).zip(&self.file.sketch.scopes) {
            if scope.kind != ScopeKind::Class {
                continue;
            }
            self.viewer.begin();
            let ancestors = self.viewer.ancestors((self.home, id));
            if ancestors.before_outside.is_some() {
                open.insert(self.file.node(id));
                if ancestors.is_hooked {
                    hooked.insert(self.file.node(id));
                }
            }
            let above = ancestors.classes.iter().skip(1);
            let above = above.filter_map(|(file, scope)| {
                let key = self.viewer.sketched(*file)?.key(*scope);
                Some((self.file.node(id), key))
            });
            bases.extend(above);
            // With several bases, what one of them has can take the place of what another
            // has, although they know nothing of each other.
            let first = match scope.heads.len() {
                0 => &[][..],
                1 => &ancestors.classes[..1.min(ancestors.classes.len())],
                _ => &ancestors.classes[..],
            };
            for (at, class) in first.iter().enumerate() {
                let below = &ancestors.classes[at + 1..];
                self.overridden(*class, below, &mut overrides);
            }
        }
        let overrides = overrides.into_iter().collect();
        let open = (open.into_iter().collect(), hooked.into_iter().collect());
        (overrides, bases.into(), open)
    }

    /// What the methods of a class override in the classes that come behind it.
    fn overridden(&self, class: Place, behind: &[Place], found: &mut BTreeSet<(Key, Key)>) {
        let Some(file) = self.viewer.sketched(class.0) else {
            return;
        };
        if class.0 != self.home {
            self.viewer.see(members_key(file.key(class.1)));
        }
        let sketch = &file.sketch;
        let bindings = sketch.scope(class.1).map_or(&[][..], |s| &s.bindings);
        let names: BTreeSet<Name> = bindings.iter().map(|(name, _)| *name).collect();
        for name in names {
            let own = self.functions(class, name);
            if own.is_empty() {
                continue;
            }
            let text = sketch.names.get(name);
            let above = behind.iter().find_map(|place| {
                self.viewer.see_name(*place, text);
                let sketch = &self.viewer.sketched(place.0)?.sketch;
                let id = sketch.names.find(text)?;
                (!sketch.bound(place.1, id).is_empty()).then_some((*place, id))
            });
            let Some((place, id)) = above else {
                continue;
            };
            for above in self.functions(place, id) {
                found.extend(own.iter().map(|own| (*own, above)));
            }
        }
    }

    /// The functions that a name of a class is.
    fn functions(&self, class: Place, name: Name) -> Vec<Key> {
        self.viewer.begin();
        let found = self.viewer.bound(class, name, 0);
        let key = |thing: &Thing| match *thing {
            Thing::Function((file, scope)) => Some(self.viewer.sketched(file)?.key(scope)),
            _ => None,
        };
        found.things.iter().filter_map(key).collect()
    }
}
