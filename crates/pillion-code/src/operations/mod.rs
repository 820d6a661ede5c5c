//! What callers can ask for: `code.*`.

mod at;
mod calls;
mod defs;
mod diagnostics;
mod grep;
mod hover;
mod implementations;
mod list;
mod occurrences;
mod positions;
mod read_symbol;
mod refs;
mod symbols;
mod type_hierarchy;

use pillion_catalogue::Operations;

pub use at::{AllAbout, Everything};
pub use calls::{Callees, Callers, Calling, Calls};
pub use defs::Defs;
pub use diagnostics::{Diagnostics, Finding, Findings, Severity};
pub use grep::{Grep, Match, Matches};
pub use hover::HoverAt;
pub use implementations::Implementations;
pub use list::List;
pub use occurrences::Occurrences;
pub use read_symbol::{ReadSymbol, SymbolSource, SymbolSources};
pub use refs::Refs;
pub use symbols::{FoundSymbols, Symbols};
pub use type_hierarchy::{Hierarchy, Relative, TypeHierarchy};

pub(crate) use positions::Spotted;

use crate::CodeService;

/// All operations of this service.
pub fn operations() -> Operations<CodeService> {
    Operations::default()
        .with::<Defs>()
        .with::<Refs>()
        .with::<HoverAt>()
        .with::<Occurrences>()
        .with::<Implementations>()
        .with::<Callers>()
        .with::<Callees>()
        .with::<TypeHierarchy>()
        .with::<Everything>()
        .with::<Diagnostics>()
        .with::<List>()
        .with::<Symbols>()
        .with::<ReadSymbol>()
        .with::<Grep>()
}
