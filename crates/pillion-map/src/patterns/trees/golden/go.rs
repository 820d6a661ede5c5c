use pillion_index::language::Language::Go;

use super::{across, found};

fn is(text: &str) -> Vec<String> {
    found(Go, "a.go", text)
}

#[test]
fn entries() {
    assert_eq!(
        is("package main\n\nfunc main() {}\n"),
        ["cli_entry_point@3"]
    );
    let flag = "package cli\nimport \"flag\"\nfunc Run() { flag.Parse() }\n";
    assert_eq!(is(flag), ["cli_entry_point@3"]);
    assert!(is("package shop\n\nfunc main() {}\n").is_empty());
    let other = "package cli\nimport \"x/flag2\"\nfunc Run() { flag.Parse() }\n";
    assert!(is(other).is_empty());
}

#[test]
fn handlers() {
    let http = "package a\nimport \"net/http\"\nfunc Serve() {\n\thttp.HandleFunc(\"/x\", get)\n\tmux.Handle(\"GET /y\", h)\n}\nfunc get(w http.ResponseWriter, r *http.Request) {}\n";
    assert_eq!(
        is(http),
        ["http_handler@4", "http_handler@5", "http_handler@7"]
    );
    let gin = "package a\nimport \"github.com/gin-gonic/gin\"\nfunc Serve(r *gin.Engine) {\n\tr.GET(\"/x\", get)\n}\n";
    assert_eq!(is(gin), ["http_handler@4"]);
    let chi = "package a\nimport \"github.com/go-chi/chi/v5\"\nfunc Serve(r chi.Router) {\n\tr.Get(\"/x\", get)\n}\n";
    assert_eq!(is(chi), ["http_handler@4"]);
    let client = "package a\nimport \"net/http\"\nfunc f() {\n\thttp.Get(\"/x\")\n\tcache.GET(\"/x\", 1)\n\tbus.HandleFunc(\"topic\", g)\n}\nfunc g(w http.ResponseWriter, n int) {}\n";
    assert!(is(client).is_empty());
}

#[test]
fn middleware() {
    let wraps = "package a\nimport \"net/http\"\nfunc Log(next http.Handler) http.Handler { return next }\n";
    assert_eq!(is(wraps), ["middleware@3"]);
    let gin = "package a\nfunc Log(c *gin.Context) { c.Next() }\n";
    assert_eq!(is(gin), ["middleware@2"]);
    assert!(is("package a\nfunc Log(c *gin.Context) { it.Next() }\nfunc H(h http.Handler) int { return 1 }\n").is_empty());
}

#[test]
fn singletons() {
    let once = "package a\nvar (\n\tonce sync.Once\n\tdb *DB\n)\nfunc Get() *DB {\n\tonce.Do(func() { db = &DB{} })\n\treturn db\n}\n";
    assert_eq!(is(once), ["singleton@6"]);
    let other = "package a\nvar db *DB\nfunc Get() *DB {\n\tvar once sync.Once\n\tonce.Do(func() { db = &DB{} })\n\treturn db\n}\n";
    assert!(is(other).is_empty());
}

#[test]
fn factories_and_builders() {
    let makes = "package a\nfunc NewShape(kind string) (Shape, error) {\n\tif kind == \"c\" {\n\t\treturn &Circle{}, nil\n\t}\n\treturn NewSquare(), nil\n}\n";
    assert_eq!(is(makes), ["factory@2"]);
    assert!(is("package a\nfunc NewShape() *Circle { return &Circle{} }\n").is_empty());
    let options = "package a\ntype Option func(*Server)\nfunc WithPort(p int) Option { return nil }\nfunc WithHost(h string) Option { return nil }\nfunc New(opts ...Option) *Server { return nil }\n";
    assert_eq!(is(options), ["builder@5"]);
    let few = "package a\ntype Option func(*Server)\nfunc WithPort(p int) Option { return nil }\nfunc New(opts ...Option) *Server { return nil }\n";
    assert!(is(few).is_empty());
    let fluent = "package a\ntype Q struct{}\nfunc (q *Q) Where(x string) *Q { return q }\nfunc (q *Q) Order(x string) *Q { return q }\nfunc (q *Q) Build() string { return \"\" }\n";
    assert_eq!(is(fluent), ["builder@2"]);
    let plain = "package a\ntype Q struct{}\nfunc (q *Q) A() *P { return p }\nfunc (q *Q) B() *P { return p }\nfunc (q *Q) Build() string { return \"\" }\n";
    assert!(is(plain).is_empty());
}

