//! What `git diff -U0` says, read: which files differ, and in which lines.

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStatus {
    /// Its text is another.
    Modified,
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It is at another place.
    Renamed,
}

/// Lines of the old file that became lines of the new one; from 1, as git counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The first of the old lines.
    pub old_start: u32,
    /// How many old lines there are.
    pub old_count: u32,
    /// The first of the new lines.
    pub new_start: u32,
    /// How many new lines there are.
    pub new_count: u32,
    /// The old lines, without their ends.
    pub removed: Vec<String>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Where it is now, or was if it is gone.
    pub path: String,
    /// Where it was, if that is another place.
    pub old_path: Option<String>,
    /// What happened to it.
    pub status: FileStatus,
    /// The lines that differ; nothing if that is not known, or if none do.
    pub hunks: Vec<Hunk>,
}

/// Read a diff without context whose paths begin with `a/` and `b/`.
pub(crate) fn parse(diff: &str) -> Vec<FileDiff> {
    let mut all: Vec<FileDiff> = Vec::new();
    // Lines of the hunk at hand that are still to come: they may look like anything.
    let mut body = 0;
    for line in diff.lines() {
        if body > 0 && line.starts_with(['+', '-', ' ']) {
            body -= 1;
            let hunk = all.last_mut().and_then(|file| file.hunks.last_mut());
            if let (Some(old), Some(hunk)) = (line.strip_prefix('-'), hunk) {
                hunk.removed.push(old.to_owned());
            }
            continue;
        }
        if let Some(paths) = line.strip_prefix("diff --git ") {
            all.push(FileDiff {
                path: same_path(paths).unwrap_or_default(),
                old_path: None,
                status: FileStatus::Modified,
                hunks: Vec::new(),
            });
            continue;
        }
        let Some(file) = all.last_mut() else {
            continue;
        };
        if let Some(hunk) = line.strip_prefix("@@ -").and_then(hunk) {
            body = hunk.old_count + hunk.new_count;
            file.hunks.push(hunk);
        } else if line.starts_with("new file mode") {
            file.status = FileStatus::Added;
        } else if line.starts_with("deleted file mode") {
            file.status = FileStatus::Deleted;
        } else if let Some(from) = line.strip_prefix("rename from ") {
            file.status = FileStatus::Renamed;
            file.old_path = Some(unquoted(from));
        } else if let Some(to) = line.strip_prefix("rename to ") {
            file.path = unquoted(to);
        } else if let Some(path) = line.strip_prefix("+++ ").or(line.strip_prefix("--- ")) {
            let path = unquoted(path);
            if let Some(path) = path.strip_prefix("b/").or(path.strip_prefix("a/"))
                && file.status != FileStatus::Renamed
            {
                path.clone_into(&mut file.path);
            }
        }
    }
    all.retain(|file| !file.path.is_empty());
    all
}

/// `3,2 +5 @@ ...`.
fn hunk(text: &str) -> Option<Hunk> {
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let (old_start, old_count) = range(old)?;
    let (new_start, new_count) = range(new)?;
    Some(Hunk {
        old_start,
        old_count,
        new_start,
        new_count,
        removed: Vec::new(),
    })
}

/// The path of `a/path b/path`, where both are the same.
fn same_path(paths: &str) -> Option<String> {
    let half = paths.get(..paths.len() / 2)?;
    let path = unquoted(half);
    path.strip_prefix("a/").map(ToOwned::to_owned)
}

/// A path without the quotes that git puts around unusual ones.
fn unquoted(text: &str) -> String {
    // A tab ends a path with blanks in it.
    let text = text.trim_end_matches('\t');
    let Some(inner) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) else {
        return text.to_owned();
    };
    let mut path = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => path.push(match letters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            }),
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_happens_to_files_is_read() {
        let diff = "\
diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,0 +2,2 @@ def f():
++++ b/looks like a header
+two
@@ -9 +11,0 @@
--- a/removed
\\ No newline at end of file
diff --git a/new file.py b/new file.py
new file mode 100644
--- /dev/null
+++ b/new file.py\t
@@ -0,0 +1 @@
+x
diff --git a/empty.py b/empty.py
new file mode 100644
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old.py b/moved/new.py
similarity index 90%
rename from old.py
rename to moved/new.py
--- a/old.py
+++ b/moved/new.py
@@ -3 +3 @@
-x
+y
Submodule sub 1..2:
diff --git \"a/sub/q\\\"q.py\" \"b/sub/q\\\"q.py\"
--- \"a/sub/q\\\"q.py\"
+++ \"b/sub/q\\\"q.py\"
@@ -1 +1 @@
-x
+y
";
        let read: Vec<_> = parse(diff)
            .into_iter()
            .map(|file| {
                let hunks = file.hunks.iter().map(|h| (h.new_start, h.new_count));
                (file.path, file.status, hunks.collect::<Vec<_>>())
            })
            .collect();
        let is =
            |path: &str, status, hunks: &[(u32, u32)]| (path.to_owned(), status, hunks.to_vec());
        assert_eq!(
            read,
            [
                is("a.py", FileStatus::Modified, &[(2, 2), (11, 0)]),
                is("new file.py", FileStatus::Added, &[(1, 1)]),
                is("empty.py", FileStatus::Added, &[]),
                is("gone.py", FileStatus::Deleted, &[(0, 0)]),
                is("moved/new.py", FileStatus::Renamed, &[(3, 1)]),
                is("sub/q\"q.py", FileStatus::Modified, &[(1, 1)]),
            ]
        );
    }
}
