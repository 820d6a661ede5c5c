//! What stands before a line that is typed, in a chat and in the repl.

use std::borrow::Cow;

use nu_ansi_term::Color;
use reedline::{Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

/// A text before the first line, and one before those that follow, in the same column.
pub(crate) struct LinePrompt {
    /// Whose line it is: `you`, `In [3]`.
    pub(crate) name: Cow<'static, str>,
    /// What is between the name and the text.
    pub(crate) sign: &'static str,
    /// The end of what stands before a line that follows.
    pub(crate) more: &'static str,
}

impl Prompt for LinePrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(self.sign)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        let width = self.name.len() + self.sign.len();
        Cow::Owned(format!("{:>width$}", self.more))
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "failing ",
        };
        Cow::Owned(format!(" ({failing}search: {}) ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        Color::Green
    }

    fn get_indicator_color(&self) -> Color {
        Color::Green
    }

    fn get_prompt_multiline_color(&self) -> Color {
        Color::Green
    }
}
