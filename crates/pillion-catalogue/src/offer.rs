//! How doors offer an operation beside its own name: what people type for it, what is printed,
//! its tool, its paths, its older names. A constant of the operation: doors read it and know no
//! operation by name.

use crate::Profile;

/// What doors are to know about an operation. Most have nothing to say.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// What people type for it; `AREA VERB` if there is nothing shorter.
    pub command: Option<TypedCommand>,
    /// What the command line prints.
    pub prints: Prints,
    /// Its tool.
    pub tool: Tool,
    /// Which tables of tools it is on, beside that of its area.
    pub shown: Shown,
    /// The smallest table of the contract that it is on, beside that of all tools.
    pub contract: Option<Profile>,
    /// Its paths, beside `POST /v1/{operation}`.
    pub routes: &'static [Route],
    /// The command that hosts of the old Python child know it by.
    pub old_command: Option<OldCommand>,
}

/// What people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedCommand {
    /// The word.
    pub name: &'static str,
    /// Its place in the list of commands.
    pub place: usize,
    /// The command line has a command of its own for it, with more than the parameters.
    pub is_own: bool,
}

/// What the command line prints of an answer, unless JSON is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prints {
    /// Its text, or its JSON if it has none.
    Answer,
    /// The member `result`: what somebody's function returned.
    Result,
    /// Its items, which are what a program printed; the answer's text goes beside them.
    Output,
    /// Its items only.
    Items,
}

/// An operation as a tool of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Called by its own name.
    Plain,
    /// Called by a name that a contract fixes, which says how it answers, too. By its own name
    /// it is a tool like others.
    Named {
        /// The name.
        name: &'static str,
        /// Its place in the contract's list, which is the order of usefulness.
        place: usize,
    },
    /// No tool: it runs pillion, or talks without end.
    None,
}

/// Which tables of tools an operation is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// That of its area.
    Area,
    /// And what agents do every day.
    Everyday,
    /// All tables that are no contract's.
    Always,
}

/// A command of the old Python child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldCommand {
    /// Its name.
    pub name: &'static str,
    /// Parameters, as JSON, that hold where the host says nothing: it does not know of limits,
    /// and would take a list that was cut off for all there is.
    pub defaults: &'static [(&'static str, &'static str)],
}

/// A method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// A path of the HTTP door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// How it is asked.
    pub method: Method,
    /// Where. A part `{name}` is the parameter of that name.
    pub path: &'static str,
    /// What its body holds.
    pub body: Body,
    /// How its errors look.
    pub errors: Errors,
    /// How its answer looks.
    pub answer: AnswerForm,
    /// Parameters that stand behind the path: `?name=value`.
    pub query: &'static [&'static str],
    /// Where it is served.
    pub mode: DoorMode,
    /// What its users may rely on.
    pub stability: Stability,
    /// Which members of the body become parameters.
    pub members: Members,
    /// Members of the body of which the path says more than the operation: limits that are
    /// narrower, values where none is given.
    pub fields: &'static [Field],
    /// Parts of the path, and the parameters they are where those are called otherwise.
    pub names: &'static [(&'static str, &'static str)],
    /// Parameters, as JSON, that the path decides.
    pub fixed: &'static [(&'static str, &'static str)],
    /// Operations that are asked first with the parts of the path, under the names that they have
    /// there: what they refuse, the path refuses. One that is not in the catalogue is not asked.
    pub first: &'static [First],
}

/// An operation that is asked before that of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    /// Its name.
    pub operation: &'static str,
    /// When it is asked.
    pub mode: DoorMode,
    /// The parts of the path that it is told, which are all its parameters.
    pub parts: &'static [&'static str],
}

impl First {
    /// Whether the session of the path is one that a desktop app has: asked in desktop mode of
    /// `session.known`, whose one parameter is `session_id`.
    pub const SESSION: Self = Self {
        operation: "session.known",
        mode: DoorMode::Desktop,
        parts: &["session_id"],
    };
}

/// How an HTTP door is run, and which paths it has therefore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DoorMode {
    /// Of a path: whatever the door is run as.
    Every,
    /// `pillion serve`: for programs, agents and Jupyter's clients.
    #[default]
    Plain,
    /// `pillion serve --desktop`: the engine of a desktop app, with the paths of its contract.
    Desktop,
}

impl DoorMode {
    /// Whether what is for this mode is there when a door is run as `door`.
    pub fn is_served_by(self, door: Self) -> bool {
        self == Self::Every || self == door
    }
}

