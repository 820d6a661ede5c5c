//! The files of a session: `session.workspace` and the like for those of the learner's code,
//! `session.upload` and the like for data.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pillion_catalogue::{
    AnswerForm, Body, Code, Context, Error, Method, Offer, Operation, Result, Route, Safety,
    commit, invalid_field, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stable;
use super::turn::folder;
use crate::SessionService;
use crate::files::{self, FileInfo, Kind};
use crate::folder::names;

/// List the files of a session's workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Workspace")]
#[serde(deny_unknown_fields)]
pub struct ListWorkspaceFiles {
    /// The session.
    pub session_id: String,
}

/// Files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileList {
    /// The files, by name.
    pub files: Vec<FileInfo>,
}

impl FileList {
    fn shown(result: &str) -> Option<String> {
        let list: Self = serde_json::from_str(result).ok()?;
        let line = |file: &FileInfo| format!("{:>10}  {}", file.size_bytes, file.name);
        let lines: Vec<_> = list.files.iter().map(line).collect();
        Some(lines.join("\n"))
    }
}

impl Operation for ListWorkspaceFiles {
    const NAME: &'static str = "session.workspace";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[
        stable(Method::Get, "/api/session/{session_id}/workspace"),
        stable(Method::Get, "/api/session/{session_id}/workspace/files"),
    ]);
    type Service = SessionService;
    type Output = FileList;

    fn text(result: &str) -> Option<String> {
        FileList::shown(result)
    }

    async fn run(self, cx: Context<SessionService>) -> Result<FileList> {
        let folder = folder(&cx, &self.session_id)?;
        let listed = work(move |_| {
            let bundled = crate::load::sources(&folder).workspace;
            files::list(&folder.path(WORKSPACE), Kind::Workspace, &bundled)
        });
        Ok(FileList {
            files: listed.await??,
        })
    }
}

/// The part of a session's folder that the learner's code has.
const WORKSPACE: &str = pillion_lanes::session::WORKSPACE;

/// Read a file of a session's workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// The session.
    pub session_id: String,
    /// The file.
    pub name: String,
}

/// A file with its text.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FileText {
    /// Its name.
    pub name: String,
    /// Its text.
    pub content: String,
    /// Its length.
    pub size_bytes: u64,
}

/// Where files of the workspace are.
const FILE: &str = "/api/session/{session_id}/workspace/files/{name}";

impl Operation for ReadFile {
    const NAME: &'static str = "session.read_file";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[stable(Method::Get, FILE)]);
    type Service = SessionService;
    type Output = FileText;

    fn text(result: &str) -> Option<String> {
        let file: FileText = serde_json::from_str(result).ok()?;
        Some(file.content)
    }

    async fn run(self, cx: Context<SessionService>) -> Result<FileText> {
        let folder = folder(&cx, &self.session_id)?;
        let name = self.name.clone();
        let read = work(move |_| files::read(&folder.path(WORKSPACE), Kind::Workspace, &name));
        let content = read.await??;
        Ok(FileText {
            name: self.name,
            size_bytes: content.len() as u64,
            content,
        })
    }
}

/// Write a file of a session's workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// The session.
    pub session_id: String,
    /// The file.
    pub name: String,
    /// Its new text.
    pub content: String,
}

impl Operation for WriteFile {
    const NAME: &'static str = "session.write_file";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.routes(&[stable(Method::Put, FILE)]);
    type Service = SessionService;
    type Output = FileInfo;

    async fn run(self, cx: Context<SessionService>) -> Result<FileInfo> {
        let folder = folder(&cx, &self.session_id)?;
        if self.content.len() > files::LONGEST {
            let what = format!("a file has at most {} bytes", files::LONGEST);
            return Err(invalid_field("content", "string_too_long", what));
        }
        let (name, content) = (self.name, self.content);
        commit(move || {
            Kind::Workspace.check(&name)?;
            let workspace = folder.workspace()?;
            files::write(&workspace, Kind::Workspace, &name, content.as_bytes())
        })
        .await?
    }
}

/// Remove a file of a session's workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct RemoveFile {
    /// The session.
    pub session_id: String,
    /// The file.
    pub name: String,
}

/// A file that is gone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RemoveFileReply {
    /// Its name.
    pub name: String,
}

impl Operation for RemoveFile {
    const NAME: &'static str = "session.remove_file";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.routes(&[Route {
        answer: AnswerForm::Nothing,
        ..stable(Method::Delete, FILE)
    }]);
    type Service = SessionService;
    type Output = RemoveFileReply;

    async fn run(self, cx: Context<SessionService>) -> Result<RemoveFileReply> {
        let folder = folder(&cx, &self.session_id)?;
        let name = self.name.clone();
        commit(move || files::remove(&folder.path(WORKSPACE), Kind::Workspace, &name)).await??;
        Ok(RemoveFileReply { name: self.name })
    }
}

