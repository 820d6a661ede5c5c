use pillion_index::language::Language::Go;

use super::{calls, dead, mapped};

const MOD: (&str, &str) = ("go.mod", "module example.com/shop\n\ngo 1.22\n");

#[test]
fn packages_by_folder_and_module_path() {
    let files = [
        MOD,
        ("money/add.go", "package money\n\nfunc Add() { round() }\n"),
        ("money/round.go", "package money\n\nfunc round() {}\n"),
        (
            "main.go",
            "package main\n\nimport (\n\t\"fmt\"\n\tm \"example.com/shop/money\"\n\t\"example.com/other/money\"\n)\n\nfunc main() { m.Add(); fmt.Println(); money.Add() }\n",
        ),
        (
            "use/use.go",
            "package use\n\nimport \"example.com/shop/money\"\n\nfunc Use(round func()) { money.Add(); round() }\n",
        ),
    ];
    assert_eq!(
        calls(Go, &files),
        [
            "main:main -> money/add:Add",
            "money/add:Add -> money/round:round",
            "use/use:Use -> money/add:Add",
        ]
    );
}

#[test]
fn methods_by_receivers_and_declared_types() {
    let files = [
        MOD,
        (
            "a/types.go",
            "package a\n\ntype Cart struct {\n\tstore *Store\n\tBase\n}\n\ntype Base struct{}\n\nfunc (b *Base) Log() {}\n\ntype Store struct{}\n",
        ),
        (
            "a/methods.go",
            "package a

func (c *Cart) Total() { c.sum(); c.store.Save(); c.Log() }
func (c Cart) sum() {}
func (s *Store) Save() {}
func NewStore() (*Store, error) { return &Store{}, nil }
func run(x Cart, any interface{}) {
	x.Total()
	s, err := NewStore()
	s.Save()
	t := &Store{}
	t.Save()
	err.Save()
	any.sum()
}
",
        ),
    ];
    assert_eq!(
        calls(Go, &files),
        [
            "a/methods:Cart.Total -> a/methods:Cart.sum",
            "a/methods:Cart.Total -> a/methods:Store.Save",
            "a/methods:Cart.Total -> a/types:Base.Log",
            "a/methods:run -> a/methods:Cart.Total",
            "a/methods:run -> a/methods:NewStore",
            "a/methods:run -> a/methods:Store.Save",
            "a/methods:run ?> a/methods:Cart.sum",
        ]
    );
}

#[test]
fn tests_see_their_package_and_are_seen_by_nobody() {
    let files = [
        MOD,
        ("a/a.go", "package a\n\nfunc F() { helper() }\n"),
        (
            "a/a_test.go",
            "package a\n\nfunc helper() {}\nfunc TestF(t *T) { F() }\n",
        ),
        (
            "a/b_test.go",
            "package a_test\n\nimport \"example.com/shop/a\"\n\nfunc TestG(t *T) { a.F(); F() }\n",
        ),
    ];
    assert_eq!(
        calls(Go, &files),
        ["a/a_test:TestF -> a/a:F", "a/b_test:TestG -> a/a:F"]
    );
}

#[test]
fn interfaces_are_fulfilled_by_having_all_methods() {
    let files = [
        MOD,
        (
            "a/a.go",
            "package a\n\ntype Saver interface {\n\tSave()\n\tLoad()\n}\n\ntype Disk struct{}\n\nfunc (d *Disk) Save() {}\nfunc (d *Disk) Load() {}\n\ntype Half struct{}\n\nfunc (h *Half) Save() {}\n\nfunc run(s Saver) { s.Save() }\n",
        ),
    ];
    assert_eq!(calls(Go, &files), ["a/a:run -> a/a:Saver.Save"]);
    let map = mapped(Go, &files);
    let graph = map.graph();
    let users = |name: &str| {
        let target = graph.targets(name).unwrap()[0];
        graph.users(target).len()
    };
    assert_eq!((users("Disk.Save"), users("Half.Save")), (1, 0));
}

#[test]
fn a_function_for_each_system_may_be_any_of_them() {
    let files = [
        MOD,
        ("a/x_linux.go", "package a\n\nfunc open() {}\n"),
        ("a/x_windows.go", "package a\n\nfunc open() {}\n"),
        ("a/y.go", "package a\n\nfunc Run() { open() }\n"),
    ];
    assert_eq!(
        calls(Go, &files),
        ["a/y:Run ?> a/x_linux:open", "a/y:Run ?> a/x_windows:open"]
    );
}

#[test]
fn nobody_reaches_these() {
    let files = [
        MOD,
        (
            "main.go",
            "package main\n\nfunc main() { used() }\nfunc used() {}\nfunc unused() {}\nfunc Loud() {}\nfunc init() {}\n",
        ),
        (
            "a/a.go",
            "package a\n\nfunc Offered() {}\nfunc passed() {}\nvar table = []func(){passed}\n",
        ),
    ];
    assert_eq!(dead(Go, &files), ["main:unused", "main:Loud"]);
}
