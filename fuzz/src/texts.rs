//! Files of a project, however deep they nest, and however odd they are.

use pillion_code::reading;

/// Repetitions that are made of a piece at most: deeper than any stack is long.
const MAX_TIMES: usize = 40_000;
/// Bytes of a text that is made.
const MAX_TEXT: usize = 1 << 20;

/// A text is read or refused, whatever it nests; the process that reads it lives on.
///
/// The first line of an input is the name of the file and how often its pieces are repeated;
/// the others are what stands before, what is repeated in front, what is in the middle, what is
/// repeated behind, and what stands after it. `\\n` is a new line. Whatever has no such first
/// line is the text of a Python file.
pub fn nested_text(data: &[u8]) {
    let input = String::from_utf8_lossy(data);
    let mut lines = input.split('\n');
    let head = lines.next().and_then(|line| line.split_once(' '));
    let times = head.and_then(|(_, times)| times.parse::<usize>().ok());
    let (Some((file, _)), Some(times)) = (head, times) else {
        reading::read("a.py", data);
        return;
    };
    let [before, front, middle, behind, after] =
        std::array::from_fn(|_| lines.next().unwrap_or_default().replace("\\n", "\n"));
    let size = front.len() + behind.len();
    let times = times.min(MAX_TIMES).min(MAX_TEXT / size.max(1));
    let (front, behind) = (front.repeat(times), behind.repeat(times));
    let text = format!("{before}{front}{middle}{behind}{after}");
    reading::read(file, text.as_bytes());
}

/// Files of every language that is read.
const FILES: &[&str] = &[
    "a.py", "a.pyi", "a.js", "a.ts", "a.tsx", "a.go", "a.rs", "a.java", "a.c",
];

/// A file of any language is read, whatever is in it. The first byte says which language.
pub fn odd_text(data: &[u8]) {
    if let Some((which, text)) = data.split_first() {
        reading::read(FILES[usize::from(*which) % FILES.len()], text);
    }
}
