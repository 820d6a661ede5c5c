//! The file system that a confined program sees: a new root in memory, with the policy's
//! view and the system's libraries read-only, and its folder.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};

use crate::policy::{Folder, HANDED, Policy, SHM_BYTES, TERMINALS, TMP, TMP_BYTES, WORK};
use crate::syscalls;
use crate::system_paths::{DEVICES, ETC, PROGRAMS, PTS, SYSTEM, shown};

/// What of `/etc` programs with network look at as well.
const ETC_NETWORK: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
];
/// Folders that exist everywhere and can be covered while the new root is made.
const STAGES: &[&str] = &["/tmp", "/mnt", "/run", "/var"];

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | HARMLESS;
const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// A mount that was taken from the old root, and where it goes.
struct Taken {
    tree: OwnedFd,
    at: PathBuf,
    is_dir: bool,
}

/// Make the root of this mount namespace anew. What fails is named. Returns the folders among
/// which the program's own will be named later.
pub(super) fn build(policy: &Policy, handed: Option<&Path>) -> Result<Option<OwnedFd>, String> {
    let step = |what: &str, error: io::Error| format!("{what}: {error}");
    // What we mount stays here, and what others mount stays there.
    mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )
    .map_err(|e| step("private mounts", e.into()))?;
    // All sources are taken before anything is covered.
    let mut links = Vec::new();
    let mut taken = Vec::new();
    let etc = ETC
        .iter()
        .chain(ETC_NETWORK.iter().filter(|_| policy.network));
    let sources = shown(policy).into_iter().chain(etc.map(PathBuf::from));
    for path in sources {
        take(&path, READ_ONLY, &mut taken, &mut links).map_err(|e| step(&shows(&path), e))?;
    }
    for path in DEVICES {
        take(
            Path::new(path),
            libc::MOUNT_ATTR_NOSUID,
            &mut taken,
            &mut links,
        )
        .map_err(|e| step(path, e))?;
    }
    let attributes = work_attributes(policy);
    let (mut kept, mut later) = (None, None);
    match &policy.folder {
        Folder::Kept(path) => kept = Some((path.as_path(), Path::new(WORK), attributes)),
        Folder::Later(path) => {
            later = Some(clone(path, attributes).map_err(|e| step(&shows(path), e))?);
        }
        Folder::Throwaway => {}
    }
    let handed = handed.map(|path| (path, Path::new(HANDED), HARMLESS));
    for (path, at, attributes) in kept.into_iter().chain(handed) {
        let tree = clone(path, attributes).map_err(|e| step(&shows(path), e))?;
        let (at, is_dir) = (at.to_owned(), true);
        taken.push(Taken { tree, at, is_dir });
    }

    let stage = STAGES.iter().map(Path::new).find(|path| path.is_dir());
    let stage = stage.ok_or("no folder to build in")?;
    tmpfs(stage, "size=1m,mode=755").map_err(|e| step("new root", e))?;
    std::env::set_current_dir(stage).map_err(|e| step("new root", e))?;
    fill(policy, taken, &links)?;
    syscalls::pivot_root().map_err(|e| step("pivot_root", e))?;
    unmount(".", UnmountFlags::DETACH).map_err(|e| step("leaving the old root", e.into()))?;
    std::env::set_current_dir("/").map_err(|e| step("/", e))?;
    let root =
        open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC).map_err(|e| step("/", e.into()))?;
    syscalls::restrict_mount(root.as_fd(), READ_ONLY, false).map_err(|e| step("read-only /", e))?;
    Ok(later)
}

/// How the folder of a program is mounted.
pub(super) fn work_attributes(policy: &Policy) -> u64 {
    match policy.runs_own_files {
        true => HARMLESS,
        false => HARMLESS | libc::MOUNT_ATTR_NOEXEC,
    }
}

/// Put everything in its place below the current folder, which becomes the root.
fn fill(policy: &Policy, taken: Vec<Taken>, links: &[(PathBuf, PathBuf)]) -> Result<(), String> {
    let fail = |path: &Path, error: io::Error| format!("{}: {error}", shows(path));
    let folders = [TMP, WORK, HANDED, "/dev/shm", "/proc", "/etc"];
    for path in folders.map(Path::new) {
        fs::create_dir_all(inside(path)).map_err(|e| fail(path, e))?;
    }
    for (path, target) in links {
        let place = inside(path);
        let made = parent(&place).and_then(|()| symlink(target, &place));
        made.map_err(|e| fail(path, e))?;
    }
    if !taken.iter().any(|taken| taken.at.starts_with("/tmp")) {
        symlink(TMP, "tmp").map_err(|e| fail(Path::new("/tmp"), e))?;
    }
    for Taken { tree, at, is_dir } in taken {
        put(&tree, &inside(&at), is_dir).map_err(|e| fail(&at, e))?;
    }
    let dev = [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ];
    for (name, target) in dev {
        let path = Path::new("/dev").join(name);
        symlink(target, inside(&path)).map_err(|e| fail(&path, e))?;
    }
    for (name, text) in [
        (
            "/etc/passwd",
            "lane:x:1000:1000::/work:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
        ),
        ("/etc/group", "lane:x:1000:\nnogroup:x:65534:\n"),
    ] {
        fs::write(inside(Path::new(name)), text).map_err(|e| fail(Path::new(name), e))?;
    }
    // A network of its own has no names to look up but its own.
    if !policy.network {
        let hosts = Path::new("/etc/hosts");
        fs::write(inside(hosts), "127.0.0.1 localhost\n").map_err(|e| fail(hosts, e))?;
    }
    mount("proc", "proc", "proc", quiet() | MountFlags::NOEXEC, None)
        .map_err(|e| fail(Path::new("/proc"), e.into()))?;
    let sized =
        |bytes: u64, files: u64, mode: &str| format!("size={bytes},nr_inodes={files},mode={mode}");
    tmpfs(&inside(Path::new(TMP)), &sized(TMP_BYTES, 4096, "1777"))
        .map_err(|e| fail(Path::new(TMP), e))?;
    tmpfs(Path::new("dev/shm"), &sized(SHM_BYTES, 256, "1777"))
        .map_err(|e| fail(Path::new("/dev/shm"), e))?;
    if policy.terminals {
        terminals().map_err(|e| fail(Path::new(PTS), e))?;
    }
    if policy.folder == Folder::Throwaway {
        let limits = &policy.limits;
        let options = sized(limits.disk, limits.disk_files, "777");
        tmpfs(&inside(Path::new(WORK)), &options).map_err(|e| fail(Path::new(WORK), e))?;
    }
    Ok(())
}

