//! Names that say too little: those of Python's own types, and those that Python calls.

/// Methods of Python's own types, sorted: who calls one of these on something unknown most
/// likely means a string, a list, a dict, a file.
const COMMON: &[&str] = &[
    "acquire",
    "add",
    "append",
    "as_integer_ratio",
    "bit_length",
    "cancel",
    "capitalize",
    "casefold",
    "center",
    "clear",
    "close",
    "copy",
    "count",
    "decode",
    "difference",
    "discard",
    "encode",
    "endswith",
    "expandtabs",
    "extend",
    "fileno",
    "find",
    "flush",
    "format",
    "format_map",
    "fromhex",
    "fromkeys",
    "get",
    "group",
    "groupdict",
    "groups",
    "hex",
    "index",
    "insert",
    "intersection",
    "isalnum",
    "isalpha",
    "isascii",
    "isatty",
    "isdecimal",
    "isdigit",
    "isdisjoint",
    "isidentifier",
    "islower",
    "isnumeric",
    "isoformat",
    "isprintable",
    "isspace",
    "issubset",
    "issuperset",
    "istitle",
    "isupper",
    "items",
    "join",
    "keys",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "match",
    "partition",
    "pop",
    "popitem",
    "put",
    "read",
    "readable",
    "readline",
    "readlines",
    "release",
    "remove",
    "removeprefix",
    "removesuffix",
    "replace",
    "reverse",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "search",
    "seek",
    "send",
    "set",
    "setdefault",
    "sort",
    "span",
    "split",
    "splitlines",
    "start",
    "startswith",
    "stop",
    "strftime",
    "strip",
    "sub",
    "swapcase",
    "symmetric_difference",
    "tell",
    "throw",
    "title",
    "to_bytes",
    "translate",
    "truncate",
    "union",
    "update",
    "upper",
    "values",
    "wait",
    "writable",
    "write",
    "writelines",
    "zfill",
];

/// Whether a name says too little to guess what is meant by it.
pub(super) fn is_common(name: &str) -> bool {
    is_special(name) || COMMON.binary_search(&name).is_ok()
}

/// Whether Python calls it: `__init__`, and what its enumerations ask for.
pub(crate) fn is_special(name: &str) -> bool {
    matches!(name, "_missing_" | "_generate_next_value_")
        || name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_are_found() {
        assert!(COMMON.is_sorted());
        assert!(is_common("append") && is_common("zfill") && is_common("__len__"));
        assert!(!is_common("checkout") && !is_common("__"));
    }
}
