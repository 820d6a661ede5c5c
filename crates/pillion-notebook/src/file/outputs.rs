//! The outputs of a running cell: fed with a kernel's messages, one state machine per cell.
//!
//! Streams of one name that follow each other become one output, in which a carriage return
//! and a backspace take away what they overwrite, so that a progress bar is one line.
//! `update_display_data` replaces what has the same display id; an update that is about another
//! cell's display is told to that cell's [`OutputList`] by [`OutputList::update_display`].
//! `clear_output` clears at once, or before the next output if it says `wait`.
//!
//! What a cell may leave is bounded. What is over the limit is dropped and counted, and a last
//! output says so; an exception is kept in any case, if need be with less of its traceback.

use serde_json::Value;

use super::output::Output;

/// What each output costs beside its content, so that empty ones are bounded, too.
const OVERHEAD: usize = 64;
/// The room that is kept for an exception beside the limit.
const ERROR_ROOM: usize = 64 * 1024;

/// What a message changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputChange {
    /// All outputs so far were removed, before anything else that is said here.
    pub cleared: bool,
    /// The output with this number is new.
    pub added: Option<usize>,
    /// The stream with this number has more text.
    pub extended: Option<usize>,
    /// The outputs with these numbers show something else now.
    pub updated: Vec<usize>,
    /// Something was dropped because of the limit.
    pub cut: bool,
}

