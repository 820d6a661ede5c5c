//! Runtimes: an interpreter, packages, the worker package and the pillion binary.
//!
//! ```text
//! runtime.manifest.json
//! python/                  the interpreter's tree, with the wheels in its site-packages
//! sidecar/bin/pillion      the binary, which is the entry point
//! sidecar/worker/          the worker package, for whoever starts a worker by hand
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use pillion_bundle::{
    BundleLink, Compression, Digest, FORMAT_VERSION, FileMode, Manifest, Platform, PythonPart,
    RuntimeManifest, SidecarPart, Version,
};
use pillion_runtime::managed::ProgressListener;
use pillion_runtime::managed::Wheels;
use pillion_runtime::{Dirs, worker_files};

use super::tree::{self, TreeContents};
use super::{BundleIdentity, Content, Plan};
use crate::error::{Error, Result};

/// Where the interpreter is, below the folder or archive that was named.
const ROOTS: [&str; 4] = ["", "python", "python/install", "install"];
/// Files of installed packages that tell of the machine they were installed on.
const MACHINE_FILES: [&str; 3] = ["uv_cache.json", "direct_url.json", "REQUESTED"];

/// What a runtime is made of.
#[derive(Debug)]
pub struct RuntimeInput<'a> {
    /// Its name and version.
    pub identity: &'a BundleIdentity,
    /// The platform that it is for.
    pub platform: Platform,
    /// The tree of the interpreter: a folder or an archive.
    pub python: &'a Path,
    /// The version of the interpreter, if the tree does not tell.
    pub python_version: Option<&'a str>,
    /// Packages: a list of requirements with hashes.
    pub lock: Option<&'a Path>,
    /// The pillion binary for the platform.
    pub binary: &'a Path,
    /// The version of that binary.
    pub sidecar_version: &'a str,
    /// The oldest desktop that it works with.
    pub desktop_min_version: Version,
    /// Paths of the interpreter's tree that are left out.
    pub exclude: &'a [String],
}

/// What there is to know about an interpreter's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonLayout {
    /// The executable, from the tree's root.
    pub executable: String,
    /// Where packages go, from the tree's root.
    pub site_packages: String,
    /// The version as far as the tree tells: `3.11.7`, or `3.11`.
    pub version: String,
    /// The file of an embeddable Python that says where modules are.
    pub path_file: Option<String>,
}

