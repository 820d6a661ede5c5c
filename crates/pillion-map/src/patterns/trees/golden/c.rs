use pillion_index::language::Language::C;

use super::{across, found};

fn is(text: &str) -> Vec<String> {
    found(C, "src/a.c", text)
}

#[test]
fn entries() {
    assert_eq!(
        is("int main(int argc, char **argv) { return 0; }\n"),
        ["cli_entry_point@1"]
    );
    let options =
        "static int read(int argc, char **argv) {\n    return getopt(argc, argv, \"x\");\n}\n";
    assert_eq!(is(options), ["cli_entry_point@2"]);
    assert!(is("int main2(void) { return 0; }\nint main(void);\n").is_empty());
}

#[test]
fn what_is_made() {
    let once = "static struct db *db;\nstruct db *db_get(void) {\n    if (!db)\n        db = db_open();\n    return db;\n}\n";
    assert_eq!(is(once), ["singleton@2"]);
    let inner = "struct db *db_get(void) {\n    static struct db *one;\n    if (one == NULL) { one = db_open(); }\n    return one;\n}\n";
    assert_eq!(is(inner), ["singleton@1"]);
    let fresh = "static struct db *last;\nstruct db *db_get(void) {\n    last = db_open();\n    return last;\n}\nstruct db *other(void) {\n    struct db *one = 0;\n    if (!one) one = db_open();\n    return one;\n}\n";
    assert!(is(fresh).is_empty());
    let pair = "struct cart *cart_new(void) { return malloc(sizeof(struct cart)); }\nvoid cart_free(struct cart *c) { free(c); }\n";
    assert_eq!(is(pair), ["factory@1"]);
    let alone = "struct cart *cart_new(void) { return malloc(sizeof(struct cart)); }\nvoid cart_free(struct cart *c) { c->n = 0; }\n";
    assert!(is(alone).is_empty());
}

#[test]
fn those_that_keep_others() {
    let observer = "static callback all[8];\nstatic int n;\nvoid add_listener(callback cb) { all[n++] = cb; }\nvoid notify(int x) {\n    for (int i = 0; i < n; i++)\n        all[i](x);\n}\n";
    assert_eq!(is(observer), ["observer@3"]);
    let kept = "static int all[8];\nvoid put(int i, int x) { all[i] = x; }\nint get(int i) { return all[i]; }\n";
    assert!(is(kept).is_empty());
    let registry = "static struct driver *drivers[8];\nvoid register_driver(struct driver *d) { drivers[n++] = d; }\n";
    assert_eq!(is(registry), ["plugin_registry@2"]);
}

#[test]
fn tables_of_functions_that_several_fill() {
    let files = [
        (
            "fs.h",
            "struct fs_ops {\n    int (*open)(const char *);\n    void (*close)(int);\n};\nstruct point { int x; int y; };\n",
        ),
        (
            "a.c",
            "static const struct fs_ops disk = { .open = disk_open, .close = disk_close };\nstatic struct point p = { .x = 1 };\n",
        ),
        (
            "b.c",
            "const struct fs_ops memory = { .open = memory_open };\nstatic struct point q = { .x = 1 };\n",
        ),
    ];
    assert_eq!(
        across(C, &files),
        ["interface `fs_ops` is fulfilled by 2 types: `disk`, `memory`"]
    );
    let held = ("c.c", "struct mount { const struct fs_ops *ops; };\n");
    let files = [files[0], files[1], files[2], held];
    assert_eq!(
        across(C, &files),
        ["strategy `fs_ops` is fulfilled by 2 types: `disk`, `memory`"]
    );
}
