//! `pyproject.toml` and `requirements*.txt`: packages that are taken from a folder.

use std::path::Path;

use toml::{Table, Value};

use super::{DependencyKind, Found};
use crate::projects::text;

const PYPROJECT: &str = "pyproject.toml";

fn pyproject(folder: &Path) -> Option<Table> {
    text(&folder.join(PYPROJECT))?.parse().ok()
}

/// The name of the package in a folder, as packages are compared.
pub(super) fn name(folder: &Path) -> Option<String> {
    let table = pyproject(folder)?;
    let own = get(&table, &["project", "name"]);
    let own = own.or_else(|| get(&table, &["tool", "poetry", "name"]))?;
    own.as_str().map(normal)
}

pub(super) fn read(folder: &Path, found: &mut Found<'_>) {
    if let Some(table) = pyproject(folder) {
        sources(folder, &table, found);
        poetry(folder, &table, found);
        for requirement in requirements(&table) {
            written(folder, PYPROJECT, requirement, found);
        }
    }
    for name in requirement_files(folder) {
        for line in text(&folder.join(&name)).unwrap_or_default().lines() {
            let line = line.split(" #").next().unwrap_or_default().trim();
            if !line.starts_with('#') {
                written(folder, &name, line, found);
            }
        }
    }
}

/// `[tool.uv.sources]`: a path, or a member of the same workspace.
fn sources(folder: &Path, table: &Table, found: &mut Found<'_>) {
    let Some(Value::Table(sources)) = get(table, &["tool", "uv", "sources"]) else {
        return;
    };
    for (name, source) in sources {
        // One for each platform, or one for all.
        let several = source.as_array().map(Vec::as_slice);
        for source in several.unwrap_or(std::slice::from_ref(source)) {
            let via = format!("{PYPROJECT}: tool.uv.sources.{name}");
            let is_member = source.get("workspace").and_then(Value::as_bool) == Some(true);
            let on = match source.get("path").and_then(Value::as_str) {
                Some(path) => found.at(folder, path),
                None if is_member => found.names.python.get(&normal(name)).copied(),
                None => None,
            };
            found.add(on, DependencyKind::PythonPath, via);
        }
    }
}

/// Poetry's tables of dependencies: those with a `path`.
fn poetry(folder: &Path, table: &Table, found: &mut Found<'_>) {
    let Some(Value::Table(poetry)) = get(table, &["tool", "poetry"]) else {
        return;
    };
    let mut tables = vec![
        ("dependencies".to_owned(), poetry.get("dependencies")),
        (
            "dev-dependencies".to_owned(),
            poetry.get("dev-dependencies"),
        ),
    ];
    for (name, group) in poetry
        .get("group")
        .and_then(Value::as_table)
        .into_iter()
        .flatten()
    {
        tables.push((
            format!("group.{name}.dependencies"),
            group.get("dependencies"),
        ));
    }
    for (place, dependencies) in tables {
        for (name, one) in dependencies.and_then(Value::as_table).into_iter().flatten() {
            if let Some(path) = one.get("path").and_then(Value::as_str) {
                let via = format!("{PYPROJECT}: tool.poetry.{place}.{name}");
                let on = found.at(folder, path);
                found.add(on, DependencyKind::PythonPath, via);
            }
        }
    }
}

/// All requirements that the file writes out as text.
fn requirements(table: &Table) -> Vec<&str> {
    let lists = [
        get(table, &["project", "dependencies"]),
        get(table, &["build-system", "requires"]),
    ];
    let groups = [
        get(table, &["project", "optional-dependencies"]),
        get(table, &["dependency-groups"]),
        get(table, &["tool", "pdm", "dev-dependencies"]),
    ];
    let groups = groups.into_iter().flatten().filter_map(Value::as_table);
    let lists = lists.into_iter().flatten();
    let lists = lists.chain(groups.flat_map(|group| group.values()));
    let texts = lists.filter_map(Value::as_array).flatten();
    texts.filter_map(Value::as_str).collect()
}

/// A requirement: `-e ../path`, `./path`, `name @ file:...` or `file:...`.
fn written(folder: &Path, file: &str, requirement: &str, found: &mut Found<'_>) {
    let text = requirement.trim();
    let mut rest = text;
    for option in ["--editable=", "--editable ", "-e "] {
        rest = rest.strip_prefix(option).unwrap_or(rest).trim();
    }
    let is_editable = rest.len() < text.len();
    let target = match rest.split_once('@') {
        Some((_, url)) if url.trim().starts_with("file:") => url.trim(),
        _ => rest,
    };
    let target = target.split(';').next().unwrap_or(target).trim();
    let path = match target.strip_prefix("file:") {
        Some(url) => url.strip_prefix("//").unwrap_or(url),
        None if is_editable || target.starts_with(['.', '/']) => target,
        None => return,
    };
    // What is behind the path names extras or a part of it.
    let path = path.split(['#', '[']).next().unwrap_or(path);
    let path = path.replace("%20", " ");
    let path = ["${PROJECT_ROOT}/", "{root:uri}/", "localhost/"]
        .iter()
        .find_map(|here| path.strip_prefix(here))
        .unwrap_or(&path);
    let on = found.at(folder, path);
    found.add(on, DependencyKind::PythonPath, format!("{file}: {text}"));
}

/// `requirements.txt` and its like, in the folder and in `requirements/`.
fn requirement_files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for (below, is_all) in [("", false), ("requirements", true)] {
        let Ok(entries) = std::fs::read_dir(folder.join(below)) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_text = name.ends_with(".txt") || name.ends_with(".in");
            if is_text && (is_all || name.contains("requirements")) {
                names.push(Path::new(below).join(name).to_string_lossy().into_owned());
            }
        }
    }
    names.sort();
    names
}

fn get<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    let first = table.get(*first)?;
    rest.iter().try_fold(first, |value, key| value.get(*key))
}

/// A name as packages are compared.
fn normal(name: &str) -> String {
    let mut normal = String::new();
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            other => normal.extend(other.to_lowercase()),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_packages_are() {
        assert_eq!(normal("My_Package.-x"), "my-package-x");
    }
}
