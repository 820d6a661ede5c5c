use pillion_index::language::Language::Typescript;

use super::{across, found};

fn is(text: &str) -> Vec<String> {
    found(Typescript, "src/a.ts", text)
}

#[test]
fn entries() {
    assert_eq!(is("#!/usr/bin/env node\nrun();\n"), ["cli_entry_point@1"]);
    assert_eq!(
        is("x();\nif (require.main === module) run();\n"),
        ["cli_entry_point@2"]
    );
    let commander = "import { program } from 'commander';\nprogram.parse(process.argv);\n";
    assert_eq!(is(commander), ["cli_entry_point@2"]);
    assert!(is("import { program } from 'commander';\nJSON.parse(text);\n").is_empty());
    assert!(is("import x from 'commanders';\nx.parse();\n").is_empty());
}

#[test]
fn handlers() {
    let express = "import express from 'express';\nconst app = express();\napp.get('/x', (req, res) => res.send());\nrouter.post(`/y`, auth, handlers.post);\n";
    assert_eq!(is(express), ["http_handler@3", "http_handler@4"]);
    let required = "const fastify = require('fastify')();\nfastify.get('/x', get);\n";
    assert_eq!(is(required), ["http_handler@2"]);
    assert_eq!(
        is("app.get('/x', async (req, res) => {});\n"),
        ["http_handler@1"]
    );
    let nest =
        "@Controller('cats')\nexport class Cats {\n  @Get(':id')\n  one() {}\n  other() {}\n}\n";
    assert_eq!(is(nest), ["http_handler@4"]);
    let next =
        "export async function GET(request: Request) { return 1; }\nexport function helper() {}\n";
    assert_eq!(
        found(Typescript, "src/app/items/route.ts", next),
        ["http_handler@1"]
    );
    assert!(found(Typescript, "src/items/route.ts", next).is_empty());
    let server = "import http from 'node:http';\nhttp.createServer((req, res) => res.end());\n";
    assert_eq!(is(server), ["http_handler@2"]);
    assert!(is("cache.get('/x', fallback);\naxios.get('/x', { a: 1 });\n").is_empty());
    let client =
        "import express from 'express';\nrequest.get('/x');\nclient.get('/x', { a: 1 });\n";
    assert!(is(client).is_empty());
}

#[test]
fn middleware() {
    let named = "function log(req, res, next) { next(); }\nconst wait = async (ctx, next) => { await next(); };\n";
    assert_eq!(is(named), ["middleware@1", "middleware@2"]);
    assert_eq!(
        is("app.use((req, res, next) => {\n  next();\n});\n"),
        ["middleware@1"]
    );
    let list = "function link(prev, item, next) { next(); }\nfunction see(req, res, next) { return next.value; }\n";
    assert!(is(list).is_empty());
}

#[test]
fn singletons() {
    let kept = "class A {\n  private static one: A;\n  private constructor() {}\n  static get() {\n    if (!A.one) A.one = new A();\n    return A.one;\n  }\n}\n";
    assert_eq!(is(kept), ["singleton@1"]);
    let made = "class A {\n  static #one = new A();\n  static get() { return A.#one; }\n}\n";
    assert_eq!(is(made), ["singleton@1"]);
    let fresh = "class A {\n  static count = 0;\n  static make() { return new A(); }\n  static many() { return A.count; }\n}\n";
    assert!(is(fresh).is_empty());
}

#[test]
fn factories_and_builders() {
    let makes = "function createShape(kind: string) {\n  if (kind) return new Circle();\n  return new shapes.Square(kind);\n}\n";
    assert_eq!(is(makes), ["factory@1"]);
    assert!(is("function createShape() { return new Circle(); }\n").is_empty());
    assert!(is("function view() { if (x) return new A(); return new B(); }\n").is_empty());
    let fluent = "class Q {\n  where(x) { return this; }\n  order(x) { return this; }\n  build() { return 1; }\n}\n";
    assert_eq!(is(fluent), ["builder@1"]);
    let plain = "class Q {\n  where(x) { return x; }\n  order(x) { return this; }\n  build() { return 1; }\n}\n";
    assert!(is(plain).is_empty());
}

#[test]
fn those_that_keep_others() {
    let observer = "class S {\n  private all = [];\n  subscribe(f) { this.all.push(f); }\n  notify(x) { for (const f of this.all) f(x); }\n}\n";
    assert_eq!(is(observer), ["observer@1"]);
    let bus = "class B {\n  on(e, f) { this.all.get(e).push(f); }\n  emit(e) {\n    const all = this.all.get(e);\n    all.forEach((f) => f(e));\n  }\n}\n";
    assert_eq!(is(bus), ["event_bus@1"]);
    let emitter = "import { EventEmitter } from 'events';\nclass E extends EventEmitter {\n  go() { this.emit('x'); }\n}\n";
    assert_eq!(is(emitter), ["event_bus@2"]);
    let own = "class E extends EventEmitter {\n  go() { this.emit('x'); }\n}\n";
    assert!(is(own).is_empty());
    let list = "class L {\n  add(x) { this.all.push(x); }\n  total() { let t = 0; for (const x of this.all) t += x.price(); return t; }\n}\n";
    assert!(is(list).is_empty());
    let composite = "class G {\n  put(x) { this.all.push(x); }\n  draw() { for (const x of this.all) x.draw(); }\n}\n";
    assert_eq!(is(composite), ["composite@1"]);
    let registry = "const plugins = new Map();\nexport function register(name, plugin) { plugins.set(name, plugin); }\n";
    assert_eq!(is(registry), ["plugin_registry@2"]);
    let class = "class R {\n  register(name, it) { this.all[name] = it; }\n}\n";
    assert_eq!(is(class), ["plugin_registry@1"]);
    let memo = "const seen = new Map();\nfunction remember(key, value) { seen.set(key, value); }\n";
    assert!(is(memo).is_empty());
    let chain = "class H {\n  handle(x) { return this.next.handle(x); }\n}\nclass Node2 {\n  last() { return this.next.value(); }\n}\n";
    assert_eq!(is(chain), ["handler_chain@1"]);
}

#[test]
fn injected_and_stored() {
    let nest = "@Injectable()\nexport class Cats {}\n@Other()\nexport class Dogs {}\n";
    assert_eq!(is(nest), ["dependency_injection@2"]);
    let stored = "class UserRepository {\n  findOne(id) {}\n  save(user) {}\n}\nclass UserStore {\n  findOne(id) {}\n  save(user) {}\n}\n";
    assert_eq!(is(stored), ["repository@1"]);
}

#[test]
fn interfaces_that_several_fulfil() {
    let files = [
        (
            "a.ts",
            "export interface Shape { area(): number }\ninterface Alone { x: number }\n",
        ),
        (
            "b.ts",
            "class Circle implements Shape { area() { return 1; } }\nclass One implements Alone { x = 1 }\n",
        ),
        (
            "c.ts",
            "class Square extends Base implements Shape { area() { return 1; } }\nclass User { constructor(private shape: Shape) {} }\n",
        ),
    ];
    assert_eq!(
        across(Typescript, &files),
        ["strategy `Shape` is fulfilled by 2 types: `Circle`, `Square`"]
    );
}

#[test]
fn of_tests_only_what_they_share_counts() {
    let text = "beforeEach(() => {});\nafter(1);\napp.get('/x', (req, res) => {});\n";
    assert_eq!(found(Typescript, "a.test.ts", text), ["test_fixture@1"]);
}