impl RuntimeInput<'_> {
    /// Gather everything.
    pub async fn plan(&self, dirs: &Dirs, progress: &dyn ProgressListener) -> Result<Plan> {
        // What is missing is told before minutes of work.
        for path in self.lock.into_iter().chain([self.binary]) {
            crate::store::open(path).map_err(Error::io("read", path))?;
        }
        let mut temporary = Vec::new();
        let root = self.python_root(&mut temporary, progress)?;
        progress.step(&format!("reading {}", root.display()));
        let mut python = tree::read(&root, self.exclude)?;
        let layout = python_layout(&python_paths(&python), self.platform).ok_or_else(|| {
            let (root, platform) = (root.display(), self.platform);
            Error::Input {
                what: format!("there is no Python for {platform} in `{root}`"),
                hint: "name a folder with `bin/python3` and `lib/python3.X`, or for Windows one \
                       with `python.exe`"
                    .to_owned(),
            }
        })?;
        let version = self.version(&root, &layout);
        if let Some(lock) = self.lock {
            let packages = self.wheels(lock, &version, dirs, progress).await?;
            add_packages(&mut python, &layout, packages.path())?;
            temporary.push(packages);
        }
        if let Some(file) = &layout.path_file {
            open_path_file(&mut python, file, &layout)?;
        }
        let unmatched = std::mem::take(&mut python.unmatched);
        let mut all = below("python", python);
        for (name, bytes) in worker_files::embedded() {
            let content = Content::Bytes(bytes.to_vec());
            let path = format!("sidecar/worker/{name}");
            all.files.insert(path, (content, FileMode::Plain));
        }
        let entrypoint = match self.platform.is_windows() {
            true => "sidecar/bin/pillion.exe",
            false => "sidecar/bin/pillion",
        };
        let binary = Content::File(self.binary.to_owned());
        all.files
            .insert(entrypoint.to_owned(), (binary, FileMode::Executable));
        let links: Vec<BundleLink> = all
            .links
            .into_iter()
            .map(|(path, target)| BundleLink { path, target })
            .collect();
        let (files, contents) = tree::measure(all.files, true, progress)?;
        let executable = format!("python/{}", layout.executable);
        let manifest = Manifest::Runtime(Box::new(RuntimeManifest {
            format_version: FORMAT_VERSION.to_owned(),
            bundle_type: self.identity.kind,
            scope_id: self.identity.scope.clone(),
            version: self.identity.version.clone(),
            created_at: self.identity.created_at.clone(),
            platform: self.platform,
            python_version: version,
            sidecar_version: self.sidecar_version.to_owned(),
            desktop_min_version: self.desktop_min_version.clone(),
            entrypoint: entrypoint.to_owned(),
            python_executable_relpath: executable.clone(),
            sha256: Digest::of_tree(&files, &links),
            files,
            links,
            python: PythonPart {
                executable_relpath: executable,
            },
            sidecar: SidecarPart {
                root_relpath: "sidecar".to_owned(),
            },
        }));
        Plan::of(manifest, contents, unmatched, temporary)
    }

    /// The folder of the interpreter; an archive is unpacked for it.
    fn python_root(
        &self,
        temporary: &mut Vec<tempfile::TempDir>,
        progress: &dyn ProgressListener,
    ) -> Result<PathBuf> {
        let top = match self.python.is_dir() {
            true => self.python.to_owned(),
            false => {
                progress.step(&format!("unpacking {}", self.python.display()));
                let folder = temporary_folder()?;
                unpack(self.python, folder.path())?;
                let path = folder.path().to_owned();
                temporary.push(folder);
                path
            }
        };
        let candidates = ROOTS.iter().map(|name| top.join(name));
        let mut fitting = candidates.filter(|root| has_python(root, self.platform));
        fitting.next().ok_or_else(|| {
            let platform = self.platform;
            Error::Input {
                what: format!(
                    "there is no Python for {platform} in `{}`",
                    self.python.display()
                ),
                hint: "name a folder or a `.tar.gz` or `.tar.zst` archive of an interpreter"
                    .to_owned(),
            }
        })
    }

    fn version(&self, root: &Path, layout: &PythonLayout) -> String {
        if let Some(version) = self.python_version {
            return version.to_owned();
        }
        let mut parts = layout.version.split('.');
        let short = format!(
            "python{}.{}",
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default()
        );
        // A Python for Windows has its headers without a folder of the version.
        let headers = [root.join("include").join(short), root.join("include")];
        let texts = headers.map(|folder| fs::read_to_string(folder.join("patchlevel.h")));
        let text = texts.into_iter().find_map(Result::ok).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("#define PY_VERSION"));
        let version = line.map(|line| line.trim().trim_matches('"').to_owned());
        version.unwrap_or_else(|| layout.version.clone())
    }

    async fn wheels(
        &self,
        lock: &Path,
        version: &str,
        dirs: &Dirs,
        progress: &dyn ProgressListener,
    ) -> Result<tempfile::TempDir> {
        let folder = temporary_folder()?;
        let parts: Vec<&str> = version.split('.').take(2).collect();
        let wheels = Wheels {
            lock,
            target: folder.path(),
            platform: self.platform.uv_name(),
            python_version: &parts.join("."),
        };
        let installed = wheels.install(dirs, progress).await;
        installed.map_err(|attempt| Error::Tool {
            what: format!(
                "the wheels of `{}` cannot be had: {attempt}",
                lock.display()
            ),
            hint: attempt
                .hint_from_outside()
                .unwrap_or(
                    "every requirement needs `==`, a `--hash`, and a wheel for that platform",
                )
                .to_owned(),
        })?;
        Ok(folder)
    }
}

