use pillion_index::language::Language::Rust;

use super::{across, found};

fn is(text: &str) -> Vec<String> {
    found(Rust, "src/lib.rs", text)
}

#[test]
fn entries() {
    let main = "fn main() {}\n";
    assert_eq!(found(Rust, "src/main.rs", main), ["cli_entry_point@1"]);
    assert_eq!(found(Rust, "a/src/bin/x.rs", main), ["cli_entry_point@1"]);
    assert!(is(main).is_empty());
    let clap = "use clap::Parser;\n#[derive(Debug, Parser)]\nstruct Args { x: u8 }\n#[derive(Debug)]\nstruct Other;\n";
    assert_eq!(is(clap), ["cli_entry_point@3"]);
    assert!(is("#[derive(Parser)]\nstruct Args;\n").is_empty());
}

#[test]
fn handlers_and_middleware() {
    let axum = "use axum::{Router, routing::get};\nfn app() -> Router {\n    Router::new()\n        .route(\"/x\", get(x))\n}\n";
    assert_eq!(is(axum), ["http_handler@4"]);
    let actix = "use actix_web::get;\n#[get(\"/x\")]\nasync fn x() {}\n";
    assert_eq!(is(actix), ["http_handler@3"]);
    assert!(is("fn f() { table.route(\"/x\", 1); }\n#[get(\"/x\")]\nfn g() {}\n").is_empty());
    let next = "async fn log(r: Request, next: Next) -> Response { next.run(r).await }\nfn f(next: Next) {}\n";
    assert_eq!(is(next), ["middleware@1"]);
    let layer =
        "use tower::Layer;\nimpl<S> Layer<S> for Log {\n    fn layer(&self, s: S) -> W { w }\n}\n";
    assert_eq!(is(layer), ["middleware@3"]);
    assert!(is("impl Layer<S> for Cake {\n    fn layer(&self) {}\n}\n").is_empty());
}

#[test]
fn singletons() {
    let once = "static DB: OnceLock<Db> = OnceLock::new();\nfn db() -> &'static Db { DB.get_or_init(Db::new) }\n";
    assert_eq!(is(once), ["singleton@2"]);
    let lazy = "static DB: std::sync::LazyLock<Db> = LazyLock::new(Db::new);\nfn db() -> &'static Db {\n    &DB\n}\n";
    assert_eq!(is(lazy), ["singleton@2"]);
    let plain = "static N: u8 = 1;\nfn n() -> &'static u8 { &N }\nstatic RE: LazyLock<Regex> = LazyLock::new(re);\nfn f(x: &str) -> bool { RE.is_match(x) }\n";
    assert!(is(plain).is_empty());
}

#[test]
fn factories_and_builders() {
    let makes = "fn shape(kind: u8) -> Box<dyn Shape> {\n    match kind {\n        1 => Box::new(Circle),\n        _ => Box::new(Square::new(kind)),\n    }\n}\n";
    assert_eq!(is(makes), ["factory@1"]);
    assert!(is("fn shape() -> Box<dyn Shape> { Box::new(Circle) }\n").is_empty());
    let fluent = "struct B;\nimpl B {\n    pub fn name(mut self, n: &str) -> Self { self.n = n; self }\n    pub fn age(mut self, a: u8) -> Self { self.a = a; self }\n    pub fn build(self) -> A { A }\n}\n";
    assert_eq!(is(fluent), ["builder@1"]);
    let plain = "struct B;\nimpl B {\n    fn a(self) -> A { self.a }\n    fn b(self) -> A { self.b }\n    fn build(self) -> A { A }\n}\n";
    assert!(is(plain).is_empty());
}

#[test]
fn those_that_keep_others() {
    let observer = "struct S { all: Vec<Box<dyn Fn(u8)>> }\nimpl S {\n    fn subscribe(&mut self, f: Box<dyn Fn(u8)>) { self.all.push(f); }\n    fn notify(&self) { for f in &self.all { f(1); } }\n}\n";
    assert_eq!(is(observer), ["observer@1"]);
    let bus = "struct S;\nimpl S {\n    fn on(&mut self, e: String, f: F) { self.all.entry(e).or_default().push(f); }\n    fn emit(&self, e: &str) {\n        for f in self.all.get(e).into_iter().flatten() {\n            f(e);\n        }\n    }\n}\n";
    assert_eq!(is(bus), ["event_bus@1"]);
    let sum = "struct S;\nimpl S {\n    fn put(&mut self, n: u8) { self.all.push(n); }\n    fn sum(&self) -> u8 { let mut t = 0; for n in &self.all { t += n; } t }\n}\n";
    assert!(is(sum).is_empty());
    let registry = "static PLUGINS: Mutex<Vec<P>> = Mutex::new(Vec::new());\npub fn register(p: P) { PLUGINS.lock().unwrap().push(p); }\n";
    assert_eq!(is(registry), ["plugin_registry@2"]);
    let memo = "static SEEN: Mutex<Vec<P>> = Mutex::new(Vec::new());\npub fn remember(p: P) { SEEN.lock().unwrap().push(p); }\n";
    assert!(is(memo).is_empty());
}

#[test]
fn interfaces_that_several_fulfil() {
    let files = [
        (
            "src/a.rs",
            "pub trait Shape { fn area(&self) -> u8; }\ntrait Alone {}\n",
        ),
        (
            "src/b.rs",
            "impl Shape for Circle { fn area(&self) -> u8 { 1 } }\nimpl Alone for Circle {}\n",
        ),
        (
            "src/c.rs",
            "impl crate::a::Shape for Square<u8> { fn area(&self) -> u8 { 1 } }\nstruct Page { shape: Box<dyn Shape> }\n",
        ),
    ];
    assert_eq!(
        across(Rust, &files),
        ["strategy `Shape` is fulfilled by 2 types: `Circle`, `Square`"]
    );
}

#[test]
fn a_struct_of_the_same_name_is_no_trait_in_a_field() {
    let files = [
        (
            "src/a.rs",
            "pub trait Text {}\nimpl Text for A {}\nimpl Text for B {}\n",
        ),
        ("src/b.rs", "struct Text;\nstruct Page { text: Text }\n"),
    ];
    assert_eq!(
        across(Rust, &files),
        ["interface `Text` is fulfilled by 2 types: `A`, `B`"]
    );
}

#[test]
fn of_tests_only_what_they_share_counts() {
    let text = "#[fixture]\nfn db() -> Db { Db }\nfn shape() {}\n";
    assert_eq!(found(Rust, "tests/a.rs", text), ["test_fixture@2"]);
    let inner = "#[cfg(test)]\nmod tests {\n    static DB: OnceLock<Db> = OnceLock::new();\n    fn db() -> &'static Db { DB.get_or_init(Db::new) }\n}\n";
    assert!(is(inner).is_empty());
}
