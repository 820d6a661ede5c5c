//! How a string of a file may be looked up, by its text alone.

use ruff_text_size::TextRange;

/// A name in a string.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    /// Where the name stands.
    pub(super) at: TextRange,
    pub(super) what: What,
}

/// How it is looked up.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// As an attribute of this.
    Of(Object),
    /// As an attribute of what is not known here.
    Later,
    /// As an attribute of what fills in a string that is not known here.
    Filled,
    /// As a key of what fills in a string that is not known here.
    FilledKey,
    /// As a part of a dotted name, with what stands before it.
    Dotted(Vec<String>),
    /// As an attribute of the class whose name stands here.
    OfClass(usize),
    /// As a key of this.
    Key(Object),
    /// As a key of a dictionary that is written out, with all its keys.
    InDict(Vec<String>, Context),
    /// As what something has that stands in the place of an object: `Mock(name=1)`.
    StandIn,
    /// As what a query means by a keyword or a text: `filter(name__in=...)`.
    Query,
    /// As something in a file that looks up names which no text spells.
    Anywhere,
    /// As the name of an argument, which is the business of the call.
    Argument,
    /// As a keyword of a call that is given all attributes, or all keys, of this by `**`; with
    /// what is called.
    Spread(Object, Object, Holds),
}

/// What a dictionary that is passed by `**` holds of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Its attributes: `**vars(o)`.
    Attributes,
    /// Its own keys.
    Keys,
}

/// What something is taken from.
#[derive(Debug, Clone)]
pub(super) enum Object {
    /// What a name stands for.
    Named(usize),
    /// What a call of this name makes.
    Made(usize),
    /// The object or class whose method it is.
    Own(usize),
    Other,
}

/// What says what a dictionary has to hold.
#[derive(Debug, Clone)]
pub(super) enum Context {
    Nothing,
    /// Names in an annotation.
    Annotated(Vec<usize>),
    /// It becomes the value of what is named here.
    Assigned(usize),
    /// It is an argument of what is called here: by its place, or by name.
    Passed(usize, usize, Option<String>),
    /// It is merged into this.
    Merged(Object),
}