impl OutputChange {
    /// Whether nothing changed.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The outputs of one cell while it runs.
#[derive(Debug, Clone)]
pub struct OutputList {
    entries: Vec<Entry>,
    clear_before_next: bool,
    execution_count: Option<u64>,
    max_bytes: usize,
    size: usize,
    /// Whether something was dropped, and how many bytes.
    cut: bool,
    dropped: usize,
}

#[derive(Debug, Clone)]
struct Entry {
    output: Output,
    display_id: Option<String>,
}

impl Entry {
    fn size(&self) -> usize {
        self.output.size() + OVERHEAD
    }
}

impl OutputList {
    /// No outputs yet, and at most so many bytes of them.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            entries: Vec::new(),
            clear_before_next: false,
            execution_count: None,
            max_bytes,
            size: 0,
            cut: false,
            dropped: 0,
        }
    }

    /// Take a message of the kernel whose parent is this cell's request. Messages that are no
    /// outputs change nothing.
    pub fn feed(&mut self, msg_type: &str, content: &Value) -> OutputChange {
        match msg_type {
            "execute_input" => {
                self.execution_count = content.get("execution_count").and_then(Value::as_u64);
                OutputChange::default()
            }
            "clear_output" => {
                let wait = content.get("wait").and_then(Value::as_bool);
                self.clear_before_next = wait.unwrap_or(false);
                match self.clear_before_next {
                    true => OutputChange::default(),
                    false => self.clear(),
                }
            }
            "update_display_data" => self.update_display(content),
            _ => match Output::from_message(msg_type, content) {
                Some(output) => self.add(output, content),
                None => OutputChange::default(),
            },
        }
    }

    /// Show something else wherever this cell shows the display that `content` names.
    /// `content` is that of `update_display_data`, or of `display_data` with a display id.
    pub fn update_display(&mut self, content: &Value) -> OutputChange {
        let mut change = OutputChange::default();
        let Some(id) = display_id(content) else {
            return change;
        };
        let new = Output::from_message("display_data", content);
        let Some(Output::Display { data, metadata }) = new else {
            return change;
        };
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.display_id.as_deref() != Some(&id) {
                continue;
            }
            let mut changed = entry.clone();
            if let Output::Display {
                data: d,
                metadata: m,
            }
            | Output::Result {
                data: d,
                metadata: m,
                ..
            } = &mut changed.output
            {
                d.clone_from(&data);
                m.clone_from(&metadata);
            }
            let size = self.size - entry.size() + changed.size();
            if size > self.max_bytes {
                self.dropped += changed.output.size();
                (self.cut, change.cut) = (true, true);
                continue;
            }
            self.size = size;
            *entry = changed;
            change.updated.push(index);
        }
        change
    }

    /// The number of the run, as the kernel said it.
    pub fn execution_count(&self) -> Option<u64> {
        self.execution_count
    }

    /// Whether something was dropped because of the limit.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// About how many bytes they take.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether there is an exception among them.
    pub fn has_error(&self) -> bool {
        self.entries.iter().any(|entry| entry.output.is_error())
    }

    /// One output, by its number.
    pub fn get(&self, at: usize) -> Option<&Output> {
        self.entries.get(at).map(|entry| &entry.output)
    }

    /// The outputs. If some were dropped, the last one says so.
    pub fn all(&self) -> Vec<Output> {
        let outputs = self.entries.iter().map(|entry| entry.output.clone());
        outputs.chain(self.notice()).collect()
    }

    /// The outputs as a file has them.
    pub fn to_nbformat(&self) -> Vec<Value> {
        self.all().iter().map(Output::to_nbformat).collect()
    }

    fn notice(&self) -> Option<Output> {
        let (dropped, limit) = (self.dropped, self.max_bytes);
        self.is_cut().then(|| Output::Stream {
            name: "stderr".into(),
            text: format!(
                "[output cut: the limit of {limit} bytes was reached and {dropped} bytes were dropped]\n"
            ),
        })
    }

    fn clear(&mut self) -> OutputChange {
        let cleared = !self.entries.is_empty();
        self.entries.clear();
        self.clear_before_next = false;
        (self.size, self.cut, self.dropped) = (0, false, 0);
        OutputChange {
            cleared,
            ..OutputChange::default()
        }
    }

    fn add(&mut self, output: Output, content: &Value) -> OutputChange {
        let mut change = match self.clear_before_next {
            true => self.clear(),
            false => OutputChange::default(),
        };
        let display_id = display_id(content).filter(|_| output.data().is_some());
        if display_id.is_some() {
            let updates = self.update_display(content);
            change.updated = updates.updated;
            change.cut = updates.cut;
        }
        if let Output::Stream { name, text } = &output
            && self.extend(name, text, &mut change)
        {
            return change;
        }
        self.push(output, display_id, &mut change);
        change
    }

    /// Append to the last output if it is the same stream.
    fn extend(&mut self, name: &str, more: &str, change: &mut OutputChange) -> bool {
        let last = self.entries.len().wrapping_sub(1);
        let Some(Entry {
            output: Output::Stream { name: same, text },
            ..
        }) = self.entries.get_mut(last)
        else {
            return false;
        };
        if same != name {
            return false;
        }
        // After the first byte that was dropped a stream has no more to say: its rest would
        // read as if nothing were missing.
        if self.cut {
            self.dropped += more.len();
            change.cut = true;
            return true;
        }
        let before = text.len();
        overwrite(text, more);
        self.size = self.size - before + text.len();
        let over = self.size.saturating_sub(self.max_bytes);
        if over > 0 {
            let keep = text.floor_char_boundary(text.len().saturating_sub(over));
            let lost = text.len() - keep;
            text.truncate(keep);
            self.size -= lost;
            self.dropped += lost;
            (self.cut, change.cut) = (true, true);
        }
        change.extended = Some(last);
        true
    }

    fn push(&mut self, mut output: Output, display_id: Option<String>, change: &mut OutputChange) {
        let is_error = output.is_error();
        if is_error {
            shorten(&mut output);
        } else if let Output::Stream { text, .. } = &mut output {
            let more = std::mem::take(text);
            overwrite(text, &more);
        }
        let limit = match is_error {
            true => self.max_bytes.saturating_add(ERROR_ROOM),
            false => self.max_bytes,
        };
        let room = limit.saturating_sub(self.size + OVERHEAD);
        let fits = self.size + OVERHEAD <= limit && output.size() <= room;
        if !fits || (self.cut && !is_error) {
            let cut_before = std::mem::replace(&mut self.cut, true);
            change.cut = true;
            let whole = output.size();
            match &mut output {
                Output::Stream { name, text } if !cut_before && room > name.len() => {
                    let keep = text.floor_char_boundary(room - name.len());
                    text.truncate(keep);
                    self.dropped += whole - output.size();
                }
                _ => {
                    self.dropped += whole;
                    return;
                }
            }
        }
        change.added = Some(self.entries.len());
        let entry = Entry { output, display_id };
        self.size += entry.size();
        self.entries.push(entry);
    }
}

