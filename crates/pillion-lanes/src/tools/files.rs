//! Files that the owner of a run named.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use pillion_catalogue::{Code, Error, Result};

use super::requested::ByteSource;

/// The largest file.
const BYTES: u64 = 32 << 20;

/// All of a file. Blocks. What is said about it is for the program, so no path is named.
pub(super) fn read(source: &ByteSource, name: &str) -> Result<Vec<u8>> {
    match source {
        ByteSource::Bytes(bytes) => Ok(bytes.to_vec()),
        ByteSource::File(path) => read_file(path, name),
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    fn read_at(path: &Path) -> Result<Vec<u8>> {
        read(&ByteSource::File(path.to_owned()), "the name")
    }

    #[test]
    fn bytes_and_files_are_read_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [0xff, 0]).unwrap();
        assert_eq!(read_at(&path).unwrap(), [0xff, 0]);
        let bytes = ByteSource::Bytes(vec![1, 2].into());
        assert_eq!(read(&bytes, "x").unwrap(), [1, 2]);
    }

    #[test]
    fn what_is_no_file_is_refused_by_its_name_and_nobody_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let missing = folder.path().join("missing");
        for path in [&pipe, &missing, folder.path()] {
            let error = read_at(path).unwrap_err();
            assert_eq!(error.code, Code::NotFound);
            assert!(error.message.contains("`the name`"), "{error:?}");
            // The program has no business with paths of this machine.
            let folder = folder.path().to_string_lossy().into_owned();
            assert!(!format!("{error:?}").contains(&folder), "{error:?}");
        }
    }

    #[test]
    fn a_file_of_the_largest_size_is_read_and_a_larger_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_len(BYTES).unwrap();
        assert_eq!(read_at(&path).unwrap().len() as u64, BYTES);
        file.set_len(BYTES + 1).unwrap();
        assert_eq!(read_at(&path).unwrap_err().code, Code::ResponseTooLarge);
    }
}
