//! Which tests a change can reach. In Python it is asked what each test can run (`test_reach`),
//! and along imports from modules whose own code changed; in other languages backwards along
//! calls, references and overrides from the functions that changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use pillion_index::language::Language;

use super::changes::ChangedFile;
use super::graph::Graph;
use super::keys::{Key, name_key, path_key};
use super::languages::is_test_file as is_test_source;
use super::modules::{folder, stem};
use super::sketch::{MODULE, ScopeKind};
use super::test_reach::TestCase;
use super::tests_of::{is_conftest, is_test_file, is_test_name};
use super::typed::Types;
use super::world::{NodeId, NodeKind, Role, own_name};

/// What a change can reach.
#[derive(Debug, Default)]
pub struct Reach {
    /// The nodes that changed.
    pub changed: BTreeSet<NodeId>,
    /// The tests that reach them, by file; of an empty list all.
    pub tests: BTreeMap<u32, Vec<TestCase>>,
}

impl Graph {
    /// The nodes that changed in some files.
    pub fn changed(&self, files: &[ChangedFile]) -> Vec<NodeId> {
        let found = files
            .iter()
            .filter_map(|f| Some((self.file_at(&f.path)?, f)));
        found
            .flat_map(|(at, file)| self.changed_nodes(at, file))
            .collect()
    }

    /// What changed files can reach, with what types say.
    pub fn reach(&self, files: &[ChangedFile], types: &Types) -> Reach {
        let mut reach = Reach::default();
        let mut walk = Walk {
            graph: self,
            types,
            nodes: HashSet::new(),
            modules: HashSet::new(),
            open: Vec::new(),
        };
        for file in files {
            if let Some(at) = self.file_at(&file.path) {
                let changed = self.changed_nodes(at, file);
                reach.changed.extend(changed);
                if file.imports {
                    // The same words may now mean something else.
                    self.nodes_of(at).skip(1).for_each(|node| walk.node(node));
                }
                self.removed(at, file, &mut walk);
            }
            // Whoever looked for what is gone found it before.
            if let Some(gone) = &file.gone {
                for key in self.gone_keys(gone) {
                    self.lookers(key).for_each(|at| walk.module(at));
                }
            }
        }
        for node in &reach.changed {
            walk.node(*node);
        }
        reach.tests = match self.language {
            Language::Python => walk.python_tests(),
            _ => {
                walk.run();
                walk.other_tests()
            }
        };
        reach
    }

    /// What files looked for who meant one that is gone.
    fn gone_keys(&self, gone: &str) -> Vec<Key> {
        let name = gone.rsplit('/').next().unwrap_or(gone);
        match self.language {
            Language::Python => vec![path_key(stem(gone))],
            _ => [gone, folder(gone), name].map(path_key).to_vec(),
        }
    }

    /// Whether a file holds tests: by its name, or by what is in it.
    pub fn is_test_file(&self, file: u32) -> bool {
        self.files.get(file as usize).is_some_and(|file| {
            is_test_source(self.language, &file.sketched.path)
                || file.sketched.nodes.iter().any(|n| n.role == Role::Test)
        })
    }

    /// Files that looked for something.
    fn lookers(&self, key: Key) -> impl Iterator<Item = u32> {
        let files = (0..).zip(&self.files);
        let looked = files.filter(move |(_, file)| file.links.saw.binary_search(&key).is_ok());
        looked.map(|(at, _)| at)
    }

    /// Who looks for a function that is no more is reached.
    fn removed(&self, at: u32, file: &ChangedFile, walk: &mut Walk<'_>) {
        let Some(found) = self.files.get(at as usize) else {
            return;
        };
        for name in &file.removed {
            let key = name_key(found.sketched.key(MODULE), name);
            let lookers: Vec<u32> = self.lookers(key).collect();
            for node in lookers
                .into_iter()
                .flat_map(|file| self.nodes_of(file).skip(1))
            {
                walk.node(node);
            }
        }
    }

    /// The nodes whose own lines changed.
    fn changed_nodes(&self, at: u32, file: &ChangedFile) -> BTreeSet<NodeId> {
        let Some(found) = self.files.get(at as usize) else {
            return BTreeSet::new();
        };
        let Some(lines) = &file.lines else {
            return self.nodes_of(at).collect();
        };
        let sketch = &found.sketched.sketch;
        let owner = |line: u32| {
            // The innermost comes last.
            let around = (0..).zip(&sketch.scopes).filter(|(_, scope)| {
                !matches!(scope.kind, ScopeKind::Inner | ScopeKind::Variable)
                    && scope.lines.0 <= line
                    && line <= scope.lines.1
            });
            let scope = around.last().map_or(MODULE, |(id, _)| id);
            found.first + found.sketched.node(scope)
        };
        let mut nodes: BTreeSet<NodeId> = lines.iter().map(|line| owner(*line)).collect();
        // What was taken out of a function changed it; beside them it was one itself.
        let beside = file.gaps.iter().map(|line| owner(*line));
        nodes.extend(beside.filter(|node| *node != found.first));
        if file.top {
            nodes.insert(found.first);
        }
        nodes
    }
}

