use pillion_index::language::Language::C;

use super::Way;
use super::{calls, dead, edges};

#[test]
fn headers_and_functions_that_all_files_see() {
    let files = [
        (
            "include/money.h",
            "#define TWICE(x) add(x, x)\nint add(int a, int b);\nstatic inline int half(int a) { return a / 2; }\n",
        ),
        (
            "src/money.c",
            "#include \"money.h\"\nstatic int round_up(int a) { return a; }\nint add(int a, int b) { return round_up(a) + b; }\nint hidden(void) { return 1; }\n",
        ),
        (
            "src/main.c",
            "#include <stdio.h>\n#include \"money.h\"\nstatic int round_up(int a) { return -a; }\nint main(void) { printf(\"\"); return add(half(1), round_up(2)) + TWICE(1) + hidden(); }\n",
        ),
        (
            "src/more.c",
            "int more(int (*add)(int)) { return add(1); }\nchar *text(void) { return more(0); }\n",
        ),
    ];
    assert_eq!(
        calls(C, &files),
        [
            // Declared by a header that is included; `hidden` is declared nowhere.
            "src/main:main -> include/money:TWICE",
            "src/main:main -> include/money:half",
            "src/main:main -> src/main:round_up",
            "src/main:main -> src/money:add",
            "src/main:main ?> src/money:hidden",
            "src/money:add -> src/money:round_up",
            "src/more:text -> src/more:more",
        ]
    );
}

#[test]
fn functions_of_two_programs_may_be_either() {
    let files = [
        ("a.h", "void run(void);\n"),
        ("a.c", "void run(void) {}\n"),
        ("b.c", "void run(void) {}\n"),
        ("c.c", "#include \"a.h\"\nint main(void) { run(); }\n"),
    ];
    assert_eq!(calls(C, &files), ["c:main ?> a:run", "c:main ?> b:run"]);
}

#[test]
fn functions_that_are_kept_are_references() {
    let files = [(
        "a.c",
        "static void on(void) {}\nvoid set(void *f) { }\nint main(void) { set(on); }\n",
    )];
    assert_eq!(edges(C, &files, Way::Reference), ["a:main -> a:on"]);
}

#[test]
fn nobody_reaches_these() {
    let files = [
        ("a.h", "int offered(void);\n"),
        (
            "a.c",
            "#include \"a.h\"\nint offered(void) { return used(); }\nstatic int used(void) { return 1; }\nstatic int unused(void) { return 2; }\nint lost(void) { return 3; }\nint main(void) { return 0; }\n",
        ),
    ];
    assert_eq!(dead(C, &files), ["a:unused", "a:lost"]);
}