fn temporary_folder() -> Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix("pillion-bundle").tempdir();
    made.map_err(Error::io("make", std::env::temp_dir()))
}

/// Unpack an interpreter. Its archive is one that the builder of the bundle chose; still nothing
/// of it lands outside of the folder.
fn unpack(archive: &Path, to: &Path) -> Result<()> {
    let name = archive.to_string_lossy();
    let file = fs::File::open(archive).map_err(Error::io("read", archive))?;
    let reader: Box<dyn std::io::Read> = match Compression::of_name(&name) {
        Some(Compression::Gzip) => Box::new(flate2::read::GzDecoder::new(file)),
        Some(Compression::Zstd) => {
            Box::new(zstd::Decoder::new(file).map_err(Error::io("read", archive))?)
        }
        None => {
            return Err(Error::Input {
                what: format!("`{name}` is neither a folder nor a .tar.gz or .tar.zst archive"),
                hint: "unpack it, and name the folder".to_owned(),
            });
        }
    };
    let mut archive_reader = tar::Archive::new(reader);
    archive_reader.set_preserve_permissions(true);
    archive_reader
        .unpack(to)
        .map_err(Error::io("unpack", archive))
}

fn has_python(root: &Path, platform: Platform) -> bool {
    match platform.is_windows() {
        true => root.join("python.exe").is_file(),
        false => {
            let has = |name: &str| root.join("bin").join(name).exists();
            has("python3") || has("python") || named_by_version(root).any(|name| has(&name))
        }
    }
}

/// What the executable is called where nothing but its version names it: packages that keep no
/// links have lost `python3`.
fn named_by_version(root: &Path) -> impl Iterator<Item = String> {
    let folders = root.join("lib").read_dir().into_iter().flatten().flatten();
    let names = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("python3."))
}

/// All paths of a tree.
fn python_paths(found: &TreeContents) -> Vec<&str> {
    let links = found.links.iter().map(|(path, _)| path.as_str());
    found
        .files
        .keys()
        .map(String::as_str)
        .chain(links)
        .collect()
}

/// What the paths of an interpreter's tree tell about it.
pub fn python_layout(paths: &[&str], platform: Platform) -> Option<PythonLayout> {
    let has = |path: &str| paths.contains(&path);
    if platform.is_windows() {
        let minor = paths.iter().find_map(|path| {
            let number = path.strip_prefix("python3")?.strip_suffix(".dll")?;
            number.parse::<u32>().ok()
        })?;
        let path_file = format!("python3{minor}._pth");
        return has("python.exe").then(|| PythonLayout {
            executable: "python.exe".to_owned(),
            site_packages: "Lib/site-packages".to_owned(),
            version: format!("3.{minor}"),
            path_file: has(&path_file).then_some(path_file),
        });
    }
    let version = paths.iter().find_map(|path| {
        let rest = path.strip_prefix("lib/python")?;
        let (version, rest) = rest.split_once('/')?;
        let is_library = rest == "os.py" && version.starts_with("3.");
        is_library.then(|| version.to_owned())
    })?;
    let names = [
        "bin/python3".to_owned(),
        format!("bin/python{version}"),
        "bin/python".to_owned(),
    ];
    let executable = names.into_iter().find(|name| has(name))?;
    Some(PythonLayout {
        executable,
        site_packages: format!("lib/python{version}/site-packages"),
        version,
        path_file: None,
    })
}

