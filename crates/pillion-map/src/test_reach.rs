//! What tests can run: forward from each test, along calls and names, to everything that may
//! be executed on the way.
//!
//! A method that is only possible by its name, or by an override, counts if its class is
//! named on the way, too: whoever has an instance got it from somewhere. Operators and bases
//! that are not of the workspace can call what a class has as soon as it is named. Tests are
//! followed 64 at a time, each as one bit.

use std::collections::{BTreeSet, HashSet};

use super::graph::Graph;
use super::link::Way;
use super::modules::folder;
use super::possible::NOBODY;
use super::relations::Relations;
use super::tests_of::{is_around_module, is_around_tests, is_conftest, is_test_file, is_test_name};
use super::typed::Types;
use super::vocabulary::is_special;
use super::world::{NodeId, NodeKind, own_name};

/// A test as its runner sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestCase {
    /// The class that it is run for, which may have inherited it.
    pub class: Option<NodeId>,
    pub(crate) test: NodeId,
}

impl TestCase {
    /// `Class.test`, or `test`.
    pub fn name(self, graph: &Graph) -> String {
        let test = graph.name(self.test);
        match self.class {
            Some(class) => format!("{}.{}", graph.name(class), own_name(test)),
            None => test.to_owned(),
        }
    }
}

/// Tests that are followed at once.
const AT_ONCE: usize = 64;

impl Graph {
    /// The tests that can run one of some nodes, in the order of their files.
    pub(super) fn tests_that_run(&self, wanted: &BTreeSet<NodeId>, types: &Types) -> Vec<TestCase> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let tests = self.test_cases();
        let shared = self.shared();
        let is_test = self.are_tests(&tests);
        let mut found = Vec::new();
        let mut run = Run::new(self, types, &is_test);
        for some in tests.chunks(AT_ONCE) {
            run.clear();
            for (bit, test) in some.iter().enumerate() {
                run.seed(*test, 1 << bit, &shared);
            }
            run.finish();
            let hit = wanted
                .iter()
                .fold(0, |hit, node| hit | run.mask[*node as usize]);
            let hits = some
                .iter()
                .enumerate()
                .filter(|(bit, _)| hit & (1 << bit) != 0);
            found.extend(hits.map(|(_, test)| *test));
        }
        found
    }

    /// All tests, sorted: functions, and methods of classes, also those that they inherit.
    pub(super) fn test_cases(&self) -> Vec<TestCase> {
        let relations = self.relations();
        let bases: HashSet<NodeId> = relations.above.values().flatten().copied().collect();
        let mut cases = Vec::new();
        for node in self.nodes().filter(|node| is_test_file(self.path(*node))) {
            match self.kind(node) {
                NodeKind::Function if self.is_test(node) => cases.push(TestCase {
                    class: None,
                    test: node,
                }),
                NodeKind::Class if !self.name(node).contains('.') => {
                    // A class that others inherit from is mostly none itself.
                    let is_collected = self.name(node).starts_with("Test")
                        || relations.is_open[node as usize]
                        || !bases.contains(&node);
                    if is_collected {
                        self.cases_of(node, &mut cases);
                    }
                }
                _ => {}
            }
        }
        cases
    }

    /// The tests of a class; those of its bases that it does not override are its own, too.
    fn cases_of(&self, class: NodeId, cases: &mut Vec<TestCase>) {
        let relations = self.relations();
        let mut names: HashSet<&str> = HashSet::new();
        let above = relations.above.get(&class).into_iter().flatten();
        for holder in std::iter::once(&class).chain(above) {
            for method in relations.inside.get(*holder) {
                let name = own_name(self.name(*method));
                let is_method = self.kind(*method) == NodeKind::Method;
                if is_method && is_test_name(name) && names.insert(name) {
                    cases.push(TestCase {
                        class: Some(class),
                        test: *method,
                    });
                }
            }
        }
    }

    fn are_tests(&self, cases: &[TestCase]) -> Vec<bool> {
        let mut are: Vec<bool> = self.nodes().map(|node| self.is_test(node)).collect();
        for case in cases {
            are[case.test as usize] = true;
        }
        are
    }

    /// What pytest calls for many tests: by the file or folder that it is for.
    fn shared(&self) -> Shared {
        let mut shared = Shared::default();
        for node in self.nodes() {
            let (path, name) = (self.path(node), self.name(node));
            if is_conftest(path) && name.starts_with("pytest_") {
                shared.folders.push((folder(path).to_owned(), node));
            } else if is_test_file(path) && is_around_module(name) {
                shared.files.push((self.file_index(node), node));
            }
        }
        shared
    }
}

