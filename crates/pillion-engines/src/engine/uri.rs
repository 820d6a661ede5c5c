//! Paths as URIs and back.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The URI of an absolute path.
pub(crate) fn from_path(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let mut uri = String::with_capacity(bytes.len() + 8);
    uri.push_str("file://");
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            // Writing into a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

/// The path of a `file:` URI; none for any other.
pub(crate) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let Some((byte, after)) = left.split_first() {
        left = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = after.get(..2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        left = &after[2..];
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_names_are_escaped() {
        let path = Path::new("/a b/é#?%.py");
        assert_eq!(from_path(path), "file:///a%20b/%C3%A9%23%3F%25.py");
        assert_eq!(to_path("file://localhost/x").unwrap(), Path::new("/x"));
        for other in [
            "vendored://stdlib/os.pyi",
            "file://host/x",
            "file:///%4",
            "/x",
        ] {
            assert_eq!(to_path(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_path_survives(bytes in prop::collection::vec(1u8.., 0..50)) {
            let path = Path::new("/").join(OsString::from_vec([b"x", &*bytes].concat()));
            prop_assert_eq!(to_path(&from_path(&path)), Some(path));
        }
    }
}
