//! `map.extract`: the definitions and imports of one file.

use std::collections::HashMap;
use std::path::PathBuf;

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, Scope, work};
use pillion_index::answers::{Answer, FileError};
use pillion_index::language::{Language, Precision, is_source};
use pillion_index::parsed::parsed;
use pillion_index::source::{Position, Source};
use pillion_index::text::{Text, shown};
use pillion_index::{Facts, Kind, ParseError, extract_facts, place};
use pillion_map::{Def, DefKind, MAX_TEXT, Outline, Path, outline};
use pillion_symbols::project::View;
use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::{AnyParameterRef, Parameters, Stmt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::opened;
use super::structure::imported;
use crate::CodeService;

/// Show the functions, classes and imports of one file.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// The file.
    pub file: PathBuf,
    /// A file that the parser does not understand all of is an error.
    #[arg(long)]
    #[serde(default)]
    pub strict: bool,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// What is in a file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Extracted {
    /// The file, relative to the project.
    pub file: String,
    /// The language.
    pub language: Language,
    /// How its definitions are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Its functions, without methods.
    pub functions: Vec<ExtractedFunction>,
    /// Its classes.
    pub classes: Vec<ExtractedClass>,
    /// What it imports.
    pub imports: Vec<String>,
    /// What the parser did not understand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parse_errors: Vec<FileError>,
    /// The moment this is true for.
    pub clock: String,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtractedFunction {
    /// Its name.
    pub name: String,
    /// The line of its name.
    pub line: u32,
    /// Its parameters by name, `*args` and `**kwargs` with their stars.
    pub params: Vec<String>,
}

/// A class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtractedClass {
    /// Its name.
    pub name: String,
    /// The line of its name; of its first method here if it is defined in another file.
    pub line: u32,
    /// Its methods.
    pub methods: Vec<ExtractedFunction>,
}

impl Operation for Extract {
    const NAME: &'static str = "map.extract";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.old("extract", &[("strict", "true")]);
    type Service = CodeService;
    type Output = Answer<Extracted>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Extracted>> {
        let mut caller = cx.caller().clone();
        // A file says by itself which project is meant.
        if self.project.is_none() && self.file.is_absolute() {
            caller.near = Some(self.file.clone());
        }
        // So it does the language.
        let language = self.language.or_else(|| Language::of_file(&self.file));
        let (view, language) = opened(&cx, self.project.as_ref(), language, &caller).await?;
        let path = place::inside(view.root(), &self.file)?;
        if !is_source(language, &path) {
            let what = format!("`{path}` is no {} file", language.name());
            let hint = format!(
                "name a source file; maps are made of {}",
                Language::mapped_names()
            );
            return Err(Error::new(Code::InvalidParams, what).hint(hint));
        }
        let strict = self.strict;
        let left_out = view.unread();
        // A file may be long, or odd.
        let extracted = work(move |_| match language {
            Language::Python => read(&view, path, strict),
            other => outlined(&view, other, path),
        });
        Ok(Answer::one(extracted.await??, left_out).in_format(cx.caller().format()))
    }
}

/// What is in a file of Python.
fn read(view: &View, path: String, strict: bool) -> Result<Extracted> {
    let source = view.readable(&path)?;
    let read = File::read(&source, &path);
    let facts = &read.facts;
    if let Some(error) = facts.parse_errors.first().filter(|_| strict) {
        let (line, message) = (error.line, &error.message);
        let what = format!("`{path}` has a syntax error in line {line}: {message}");
        return Err(Error::new(Code::ParseError, what)
            .hint("leave `strict` out for what can be understood all the same"));
    }
    let mut imports: Vec<String> = facts.imports.iter().map(imported).collect();
    imports.dedup();
    let errors = facts.parse_errors.iter().map(|error| FileError {
        file: path.clone(),
        error: error.clone(),
    });
    Ok(Extracted {
        language: Language::Python,
        precision: Language::Python.precision(),
        functions: read.functions(None),
        classes: read.classes(),
        imports,
        parse_errors: errors.collect(),
        clock: view.clock(),
        file: path,
    })
}

/// A file of another language than Python.
fn outlined(view: &View, language: Language, path: String) -> Result<Extracted> {
    let full = view.root().join(&path);
    let meta = std::fs::metadata(&full);
    if meta.is_ok_and(|meta| meta.len() > MAX_TEXT) {
        let what = format!("`{path}` is too long to be read as source");
        return Err(Error::new(Code::InvalidParams, what));
    }
    let source = view.readable(&path)?;
    let outline = outline(language, &path, source.text());
    let errors = outline.errors.iter().map(|line| FileError {
        file: path.clone(),
        error: ParseError {
            message: "syntax error".into(),
            line: *line,
            column: 1,
        },
    });
    Ok(Extracted {
        functions: functions(&outline),
        classes: classes(&outline),
        imports: outline.imported(),
        parse_errors: errors.collect(),
        language,
        precision: language.precision(),
        clock: view.clock(),
        file: path,
    })
}

fn function(def: &Def) -> ExtractedFunction {
    ExtractedFunction {
        name: def.name.to_string(),
        line: def.line,
        params: def.params.iter().map(ToString::to_string).collect(),
    }
}

