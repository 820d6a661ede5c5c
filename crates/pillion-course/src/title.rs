//! The title of what is written in Markdown.

/// The longest title that is taken from a heading.
const MOST_TITLE: usize = 200;

/// The text of the first heading.
pub(crate) fn title(text: &str) -> Option<String> {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "))?;
    let heading: String = heading.trim().chars().take(MOST_TITLE).collect();
    Some(heading).filter(|heading| !heading.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_the_first_heading() {
        assert_eq!(title("text\n# One\n# Two").as_deref(), Some("One"));
        assert_eq!(title("## Two\n# \n"), None);
    }
}
