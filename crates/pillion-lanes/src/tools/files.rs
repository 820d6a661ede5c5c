//! Files that the owner of a run named.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use pillion_catalogue::{Code, Error, Result};

use super::given::Source;

/// The largest file.
const BYTES: u64 = 32 << 20;

/// All of a file. Blocks. What is said about it is for the program, so no path is named.
pub(super) fn read(source: &Source, name: &str) -> Result<Vec<u8>> {
    match source {
        Source::Bytes(bytes) => Ok(bytes.to_vec()),
        Source::File(path) => read_file(path, name),
    }
}

fn read_file(path: &Path, name: &str) -> Result<Vec<u8>> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Error::new(Code::NotFound, format!("`{name}` cannot be read: {why}"))
    };
    // A pipe of that name must not make anybody wait.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|error| unreadable(&error))?;
    let meta = file.metadata().map_err(|error| unreadable(&error))?;
    if !meta.is_file() {
        return Err(unreadable(&"it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    match bytes.len() as u64 > BYTES {
        true => Err(Error::new(
            Code::ResponseTooLarge,
            format!("`{name}` has more than {BYTES} bytes"),
        )),
        false => Ok(bytes),
    }
}