/// Terminals of its own. Nothing leads from here to those of others.
fn terminals() -> io::Result<()> {
    let place = inside(Path::new(PTS));
    fs::create_dir(&place)?;
    let options = format!("newinstance,ptmxmode=0666,mode=0600,max={TERMINALS}");
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", &place, "devpts", flags, options.as_c_str())?;
    symlink("pts/ptmx", inside(Path::new("/dev/ptmx")))
}

/// Take a path from the old root: as a link if it is one, as a mount else. What is not there
/// is not taken.
fn take(
    path: &Path,
    attributes: u64,
    taken: &mut Vec<Taken>,
    links: &mut Vec<(PathBuf, PathBuf)>,
) -> io::Result<()> {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    // `/lib` is often a link to `usr/lib`; a link to elsewhere is what it leads to.
    if meta.is_symlink()
        && let Ok(target) = fs::read_link(path)
        && SYSTEM
            .iter()
            .chain(PROGRAMS)
            .any(|known| Path::new("/").join(&target) == Path::new(known))
    {
        links.push((path.to_owned(), target));
        return Ok(());
    }
    let is_dir = match fs::metadata(path) {
        Ok(meta) => meta.is_dir(),
        // A link that leads nowhere.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let tree = clone(path, attributes)?;
    let at = path.to_owned();
    taken.push(Taken { tree, at, is_dir });
    Ok(())
}

/// A mount of its own of what is at `path`.
fn clone(path: &Path, attributes: u64) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, flags)?;
    syscalls::restrict_mount(tree.as_fd(), attributes, true)?;
    Ok(tree)
}

pub(super) fn put(tree: &OwnedFd, place: &Path, is_dir: bool) -> io::Result<()> {
    // Something above it may have brought it along.
    if !place.exists() {
        if is_dir {
            fs::create_dir_all(place)?;
        } else {
            parent(place)?;
            let mode = Mode::from_raw_mode(0o644);
            rustix::fs::open(
                place,
                rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY,
                mode,
            )?;
        }
    }
    move_mount(
        tree,
        "",
        CWD,
        place,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )?;
    Ok(())
}

fn parent(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

fn tmpfs(at: &Path, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    mount("tmpfs", at, "tmpfs", quiet(), options.as_c_str())?;
    Ok(())
}

fn quiet() -> MountFlags {
    MountFlags::NOSUID | MountFlags::NODEV
}

/// A path of the new root, seen from where it is made.
fn inside(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect()
}

fn shows(path: &Path) -> String {
    format!("`{}`", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `take` makes of a path; mounts only where that is allowed.
    fn taken(path: &Path) -> (io::Result<usize>, Vec<(PathBuf, PathBuf)>) {
        let (mut taken, mut links) = (Vec::new(), Vec::new());
        let done = take(path, READ_ONLY, &mut taken, &mut links);
        (done.map(|()| taken.len()), links)
    }

    #[test]
    fn links_of_the_system_to_itself_stay_links() {
        let folder = tempfile::tempdir().unwrap();
        for (name, target) in [("lib", "usr/lib"), ("bin", "/usr/bin")] {
            let link = folder.path().join(name);
            symlink(target, &link).unwrap();
            let (done, links) = taken(&link);
            assert_eq!(done.unwrap(), 0, "nothing is mounted");
            assert_eq!(links, [(link, PathBuf::from(target))]);
        }
    }

    #[test]
    fn a_link_to_elsewhere_becomes_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("lib");
        symlink(folder.path(), &link).unwrap();
        // Only some users can mount; nobody gets a link.
        let (done, links) = taken(&link);
        assert!(links.is_empty());
        assert!(done.is_err() || done.unwrap() == 1);
    }

    #[test]
    fn what_is_not_there_is_not_taken() {
        let (done, links) = taken(Path::new("/no/such/path"));
        assert_eq!((done.unwrap(), links.len()), (0, 0));
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_taken() {
        // As `/etc/localtime` without time zones, or `/etc/resolv.conf` without its service.
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("localtime");
        symlink("/no/such/path", &link).unwrap();
        let (done, links) = taken(&link);
        assert_eq!((done.unwrap(), links.len()), (0, 0));
    }

    #[test]
    fn places_of_the_new_root_are_below_where_it_is_made() {
        for (path, place) in [
            ("/lane/work", "lane/work"),
            ("/", ""),
            ("/../../etc/passwd", "etc/passwd"),
            ("/usr/./lib/", "usr/lib"),
        ] {
            assert_eq!(inside(Path::new(path)), Path::new(place), "{path}");
        }
    }
}