/// What users of a path may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// It keeps its shape, and may gain members.
    Stable,
    /// A shipped client uses it as it is.
    Frozen,
}

impl Stability {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Frozen => "frozen",
        }
    }
}

/// Which members of a body become parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// All of them; the operation refuses what it does not know.
    All,
    /// Those that the operation knows; others are ignored.
    Known,
    /// Those of [`Route::fields`]; others are ignored, also those that the operation knows.
    Listed,
}

/// What a path says about a member of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// It must be there, and may not be null.
    pub is_required: bool,
    /// What it is if it is not given, as JSON.
    pub default: Option<&'static str>,
    /// What it may be.
    pub limit: MemberLimit,
}

/// What a member may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberLimit {
    /// Whatever the operation takes.
    None,
    /// A text of so many characters, from the least to the most.
    Length(usize, usize),
    /// A number, from the least to the most.
    Range(i64, i64),
}

impl Field {
    /// A member that must be there.
    pub const fn required(name: &'static str, limit: MemberLimit) -> Self {
        Self {
            name,
            is_required: true,
            default: None,
            limit,
        }
    }

    /// A member that may be there.
    pub const fn optional(name: &'static str, limit: MemberLimit) -> Self {
        Self {
            is_required: false,
            ..Self::required(name, limit)
        }
    }

    /// What it is if it is not given, as JSON.
    #[must_use]
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
}

/// What the body of a request holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Parameters as a JSON object, or nothing.
    Json,
    /// A form (`multipart/form-data`) whose files are the parameter `files`, a list of
    /// `{name, base64}`; they have this name in the form.
    Files(&'static str),
}

/// How errors look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// pillion's error object, under the status of its code.
    Plain,
    /// The same, but 400 where 404 would be: older clients read that as a missing route.
    NotFoundIs400,
    /// `{"detail", "code", "recoverable"}` under the status of its code; of parameters that do
    /// not fit ([`InvalidParams`](crate::Code::InvalidParams)), 422 and a list that says where
    /// ([`invalid_field`](crate::invalid_field)). What can be read and still cannot be meant,
    /// such as a bad name of a file, is [`InvalidRequest`](crate::Code::InvalidRequest): 400.
    Detail,
}

/// How an answer looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// The answer as JSON, or events if the operation is asked to stream.
    Json,
    /// The answer as JSON, with 201.
    Created,
    /// Nothing, with 204.
    Nothing,
    /// The items as events, each as it is; an error is an event too. Only parameters that cannot
    /// be read are refused before the stream begins.
    Events,
    /// The same, and at the end the result with `"type":"complete"`. Items that have no type of
    /// their own are `"type":"output"`.
    EventsAndResult,
    /// A conversation by WebSocket, in one of these subprotocols or in none.
    WebSocket(&'static [&'static str]),
}

impl Offer {
    /// Nothing beside its name.
    pub const PLAIN: Self = Self {
        command: None,
        prints: Prints::Answer,
        tool: Tool::Plain,
        shown: Shown::Area,
        contract: None,
        routes: &[],
        old_command: None,
    };

    /// People type this word for it.
    #[must_use]
    pub const fn typed(mut self, name: &'static str, place: usize) -> Self {
        self.command = Some(TypedCommand {
            name,
            place,
            is_own: false,
        });
        self
    }

    /// People type this word for it, which is a command of its own.
    #[must_use]
    pub const fn typed_by_hand(mut self, name: &'static str, place: usize) -> Self {
        self.command = Some(TypedCommand {
            name,
            place,
            is_own: true,
        });
        self
    }

    /// The command line prints this.
    #[must_use]
    pub const fn prints(mut self, prints: Prints) -> Self {
        self.prints = prints;
        self
    }

    /// Agents know it by this name.
    #[must_use]
    pub const fn tool(mut self, name: &'static str, place: usize) -> Self {
        self.tool = Tool::Named { name, place };
        self
    }

    /// Agents do it every day, and see it from the start.
    #[must_use]
    pub const fn everyday(mut self) -> Self {
        self.shown = Shown::Everyday;
        self
    }

    /// Agents need it whatever they do, and see it on every table of theirs.
    #[must_use]
    pub const fn always(mut self) -> Self {
        self.shown = Shown::Always;
        self
    }