#[derive(Debug, Default)]
struct Shared {
    folders: Vec<(String, NodeId)>,
    files: Vec<(u32, NodeId)>,
}

/// One way through the graph, for up to 64 tests.
struct Run<'g> {
    graph: &'g Graph,
    relations: &'g Relations,
    types: &'g Types,
    is_test: &'g [bool],
    /// The tests that come to a node; for a class, that name it.
    mask: Vec<u64>,
    /// The tests that call a method if its class is named.
    called: Vec<u64>,
    /// The tests that take a name from something unknown.
    named: Vec<u64>,
    /// What is new since a node was last looked at.
    fresh: Vec<u64>,
    open: Vec<NodeId>,
}

impl<'g> Run<'g> {
    fn new(graph: &'g Graph, types: &'g Types, is_test: &'g [bool]) -> Self {
        let relations = graph.relations();
        Self {
            graph,
            relations,
            types,
            is_test,
            mask: vec![0; graph.len()],
            called: vec![0; graph.len()],
            named: vec![0; relations.names.len()],
            fresh: vec![0; graph.len()],
            open: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.mask.fill(0);
        self.called.fill(0);
        self.named.fill(0);
        self.fresh.fill(0);
    }

    /// A test, with what runs around it.
    fn seed(&mut self, case: TestCase, bit: u64, shared: &Shared) {
        let graph = self.graph;
        self.put(case.test, bit);
        if let Some(class) = case.class {
            self.add(class, bit);
        }
        let place = case.class.unwrap_or(case.test);
        let (file, path) = (graph.file_index(place), graph.path(place));
        for (of, node) in &shared.files {
            if *of == file {
                self.add(*node, bit);
            }
        }
        for (below, node) in &shared.folders {
            if below.is_empty() || path.starts_with(below.as_str()) {
                self.add(*node, bit);
            }
        }
    }

    fn add(&mut self, node: NodeId, bits: u64) {
        // No test runs another.
        if !self.is_test[node as usize] {
            self.put(node, bits);
        }
    }

    fn put(&mut self, node: NodeId, bits: u64) {
        let at = node as usize;
        let new = bits & !self.mask[at];
        if new != 0 {
            self.mask[at] |= new;
            if self.fresh[at] == 0 {
                self.open.push(node);
            }
            self.fresh[at] |= new;
        }
    }

    /// A method is called, on an instance of its class if there is one.
    fn call(&mut self, method: NodeId, bits: u64) {
        let mut open = vec![method];
        while let Some(next) = open.pop() {
            let at = next as usize;
            if bits & !self.called[at] == 0 {
                continue;
            }
            self.called[at] |= bits;
            self.settle(next);
            open.extend(self.graph.below(next));
            open.extend(self.relations.stands_in.get(&next).into_iter().flatten());
        }
    }

    /// A method whose class is named is run by those who call it.
    fn settle(&mut self, method: NodeId) {
        let class = self.relations.class_of[method as usize];
        let seen = match class {
            NOBODY => u64::MAX,
            class => self.mask[class as usize],
        };
        let own = self.graph.node(method).map_or(0, |node| node.own);
        let named = self.relations.by_name.get(&own);
        let named = named.map_or(0, |at| self.named[*at as usize]);
        self.add(method, (self.called[method as usize] | named) & seen);
    }

    fn finish(&mut self) {
        while let Some(node) = self.open.pop() {
            let bits = std::mem::take(&mut self.fresh[node as usize]);
            self.step(node, bits);
        }
    }

    fn step(&mut self, node: NodeId, bits: u64) {
        let (graph, relations, types) = (self.graph, self.relations, self.types);
        let kind = graph.kind(node);
        for edge in graph.out(node) {
            let is_method = graph.kind(edge.node) == NodeKind::Method;
            if edge.is_sure || !is_method {
                self.add(edge.node, bits);
            } else if !types.rules_out(graph, node, edge.node) {
                self.call(edge.node, bits);
            }
        }
        for edge in types.out(node) {
            self.add(edge.node, bits);
        }
        for name in relations.taken.get(node) {
            let at = *name as usize;
            let name = &relations.names[at];
            if types.settles(node, name.own) || bits & !self.named[at] == 0 {
                continue;
            }
            self.named[at] |= bits;
            for method in &name.methods {
                self.settle(*method);
            }
        }
        match kind {
            NodeKind::Class => self.class(node, bits),
            NodeKind::Method => {
                let class = relations.class_of[node as usize];
                if class != NOBODY {
                    self.add(class, bits);
                }
                for below in graph.below(node) {
                    self.call(*below, bits);
                }
            }
            _ => {}
        }
        for standing in relations.stands_in.get(&node).into_iter().flatten() {
            self.call(*standing, bits);
        }
        if kind != NodeKind::Class {
            for inner in relations.inside.get(node) {
                self.add(*inner, bits);
            }
        }
    }

    /// A class is named: operators and foreign bases may call what it has.
    fn class(&mut self, class: NodeId, bits: u64) {
        let is_hooked = self.relations.is_hooked[class as usize];
        for inner in self.relations.inside.get(class) {
            if self.graph.kind(*inner) != NodeKind::Method {
                self.add(*inner, bits);
                continue;
            }
            let name = own_name(self.graph.name(*inner));
            if is_hooked || is_special(name) || is_around_tests(name) {
                self.add(*inner, bits);
            } else {
                self.settle(*inner);
            }
        }
    }
}

impl Graph {
    /// The files whose own code runs one of some nodes when they are imported.
    pub(super) fn run_at_import(&self, wanted: &BTreeSet<NodeId>, types: &Types) -> BTreeSet<u32> {
        let mut files = BTreeSet::new();
        let mut seen: BTreeSet<NodeId> = wanted.clone();
        let mut open: Vec<NodeId> = wanted.iter().copied().collect();
        while let Some(node) = open.pop() {
            if self.is_called_at_definition(node) {
                let class = self.relations().class_of[node as usize];
                let namers = self.into(class).iter();
                let kinds = [NodeKind::Class, NodeKind::Module, NodeKind::Variable];
                let namers = namers.filter(|edge| kinds.contains(&self.kind(edge.node)));
                files.extend(namers.map(|edge| self.file_index(edge.node)));
            }
            for of in std::iter::once(node).chain(self.all_above(node)) {
                let typed = types.into(of).iter();
                for edge in self.into(of).iter().chain(typed) {
                    let is_guess = !edge.is_sure && self.kind(of) == NodeKind::Method;
                    if edge.way != Way::Call || is_guess || !seen.insert(edge.node) {
                        continue;
                    }
                    let is_inner = self.name(edge.node).contains('.');
                    match self.kind(edge.node) {
                        NodeKind::Module | NodeKind::Variable => {
                            files.insert(self.file_index(edge.node));
                        }
                        NodeKind::Class if !is_inner => {
                            files.insert(self.file_index(edge.node));
                        }
                        _ => open.push(edge.node),
                    }
                }
            }
        }
        files
    }
}
