//! The operations `session.*` and `course.*`, with the paths of the desktop contract.

pub mod begin;
pub mod course;
pub mod files;
pub mod life;
pub mod list;
pub mod progress;
pub mod turn;

use pillion_catalogue::{AnswerForm, Errors, Members, Method, Operations, Route, Stability};

use crate::SessionService;

/// All operations of the service.
pub fn operations() -> Operations<SessionService> {
    Operations::default()
        .with::<begin::NewSession>()
        .with::<begin::Reattach>()
        .with::<list::ListSessions>()
        .with::<life::IsKnown>()
        .with::<life::State>()
        .with::<life::Export>()
        .with::<life::Delete>()
        .with::<turn::SendMessage>()
        .with::<turn::Follow>()
        .with::<turn::CancelTurn>()
        .with::<progress::Report>()
        .with::<progress::ListTurns>()
        .with::<progress::SkipTask>()
        .with::<progress::End>()
        .with::<files::ListWorkspaceFiles>()
        .with::<files::ReadFile>()
        .with::<files::WriteFile>()
        .with::<files::RemoveFile>()
        .with::<files::Upload>()
        .with::<files::Uploads>()
        .with::<files::RemoveUpload>()
        .with::<course::Courses>()
        .with::<course::Chapters>()
        .with::<course::CheckCourse>()
        .with::<course::NewCourse>()
}

/// A path that a shipped client uses.
const fn frozen(method: Method, path: &'static str) -> Route {
    Route {
        stability: Stability::Frozen,
        ..stable(method, path)
    }
}

/// A path of the contract that may gain members.
const fn stable(method: Method, path: &'static str) -> Route {
    Route {
        errors: Errors::Detail,
        members: Members::Known,
        ..Route::new(method, path)
    }
}

/// A path whose answer is the items of a stream.
const fn events(route: Route) -> Route {
    Route {
        answer: AnswerForm::Events,
        ..route
    }
}