    /// It is on this table of the contract, and on the larger ones.
    #[must_use]
    pub const fn contract(mut self, smallest: Profile) -> Self {
        self.contract = Some(smallest);
        self
    }

    /// It is no tool.
    #[must_use]
    pub const fn no_tool(mut self) -> Self {
        self.tool = Tool::None;
        self
    }

    /// It has these paths.
    #[must_use]
    pub const fn routes(mut self, routes: &'static [Route]) -> Self {
        self.routes = routes;
        self
    }

    /// Old hosts know it by this name, and take this for granted.
    #[must_use]
    pub const fn old(
        mut self,
        name: &'static str,
        defaults: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.old_command = Some(OldCommand { name, defaults });
        self
    }
}

impl Route {
    /// A path that takes and gives JSON.
    pub const fn new(method: Method, path: &'static str) -> Self {
        Self {
            method,
            path,
            body: Body::Json,
            errors: Errors::Plain,
            answer: AnswerForm::Json,
            query: &[],
            mode: DoorMode::Every,
            stability: Stability::Stable,
            members: Members::All,
            fields: &[],
            names: &[],
            fixed: &[],
            first: &[],
        }
    }

    /// A path of the contract with desktop apps: errors say `detail`, and members of the body
    /// that nobody knows are ignored.
    pub const fn contract(method: Method, path: &'static str) -> Self {
        Self {
            errors: Errors::Detail,
            members: Members::Known,
            ..Self::new(method, path)
        }
    }

    /// A shipped client uses it as it is.
    #[must_use]
    pub const fn frozen(mut self) -> Self {
        self.stability = Stability::Frozen;
        self
    }

    /// It is served in this mode only.
    #[must_use]
    pub const fn only_in(mut self, mode: DoorMode) -> Self {
        self.mode = mode;
        self
    }

    /// Its answer looks so.
    #[must_use]
    pub const fn answers(mut self, answer: AnswerForm) -> Self {
        self.answer = answer;
        self
    }

    /// It says this about members of the body.
    #[must_use]
    pub const fn fields(mut self, fields: &'static [Field]) -> Self {
        self.fields = fields;
        self
    }

    /// It takes these members of the body, and no others.
    #[must_use]
    pub const fn takes(mut self, fields: &'static [Field]) -> Self {
        self.members = Members::Listed;
        self.fields(fields)
    }

    /// These parts of the path are parameters of another name.
    #[must_use]
    pub const fn named(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.names = names;
        self
    }

    /// It decides these parameters.
    #[must_use]
    pub const fn fixes(mut self, fixed: &'static [(&'static str, &'static str)]) -> Self {
        self.fixed = fixed;
        self
    }

    /// These are asked first.
    #[must_use]
    pub const fn after(mut self, first: &'static [First]) -> Self {
        self.first = first;
        self
    }

    /// Whether its requests have a body. Those of contracts that read or delete have none;
    /// elsewhere a body is understood whatever the method.
    pub fn has_body(&self) -> bool {
        let changes = !matches!(self.method, Method::Get | Method::Delete);
        changes || self.members == Members::All
    }

    /// The parameter that a part of the path is.
    pub fn parameter<'a>(&self, part: &'a str) -> &'a str {
        let named = self.names.iter().find(|(name, _)| *name == part);
        named.map_or(part, |(_, parameter)| *parameter)
    }

    /// A path of the older HTTP contract.
    pub const fn older(method: Method, path: &'static str) -> Self {
        Self {
            errors: Errors::NotFoundIs400,
            ..Self::new(method, path)
        }
    }

    /// The names of the parameters that are parts of its path.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

impl Method {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_are_parameters() {
        let route = Route::new(Method::Put, "/api/session/{session_id}/files/{name}");
        let names: Vec<_> = route.parameters().collect();
        assert_eq!(names, ["session_id", "name"]);
        assert_eq!(Route::older(Method::Get, "/health").parameters().count(), 0);
        let named = route.named(&[("session_id", "session")]);
        assert_eq!(named.parameter("session_id"), "session");
        assert_eq!(named.parameter("name"), "name");
    }

    #[test]
    fn a_path_is_served_in_its_mode() {
        for door in [DoorMode::Plain, DoorMode::Desktop] {
            assert!(DoorMode::Every.is_served_by(door) && door.is_served_by(door));
        }
        assert!(!DoorMode::Plain.is_served_by(DoorMode::Desktop));
        assert!(!DoorMode::Desktop.is_served_by(DoorMode::Plain));
    }
}
