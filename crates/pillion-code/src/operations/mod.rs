//! What callers can ask for: `code.*` and `map.*`.

mod at;
mod calls;
mod change_signature;
mod codemod;
mod defs;
mod deliver;
mod diagnostics;
mod empty_answers;
mod extract;
mod grep;
mod history;
mod hover;
mod implementations;
mod inline;
mod list;
pub mod map;
mod move_to;
mod occurrences;
mod organize_imports;
mod positions;
mod read_symbol;
mod refactoring;
mod refs;
mod rename;
mod symbol_edits;
mod symbol_source;
mod symbols;
mod type_hierarchy;
mod undo;

use pillion_catalogue::Operations;

pub use at::{AllAbout, Everything};
pub use calls::{Callees, Callers, Calling, Calls, PossibleCaller};
pub use change_signature::ChangeSignature;
pub use codemod::{Codemod, Rewriting};
pub use defs::Defs;
pub use diagnostics::{Diagnostics, Findings};
pub use extract::{ExtractMethod, ExtractVar};
pub use grep::{Grep, Match, Matches};
pub use history::{ListRefactorings, Pasts};
pub use hover::HoverAt;
pub use implementations::Implementations;
pub use inline::Inline;
pub use list::ListSymbols;
pub use move_to::Move;
pub use occurrences::FindOccurrences;
pub use organize_imports::OrganizeImports;
pub use read_symbol::{ReadSymbol, SymbolSource, SymbolSources};
pub use refactoring::Writing;
pub use refs::Refs;
pub use rename::Rename;
pub use symbol_edits::{EditedSymbol, InsertAfter, InsertBefore, ReplaceBody, SafeDelete};
pub use symbols::{FoundSymbols, Symbols};
pub use type_hierarchy::{Hierarchy, Relative, TypeHierarchy};
pub use undo::{Undo, Undone};

use crate::CodeService;

/// All operations of this service.
pub fn operations() -> Operations<CodeService> {
    let code = Operations::default()
        .with::<Defs>()
        .with::<Refs>()
        .with::<HoverAt>()
        .with::<FindOccurrences>()
        .with::<Implementations>()
        .with::<Callers>()
        .with::<Callees>()
        .with::<TypeHierarchy>()
        .with::<Everything>()
        .with::<Diagnostics>()
        .with::<Rename>()
        .with::<Move>()
        .with::<ChangeSignature>()
        .with::<ReplaceBody>()
        .with::<InsertBefore>()
        .with::<InsertAfter>()
        .with::<SafeDelete>()
        .with::<ExtractMethod>()
        .with::<ExtractVar>()
        .with::<Inline>()
        .with::<OrganizeImports>()
        .with::<Codemod>()
        .with::<ListSymbols>()
        .with::<Symbols>()
        .with::<ReadSymbol>()
        .with::<Grep>()
        .with::<Undo>()
        .with::<ListRefactorings>();
    map::add_to(code)
}
