//! What differs between systems: how a socket in an open folder is connected to.

use std::io;
use std::os::fd::BorrowedFd;

use tokio::net::UnixStream;

/// Connect to the socket `name` in `folder`. Only a socket is connected to, whatever else may
/// lie there by that name.
#[cfg(target_os = "linux")]
pub(crate) async fn reach(folder: BorrowedFd<'_>, name: &str) -> io::Result<UnixStream> {
    use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(folder, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&place)?.st_mode) != FileType::Socket {
        return Err(io::Error::other(format!("`{name}` is no socket")));
    }
    UnixStream::connect(pillion_process::descriptor_path(&place)).await
}

/// Connect to the socket `name` in `folder`. A socket cannot be held open here without being
/// connected to, so it is looked at and then connected to by its path; a link is refused, but
/// one that is put there in between is followed. Not run by us.
#[cfg(target_os = "macos")]
pub(crate) async fn reach(folder: BorrowedFd<'_>, name: &str) -> io::Result<UnixStream> {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use rustix::fs::{AtFlags, FileType, getpath, statat};
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(io::Error::other(format!("`{name}` is no socket")));
    }
    let folder = getpath(folder)?;
    let folder = Path::new(std::ffi::OsStr::from_bytes(folder.to_bytes()));
    UnixStream::connect(folder.join(name)).await
}
