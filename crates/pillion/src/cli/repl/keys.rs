//! Keys that mean something else in Python than in a shell: Enter indents, Tab completes or
//! indents, Backspace goes back a step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossterm::event::Event;
use reedline::{
    EditCommand, EditMode, Emacs, KeyCode, KeyModifiers, PromptEditMode, ReedlineEvent,
    ReedlineRawEvent, default_emacs_keybindings,
};

use super::language::Language;
use super::python::STEP;

/// The name of the menu with completions.
pub(crate) const MENU: &str = "completions";

/// What stands on the line, as it was shown last.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    /// Up to the cursor.
    before: String,
    /// From the cursor on.
    behind: String,
    /// Keys came since.
    is_old: bool,
    language: Language,
}

impl Typed {
    fn lock(typed: &Mutex<Self>) -> MutexGuard<'_, Self> {
        typed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing yet, in this language.
    pub(crate) fn new(language: Language) -> Self {
        Self {
            language,
            ..Self::default()
        }
    }

    /// Note what is shown now.
    pub(crate) fn is_shown(typed: &Mutex<Self>, line: &str, cursor: usize) {
        let (before, behind) = line.split_at_checked(cursor).unwrap_or((line, ""));
        let mut typed = Self::lock(typed);
        *typed = Self {
            before: before.to_owned(),
            behind: behind.to_owned(),
            is_old: false,
            language: typed.language,
        };
    }

    /// The text before the cursor on its line, if there are only spaces.
    fn margin(&self) -> Option<usize> {
        let line = self.before.rsplit('\n').next().unwrap_or_default();
        line.chars().all(|c| c == ' ').then_some(line.len())
    }

    fn enter(&self) -> ReedlineEvent {
        let whole = format!("{}{}", self.before, self.behind);
        if self.language.is_whole(&whole) {
            return ReedlineEvent::Enter;
        }
        let spaces = " ".repeat(self.language.indentation(&self.before));
        ReedlineEvent::UntilFound(vec![
            ReedlineEvent::MenuAccept,
            ReedlineEvent::Edit(vec![EditCommand::InsertString(format!("\n{spaces}"))]),
        ])
    }

    fn tab(&self) -> Option<ReedlineEvent> {
        let spaces = STEP - self.margin()? % STEP;
        let insert = EditCommand::InsertString(" ".repeat(spaces));
        Some(ReedlineEvent::Edit(vec![insert]))
    }

    fn backspace(&self) -> Option<ReedlineEvent> {
        let margin = self.margin().filter(|margin| *margin > 0)?;
        let spaces = (margin - 1) % STEP + 1;
        Some(ReedlineEvent::Edit(vec![EditCommand::Backspace; spaces]))
    }
}

/// The keys of Emacs, as in every shell, with the few of Python.
pub(crate) struct Keys {
    emacs: Emacs,
    typed: Arc<Mutex<Typed>>,
}

impl Keys {
    pub(crate) fn new(typed: Arc<Mutex<Typed>>) -> Self {
        let mut keys = default_emacs_keybindings();
        keys.add_binding(
            KeyModifiers::NONE,
            KeyCode::Tab,
            ReedlineEvent::UntilFound(vec![
                ReedlineEvent::Menu(MENU.to_owned()),
                ReedlineEvent::MenuNext,
            ]),
        );
        keys.add_binding(
            KeyModifiers::SHIFT,
            KeyCode::BackTab,
            ReedlineEvent::MenuPrevious,
        );
        let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line);
        Self {
            emacs: Emacs::new(keys),
            typed,
        }
    }

    /// What a key means here, if it is not what it means everywhere.
    fn own(&self, code: KeyCode) -> Option<ReedlineEvent> {
        let typed = Typed::lock(&self.typed);
        // Keys that come all at once are no hand's: they are taken as they are.
        if typed.is_old {
            return None;
        }
        match code {
            KeyCode::Enter => Some(typed.enter()),
            KeyCode::Tab => typed.tab(),
            KeyCode::Backspace => typed.backspace(),
            _ => None,
        }
    }
}

impl EditMode for Keys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = Event::from(event);
        let own = match &event {
            Event::Key(key) if key.modifiers == KeyModifiers::NONE => self.own(key.code),
            _ => None,
        };
        Typed::lock(&self.typed).is_old = true;
        let parsed = || match ReedlineRawEvent::try_from(event) {
            Ok(event) => self.emacs.parse_event(event),
            Err(()) => ReedlineEvent::None,
        };
        own.unwrap_or_else(parsed)
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.emacs.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(before: &str) -> Typed {
        Typed {
            before: before.to_owned(),
            ..Typed::default()
        }
    }

    fn inserted(event: Option<ReedlineEvent>) -> Option<String> {
        let events = match event? {
            ReedlineEvent::UntilFound(events) => events,
            event => vec![event],
        };
        events.into_iter().find_map(|event| match event {
            ReedlineEvent::Edit(edits) => edits.into_iter().find_map(|edit| match edit {
                EditCommand::InsertString(text) => Some(text),
                _ => None,
            }),
            _ => None,
        })
    }

    #[test]
    fn enter_indents_what_goes_on_and_runs_what_is_whole() {
        assert_eq!(typed("1").enter(), ReedlineEvent::Enter);
        let open = inserted(Some(typed("def f():").enter()));
        assert_eq!(open.as_deref(), Some("\n    "));
        let done = typed("def f():\n    return 1\n").enter();
        assert_eq!(done, ReedlineEvent::Enter);
    }

    #[test]
    fn steps_are_made_where_a_line_has_nothing_but_spaces() {
        assert_eq!(inserted(typed("if x:\n").tab()).as_deref(), Some("    "));
        assert_eq!(inserted(typed("if x:\n   ").tab()).as_deref(), Some(" "));
        assert_eq!(typed("x").tab(), None);
        assert_eq!(typed("x").backspace(), None);
        assert_eq!(typed("if x:\n").backspace(), None, "the line's end goes");
        let back = |spaces: usize| typed(&" ".repeat(spaces)).backspace();
        let edits = |count| Some(ReedlineEvent::Edit(vec![EditCommand::Backspace; count]));
        assert_eq!(back(4), edits(4));
        assert_eq!(back(6), edits(2));
        assert_eq!(back(8), edits(4));
    }
}
