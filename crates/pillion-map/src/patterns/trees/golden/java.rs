use pillion_index::language::Language::Java;

use super::{across, found};

fn is(text: &str) -> Vec<String> {
    found(Java, "src/A.java", text)
}

#[test]
fn entries() {
    assert_eq!(
        is("class A {\n  public static void main(String[] args) {}\n}\n"),
        ["cli_entry_point@2"]
    );
    assert!(
        is("class A {\n  void main(String[] args) {}\n  static void main(int x) {}\n}\n")
            .is_empty()
    );
}

#[test]
fn handlers_and_middleware() {
    let spring = "import org.springframework.web.bind.annotation.*;\n@RestController\nclass A {\n  @GetMapping(\"/x\")\n  String get() { return \"\"; }\n}\n";
    assert_eq!(is(spring), ["http_handler@5"]);
    let rest = "import jakarta.ws.rs.GET;\nclass A {\n  @GET @Path(\"/x\")\n  String get() { return \"\"; }\n}\n";
    assert_eq!(is(rest), ["http_handler@4"]);
    let servlet = "class A extends HttpServlet {\n  void doGet(Q q, R r) {}\n}\nclass B extends HttpServlet {\n  void other() {}\n}\n";
    assert_eq!(is(servlet), ["http_handler@1"]);
    let own = "class A {\n  @GetMapping(\"/x\")\n  String get() { return \"\"; }\n}\n";
    assert!(is(own).is_empty());
    let filter = "class F implements Filter {\n  public void doFilter(Q q, R r, C c) {}\n}\nclass G implements Filter {\n  void other() {}\n}\n";
    assert_eq!(is(filter), ["middleware@1"]);
}

#[test]
fn singletons() {
    let lazy = "class A {\n  private static A one;\n  private A() {}\n  static A get() {\n    if (one == null) one = new A();\n    return one;\n  }\n}\n";
    assert_eq!(is(lazy), ["singleton@1"]);
    let eager = "class A {\n  private static final A ONE = new A();\n  public static A get() { return A.ONE; }\n}\n";
    assert_eq!(is(eager), ["singleton@1"]);
    let fresh = "class A {\n  static int count;\n  static A make() { return new A(); }\n  static int many() { return count; }\n}\n";
    assert!(is(fresh).is_empty());
}

#[test]
fn factories_and_builders() {
    let makes = "class A {\n  static Shape createShape(int kind) {\n    if (kind == 1) return new Circle();\n    return new Square(kind);\n  }\n}\n";
    assert_eq!(is(makes), ["factory@2"]);
    assert!(is("class A {\n  static Shape createShape() { return new Circle(); }\n}\n").is_empty());
    let fluent = "class B {\n  B name(String n) { this.n = n; return this; }\n  B age(int a) { return this; }\n  A build() { return null; }\n}\n";
    assert_eq!(is(fluent), ["builder@1"]);
    assert!(
        is("class B {\n  B name(String n) { return this; }\n  A build() { return null; }\n}\n")
            .is_empty()
    );
}

#[test]
fn those_that_keep_others() {
    let observer = "class S {\n  private List<L> all = new ArrayList<>();\n  void addListener(L l) { all.add(l); }\n  void fireChanged() { for (L l : all) l.changed(); }\n}\n";
    assert_eq!(is(observer), ["observer@1"]);
    let lambda = "class S {\n  private List<L> all;\n  void subscribe(L l) { this.all.add(l); }\n  void notifyAll2() { all.forEach(l -> l.changed()); }\n}\n";
    assert_eq!(is(lambda), ["observer@1"]);
    let bus = "class S {\n  private Map<String, List<L>> all;\n  void on(String e, L l) { all.computeIfAbsent(e, k -> x()).add(l); }\n  void emit(String e) { for (L l : all.get(e)) l.accept(e); }\n}\n";
    assert_eq!(is(bus), ["event_bus@1"]);
    let sum = "class S {\n  private List<L> all;\n  void put(L l) { all.add(l); }\n  int sum() { int t = 0; for (L l : all) t += l.price(); return t; }\n}\n";
    assert!(is(sum).is_empty());
    let registry = "class R {\n  private static final Map<String, P> PLUGINS = new HashMap<>();\n  static void register(String n, P p) { PLUGINS.put(n, p); }\n}\n";
    assert_eq!(is(registry), ["plugin_registry@3"]);
    let memo = "class R {\n  private static final Map<String, P> SEEN = new HashMap<>();\n  static void remember(String n, P p) { SEEN.put(n, p); }\n}\n";
    assert!(is(memo).is_empty());
    let loader =
        "class R {\n  void load() { ServiceLoader.load(P.class); Loader.load(P.class); }\n}\n";
    assert_eq!(is(loader), ["plugin_registry@2"]);
}

#[test]
fn injected_and_stored() {
    let wired = "class A {\n  @Autowired\n  private B b;\n  @Other\n  private C c;\n}\n";
    assert_eq!(is(wired), ["dependency_injection@2"]);
    let stored = "interface UserRepository {\n  User findOne(int id);\n  void save(User u);\n}\ninterface Users {\n  User findOne(int id);\n  void save(User u);\n}\n";
    assert_eq!(is(stored), ["repository@1"]);
}

#[test]
fn interfaces_that_several_fulfil() {
    let files = [
        (
            "Pay.java",
            "interface Pay { void pay(); }\ninterface Alone {}\n",
        ),
        (
            "Card.java",
            "class Card implements Pay, Alone { public void pay() {} }\n",
        ),
        (
            "Cash.java",
            "class Cash implements Pay { public void pay() {} }\n",
        ),
    ];
    assert_eq!(
        across(Java, &files),
        ["interface `Pay` is fulfilled by 2 types: `Card`, `Cash`"]
    );
    let held = ("Shop.java", "class Shop { private Pay pay; }\n");
    let files = [files[0], files[1], files[2], held];
    assert_eq!(
        across(Java, &files),
        ["strategy `Pay` is fulfilled by 2 types: `Card`, `Cash`"]
    );
}

#[test]
fn of_tests_only_what_they_share_counts() {
    let text = "class ATest {\n  @BeforeEach\n  void setUp() {}\n  @Test\n  void x() {}\n  public static void main(String[] a) {}\n}\n";
    assert_eq!(
        found(Java, "src/test/java/ATest.java", text),
        ["test_fixture@3"]
    );
}
