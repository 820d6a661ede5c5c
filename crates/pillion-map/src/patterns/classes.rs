//! Rules for classes.

use ruff_python_ast::{Expr, StmtClassDef};
use ruff_text_size::Ranged;

use super::ast::{Parts, attribute_of, is_decorated, is_name, last_of, metaclass};
use super::class::{Class, Method};
use super::frameworks::frameworks;
use super::reader::Reader;
use super::relations;

/// Methods that hand out the only one.
const ONLY: &[&str] = &[
    "get_instance",
    "getInstance",
    "instance",
    "shared",
    "singleton",
];
/// How methods of a repository begin.
pub(super) const STORED: &[&str] = &[
    "get", "find", "add", "save", "list", "delete", "remove", "update", "create", "insert",
    "upsert", "fetch",
];
/// How methods that make things begin.
const MAKERS: &[&str] = &[
    "create", "make", "build", "get", "new", "produce", "__call__",
];

/// What a rule says: how sure it is, and what it saw.
type Seen = Option<(u8, String)>;

pub(super) fn look(reader: &mut Reader<'_>, node: &StmtClassDef) {
    let class = Class::of(node);
    let rules: [(&'static str, Seen); 12] = [
        ("singleton", singleton(&class)),
        ("factory", factory(&class)),
        ("middleware", middleware(&class)),
        ("handler_chain", relations::chain(&class)),
        ("repository", repository(&class)),
        ("plugin_registry", subclasses(&class)),
        ("interface", interface(&class)),
        ("builder", builder(&class)),
        ("context_manager", context_manager(&class)),
        ("http_handler", view(&class)),
        ("descriptor", descriptor(&class)),
        ("proxy", relations::proxy(&class)),
    ];
    let at = node.name.start();
    for (kind, seen) in rules {
        if let Some((confidence, what)) = seen {
            reader.add(kind, at, confidence, format!("`{}` {what}", class.name));
        }
    }
    if let Some((kind, confidence, what)) = relations::kept_and_told(&class) {
        reader.add(kind, at, confidence, format!("`{}` {what}", class.name));
    }
}

fn singleton(class: &Class<'_>) -> Seen {
    if metaclass(class.node).is_some_and(|name| name.contains("Singleton"))
        || class.bases.iter().any(|base| base.starts_with("Singleton"))
        || is_decorated(&class.node.decorator_list, &["singleton"])
    {
        return Some((95, "has one instance, as it says".to_owned()));
    }
    let keeps = |method: &Method<'_>| {
        let owner = |expr| {
            attribute_of(expr, method.me)
                .filter(|_| !method.me.is_empty())
                .or_else(|| attribute_of(expr, class.name))
        };
        let mut kept = method.parts.assigned().filter_map(|(to, _)| owner(to));
        let is_returned = |name: &str| {
            method
                .parts
                .returned()
                .flatten()
                .any(|e| owner(e) == Some(name))
        };
        kept.any(is_returned)
    };
    if class.method("__new__").is_some_and(keeps) {
        return Some((
            95,
            "gives the same instance each time it is made".to_owned(),
        ));
    }
    let only = ONLY.iter().filter_map(|name| class.method(name));
    let only = only.filter(|method| {
        is_decorated(
            &method.node.decorator_list,
            &["classmethod", "staticmethod"],
        )
    });
    let name = only.into_iter().find(|method| keeps(method))?.name;
    Some((90, format!("keeps one instance, which `{name}` gives")))
}

fn factory(class: &Class<'_>) -> Seen {
    let makes = |method: &&Method<'_>| MAKERS.iter().any(|maker| method.name.starts_with(maker));
    let maker = class.methods.iter().find(makes);
    let maker = maker.filter(|_| class.name.ends_with("Factory") && class.name != "Factory")?;
    Some((90, format!("makes things with `{}`", maker.name)))
}

