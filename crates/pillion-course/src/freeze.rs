//! Making kept content of a chapter.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pillion_process::private_folder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::overlay::{
    MANIFEST, Manifest, Stage, StoredFile, VERSION, hash_file, lock, remove_dead,
};
use crate::{Chapter, Error, Overlay, OverlayCheck, experts, files};

/// All files of a chapter and its experts together.
const MOST_BYTES: u64 = 256 << 20;
/// How many files these may be.
const MOST_FILES: usize = 5000;
/// How often files are read anew that change meanwhile.
const ROUNDS: usize = 3;

/// Where the content of a file comes from.
enum Origin {
    Text(Vec<u8>),
    File(PathBuf),
}

/// Keep a chapter: all of its content goes to a folder of `store` that never changes.
///
/// If the same content is there already, that is used. If it is damaged, it is made anew.
/// Any number of processes and threads may do this at once.
pub fn freeze(chapter: &Chapter, store: &Path) -> Result<Overlay, Error> {
    private_folder::ensure(store)
        .map_err(|error| Error::unreadable(store, io::Error::other(error)))?;
    // What cannot be removed is nobody's trouble now; a sweep tells.
    let _ = remove_dead(store);
    let origins = origins(chapter)?;
    let mut last = None;
    for _ in 0..ROUNDS {
        let manifest = describe(chapter, &origins)?;
        let list = serde_json::to_vec(&manifest)
            .map_err(|error| Error::unreadable(store, io::Error::other(error)))?;
        let id = hex::encode(Sha256::digest(&list));
        match Overlay::open(store, &id, OverlayCheck::Content) {
            Ok(overlay) => return Ok(overlay),
            Err(Error::NotFound { .. } | Error::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        match make(store, &id, &list, &manifest, &origins) {
            // Read once for the hash and once for the copy, a file was not the same.
            Err(error @ Error::Changing { .. }) => last = Some(error),
            other => return other,
        }
    }
    Err(last.unwrap_or_else(|| Error::Changing {
        path: chapter.folder.clone(),
    }))
}

/// All files of the overlay with their content or where it is.
fn origins(chapter: &Chapter) -> Result<BTreeMap<String, Origin>, Error> {
    let mut origins = BTreeMap::new();
    let mut text = |name: &str, text: &str| {
        let origin = Origin::Text(text.as_bytes().to_vec());
        origins.insert(format!("chapter/{name}"), origin);
    };
    text("chapter_context.md", &chapter.context);
    text("task_list.md", &chapter.task_list);
    text(
        "task_completion_principles.md",
        &chapter.completion_principles,
    );
    let optional = [
        ("interaction_protocol.md", &chapter.interaction_protocol),
        ("socratic_vs_direct.md", &chapter.socratic_vs_direct),
        ("consultation_guide.md", &chapter.consultation_guide),
    ];
    for (name, found) in optional {
        if let Some(found) = found {
            text(name, found);
        }
    }
    for (name, prompt) in &chapter.prompts {
        text(&format!("prompts/{name}"), prompt);
    }
    let consultation = json!({
        "available_experts": chapter.consultation.available_experts,
        "binding_rules": chapter.consultation.binding_rules,
    });
    text("consultation_config.yaml", &consultation.to_string());
    for (folder, sources) in [
        ("scripts", &chapter.scripts),
        ("datasets", &chapter.datasets),
    ] {
        for source in sources {
            let origin = Origin::File(source.path.clone());
            origins.insert(format!("chapter/{folder}/{}", source.name), origin);
        }
    }
    let mut page = Vec::new();
    for expert in &chapter.experts {
        let mut entry = expert.metadata.clone();
        entry.insert("expert_id".into(), json!(expert.id));
        entry.insert("title".into(), json!(expert.title));
        entry.insert("description".into(), json!(expert.description));
        page.push(Value::Object(entry));
        for source in &expert.files {
            let origin = Origin::File(source.path.clone());
            origins.insert(format!("experts/{}/{}", expert.id, source.name), origin);
        }
    }
    let page = Origin::Text(json!({ "experts": page }).to_string().into_bytes());
    origins.insert(format!("experts/{}", experts::PAGE), page);
    if origins.len() > MOST_FILES {
        return Err(Error::TooLarge {
            path: chapter.folder.clone(),
            limit: MOST_FILES as u64,
            unit: "files",
        });
    }
    Ok(origins)
}

/// Every file with its length and hash as they are now.
fn describe(chapter: &Chapter, origins: &BTreeMap<String, Origin>) -> Result<Manifest, Error> {
    let mut kept = BTreeMap::new();
    let mut total = 0;
    for (name, origin) in origins {
        let found = match origin {
            Origin::Text(text) => of_bytes(text),
            Origin::File(path) => hash_file(path)?,
        };
        total += found.size;
        if total > MOST_BYTES {
            return Err(Error::TooLarge {
                path: chapter.folder.clone(),
                limit: MOST_BYTES,
                unit: "bytes",
            });
        }
        kept.insert(name.clone(), found);
    }
    Ok(Manifest {
        version: VERSION,
        chapter_id: chapter.id.clone(),
        files: kept,
    })
}

fn of_bytes(bytes: &[u8]) -> StoredFile {
    StoredFile {
        size: bytes.len() as u64,
        sha256: hex::encode(Sha256::digest(bytes)),
    }
}

/// Write everything beside, then give it its name.
fn make(
    store: &Path,
    id: &str,
    list: &[u8],
    manifest: &Manifest,
    origins: &BTreeMap<String, Origin>,
) -> Result<Overlay, Error> {
    let stage = Stage::name(store);
    let root = &stage.path;
    let unwritable = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Unreadable { path, source }
    };
    // Only its owner may come in until it is whole.
    DirBuilder::new()
        .mode(0o700)
        .create(root)
        .map_err(unwritable(root))?;
    let mut folders = vec![root.clone()];
    for (name, origin) in origins {
        let path = root.join(name);
        let below: Vec<&Path> = path.ancestors().skip(1).collect();
        for folder in below
            .into_iter()
            .rev()
            .filter(|folder| folder.starts_with(root))
        {
            if !folders.iter().any(|known| known == folder) {
                fs::create_dir(folder).map_err(unwritable(folder))?;
                folders.push(folder.to_owned());
            }
        }
        match origin {
            Origin::Text(text) => write(&path, text)?,
            Origin::File(source) => {
                let bytes = files::read_bytes(source, files::DATASET_BYTES)?;
                if manifest.files.get(name) != Some(&of_bytes(&bytes)) {
                    let path = source.clone();
                    return Err(Error::Changing { path });
                }
                write(&path, &bytes)?;
            }
        }
    }
    write(&root.join(MANIFEST), list)?;
    for folder in folders.iter().rev() {
        fs::set_permissions(folder, Permissions::from_mode(0o555)).map_err(unwritable(folder))?;
        sync(folder)?;
    }

    let folder = store.join(id);
    let mut aside = None;
    let overlay = {
        let _moment = lock(store)?;
        match Overlay::open(store, id, OverlayCheck::Content) {
            // Somebody else was faster.
            Ok(overlay) => return Ok(overlay),
            Err(Error::NotFound { .. }) => {}
            Err(Error::Damaged { .. }) => {
                let damaged = aside.insert(Stage::name(store));
                fs::rename(&folder, &damaged.path).map_err(unwritable(&folder))?;
            }
            Err(error) => return Err(error),
        }
        fs::rename(root, &folder).map_err(unwritable(&folder))?;
        // It is held before a sweep can find it unused.
        Overlay::open(store, id, OverlayCheck::Names)?
    };
    // The damaged one is removed when nobody waits for the lock.
    drop(aside);
    sync(store)?;
    Ok(overlay)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o444)
            .open(path)?;
        file.write_all(bytes)?;
        // The process may be told to take more rights away than these.
        file.set_permissions(Permissions::from_mode(0o444))?;
        file.sync_all()
    };
    written().map_err(|error| Error::unreadable(path, error))
}

fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder)
        .and_then(|open| open.sync_all())
        .map_err(|error| Error::unreadable(folder, error))
}
