//! Where nothing can be watched.

use std::path::Path;
use std::sync::Arc;

use super::{News, Refused};

/// Nobody keeps watch here.
#[derive(Debug)]
pub(crate) enum Watch {}

impl Watch {
    pub(crate) fn open(_: usize) -> Result<Self, Refused> {
        Err(Refused::Limit("only Linux can watch so far".into()))
    }

    pub(crate) fn folder(&mut self, _: &Path, _: &Arc<str>) -> Result<i32, Refused> {
        match *self {}
    }

    pub(crate) fn linked(&mut self, _: &Path, _: (u64, u64)) -> Result<(), Refused> {
        match *self {}
    }

    pub(crate) fn forget(&mut self, _: &str, _: i32) {
        match *self {}
    }

    pub(crate) fn forget_linked(&mut self, _: (u64, u64)) {
        match *self {}
    }

    pub(crate) fn count(&self) -> usize {
        match *self {}
    }

    pub(crate) fn drain(&mut self) -> News {
        match *self {}
    }
}

/// Nothing is known of the file system, so the times of its stamps are not relied on.
pub(crate) fn distrust(_: &Path) -> Option<String> {
    Some("only Linux can watch so far".into())
}
