//! How doors offer an operation beside its own name: what people type for it, what is printed,
//! its tool, its paths, its older names. A constant of the operation: doors read it and know no
//! operation by name.

/// What doors are to know about an operation. Most have nothing to say.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// What people type for it; `AREA VERB` if there is nothing shorter.
    pub command: Option<Typed>,
    /// What the command line prints.
    pub prints: Prints,
    /// Its tool.
    pub tool: Tool,
    /// Its paths, beside `POST /v1/{operation}`.
    pub routes: &'static [Route],
    /// The command that hosts of the old Python child know it by.
    pub old_command: Option<OldCommand>,
}

/// What people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typed {
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
    /// Called by a name that a contract fixes.
    Named {
        /// The name.
        name: &'static str,
        /// Its place in the contract's list, which is the order of usefulness.
        place: usize,
    },
    /// No tool: it runs pillion, or talks without end.
    None,
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
    pub answer: Reply,
    /// Parameters that stand behind the path: `?name=value`.
    pub query: &'static [&'static str],
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
    /// `{"detail", "code", "recoverable"}`; of parameters that cannot be read, 422 and a list.
    Detail,
}

/// How an answer looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The answer as JSON, or events if the operation is asked to stream.
    Json,
    /// The answer as JSON, with 201.
    Created,
    /// Nothing, with 204.
    Nothing,
    /// The items as events, each as it is; an error is an event too.
    Events,
    /// A conversation by WebSocket, in one of these subprotocols or in none.
    Talk(&'static [&'static str]),
}

impl Offer {
    /// Nothing beside its name.
    pub const PLAIN: Self = Self {
        command: None,
        prints: Prints::Answer,
        tool: Tool::Plain,
        routes: &[],
        old_command: None,
    };

    /// People type this word for it.
    #[must_use]
    pub const fn typed(mut self, name: &'static str, place: usize) -> Self {
        self.command = Some(Typed {
            name,
            place,
            is_own: false,
        });
        self
    }

    /// People type this word for it, which is a command of its own.
    #[must_use]
    pub const fn typed_by_hand(mut self, name: &'static str, place: usize) -> Self {
        self.command = Some(Typed {
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
            answer: Reply::Json,
            query: &[],
        }
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
    }
}