#[test]
fn those_that_keep_others() {
    let bus = "package a\ntype Bus struct{ all map[string][]func(int) }\nfunc (b *Bus) Subscribe(e string, f func(int)) { b.all[e] = append(b.all[e], f) }\nfunc (b *Bus) Publish(e string) {\n\tfor _, f := range b.all[e] {\n\t\tf(1)\n\t}\n}\n";
    assert_eq!(is(bus), ["event_bus@2"]);
    let observer = "package a\ntype S struct{ all []Listener }\nfunc (s *S) Attach(l Listener) { s.all = append(s.all, l) }\nfunc (s *S) Notify() {\n\tfor _, l := range s.all {\n\t\tl.Changed()\n\t}\n}\n";
    assert_eq!(is(observer), ["observer@2"]);
    let sum = "package a\ntype S struct{ all []int }\nfunc (s *S) Put(n int) { s.all = append(s.all, n) }\nfunc (s *S) Sum() (t int) {\n\tfor _, n := range s.all {\n\t\tt += n\n\t}\n\treturn\n}\n";
    assert!(is(sum).is_empty());
    let registry = "package a\nvar drivers = map[string]Driver{}\nfunc Register(name string, d Driver) { drivers[name] = d }\n";
    assert_eq!(is(registry), ["plugin_registry@3"]);
    let memo = "package a\nvar seen = map[string]int{}\nfunc remember(name string, n int) { seen[name] = n }\n";
    assert!(is(memo).is_empty());
}

#[test]
fn what_libraries_put_together() {
    let wired = "package a\nimport (\n\t\"github.com/google/wire\"\n\t\"go.uber.org/fx\"\n\t\"plugin\"\n)\nfunc f() {\n\twire.Build(New)\n\tfx.Provide(New)\n\tplugin.Open(\"x.so\")\n}\n";
    assert_eq!(
        is(wired),
        [
            "dependency_injection@8",
            "dependency_injection@9",
            "plugin_registry@10"
        ]
    );
    let own =
        "package a\nfunc f() {\n\twire.Build(New)\n\tfx.Provide(New)\n\tplugin.Open(\"x.so\")\n}\n";
    assert!(is(own).is_empty());
}

#[test]
fn interfaces_that_several_fulfil() {
    let shape = "package a\ntype Shape interface {\n\tArea() int\n\tMove(x, y int)\n}\n";
    let two = "package b\nfunc (c *Circle) Area() int { return 1 }\nfunc (c *Circle) Move(x, y int) {}\nfunc (s Square) Area() int { return 2 }\nfunc (s Square) Move(x int, y int) {}\nfunc (l Line) Area() int { return 2 }\nfunc (l Line) Move(x int) {}\n";
    assert_eq!(
        across(Go, &[("a/a.go", shape), ("b/b.go", two)]),
        ["interface `Shape` is fulfilled by 2 types: `Circle`, `Square`"]
    );
    let said = "package c\nvar _ Codec = (*JSON)(nil)\nvar _ Codec = Text{}\ntype Codec interface{ Encode() }\ntype Box struct{ codec Codec }\n";
    assert_eq!(
        across(Go, &[("c.go", said)]),
        ["strategy `Codec` is fulfilled by 2 types: `JSON`, `Text`"]
    );
    // One method alone is what many types have by chance.
    let one = "package d\ntype Named interface{ Name() string }\nfunc (a A) Name() string { return \"\" }\nfunc (b B) Name() string { return \"\" }\n";
    assert!(across(Go, &[("d.go", one)]).is_empty());
}

#[test]
fn of_tests_only_what_they_share_counts() {
    let text = "package a\nfunc TestMain(m *testing.M) {}\nfunc h(w http.ResponseWriter, r *http.Request) {}\n";
    assert_eq!(found(Go, "a_test.go", text), ["test_fixture@2"]);
}
