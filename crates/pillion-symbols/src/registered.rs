//! Classes that are made subclasses of others by a call: `Base.register(Other)`.

use pillion_catalogue::Result;
use pillion_index::Kind;
use pillion_index::parsed::parsed;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};

use crate::ask::EngineView;
use crate::definitions::meaning;
use crate::open_files::{FileSpan, OpenFiles};

/// The pairs of a class and one that was made a subclass of it.
pub(crate) async fn pairs(
    engine: &EngineView,
    opened: &mut OpenFiles,
) -> Result<Vec<(FileSpan, FileSpan)>> {
    let mut pairs = Vec::new();
    for file in engine.view.index.files_with("register") {
        let Some(source) = opened.source(&engine.absolute(&file)) else {
            continue;
        };
        let found = parsed(source.text(), &file, |parsed| named(parsed.body()));
        for (base, other) in found {
            let bases = meaning(engine, &file, &source, base).await?;
            let Some(base) = class(opened, &bases) else {
                continue;
            };
            let others = meaning(engine, &file, &source, other).await?;
            let other = class(opened, &others);
            pairs.extend(other.map(|other| (base, other)));
        }
    }
    Ok(pairs)
}

fn class(opened: &mut OpenFiles, places: &[FileSpan]) -> Option<FileSpan> {
    let mut places = places.iter();
    let found = places.find(|(path, span)| {
        let defined = opened.defined_at(path, span.start);
        defined.is_some_and(|defined| defined.kind == Kind::Class)
    });
    found.cloned()
}

/// Where both are named. Classes are told from other things that register something by the
/// first letter of their names.
fn named(body: &[Stmt]) -> Vec<(usize, usize)> {
    fn last(expr: &Expr) -> Option<usize> {
        let (name, range) = match expr {
            Expr::Name(name) => (name.id.as_str(), name.range),
            Expr::Attribute(attribute) => (attribute.attr.as_str(), attribute.attr.range),
            _ => return None,
        };
        let name = name.trim_start_matches('_');
        let is_class = name.starts_with(char::is_uppercase);
        is_class.then(|| range.start().to_usize())
    }
    fn base(function: &Expr) -> Option<usize> {
        match function {
            Expr::Attribute(method) if &*method.attr == "register" => last(&method.value),
            _ => None,
        }
    }
    struct Find(Vec<(usize, usize)>);
    impl<'a> Visitor<'a> for Find {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::ClassDef(class) = stmt {
                let own = class.name.range.start().to_usize();
                let bases = class.decorator_list.iter();
                let bases = bases.filter_map(|decorator| base(&decorator.expression));
                self.0.extend(bases.map(|base| (base, own)));
            }
            visitor::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr
                && let Some(base) = base(&call.func)
                && let [other] = &*call.arguments.args
                && let Some(other) = last(other)
            {
                self.0.push((base, other));
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut find = Find(Vec::new());
    find.visit_body(body);
    find.0
}