fn middleware(class: &Class<'_>) -> Seen {
    let given = class.method("__init__").map(|init| &init.given);
    let first = given.and_then(|given| given.first().copied());
    if matches!(first, Some("get_response" | "app")) && class.has("__call__") {
        return Some((95, "wraps what answers a request".to_owned()));
    }
    let is_named = class.name.ends_with("Middleware");
    (is_named && class.has_any(&frameworks().python.middleware))
        .then(|| (90, "stands between requests and answers".to_owned()))
}

fn repository(class: &Class<'_>) -> Seen {
    let is_named = ["Repository", "Repo", "DAO", "Dao"];
    let is_named = is_named.iter().any(|end| class.name.ends_with(end));
    let stores = |method: &&Method<'_>| STORED.iter().any(|word| method.name.starts_with(word));
    let names: Vec<String> = class
        .methods
        .iter()
        .filter(stores)
        .map(|method| format!("`{}`", method.name))
        .collect();
    (is_named && names.len() > 1).then(|| (90, format!("stores things: {}", names.join(", "))))
}

/// Classes that know all classes below them.
fn subclasses(class: &Class<'_>) -> Seen {
    let init = class.method("__init_subclass__")?;
    let is_me = |expr: &Expr| is_name(expr, init.me);
    let by_key = init
        .parts
        .assigned()
        .any(|(to, value)| to.is_subscript_expr() && is_me(value));
    let by_call = || {
        init.parts.calls().any(|call| {
            matches!(last_of(&call.func), Some("append" | "add" | "register"))
                && call.arguments.args.iter().any(is_me)
        })
    };
    (by_key || by_call()).then(|| (95, "keeps every class below it".to_owned()))
}

fn interface(class: &Class<'_>) -> Seen {
    let is_protocol = class.bases.contains(&"Protocol");
    let is_abstract = class.bases.contains(&"ABC") || metaclass(class.node) == Some("ABCMeta");
    let is_open = |method: &&Method<'_>| {
        is_decorated(
            &method.node.decorator_list,
            &["abstractmethod", "abstractproperty"],
        )
    };
    let open = class.methods.iter().filter(is_open).count();
    match (is_protocol, is_abstract && open > 0) {
        (true, _) => Some((95, "is a protocol that others follow".to_owned())),
        (_, true) => Some((95, format!("leaves {open} methods to classes below it"))),
        _ => None,
    }
}

fn builder(class: &Class<'_>) -> Seen {
    let is_fluent = |method: &&Method<'_>| {
        let own = Parts::of(&method.node.body);
        let mut returned = own.returned().peekable();
        let is_special = method.name.starts_with("__");
        !is_special
            && !method.me.is_empty()
            && returned.peek().is_some()
            && returned.all(|value| value.is_some_and(|value| is_name(value, method.me)))
    };
    let fluent = class.methods.iter().filter(is_fluent).count();
    match (
        class.has_any(&["build", "finish", "to_sql", "compile"]),
        fluent,
    ) {
        (true, 2..) => Some((
            90,
            format!("is put together by {fluent} methods, then built"),
        )),
        (false, 4..) => Some((70, format!("gives itself back from {fluent} methods"))),
        _ => None,
    }
}

fn context_manager(class: &Class<'_>) -> Seen {
    let both = |names: [&str; 2]| names.iter().all(|name| class.has(name));
    (both(["__enter__", "__exit__"]) || both(["__aenter__", "__aexit__"]))
        .then(|| (95, "is used in `with`".to_owned()))
}

fn view(class: &Class<'_>) -> Seen {
    let known = &frameworks().python;
    let is_view = class.bases.iter().any(|base| known.views.has(base));
    let answers: Vec<String> = class
        .methods
        .iter()
        .filter(|method| known.answers.has(method.name) || method.name.starts_with("do_"))
        .map(|method| format!("`{}`", method.name))
        .collect();
    (is_view && !answers.is_empty())
        .then(|| (90, format!("answers requests: {}", answers.join(", "))))
}

fn descriptor(class: &Class<'_>) -> Seen {
    (class.has("__get__") && class.has_any(&["__set__", "__set_name__", "__delete__"]))
        .then(|| (95, "stands for an attribute of other classes".to_owned()))
}
