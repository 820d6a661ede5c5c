//! What sessions are about: chapters, courses and experts, as files that people write.
//!
//! # Theory of operation
//!
//! A chapter is a handful of Markdown files in a folder: what it teaches, its tasks, and when
//! a task counts as done. Chapters stand in courses, courses in a curriculum folder or in a
//! bundle that an application hands over. [`resolve`] finds a chapter by its id and reads all
//! of it into a [`Chapter`]: texts, tasks, starter files, the prompts that it changes and the
//! experts that it may ask. Each file is taken from the first place that has it, so that a
//! chapter overrides the application, and the application overrides what pillion ships.
//!
//! A session must not change under its learner when a bundle is upgraded, and it must come
//! back after a restart. So [`freeze`] copies what was resolved into an [`Overlay`]: a folder
//! that is named by the hash of its content and never changes. Sessions with the same content
//! share it; [`sweep`] removes those that nobody needs.
//!
//! Whoever has no course is given the [`sample`], which is in this crate.
//!
//! For authors there are [`check`], which names the file and line of what is wrong, and
//! [`new`], which makes a course that passes it. Both read files by the same functions as a
//! session does. A session is lenient where it can go on, and keeps what it left out in
//! [`Chapter::warnings`]; the check is strict.
//!
//! Content is written by others, so nothing in it is trusted: every file is read up to a
//! limit, ids and names are plain ([`is_plain`]), and a link that leads out of its bundle is
//! refused (`files.rs` is the only way to a file of a bundle).
//!
//! All functions block, since they read files: whoever has an event loop calls them from a
//! thread for such work.

mod chapter;
mod check;
mod content;
mod error;
mod experts;
mod files;
mod freeze;
mod id;
mod listing;
mod new;
mod overlay;
mod resolve;
mod rules;
mod sample;
mod tasks;
#[cfg(test)]
mod testing;
mod title;
mod yaml;

pub use chapter::{OPTIONAL, PLACEHOLDERS, PROMPTS, REQUIRED, placeholders};
pub use check::{ContentProblem, ContentReport, ContentSeverity, check};
pub use content::{
    Bundles, Chapter, ChapterTask, ConsultationRules, CopiedFile, Document, Expert, Roots, Skill,
};
pub use error::Error;
pub use experts::{ExpertEntry, ExpertRegistry, registry};
pub use freeze::freeze;
pub use id::{ChapterId, is_plain};
pub use listing::{ChapterInfo, CourseInfo, chapters, courses};
pub use new::new;
pub use overlay::{Overlay, OverlayCheck, Swept, sweep};
pub use resolve::resolve;
pub use rules::{BindingRule, PACKET_FIELDS};
pub use sample::sample;