fn functions(outline: &Outline) -> Vec<ExtractedFunction> {
    let all = (0..).zip(&outline.defs);
    all.filter(|(id, def)| {
        def.kind == DefKind::Function && def.owner.is_none() && outline.is_top(*id)
    })
    .map(|(_, def)| function(def))
    .collect()
}

/// The classes of a file, and those of elsewhere that it has methods of.
fn classes(outline: &Outline) -> Vec<ExtractedClass> {
    let mut all: Vec<ExtractedClass> = Vec::new();
    for (id, def) in (0..).zip(&outline.defs) {
        if def.kind == DefKind::Class {
            let inside = outline.children(id);
            let inside = inside.filter(|(_, method)| method.kind == DefKind::Function);
            all.push(ExtractedClass {
                name: def.name.to_string(),
                line: def.line,
                methods: inside.map(|(_, method)| function(method)).collect(),
            });
        }
    }
    for def in &outline.defs {
        let Some(owner) = def.owner.as_ref().map(Path::last) else {
            continue;
        };
        let known = all.iter_mut().position(|class| class.name == owner);
        let at = known.unwrap_or_else(|| {
            all.push(ExtractedClass {
                name: owner.to_owned(),
                line: def.line,
                methods: Vec::new(),
            });
            all.len() - 1
        });
        all[at].methods.push(function(def));
    }
    all
}

/// Reads the parameters of every function, by where its name stands.
struct Heads<'a> {
    source: &'a Source,
    params: HashMap<Position, Vec<String>>,
}

impl<'a> StatementVisitor<'a> for Heads<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(function) = stmt {
            let at = self.source.position(function.name.range.start().to_usize());
            self.params.insert(at, params(&function.parameters));
        }
        walk_stmt(self, stmt);
    }
}

fn heads(source: &Source, path: &str) -> HashMap<Position, Vec<String>> {
    let mut heads = Heads {
        source,
        params: HashMap::new(),
    };
    parsed(source.text(), path, |parsed| {
        heads.visit_body(parsed.body());
    });
    heads.params
}

fn params(all: &Parameters) -> Vec<String> {
    let star = all.vararg.as_ref().map(|p| p.name.as_str());
    let stars = all.kwarg.as_ref().map(|p| p.name.as_str());
    let name = |parameter: AnyParameterRef<'_>| {
        let name = parameter.name().as_str();
        match (Some(name) == star, Some(name) == stars) {
            (true, _) => format!("*{name}"),
            (_, true) => format!("**{name}"),
            _ => name.to_owned(),
        }
    };
    all.iter().map(name).collect()
}

/// What a file defines.
struct File {
    facts: Facts,
    heads: HashMap<Position, Vec<String>>,
}

impl File {
    fn read(source: &Source, path: &str) -> Self {
        Self {
            facts: extract_facts(source, path),
            heads: heads(source, path),
        }
    }

    /// The functions of a class, or of the module itself.
    fn functions(&self, of: Option<u32>) -> Vec<ExtractedFunction> {
        let all = self.facts.symbols.iter();
        all.filter(|symbol| symbol.kind.is_callable() && symbol.container == of)
            .map(|symbol| ExtractedFunction {
                name: symbol.name.to_string(),
                line: symbol.name_span.start.line + 1,
                params: self
                    .heads
                    .get(&symbol.name_span.start)
                    .cloned()
                    .unwrap_or_default(),
            })
            .collect()
    }

    fn classes(&self) -> Vec<ExtractedClass> {
        let all = (0..).zip(&self.facts.symbols);
        all.filter(|(_, symbol)| symbol.kind == Kind::Class && symbol.container.is_none())
            .map(|(index, symbol)| ExtractedClass {
                name: symbol.name.to_string(),
                line: symbol.name_span.start.line + 1,
                methods: self.functions(Some(index)),
            })
            .collect()
    }
}

impl Text for Extracted {
    fn text(&self) -> String {
        let line =
            |f: &ExtractedFunction| format!("{}  {}({})", f.line, f.name, f.params.join(", "));
        let mut lines: Vec<String> = vec![self.file.clone()];
        for class in &self.classes {
            lines.push(format!("  {}  class {}", class.line, class.name));
            lines.extend(class.methods.iter().map(|m| format!("    {}", line(m))));
        }
        lines.extend(self.functions.iter().map(|f| format!("  {}", line(f))));
        if !self.imports.is_empty() {
            lines.push(format!("  imports: {}", self.imports.join(", ")));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_methods_have_their_parameters() {
        let text = "async def f(a, /, b: dict[str, int] = {}, *rest, c=1, **more) -> str: ...\n\
                    class C:\n    @property\n    def m(self): ...\n";
        let file = File::read(&Source::from_text(text), "a.py");
        let [f] = &file.functions(None)[..] else {
            panic!("one function");
        };
        assert_eq!(f.params, ["a", "b", "*rest", "c", "**more"]);
        let [c] = &file.classes()[..] else {
            panic!("one class");
        };
        assert_eq!((c.line, c.methods[0].line), (2, 4));
        assert_eq!(c.methods[0].params, ["self"]);
    }
}
