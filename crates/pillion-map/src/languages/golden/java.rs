use pillion_index::language::Language::Java;

use super::{calls, dead, mapped};

#[test]
fn packages_imports_and_classes() {
    let files = [
        (
            "src/a/Money.java",
            "package a;\npublic class Money { public static int add() { return round(); } static int round() { return 1; } }\n",
        ),
        (
            "src/a/Near.java",
            "package a;\nclass Near { void run() { Money.add(); new Money(); } }\n",
        ),
        (
            "src/b/Far.java",
            "package b;\nimport a.Money;\nimport static a.Money.add;\nimport java.util.List;\nclass Far { void run() { Money.add(); add(); List.of(); } }\n",
        ),
        (
            "src/b/Wide.java",
            "package b;\nimport a.*;\nclass Wide { void run() { Money.add(); Near.run(); } }\n",
        ),
        (
            "src/b/Lost.java",
            "package b;\nclass Lost { void run() { Money.add(); } }\n",
        ),
    ];
    assert_eq!(
        calls(Java, &files),
        [
            "src/a/Money:Money.add -> src/a/Money:Money.round",
            "src/a/Near:Near.run -> src/a/Money:Money",
            "src/a/Near:Near.run -> src/a/Money:Money.add",
            "src/b/Far:Far.run -> src/a/Money:Money.add",
            "src/b/Wide:Wide.run -> src/a/Money:Money.add",
            "src/b/Wide:Wide.run -> src/a/Near:Near.run",
        ]
    );
}

#[test]
fn methods_by_this_super_fields_and_variables() {
    let files = [(
        "A.java",
        "
class Base { void start() {} void stop() {} }
class Engine extends Base {
  private final Store store;
  Engine(Store store) { this.store = store; }
  void start() { super.start(); stop(); this.stop(); store.save(); this.store.save(); }
}
class Store { void save() {} Store open() { return this; } }
class Run {
  void run(Engine engine, Object any) {
    engine.start();
    Store store = new Store();
    store.save();
    new Engine(store);
    any.start();
    var odd = find();
    odd.save();
    list.forEach(save -> save.open());
  }
}
",
    )];
    assert_eq!(
        calls(Java, &files),
        [
            "A:Engine.start -> A:Base.start",
            "A:Engine.start -> A:Base.stop",
            "A:Engine.start -> A:Store.save",
            "A:Run.run -> A:Engine.Engine",
            "A:Run.run -> A:Engine.start",
            "A:Run.run -> A:Store",
            "A:Run.run -> A:Store.save",
            "A:Run.run ?> A:Store.open",
        ]
    );
}

#[test]
fn a_call_of_an_interface_may_end_in_its_classes() {
    let files = [(
        "A.java",
        "interface Shape { int area(); }\nclass Circle implements Shape { public int area() { return 1; } }\nclass Use { int use(Shape shape) { return shape.area(); } }\n",
    )];
    assert_eq!(calls(Java, &files), ["A:Use.use -> A:Shape.area"]);
    let map = mapped(Java, &files);
    let graph = map.graph();
    let target = graph.targets("Circle.area").unwrap()[0];
    assert_eq!(graph.users(target).len(), 1);
}

#[test]
fn nobody_reaches_these() {
    let files = [(
        "A.java",
        "public class A {\n  public void offered() { used(); }\n  private void used() {}\n  private void unused() {}\n  void near() {}\n  @Scheduled void timed() {}\n  @Override void kept() {}\n  private A() {}\n}\n",
    )];
    assert_eq!(dead(Java, &files), ["A:A.unused", "A:A.near", "A:A.kept"]);
}