struct Walk<'g> {
    graph: &'g Graph,
    types: &'g Types,
    nodes: HashSet<NodeId>,
    /// Files whose own code is reached.
    modules: HashSet<u32>,
    open: Vec<NodeId>,
}

impl Walk<'_> {
    fn node(&mut self, node: NodeId) {
        if self.nodes.insert(node) {
            self.open.push(node);
        }
    }

    /// The code of a module reaches everyone who imports it.
    fn module(&mut self, file: u32) {
        let mut open = vec![file];
        while let Some(next) = open.pop() {
            if self.modules.insert(next) {
                open.extend(self.graph.importers(next));
            }
        }
    }

    fn run(&mut self) {
        while let Some(node) = self.open.pop() {
            let graph = self.graph;
            if graph.kind(node) == NodeKind::Module {
                self.module(graph.file_index(node));
                continue;
            }
            for user in graph.users_with(node, self.types) {
                self.node(user.node);
            }
        }
    }

    /// The tests that were reached, in languages other than Python.
    fn other_tests(&self) -> BTreeMap<u32, Vec<TestCase>> {
        let graph = self.graph;
        let mut tests: BTreeMap<u32, Vec<TestCase>> = BTreeMap::new();
        let mut whole: BTreeSet<u32> = self.modules.iter().copied().collect();
        for node in &self.nodes {
            let file = graph.file_index(*node);
            match graph.node(*node).map(|node| node.role) {
                Some(Role::Test) => tests.entry(file).or_default().push(TestCase {
                    class: None,
                    test: *node,
                }),
                Some(Role::Around) => drop(whole.insert(file)),
                _ => {}
            }
        }
        let whole = whole.into_iter().filter(|file| graph.is_test_file(*file));
        tests.extend(whole.map(|file| (file, Vec::new())));
        for nodes in tests.values_mut() {
            nodes.sort_unstable();
        }
        tests
    }

    /// The tests that run what was reached, in Python: forward from each of them, and all of
    /// those whose files import what runs it.
    fn python_tests(&mut self) -> BTreeMap<u32, Vec<TestCase>> {
        let graph = self.graph;
        let is_module = |node: &NodeId| graph.kind(*node) == NodeKind::Module;
        let (modules, nodes): (Vec<NodeId>, BTreeSet<NodeId>) = {
            let modules = self.nodes.iter().copied().filter(is_module);
            let nodes = self.nodes.iter().copied().filter(|node| !is_module(node));
            (modules.collect(), nodes.collect())
        };
        for node in modules {
            self.module(graph.file_index(node));
        }
        for file in graph.run_at_import(&nodes, self.types) {
            self.module(file);
        }
        let mut tests: BTreeMap<u32, Vec<TestCase>> = BTreeMap::new();
        for case in graph.tests_that_run(&nodes, self.types) {
            let place = case.class.unwrap_or(case.test);
            tests.entry(graph.file_index(place)).or_default().push(case);
        }
        let mut folders: BTreeSet<&str> = BTreeSet::new();
        for file in &self.modules {
            let path = graph.files.get(*file as usize).map(|f| &*f.sketched.path);
            folders.extend(path.filter(|path| is_conftest(path)).map(folder));
        }
        for (at, file) in (0..).zip(&graph.files) {
            let path = &*file.sketched.path;
            let is_below = |folder: &&str| {
                folder.is_empty()
                    || path
                        .strip_prefix(*folder)
                        .is_some_and(|rest| rest.starts_with('/'))
            };
            if is_test_file(path) && (self.modules.contains(&at) || folders.iter().any(is_below)) {
                tests.insert(at, Vec::new());
            }
        }
        tests
    }
}

impl Graph {
    /// Whether a node is a test of a test file.
    pub(crate) fn is_test(&self, node: NodeId) -> bool {
        let is_function = matches!(self.kind(node), NodeKind::Function | NodeKind::Method);
        let name = self.name(node);
        // A function in a function is nobody's test.
        let is_outer = match name.rsplit_once('.') {
            Some((class, _)) => self.kind(node) == NodeKind::Method && !class.contains('.'),
            None => true,
        };
        is_function && is_outer && is_test_name(own_name(name)) && is_test_file(self.path(node))
    }
}
