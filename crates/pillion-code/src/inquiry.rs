//! Asking an engine about what the code's own words do not say: which method is meant where
//! one is taken from a variable.
//!
//! Only places that matter to a question are asked about, and only so many, so that the
//! graph of the whole project never waits for an engine. What was answered holds as long as
//! the graph, the clock and the engine's Python are the same: a type can depend on any file.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt, stream};
use pillion_catalogue::{Caller, Code, Error, Result};
use pillion_engines::surroundings::{Pythons, SurroundingsId};
use pillion_index::language::Language;
use pillion_map::{Graph, Meaning, NodeId, Open, OpenSite, Types};
use pillion_symbols::ask::EngineView;
use pillion_symbols::project::View;
use pillion_workspace::Clock;
use pillion_workspace::config::EngineChoice;
use tokio::time::{Instant, timeout_at};

/// Places that an engine is asked about for one answer.
const MAX_SITES: usize = 400;
/// How many of them may be about callers further away: after each edit all are asked anew.
const MAX_FURTHER: usize = 60;
/// Of a name that a caller further away has, so many places are asked about, or none: names
/// that are everywhere are mostly not meant.
const MAX_OF_NAME: usize = 20;
/// How long an engine may take for one answer.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(5);
/// Questions that are asked at the same time.
const AT_ONCE: usize = 16;
/// Answers that are remembered; then all are forgotten.
const MAX_REMEMBERED: usize = 64;

/// What a question to the map needs types for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    /// Who uses some nodes, so many users away.
    Users { of: Vec<NodeId>, depth: usize },
    /// What is used in a file or below a folder.
    Below(String),
}

/// What types tell for one question.
#[derive(Debug, Default)]
pub(crate) struct TypesFound {
    pub(crate) types: Types,
    /// Who was asked.
    pub(crate) engine: Option<&'static str>,
    /// Places that were asked about, and those that were not.
    pub(crate) asked: usize,
    pub(crate) unasked: usize,
    /// Why some were not.
    pub(crate) why: Option<String>,
    /// What the engine depended on beside the files.
    around: Option<SurroundingsId>,
    /// Whether it would be the same at the next time.
    is_lasting: bool,
}

/// What was answered about one graph.
#[derive(Debug, Default)]
pub(crate) struct Inquiries(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// What the answers are about.
    moment: Option<(Arc<Graph>, Clock)>,
    answers: HashMap<Wanted, Arc<TypesFound>>,
}

impl Inquiries {
    fn recall(&self, graph: &Arc<Graph>, clock: Clock, wanted: &Wanted) -> Option<Arc<TypesFound>> {
        let mut kept = self.kept();
        let is_same = |(known, at): &(Arc<Graph>, Clock)| Arc::ptr_eq(known, graph) && *at == clock;
        if !kept.moment.as_ref().is_some_and(is_same) {
            kept.answers.clear();
            kept.moment = Some((Arc::clone(graph), clock));
            return None;
        }
        kept.answers.get(wanted).cloned()
    }

    fn keep(&self, graph: &Arc<Graph>, clock: Clock, wanted: Wanted, asked: Arc<TypesFound>) {
        let mut kept = self.kept();
        let is_same = |(known, at): &(Arc<Graph>, Clock)| Arc::ptr_eq(known, graph) && *at == clock;
        if !asked.is_lasting || !kept.moment.as_ref().is_some_and(is_same) {
            return;
        }
        if kept.answers.len() >= MAX_REMEMBERED {
            kept.answers.clear();
        }
        kept.answers.insert(wanted, asked);
    }

    fn kept(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inquiries {
    /// What types tell about what a question to a view wants to know. Never fails: what no
    /// engine says stays as it is in the graph, and the answer says why.
    pub(crate) async fn types(
        &self,
        view: &View,
        graph: &Arc<Graph>,
        wanted: Wanted,
        caller: &Caller,
    ) -> Arc<TypesFound> {
        if graph.language != Language::Python {
            return Arc::default();
        }
        let clock = view.snapshot.clock();
        if let Some(known) = self.recall(graph, clock, &wanted)
            && is_current(view, &known, caller).await
        {
            return known;
        }
        let mut inquiry = Inquiry {
            view,
            graph,
            caller,
            engine: None,
            until: Instant::now() + ENGINE_TIMEOUT,
            is_over: false,
            found: TypesFound {
                is_lasting: true,
                ..TypesFound::default()
            },
        };
        inquiry.run(&wanted).await;
        let found = Arc::new(inquiry.found);
        self.keep(graph, clock, wanted, Arc::clone(&found));
        found
    }
}

/// Whether the engine would still look at the same Python and configuration.
async fn is_current(view: &View, known: &TypesFound, caller: &Caller) -> bool {
    let Some(id) = known.around else {
        return true;
    };
    let engines = view.project.engines();
    let around = engines.surroundings(&Pythons::of(caller)).await;
    around.is_ok_and(|around| around.id == id)
}

/// One question's need for types.
struct Inquiry<'a> {
    view: &'a View,
    graph: &'a Arc<Graph>,
    caller: &'a Caller,
    engine: Option<EngineView>,
    until: Instant,
    /// Nothing more can be asked.
    is_over: bool,
    found: TypesFound,
}

impl Inquiry<'_> {
    async fn run(&mut self, wanted: &Wanted) {
        match wanted {
            Wanted::Below(path) => {
                let is_meant = |file: &str| pillion_index::place::is_below(file, path);
                let open = self.graph.open_sites_in(is_meant);
                let sites = self.doubted(open);
                self.ask(sites, MAX_SITES).await;
            }
            Wanted::Users { of, depth } => self.users(of, *depth).await,
        }
    }