fn display_id(content: &Value) -> Option<String> {
    let id = content.get("transient")?.get("display_id")?.as_str()?;
    Some(id.to_owned())
}

/// An exception that fits into its room. The end of a traceback is where it happened.
fn shorten(output: &mut Output) {
    let Output::Error {
        ename,
        evalue,
        traceback,
    } = output
    else {
        return;
    };
    for text in [ename, evalue] {
        text.truncate(text.floor_char_boundary(ERROR_ROOM / 8));
    }
    let mut room = ERROR_ROOM / 2;
    let fits = traceback.iter().rev().take_while(|line| {
        let fits = line.len() <= room;
        room = room.saturating_sub(line.len());
        fits
    });
    let kept = fits.count();
    if kept < traceback.len() {
        let left_out = traceback.len() - kept;
        traceback.drain(..left_out);
        traceback.insert(
            0,
            format!("[{left_out} parts of the traceback were too long]"),
        );
    }
}

/// Append to a text as a terminal would: a backspace takes the letter before it, and a
/// carriage return that no line end follows takes the line.
pub(super) fn overwrite(text: &mut String, more: &str) {
    if !more.contains(['\r', '\u{8}']) && !text.ends_with('\r') {
        text.push_str(more);
        return;
    }
    for letter in more.chars() {
        if letter == '\u{8}' {
            if !text.is_empty() && !text.ends_with('\n') {
                text.pop();
            }
            continue;
        }
        if text.ends_with('\r') && letter != '\n' {
            text.truncate(text.rfind('\n').map_or(0, |newline| newline + 1));
        }
        text.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stream(text: &str) -> Value {
        json!({"name": "stdout", "text": text})
    }

    fn display(id: &str, text: &str) -> Value {
        json!({"data": {"text/plain": text}, "metadata": {}, "transient": {"display_id": id}})
    }

    fn texts(outputs: &OutputList) -> Vec<String> {
        let text = |output: Output| match output {
            Output::Stream { text, .. } => text,
            other => other.data().unwrap()["text/plain"]
                .as_str()
                .unwrap()
                .to_owned(),
        };
        outputs.all().into_iter().map(text).collect()
    }

    #[test]
    fn streams_of_one_name_become_one_output() {
        let mut outputs = OutputList::new(10_000);
        assert_eq!(outputs.feed("stream", &stream("a\n")).added, Some(0));
        assert_eq!(outputs.feed("stream", &stream("b")).extended, Some(0));
        let error = json!({"name": "stderr", "text": "!"});
        assert_eq!(outputs.feed("stream", &error).added, Some(1));
        assert_eq!(outputs.feed("stream", &stream("c")).added, Some(2));
        assert_eq!(texts(&outputs), ["a\nb", "!", "c"]);
    }

    #[test]
    fn a_progress_bar_is_one_line() {
        let mut outputs = OutputList::new(1000);
        outputs.feed("stream", &stream("begin\n"));
        for step in 0..10_000 {
            assert!(!outputs.feed("stream", &stream(&format!("\r{step} %"))).cut);
        }
        outputs.feed("stream", &stream("x\u{8}\u{8}%\r\nend"));
        assert_eq!(texts(&outputs), ["begin\n9999 %\r\nend"]);
    }

    #[test]
    fn a_display_is_updated_wherever_it_is_shown() {
        let mut outputs = OutputList::new(10_000);
        outputs.feed("display_data", &display("a", "1"));
        outputs.feed("display_data", &display("b", "2"));
        let change = outputs.feed("display_data", &display("a", "3"));
        assert_eq!((change.updated, change.added), (vec![0], Some(2)));
        let change = outputs.feed("update_display_data", &display("a", "4"));
        assert_eq!(change.updated, [0, 2]);
        assert!(
            outputs
                .feed("update_display_data", &display("z", "5"))
                .is_nothing()
        );
        assert_eq!(texts(&outputs), ["4", "2", "4"]);
        let written = outputs.to_nbformat();
        assert!(
            written
                .iter()
                .all(|output| output.get("transient").is_none())
        );
    }

    #[test]
    fn clearing_happens_at_once_or_before_the_next_output() {
        let mut outputs = OutputList::new(10_000);
        outputs.feed("stream", &stream("a"));
        assert!(
            outputs
                .feed("clear_output", &json!({"wait": true}))
                .is_nothing()
        );
        assert_eq!(texts(&outputs), ["a"]);
        let change = outputs.feed("stream", &stream("b"));
        assert!(change.cleared && change.added == Some(0));
        assert_eq!(texts(&outputs), ["b"]);
        assert!(
            outputs
                .feed("clear_output", &json!({"wait": false}))
                .cleared
        );
        assert!(texts(&outputs).is_empty());
    }

    #[test]
    fn what_is_over_the_limit_is_dropped_and_told() {
        let mut outputs = OutputList::new(200);
        assert!(!outputs.feed("stream", &stream("begin\n")).cut);
        assert!(outputs.feed("stream", &stream(&"é".repeat(100))).cut);
        assert!(outputs.feed("stream", &stream("more")).cut);
        assert!(outputs.feed("display_data", &display("a", "x")).cut);
        let error =
            json!({"ename": "E", "evalue": "v", "traceback": ["t".repeat(1_000_000), "at"]});
        assert!(outputs.feed("error", &error).added.is_some());
        let all = outputs.all();
        assert_eq!(all.len(), 3);
        let Output::Stream { text, .. } = &all[0] else {
            panic!("{all:?}")
        };
        assert!(text.starts_with("begin\né") && text.len() <= 200);
        let Output::Error { traceback, .. } = &all[1] else {
            panic!("{all:?}")
        };
        assert_eq!(traceback.last().unwrap(), "at");
        assert!(all[1].size() < ERROR_ROOM);
        let Output::Stream { name, text } = &all[2] else {
            panic!("{all:?}")
        };
        assert!(
            name == "stderr" && text.contains("limit of 200 bytes"),
            "{text}"
        );
        // What was cleared takes no room.
        outputs.feed("clear_output", &json!({}));
        assert!(!outputs.feed("stream", &stream("again")).cut);
        assert_eq!(texts(&outputs), ["again"]);
    }

    #[test]
    fn empty_outputs_are_bounded_too() {
        let mut outputs = OutputList::new(1000);
        let empty = json!({"data": {}, "metadata": {}});
        (0..1000).for_each(|_| drop(outputs.feed("display_data", &empty)));
        assert!(outputs.all().len() < 20 && outputs.is_cut());
        // Exceptions have room of their own, but not without end.
        let error = json!({"ename": "E", "evalue": "", "traceback": []});
        (0..100_000).for_each(|_| drop(outputs.feed("error", &error)));
        assert!(outputs.all().len() < 1100, "{}", outputs.all().len());
    }

    #[test]
    fn the_number_of_the_run_is_the_kernels() {
        let mut outputs = OutputList::new(10);
        outputs.feed("execute_input", &json!({"code": "1", "execution_count": 7}));
        assert_eq!(outputs.execution_count(), Some(7));
        assert!(outputs.feed("status", &json!({})).is_nothing());
    }
}
