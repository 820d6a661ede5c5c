//! What pytest and unittest take for tests.

/// Whether a file holds tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(stem) = name.strip_suffix(".py") else {
        return false;
    };
    let in_tests = || {
        folders
            .split('/')
            .any(|part| matches!(part, "tests" | "test"))
    };
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem == "tests"
        || (stem == "test" || stem.starts_with("test")) && in_tests()
}

/// Whether a file holds what tests share.
pub(crate) fn is_conftest(path: &str) -> bool {
    path == "conftest.py" || path.ends_with("/conftest.py")
}

/// Whether a function's name makes it a test.
pub(crate) fn is_test_name(name: &str) -> bool {
    name.starts_with("test")
}

/// Whether a method is run around each test of its class.
pub(crate) fn is_around_tests(name: &str) -> bool {
    matches!(
        name,
        "setUp"
            | "tearDown"
            | "setUpClass"
            | "tearDownClass"
            | "setUpTestData"
            | "asyncSetUp"
            | "asyncTearDown"
            | "setup_method"
            | "teardown_method"
            | "setup_class"
            | "teardown_class"
    )
}

/// Whether a function of a module is run around its tests.
pub(crate) fn is_around_module(name: &str) -> bool {
    matches!(
        name,
        "setUpModule"
            | "tearDownModule"
            | "setup_module"
            | "teardown_module"
            | "setup_function"
            | "teardown_function"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_known_by_their_names() {
        for path in [
            "test_a.py",
            "pkg/a_test.py",
            "tests/admin/tests.py",
            "tests/testcases.py",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "testing.py",
            "pkg/test/util.py",
            "tests/models.py",
            "test_a.txt",
            "a.py",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
        assert!(is_conftest("conftest.py") && is_conftest("a/conftest.py"));
    }
}
