use pillion_index::language::Language::{Javascript, Typescript};

use super::{Way, calls, dead, edges};

#[test]
fn names_of_the_file_and_of_functions() {
    let text = "
function top() { inner(); }
function inner() {
  function nested() { top(); }
  const arrow = (x: number) => nested();
  arrow(1);
}
function shadow(top: any) { top(); }
const made = () => top();
inner();
";
    assert_eq!(
        calls(Typescript, &[("a.ts", text)]),
        [
            "a:<module> -> a:inner",
            "a:inner -> a:inner.arrow",
            "a:inner.arrow -> a:inner.nested",
            "a:inner.nested -> a:top",
            "a:made -> a:top",
            "a:top -> a:inner",
        ]
    );
}

#[test]
fn imports_by_name_default_namespace_and_with_endings() {
    let files = [
        (
            "lib/money.ts",
            "export function add() {}\nexport default function round() {}\nexport const half = () => add();\n",
        ),
        ("lib/deep/index.tsx", "export class Box {}\n"),
        ("lib/old.js", "export function old() {}\n"),
        (
            "app.ts",
            "import round, { add as plus, half } from './lib/money';
import * as money from './lib/money.js';
import { Box } from './lib/deep';
import { old } from './lib/old.js';
import { add } from 'outside';
function run() { plus(); half(); round(); money.add(); new Box(); old(); add(); }
",
        ),
    ];
    assert_eq!(
        calls(Typescript, &files),
        [
            "app:run -> lib/deep/index:Box",
            "app:run -> lib/money:add",
            "app:run -> lib/money:half",
            "app:run -> lib/money:round",
            "app:run -> lib/old:old",
            "lib/money:half -> lib/money:add",
        ]
    );
}

#[test]
fn names_that_are_passed_on() {
    let files = [
        (
            "a.ts",
            "export function f() {}\nexport function g() {}\nfunction h() {}\nexport { h as i };\n",
        ),
        (
            "b.ts",
            "export { f as renamed } from './a';\nexport * from './a';\nexport * as all from './a';\n",
        ),
        ("index.ts", "export * from './b';\n"),
        (
            "c.ts",
            "import { renamed, g, i, all } from '.';\nexport const run = () => { renamed(); g(); i(); all.f(); };\n",
        ),
    ];
    assert_eq!(
        calls(Typescript, &files),
        ["c:run -> a:f", "c:run -> a:g", "c:run -> a:h"]
    );
}

#[test]
fn methods_by_this_super_and_declared_types() {
    let files = [(
        "a.ts",
        "
class Base { start() {} stop() {} }
class Engine extends Base {
  private part: Part;
  constructor(private store: Store) { super(); this.part = new Part(); }
  start() { super.start(); this.stop(); this.store.save(); this.part.turn(); }
}
class Store { save() {} static open(): Store { return new Store(); } }
class Part { turn() {} }
function run(engine: Engine, any) {
  engine.start();
  const store = Store.open();
  store.save();
  const part = new Part();
  part.turn();
  any.turn();
}
",
    )];
    assert_eq!(
        calls(Typescript, &files),
        [
            "a:Engine.constructor -> a:Part",
            "a:Engine.start -> a:Base.start",
            "a:Engine.start -> a:Base.stop",
            "a:Engine.start -> a:Part.turn",
            "a:Engine.start -> a:Store.save",
            "a:Store.open -> a:Store",
            "a:run -> a:Engine.start",
            "a:run -> a:Part",
            "a:run -> a:Part.turn",
            "a:run -> a:Store.open",
            "a:run -> a:Store.save",
        ]
    );
}

#[test]
fn what_is_not_known_is_only_possible() {
    let files = [(
        "a.ts",
        "
class One { turn() {} push() {} }
class Two { turn() {} }
function run(x: any, y) {
  x.turn();
  y.push();
  let z = new One();
  z = y;
  z.turn();
}
",
    )];
    assert_eq!(
        calls(Typescript, &files),
        [
            "a:run -> a:One",
            "a:run ?> a:One.turn",
            "a:run ?> a:Two.turn",
        ]
    );
}

#[test]
fn elements_are_calls_and_callbacks_references() {
    let files = [
        (
            "box.tsx",
            "export const Box = () => <div/>;\nexport function onClick() {}\n",
        ),
        (
            "app.tsx",
            "import { Box, onClick } from './box';\nexport function App() { return <Box onClick={onClick}><p/></Box>; }\n",
        ),
    ];
    assert_eq!(calls(Typescript, &files), ["app:App -> box:Box"]);
    assert_eq!(
        edges(Typescript, &files, Way::Reference),
        ["app:App -> box:onClick"]
    );
}

#[test]
fn required_modules() {
    let files = [
        (
            "a.js",
            "function f() {}\nfunction g() {}\nmodule.exports = { f, other: g };\n",
        ),
        ("one.js", "function one() {}\nmodule.exports = one;\n"),
        (
            "b.js",
            "const a = require('./a');\nconst { other: h } = require('./a');\nconst one = require('./one');\nfunction run() { a.f(); h(); one(); }\n",
        ),
    ];
    assert_eq!(
        calls(Javascript, &files),
        ["b:run -> a:f", "b:run -> a:g", "b:run -> one:one"]
    );
}

#[test]
fn javascript_leaves_out_typescript() {
    let files = [
        ("a.ts", "f();\nfunction f() {}\n"),
        ("b.js", "g();\nfunction g() {}\n"),
    ];
    assert_eq!(calls(Javascript, &files), ["b:<module> -> b:g"]);
    assert_eq!(calls(Typescript, &files).len(), 2);
}

#[test]
fn nobody_reaches_these() {
    let files = [
        (
            "a.ts",
            "export function used() { helper(); }\nfunction helper() {}\nexport function unused() {}\nexport default function page() {}\n",
        ),
        (
            "b.ts",
            "import { used } from './a';\nused();\nclass C { kept() {} lost() {} constructor() {} }\nfunction run(x) { x.kept(); }\nrun(new C());\n",
        ),
    ];
    assert_eq!(dead(Typescript, &files), ["a:unused", "b:C.lost"]);
    // What an index names is there for others.
    let index = ("index.ts", "export * from './a';\nfunction own() {}\n");
    let files = [files[0], files[1], index];
    assert_eq!(dead(Typescript, &files), ["b:C.lost", "index:own"]);
}