/// Give data files to a session: tables (csv, xlsx, xls) and JSON.
///
/// Experts read them, and the learner's code finds a copy of each in the folder `data`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    /// The session.
    pub session_id: String,
    /// The files.
    #[arg(skip)]
    #[schemars(length(min = 1, max = 10))]
    pub files: Vec<Uploaded>,
}

/// A file that is uploaded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uploaded {
    /// Its name.
    pub name: String,
    /// Its bytes in base64.
    pub base64: String,
}

impl Operation for Upload {
    const NAME: &'static str = "session.upload";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.routes(&[Route {
        body: Body::Files("files"),
        ..stable(Method::Post, "/api/session/{session_id}/upload")
    }]);
    type Service = SessionService;
    type Output = FileList;

    async fn run(self, cx: Context<SessionService>) -> Result<FileList> {
        let folder = folder(&cx, &self.session_id)?;
        let given = decoded(self.files)?;
        let written = commit(move || -> Result<Vec<FileInfo>> {
            let uploads = folder.path(names::WORKING_FILES);
            let bytes = given.iter().map(|(_, bytes)| bytes.len()).sum();
            files::check_room(&uploads, bytes)?;
            // The learner's code may do with its copy what it likes.
            let copies = folder.workspace()?.join(crate::load::DATA);
            let write = |(name, bytes): &(String, Vec<u8>)| {
                let written = files::write(&uploads, Kind::Upload, name, bytes)?;
                if let Err(error) = files::write(&copies, Kind::Upload, name, bytes) {
                    tracing::warn!(name, %error, "the workspace has no copy of an upload");
                }
                Ok(written)
            };
            given.iter().map(write).collect()
        });
        Ok(FileList {
            files: written.await??,
        })
    }
}

fn decoded(given: Vec<Uploaded>) -> Result<Vec<(String, Vec<u8>)>> {
    if given.is_empty() || given.len() > files::UPLOAD_FILES {
        let what = format!("1 to {} files at a time", files::UPLOAD_FILES);
        return Err(invalid_field("files", "value_error", what));
    }
    let mut all = Vec::with_capacity(given.len());
    let mut bytes = 0;
    for file in given {
        Kind::Upload.check(&file.name)?;
        let decoded = BASE64_STANDARD.decode(file.base64);
        let decoded = decoded.map_err(|_| {
            invalid_field(
                "files",
                "value_error",
                format!("`{}` is not base64", file.name),
            )
        })?;
        bytes += decoded.len();
        if bytes > files::UPLOAD_BYTES {
            let what = format!("an upload has at most {} bytes", files::UPLOAD_BYTES);
            return Err(Error::new(Code::InvalidRequest, what)
                .hint("upload the files one by one, or smaller ones"));
        }
        all.push((file.name, decoded));
    }
    Ok(all)
}

/// List the data files of a session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Uploads {
    /// The session.
    pub session_id: String,
}

impl Operation for Uploads {
    const NAME: &'static str = "session.uploads";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[stable(Method::Get, "/api/session/{session_id}/files")]);
    type Service = SessionService;
    type Output = FileList;

    fn text(result: &str) -> Option<String> {
        FileList::shown(result)
    }

    async fn run(self, cx: Context<SessionService>) -> Result<FileList> {
        let folder = folder(&cx, &self.session_id)?;
        let listed = work(move |_| {
            let bundled = crate::load::sources(&folder).datasets;
            files::list(&folder.path(names::WORKING_FILES), Kind::Upload, &bundled)
        });
        Ok(FileList {
            files: listed.await??,
        })
    }
}

/// Remove a data file of a session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct RemoveUpload {
    /// The session.
    pub session_id: String,
    /// The file.
    pub name: String,
}

impl Operation for RemoveUpload {
    const NAME: &'static str = "session.remove_upload";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.routes(&[Route {
        answer: AnswerForm::Nothing,
        ..stable(Method::Delete, "/api/session/{session_id}/files/{name}")
    }]);
    type Service = SessionService;
    type Output = RemoveFileReply;

    async fn run(self, cx: Context<SessionService>) -> Result<RemoveFileReply> {
        let folder = folder(&cx, &self.session_id)?;
        let name = self.name.clone();
        let path = folder.path(names::WORKING_FILES);
        commit(move || files::remove(&path, Kind::Upload, &name)).await??;
        Ok(RemoveFileReply { name: self.name })
    }
}