    /// Ask about the users of nodes, then about the users of those, and so on: whom types add
    /// is followed too.
    async fn users(&mut self, of: &[NodeId], depth: usize) {
        let mut seen: HashSet<NodeId> = of.iter().copied().collect();
        let mut names: HashSet<u32> = HashSet::new();
        let mut level = of.to_vec();
        let mut direct = 0;
        for away in 0..=depth {
            let mut fresh = self.graph.method_names(&level);
            fresh.retain(|name| names.insert(*name));
            if !fresh.is_empty() {
                let open = self.graph.open_sites(&fresh);
                let mut sites = self.doubted(open);
                if away == 0 {
                    self.ask(sites, MAX_SITES).await;
                    direct = self.found.asked;
                } else {
                    sites = self.rare(sites);
                    let most = (direct + MAX_FURTHER).min(MAX_SITES);
                    self.ask(sites, most).await;
                }
            }
            if level.is_empty() || self.is_over {
                break;
            }
            let mut next = Vec::new();
            for node in level {
                let users = self.graph.users_with(node, &self.found.types).into_iter();
                next.extend(
                    users
                        .map(|user| user.node)
                        .filter(|user| seen.insert(*user)),
                );
            }
            level = next;
        }
    }

    /// The places to ask about, after what they cannot settle is noted.
    fn doubted(&mut self, open: Open) -> Vec<OpenSite> {
        for place in open.doubts {
            self.found.types.doubt(place);
        }
        open.sites
    }

    /// The places of names that are not everywhere; the others are left as they are.
    fn rare(&mut self, sites: Vec<OpenSite>) -> Vec<OpenSite> {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for site in &sites {
            *counts.entry(site.own).or_default() += 1;
        }
        let is_rare = |site: &OpenSite| counts[&site.own] <= MAX_OF_NAME;
        let (mut rare, common): (Vec<_>, Vec<_>) = sites.into_iter().partition(is_rare);
        if !common.is_empty() {
            let why = format!(
                "of callers further away, only methods are asked about whose names stand in up to {MAX_OF_NAME} places"
            );
            self.leave(&common, &why);
        }
        // If not all can be asked about, those that say most.
        rare.sort_by_key(|site| (counts[&site.own], site.own));
        rare
    }

    /// Ask about places, until so many were asked about for this answer.
    async fn ask(&mut self, mut sites: Vec<OpenSite>, most: usize) {
        if sites.is_empty() {
            return;
        }
        let room = most.saturating_sub(self.found.asked);
        let left = sites.split_off(room.min(sites.len()));
        if !left.is_empty() {
            self.give_up(&left, &format!("more than {most} places matter"));
        }
        let engine = match self.engine().await {
            Ok(engine) => engine,
            Err(error) => {
                self.found.is_lasting = false;
                self.give_up(&sites, &error.to_string());
                return;
            }
        };
        let (graph, until) = (self.graph, self.until);
        let answers = stream::iter(sites.clone()).map(|site| {
            let engine = &engine;
            async move { meant(engine, graph, &site).await }
        });
        let mut answers = answers.buffered(AT_ONCE);
        for at in 0..sites.len() {
            let why = match timeout_at(until, answers.next()).await {
                Ok(Some(Ok(meaning))) => {
                    let meaning = meaning.as_ref();
                    self.found.types.learn(graph, &sites[at], meaning);
                    self.found.asked += 1;
                    continue;
                }
                Ok(Some(Err(error))) => error.to_string(),
                Ok(None) => break,
                Err(_) => format!("{} was still at work", engine.name()),
            };
            self.found.is_lasting = false;
            self.give_up(&sites[at..], &why);
            return;
        }
    }

    /// Leave places as they are, and ask no more.
    fn give_up(&mut self, sites: &[OpenSite], why: &str) {
        self.leave(sites, why);
        self.is_over = true;
    }

    /// Leave places as they are.
    fn leave(&mut self, sites: &[OpenSite], why: &str) {
        for site in sites {
            self.found.types.learn(self.graph, site, None);
        }
        self.found.unasked += sites.len();
        self.found.why.get_or_insert_with(|| why.to_owned());
    }

    /// The engine of the workspace, if it need not be fetched.
    async fn engine(&mut self) -> Result<EngineView> {
        if let Some(engine) = &self.engine {
            return Ok(engine.clone());
        }
        let engines = self.view.project.engines();
        let around = engines.surroundings(&Pythons::of(self.caller)).await?;
        let choice = around.project.config.code.engine;
        if !engines.is_at_hand(choice, &around).await {
            let name = choice.name();
            let what = match choice {
                EngineChoice::Jedi => "jedi is not asked for types".to_owned(),
                _ => format!("{name} is not there yet; `pillion env ensure` fetches it"),
            };
            return Err(Error::new(Code::StartFailed, what));
        }
        let engine = self.view.engine(None, self.caller).await?;
        self.found.engine = Some(engine.name());
        self.found.around = Some(engine.around.id);
        self.engine = Some(engine.clone());
        Ok(engine)
    }
}

/// What is meant at a place; nothing if the engine does not know.
async fn meant(engine: &EngineView, graph: &Graph, site: &OpenSite) -> Result<Option<Meaning>> {
    let Some(file) = graph.files.get(site.file as usize) else {
        return Ok(None);
    };
    let found = engine.definition(file.path(), site.at).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let root = engine.view.root();
    let mut meaning = Meaning::default();
    for place in found.iter() {
        let path = place.path.strip_prefix(root).ok().and_then(|p| p.to_str());
        let line = place.range.start.line + 1;
        match path.and_then(|path| graph.defined_at(path, line, site)) {
            Some(node) => meaning.nodes.push(node),
            None => meaning.has_others = true,
        }
    }
    meaning.nodes.sort_unstable();
    meaning.nodes.dedup();
    Ok(Some(meaning))
}
