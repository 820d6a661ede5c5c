//! What ty answers.

use pillion_engines::engine::{Encoding, Item};

use crate::support::{DEADLINE, World};

const FILES: &[(&str, &str)] = &[
    ("pkg/__init__.py", "from .shapes import Shape, area\n"),
    (
        "pkg/shapes.py",
        "class Shape:\n    \"\"\"A shape.\"\"\"\n\n    def size(self, scale: int) -> int:\n        \
         return scale\n\n\ndef area(shape: Shape, *, unit: str = \"m\") -> str:\n    \"\"\"How large it \
         is.\"\"\"\n    return unit * shape.size(2)\n",
    ),
    (
        "app.py",
        "from pkg import Shape, area\n\n\nclass Square(Shape):\n    def size(self, scale: int) -> \
         int:\n        return super().size(scale)\n\n\ndef main(square: Square) -> None:\n    \
         area(square, unit=\"km\")\n    print(square.size(1))\n",
    ),
];

#[tokio::test]
async fn it_says_what_it_offers() {
    let world = World::new(FILES).await;
    let offers = world.server.capabilities(DEADLINE).await.unwrap();
    assert!(offers.server.starts_with("ty "), "{offers:?}");
    assert_eq!(offers.encoding, Encoding::Utf32);
    let all = [
        offers.definition,
        offers.declaration,
        offers.type_definition,
        offers.references,
        offers.hover,
        offers.document_highlight,
        offers.implementation,
        offers.call_hierarchy,
        offers.type_hierarchy,
        offers.diagnostics,
    ];
    assert_eq!(all, [true; 10]);
    assert!(world.pid().is_some());
    world.server.stop().await;
    assert_eq!(world.pid(), None);
}

#[tokio::test]
async fn definitions_go_through_imports_to_the_source() {
    let world = World::new(FILES).await;
    let area = ["pkg/shapes.py:7:4"];
    assert_eq!(world.definition("app.py", "    |area(").await, area);
    assert_eq!(world.definition("app.py", "Shape, |area").await, area);
    assert_eq!(world.definition("pkg/__init__.py", ", |area").await, area);
    let own = ["app.py:4:8"];
    assert_eq!(world.definition("app.py", "square.|size").await, own);
    let keyword = ["pkg/shapes.py:7:26"];
    assert_eq!(world.definition("app.py", "|unit=").await, keyword);
    let builtin = world.definition("app.py", "|print").await;
    assert!(builtin[0].contains("builtins.pyi"), "{builtin:?}");

    let path = world.path("app.py");
    let at = world.find("app.py", "    |area(");
    let found = world.server.definition(&path, at, DEADLINE).await.unwrap();
    let whole = found[0].whole.unwrap();
    assert_eq!((whole.start.line, whole.end.line), (7, 9), "all of it");
    let at = world.find("app.py", "(|square, ");
    let class = world.server.type_definition(&path, at, DEADLINE).await;
    assert_eq!(world.short(&class.unwrap()), ["app.py:3:6"]);
    let shapes = world.path("pkg/shapes.py");
    let at = world.find("pkg/shapes.py", "|size");
    let overrides = world.server.implementation(&shapes, at, DEADLINE).await;
    assert!(
        world
            .short(&overrides.unwrap())
            .contains(&own[0].to_owned())
    );
    let declared = world.server.declaration(&shapes, at, DEADLINE).await;
    assert_eq!(world.short(&declared.unwrap()), ["pkg/shapes.py:3:8"]);
}

#[tokio::test]
async fn references_are_complete_on_the_first_ask() {
    let world = World::new(FILES).await;
    let all = world.references("pkg/shapes.py", "|area(", true).await;
    assert_eq!(
        all,
        [
            "app.py:0:23",
            "app.py:9:4",
            "pkg/__init__.py:0:27",
            "pkg/shapes.py:7:4"
        ]
    );
    // `super().size()` and the call in `area`; the override is a name of its own.
    let size = world.references("pkg/shapes.py", "|size(self", false).await;
    assert_eq!(size, ["app.py:5:23", "pkg/shapes.py:9:24"]);
    let shapes = world.path("pkg/shapes.py");
    let at = world.find("pkg/shapes.py", "|unit:");
    let here = world.server.document_highlight(&shapes, at, DEADLINE).await;
    let lines: Vec<_> = here.unwrap().iter().map(|h| h.range.start.line).collect();
    assert_eq!(lines, [7, 9]);
}

#[tokio::test]
async fn hovers_and_diagnostics_are_text() {
    let world = World::new(FILES).await;
    let path = world.path("app.py");
    let at = world.find("app.py", "    |area(");
    let hover = world
        .server
        .hover(&path, at, DEADLINE)
        .await
        .unwrap()
        .unwrap();
    assert!(!hover.markdown);
    let (head, documentation) = hover.text.split_once("---").unwrap();
    assert_eq!(
        head.trim(),
        "def area(\n    shape: Shape,\n    *,\n    unit: str = \"m\"\n) -> str"
    );
    let documentation = documentation.trim_start_matches('-').trim();
    assert_eq!(documentation, "How large it is.");
    let nothing = world.find("app.py", "|class");
    let hover = world.server.hover(&path, nothing, DEADLINE).await.unwrap();
    assert_eq!(hover, None);

    assert_eq!(world.server.diagnostics(&path, DEADLINE).await.unwrap(), []);
    let wrong = "def f() -> int:\n    return 'é😀'\n";
    world.edit(
        "wrong.py",
        wrong,
        pillion_engines::engine::LspChangeKind::Created,
    );
    let wrong = world.path("wrong.py");
    let found = world.server.diagnostics(&wrong, DEADLINE).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code.as_deref(), Some("invalid-return-type"));
    assert_eq!((found[0].severity, found[0].range.end.character), (1, 15));
}

#[tokio::test]
async fn hierarchies_are_walked() {
    let world = World::new(FILES).await;
    let names = |items: &[Item]| -> Vec<String> { items.iter().map(|i| i.name.clone()).collect() };
    let server = &world.server;
    let shapes = world.path("pkg/shapes.py");

    let at = world.find("pkg/shapes.py", "|area(");
    let area = server
        .prepare_call_hierarchy(&shapes, at, DEADLINE)
        .await
        .unwrap();
    assert_eq!(
        (area[0].kind, area[0].detail.as_deref()),
        (12, Some("pkg.shapes"))
    );
    let callers = server.incoming_calls(&area[0], DEADLINE).await.unwrap();
    assert_eq!(callers.len(), 1);
    assert_eq!(callers[0].item.name, "main");
    assert_eq!(callers[0].calls[0].start.line, 9);
    let callees = server
        .outgoing_calls(&callers[0].item, DEADLINE)
        .await
        .unwrap();
    let callees: Vec<_> = callees.iter().map(|c| &*c.item.name).collect();
    assert!(
        callees.contains(&"area") && callees.contains(&"size"),
        "{callees:?}"
    );

    let at = world.find("pkg/shapes.py", "|Shape:");
    let shape = server
        .prepare_type_hierarchy(&shapes, at, DEADLINE)
        .await
        .unwrap();
    let below = server.subtypes(&shape[0], DEADLINE).await.unwrap();
    assert_eq!(names(&below), ["Square"]);
    let above = server.supertypes(&below[0], DEADLINE).await.unwrap();
    assert_eq!(names(&above), ["Shape"]);
}
