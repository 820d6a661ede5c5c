//! What is asked about: places drawn from the tree with a fixed seed, so that two runs on
//! one tree ask the same.

use std::collections::HashSet;
use std::path::Path;

use pillion_index::facts::name_hash;
use pillion_index::source::Position;
use pillion_index::{Facts, Index, Kind, Symbol};

use pillion_catalogue::{Code, Error, Result};

use super::super::Plan;
use super::names::{Name, names};

const SEED: u64 = 0x5eed_0f70_0d5e_ed01;
/// How many files may mention a name, from rare to common: one bucket up to each.
const BUCKETS: [usize; 5] = [2, 8, 30, 100, usize::MAX];
/// Shorter names mean something else in each file.
const SHORTEST: usize = 4;

/// A place that is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    /// Relative to the tree.
    pub(super) file: String,
    /// From 1.
    pub(super) line: u32,
    /// From 1, in characters.
    pub(super) col: u32,
    /// What stands there.
    pub(super) name: String,
}

/// How many questions of each sort are wanted.
pub(super) struct Wanted {
    warm_up: usize,
    defs: usize,
    hover: usize,
    refs: usize,
}

impl Wanted {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            warm_up: plan.samples(10, 2),
            defs: plan.samples(100, 8),
            hover: plan.samples(50, 4),
            refs: plan.samples(25, 5),
        }
    }
}

/// Everything that is asked about.
#[derive(Debug)]
pub(super) struct Questions {
    pub(super) warm_up: Vec<Question>,
    /// Uses of names in bodies of functions.
    pub(super) defs: Vec<Question>,
    pub(super) hover: Vec<Question>,
    /// Definitions; each five are of names from rare to common.
    pub(super) refs: Vec<Question>,
}

impl Questions {
    /// Draw them from a tree.
    pub(super) fn draw(index: &Index, root: &Path, wanted: &Wanted) -> Result<Self> {
        let mut dice = Dice(SEED);
        let refs = definitions(index, wanted.refs, &mut dice);
        let all = wanted.warm_up + wanted.defs + wanted.hover;
        let mut uses = uses(index, root, all, &mut dice);
        if refs.is_empty() || uses.len() < 3 {
            let what = "the tree has too few names to ask about";
            return Err(Error::new(Code::InvalidParams, what)
                .hint("`--tree` wants a folder with Python code"));
        }
        // A small tree has fewer: everybody gets a share.
        let share = |part: usize| (uses.len() * part / all).max(1);
        let (hover, defs) = (share(wanted.hover), share(wanted.defs));
        let hover = uses.split_off(uses.len() - hover);
        let defs = uses.split_off(uses.len().saturating_sub(defs).max(1));
        Ok(Self {
            warm_up: uses,
            defs,
            hover,
            refs,
        })
    }
}

/// Uses of names of functions and classes of the tree: at first one of each file, then
/// more.
fn uses(index: &Index, root: &Path, wanted: usize, dice: &mut Dice) -> Vec<Question> {
    let symbols = index.iter().flat_map(|(_, facts)| facts.symbols.iter());
    // Most variables are defined a few lines above: too easy.
    let symbols = symbols.filter(|symbol| is_asked_about(symbol));
    let defined: HashSet<&str> = symbols.map(|symbol| &*symbol.name).collect();
    let mut files: Vec<_> = index.iter().collect();
    dice.shuffle(&mut files);
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    // A small tree has to give more than one for each file.
    let passes = wanted.div_ceil(files.len().max(1)) * 4;
    for _ in 0..passes.max(4) {
        for (path, facts) in &files {
            if found.len() >= wanted {
                return found;
            }
            let Ok(source) = std::fs::read_to_string(root.join(&***path)) else {
                continue;
            };
            let mut good = names(&source);
            good.retain(|name| is_use(name, facts) && defined.contains(name.text));
            if let Some(name) = dice.pick(&good) {
                let question = Question {
                    file: path.to_string(),
                    line: name.line,
                    col: name.col,
                    name: name.text.to_owned(),
                };
                if seen.insert(question.clone()) {
                    found.push(question);
                }
            }
        }
    }
    found
}

/// Whether a name is used in the body of a function, not defined.
fn is_use(name: &Name<'_>, facts: &Facts) -> bool {
    is_telling(name.text)
        && Position::from_one(name.line, name.col)
            .is_some_and(|at| facts.enclosing(at).is_some() && facts.named_at(at).is_none())
}

fn is_telling(name: &str) -> bool {
    name.len() >= SHORTEST && !name.starts_with("__")
}

/// Whether a symbol is a class or a function that others may use.
fn is_asked_about(symbol: &Symbol) -> bool {
    let is_test = symbol.name.starts_with("test");
    !is_test && (symbol.kind == Kind::Class || symbol.kind.is_callable())
}

/// Definitions of functions, methods and classes: each five from rare to common.
fn definitions(index: &Index, wanted: usize, dice: &mut Dice) -> Vec<Question> {
    let mut buckets: [Vec<Question>; BUCKETS.len()] = Default::default();
    let mut all: Vec<_> = index
        .iter()
        .flat_map(|(path, facts)| facts.symbols.iter().map(move |symbol| (path, symbol)))
        .filter(|(_, symbol)| is_asked_about(symbol) && is_telling(&symbol.name))
        .collect();
    dice.shuffle(&mut all);
    let mut names = HashSet::new();
    let each = wanted.div_ceil(BUCKETS.len());
    for (path, symbol) in all {
        if buckets.iter().all(|bucket| bucket.len() >= each) || !names.insert(&symbol.name) {
            continue;
        }
        let hash = name_hash(&symbol.name);
        let files = index.iter().filter(|(_, facts)| facts.may_mention(hash));
        let files = files.count();
        let bucket = BUCKETS.iter().position(|most| files <= *most);
        let at = symbol.name_span.start;
        if let Some(bucket) = bucket.and_then(|bucket| buckets.get_mut(bucket))
            && bucket.len() < each
        {
            bucket.push(Question {
                file: path.to_string(),
                line: at.line + 1,
                col: at.column + 1,
                name: symbol.name.to_string(),
            });
        }
    }
    let rounds = (0..each).flat_map(|n| buckets.iter().filter_map(move |bucket| bucket.get(n)));
    rounds.cloned().collect()
}

/// Numbers without order that are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (end.max(1) as u64)).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}
