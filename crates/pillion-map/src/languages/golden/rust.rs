use pillion_index::language::Language::Rust;

use super::{calls, dead};

const CARGO: (&str, &str) = ("Cargo.toml", "[package]\nname = \"the-shop\"\n");

#[test]
fn modules_uses_and_paths_of_a_crate() {
    let files = [
        CARGO,
        (
            "src/lib.rs",
            "mod money;\npub mod cart;\npub use money::add as plus;\nfn top() { money::add(); crate::cart::deep::low(); }\n",
        ),
        (
            "src/money.rs",
            "pub fn add() { round() }\nfn round() { super::top(); self::add(); }\n",
        ),
        (
            "src/cart/mod.rs",
            "pub mod deep;\nuse crate::money::{self, add};\nuse deep::*;\nfn total() { add(); money::add(); low(); }\n",
        ),
        (
            "src/cart/deep.rs",
            "pub fn low() {}\nfn shadow(low: fn()) { low(); std::mem::drop(1); }\n",
        ),
        (
            "tests/it.rs",
            "use the_shop::plus;\n#[test]\nfn adds() { assert_eq!(plus(), the_shop::cart::deep::low()); }\n",
        ),
    ];
    assert_eq!(
        calls(Rust, &files),
        [
            "src/cart/mod:total -> src/cart/deep:low",
            "src/cart/mod:total -> src/money:add",
            "src/lib:top -> src/cart/deep:low",
            "src/lib:top -> src/money:add",
            "src/money:add -> src/money:round",
            "src/money:round -> src/lib:top",
            "src/money:round -> src/money:add",
            "tests/it:adds -> src/cart/deep:low",
            "tests/it:adds -> src/money:add",
        ]
    );
}

#[test]
fn methods_by_self_impls_and_declared_types() {
    let files = [
        CARGO,
        ("src/lib.rs", "mod types;\nmod more;\n"),
        (
            "src/types.rs",
            "pub struct Cart { store: Box<Store> }\npub struct Store;\npub trait Save { fn save(&self) { self.check(); } fn check(&self); }\n",
        ),
        (
            "src/more.rs",
            "
use crate::types::{Cart, Save, Store};
impl Cart {
    pub fn new() -> Self { Self::make() }
    fn make() -> Cart { todo() }
    fn total(&self) { self.sum(); self.store.save(); }
    fn sum(&self) {}
}
impl Save for Store { fn check(&self) {} }
fn run(cart: &Cart, saver: &dyn Save, other: impl Fn()) {
    cart.total();
    let mine = Cart::new();
    mine.sum();
    saver.check();
    other.total();
    other.len();
}
",
        ),
    ];
    assert_eq!(
        calls(Rust, &files),
        [
            "src/more:Cart.new -> src/more:Cart.make",
            "src/more:Cart.total -> src/more:Cart.sum",
            "src/more:Cart.total -> src/types:Save.save",
            "src/more:run -> src/more:Cart.new",
            "src/more:run -> src/more:Cart.sum",
            "src/more:run -> src/more:Cart.total",
            "src/more:run -> src/types:Save.check",
            "src/types:Save.save -> src/types:Save.check",
        ]
    );
}

#[test]
fn inline_modules_see_only_what_they_name() {
    let text = "
fn f() {}
mod tests {
    use super::f;
    fn g() { f(); super::h(); h(); }
    mod inner { fn i() { f(); super::g(); } }
}
fn h() { tests::g(); }
";
    assert_eq!(
        calls(Rust, &[CARGO, ("src/lib.rs", text)]),
        [
            "src/lib:h -> src/lib:tests.g",
            "src/lib:tests.g -> src/lib:f",
            "src/lib:tests.g -> src/lib:h",
            "src/lib:tests.inner.i -> src/lib:tests.g",
        ]
    );
}

#[test]
fn macros_may_do_anything_with_their_words() {
    let text = "
fn f() -> u32 { 1 }
struct S;
impl S { fn m(&self) {} }
fn run(s: &S) {
    assert!(f() == 1 && s.m() == ());
    strange!(f(), vec![f()]);
}
fn odd() { strange!(f()); }
";
    assert_eq!(
        calls(Rust, &[CARGO, ("src/lib.rs", text)]),
        [
            "src/lib:odd ?> src/lib:f",
            "src/lib:run -> src/lib:S.m",
            "src/lib:run -> src/lib:f",
        ]
    );
}

#[test]
fn nobody_reaches_these() {
    let text = "
pub fn offered() { used(); }
fn used() {}
fn unused() {}
pub(crate) fn forgotten() {}
#[no_mangle]
extern \"C\" fn exported() {}
struct S;
impl Drop for S { fn drop(&mut self) {} }
#[inline]
fn quick() {}
#[serde(default = \"spelled\")]
struct Named;
fn spelled() {}
#[test]
fn checks() {}
";
    assert_eq!(
        dead(Rust, &[CARGO, ("src/lib.rs", text)]),
        ["src/lib:unused", "src/lib:forgotten", "src/lib:quick"]
    );
}
