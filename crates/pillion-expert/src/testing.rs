//! Experts for tests, with nothing that a test does not say.

use pillion_course::{Expert, Skill};

/// An expert that knows nothing.
pub(crate) fn expert() -> Expert {
    Expert {
        id: String::new(),
        title: String::new(),
        description: String::new(),
        folder: std::path::PathBuf::new(),
        principles: String::new(),
        knowledge: Vec::new(),
        skills: Vec::new(),
        output_types: Vec::new(),
        scenarios: Vec::new(),
        metadata: serde_json::Map::new(),
        files: Vec::new(),
    }
}

/// A skill that is only a page.
pub(crate) fn skill() -> Skill {
    Skill {
        name: String::new(),
        description: String::new(),
        text: String::new(),
        python: None,
        auto: false,
        tools: Vec::new(),
        parameters: None,
    }
}