/// Put packages where the interpreter looks for them. Their scripts stay away: they begin with
/// the path of an interpreter on the machine that built the bundle.
fn add_packages(python: &mut TreeContents, layout: &PythonLayout, packages: &Path) -> Result<()> {
    let scripts = ["bin", "Scripts"].map(str::to_owned);
    let found = tree::read(packages, &scripts)?;
    for (path, (content, mode)) in found.files {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_info = path.contains(".dist-info/");
        if path.starts_with('.') || (is_info && MACHINE_FILES.contains(&name)) {
            continue;
        }
        let content = match (is_info && name == "RECORD", &content) {
            (true, Content::File(file)) => {
                let text = fs::read_to_string(file).map_err(Error::io("read", file))?;
                Content::Bytes(portable_record(&text).into_bytes())
            }
            _ => content,
        };
        let place = format!("{}/{path}", layout.site_packages);
        if python
            .files
            .insert(place.clone(), (content, mode))
            .is_some()
        {
            return Err(Error::Conflict {
                what: format!("`{place}` is in the interpreter's tree already"),
                hint: format!(
                    "leave its packages out: `--exclude {}`",
                    layout.site_packages
                ),
            });
        }
    }
    Ok(())
}

/// A package's list of files without those that are not packed.
fn portable_record(text: &str) -> String {
    let stays = |line: &&str| {
        let path = line.split(',').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_script = ["../", "bin/", "Scripts/"]
            .iter()
            .any(|start| path.starts_with(start));
        !is_script && !MACHINE_FILES.contains(&name)
    };
    let mut lines: Vec<&str> = text.lines().filter(stays).collect();
    lines.sort_unstable();
    lines.join("\n") + "\n"
}

/// An embeddable Python looks for modules where a file says, and nowhere else.
fn open_path_file(python: &mut TreeContents, file: &str, layout: &PythonLayout) -> Result<()> {
    let Some((Content::File(path), mode)) = python.files.get(file).cloned() else {
        return Ok(());
    };
    let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let folder = layout.site_packages.replace('/', "\\");
    if text.lines().any(|line| line.trim() == folder) {
        return Ok(());
    }
    let text = format!("{}\r\n{folder}\r\n", text.trim_end());
    let content = Content::Bytes(text.into_bytes());
    python.files.insert(file.to_owned(), (content, mode));
    Ok(())
}

/// A tree as a part of another.
fn below(folder: &str, found: TreeContents) -> TreeContents {
    let place = |path: String| format!("{folder}/{path}");
    TreeContents {
        files: found
            .files
            .into_iter()
            .map(|(path, file)| (place(path), file))
            .collect(),
        links: found
            .links
            .into_iter()
            .map(|(path, target)| (place(path), target))
            .collect(),
        unmatched: found.unmatched,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_is_found_where_no_link_leads_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        write("lib/python3.13/os.py");
        assert!(!has_python(folder.path(), Platform::LinuxX64));
        write("bin/python3.13");
        assert!(has_python(folder.path(), Platform::LinuxX64));
        assert!(!has_python(folder.path(), Platform::WindowsX64));
    }

    #[test]
    fn trees_of_all_kinds_are_understood() {
        let unix = ["bin/python3.12", "bin/python3", "lib/python3.12/os.py"];
        let layout = python_layout(&unix, Platform::MacosArm64).unwrap();
        assert_eq!(layout.executable, "bin/python3");
        assert_eq!(layout.site_packages, "lib/python3.12/site-packages");
        assert_eq!(layout.version, "3.12");
        let windows = [
            "python.exe",
            "python3.dll",
            "python311.dll",
            "python311._pth",
            "python311.zip",
        ];
        let layout = python_layout(&windows, Platform::WindowsX64).unwrap();
        assert_eq!(layout.executable, "python.exe");
        assert_eq!(layout.version, "3.11");
        assert_eq!(layout.path_file.as_deref(), Some("python311._pth"));
        assert_eq!(python_layout(&unix, Platform::WindowsX64), None);
        assert_eq!(python_layout(&windows, Platform::LinuxX64), None);
    }

    #[test]
    fn a_record_tells_nothing_of_the_machine() {
        let text = "six.py,sha256=x,1\n../../bin/six,sha256=y,2\nbin/six,sha256=z,3\n\
                    six.dist-info/uv_cache.json,sha256=q,4\nsix.dist-info/RECORD,,\n";
        assert_eq!(
            portable_record(text),
            "six.dist-info/RECORD,,\nsix.py,sha256=x,1\n"
        );
    }
}
