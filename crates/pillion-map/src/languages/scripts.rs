//! From file to file in TypeScript and JavaScript: which file an import means, and what it
//! offers.

use super::super::modules::folder;
use super::codebase::FileId;
use super::outline::{Bound, FILE, OutlineImport};
use super::paths::joined;
use super::resolve::{Thing, Viewer};

/// Endings that an import in TypeScript may leave out, the likeliest first.
const ENDINGS: &[&str] = &[
    ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs",
];

impl Viewer<'_> {
    /// Where the file of a module may be that a script imports.
    pub(super) fn ts_paths(&self, file: FileId, module: &str) -> Vec<String> {
        let from = self
            .codebase
            .file(file)
            .map_or("", |outlined| outlined.path());
        let Some(base) = joined(folder(from), module).filter(|_| module.starts_with('.')) else {
            return Vec::new();
        };
        let mut all = vec![base.clone()];
        // `./a.js` is what `./a.ts` becomes.
        let endings = [
            (".js", &[".ts", ".tsx"][..]),
            (".jsx", &[".tsx"]),
            (".mjs", &[".mts"]),
            (".cjs", &[".cts"]),
        ];
        for (ending, sources) in endings {
            if let Some(stem) = base.strip_suffix(ending) {
                all.extend(sources.iter().map(|source| format!("{stem}{source}")));
            }
        }
        all.extend(ENDINGS.iter().map(|ending| format!("{base}{ending}")));
        let index = if base.is_empty() {
            "index".to_owned()
        } else {
            format!("{base}/index")
        };
        all.extend(ENDINGS.iter().map(|ending| format!("{index}{ending}")));
        all
    }

    pub(super) fn ts_file(&self, file: FileId, module: &str) -> Option<FileId> {
        let paths = self.ts_paths(file, module);
        paths.iter().find_map(|path| self.codebase.at(path))
    }

    pub(super) fn ts_import(&self, file: FileId, import: &OutlineImport, depth: u32) -> Thing {
        let Some(target) = self.ts_file(file, &import.module) else {
            return Thing::Outside;
        };
        match &import.bound {
            Bound::Name { name, .. } => self.ts_export(target, name, depth + 1),
            _ => Thing::Module((target, FILE)),
        }
    }

    /// What a module of TypeScript offers by a name.
    pub(super) fn ts_export(&self, file: FileId, name: &str, depth: u32) -> Thing {
        let Some(outlined) = self
            .codebase
            .file(file)
            .filter(|_| !self.is_exhausted(depth))
        else {
            return Thing::Unknown;
        };
        let mut exports = outlined.outline.exports.iter();
        if let Some(export) = exports.find(|export| &*export.name == name) {
            return self.name((file, FILE), &export.local, depth + 1);
        }
        let offered = || {
            outlined
                .outline
                .imports
                .iter()
                .filter(|import| import.is_offered)
        };
        let direct = offered().find(|import| match &import.bound {
            Bound::Module(by) | Bound::Name { by, .. } => &**by == name,
            _ => false,
        });
        if let Some(import) = direct {
            return self.ts_import(file, import, depth + 1);
        }
        let mut stars = offered().filter(|import| import.bound == Bound::All);
        let found = stars.find_map(|star| {
            let target = self.ts_file(file, &star.module)?;
            let found = self.ts_export(target, name, depth + 1);
            (found != Thing::Unknown).then_some(found)
        });
        found.unwrap_or(Thing::Unknown)
    }

    /// The names of what a file offers to other projects, if it is the index of a folder.
    pub(super) fn ts_offered(&self, file: FileId) -> Vec<&str> {
        let path = self
            .codebase
            .file(file)
            .map_or("", |outlined| outlined.path());
        let name = path.rsplit('/').next().unwrap_or(path);
        let mut names = Vec::new();
        let mut open = vec![file];
        let mut seen = Vec::new();
        while let Some(next) = open.pop().filter(|_| name.starts_with("index.")) {
            let Some(outlined) = self.codebase.file(next).filter(|_| !seen.contains(&next)) else {
                continue;
            };
            seen.push(next);
            names.extend(outlined.outline.exports.iter().map(|export| &*export.local));
            for import in outlined
                .outline
                .imports
                .iter()
                .filter(|import| import.is_offered)
            {
                match &import.bound {
                    Bound::Name { name, .. } => names.push(name),
                    _ => open.extend(self.ts_file(next, &import.module)),
                }
            }
        }
        names
    }
}
