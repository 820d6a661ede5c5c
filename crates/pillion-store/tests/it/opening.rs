//! Opening: private, damaged, newer, not writable, replaced.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use pillion_store::{JobEnd, Store, StoreError, StoreOptions};
use rusqlite::Connection;

use crate::{json, new_job, open, place, total};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

/// The names of the files in the folder of the store.
fn files(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

async fn refused(path: &Path) -> StoreError {
    match Store::open(path, StoreOptions::default()).await {
        Ok(_) => panic!("the store was opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn only_this_user_can_read_it() {
    let (_temp, path) = place();
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let store = open(&path).await;
    store.create(new_job(None)).await.unwrap();
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let names = files(&path);
    assert_eq!(
        names,
        [
            "pillion.db",
            "pillion.db-shm",
            "pillion.db-wal",
            "pillion.db.lock"
        ]
    );
    for name in names {
        assert_eq!(mode(&path.with_file_name(&name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn nothing_but_the_file_is_left_when_it_is_closed() {
    let (_temp, path) = place();
    for by_drop in [true, false] {
        let store = open(&path).await;
        store.create(new_job(None)).await.unwrap();
        if by_drop {
            drop(store);
        } else {
            store.close().await;
        }
        assert_eq!(files(&path), ["pillion.db", "pillion.db.lock"]);
    }
    assert_eq!(total(&open(&path).await).await, 2);
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_kept() {
    let (_temp, path) = place();
    fs::create_dir(path.parent().unwrap()).unwrap();
    let damaged = "this is no database, but it is somebody's\n".repeat(100);
    fs::write(&path, &damaged).unwrap();
    let store = open(&path).await;
    let aside = store.set_aside().unwrap().to_owned();
    let name = aside.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("pillion.db.corrupt-2"), "{name}");
    assert_eq!(fs::read_to_string(&aside).unwrap(), damaged);
    let job = store.create(new_job(None)).await.unwrap();
    drop(store);
    let store = open(&path).await;
    assert_eq!(store.set_aside(), None);
    store.get(&job.id).await.unwrap();
}

#[tokio::test]
async fn damage_in_the_middle_of_a_small_file_is_found_at_once() {
    let (_temp, path) = place();
    let store = open(&path).await;
    for _ in 0..50 {
        store.create(new_job(Some("s"))).await.unwrap();
    }
    drop(store);
    damage(&path, 4096);
    let store = open(&path).await;
    assert!(store.set_aside().is_some());
    assert_eq!(total(&store).await, 0);
}

#[tokio::test]
async fn damage_in_a_large_file_is_found_in_use_and_set_aside_by_the_next() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let job = store.create(new_job(None)).await.unwrap();
        store.start(&job.id).await.unwrap();
        let result = json(&format!("\"{}\"", "x".repeat(3 << 20)));
        store
            .finish(&job.id, JobEnd::Succeeded, Some(result))
            .await
            .unwrap();
        ids.push(job.id);
    }
    drop(store);
    damage(&path, 1 << 20);
    let store = open(&path).await;
    assert_eq!(store.set_aside(), None, "too large to be read through");
    let error = store.get(&ids[2]).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    drop(store);
    let store = open(&path).await;
    assert!(store.set_aside().is_some());
    store.create(new_job(None)).await.unwrap();
}

/// Overwrite all behind that place.
fn damage(path: &Path, from: usize) {
    let mut bytes = fs::read(path).unwrap();
    assert!(bytes.len() > from);
    bytes[from..].fill(0xff);
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_find_it_damaged_set_it_aside_once() {
    let (_temp, path) = place();
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "x".repeat(5000)).unwrap();
    let openings: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move {
                let store = open(&path).await;
                store.create(new_job(None)).await.unwrap();
                store
            })
        })
        .collect();
    let mut stores = Vec::new();
    for opening in openings {
        stores.push(opening.await.unwrap());
    }
    let aside = stores.iter().filter(|store| store.set_aside().is_some());
    assert_eq!(aside.count(), 1);
    assert_eq!(total(&stores[0]).await, 8);
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_alone() {
    let (_temp, path) = place();
    drop(open(&path).await);
    let newer = |version: i64| {
        let connection = Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "user_version", version)
            .unwrap();
    };
    newer(99);
    let error = refused(&path).await;
    assert!(
        matches!(
            error,
            StoreError::Newer {
                found: 99,
                known: 2,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.hint().contains("update pillion"));
    assert_eq!(files(&path), ["pillion.db", "pillion.db.lock"]);
    newer(2);
    let store = open(&path).await;
    store.create(new_job(None)).await.unwrap();
    newer(3);
    let late = store.create(new_job(None)).await.unwrap_err();
    assert!(matches!(late, StoreError::Newer { .. }), "{late}");
    newer(2);
    store.create(new_job(None)).await.unwrap();
}

/// A thread that is an ordinary user: permissions mean nothing to root.
fn as_ordinary_user(folder: &Path, then: impl FnOnce() + Send) {
    let nobody = rustix::process::Uid::from_raw(65534);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                std::os::unix::fs::chown(folder, Some(65534), None).unwrap();
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            then();
        });
        thread.join().unwrap();
    });
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let temp = tempfile::tempdir().unwrap();
    as_ordinary_user(temp.path(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let folder = temp.path().join("store");
        let path = folder.join("pillion.db");
        let only = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        fs::create_dir(&folder).unwrap();
        only(0o500);
        let error = runtime.block_on(refused(&path));
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
        assert!(error.hint().contains("PILLION_HOME"));
        let missing = runtime.block_on(refused(&folder.join("deeper/pillion.db")));
        assert!(matches!(missing, StoreError::ReadOnly { .. }), "{missing}");

        only(0o700);
        drop(runtime.block_on(open(&path)));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        let error = runtime.block_on(refused(&path));
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    });
}

#[tokio::test]
async fn something_else_in_its_place_is_refused() {
    let (_temp, path) = place();
    fs::create_dir_all(&path).unwrap();
    let error = refused(&path).await;
    assert!(matches!(error, StoreError::Sqlite { .. }), "{error}");
    let below_a_file = path.with_file_name("file");
    fs::write(&below_a_file, "").unwrap();
    let error = refused(&below_a_file.join("pillion.db")).await;
    assert!(!error.hint().is_empty(), "{error}");
}

#[tokio::test]
async fn a_file_that_was_replaced_is_noticed() {
    let (_temp, path) = place();
    let store = open(&path).await;
    let before = store.create(new_job(None)).await.unwrap();
    for name in files(&path) {
        fs::remove_file(path.with_file_name(name)).unwrap();
    }
    assert!(matches!(
        store.get(&before.id).await,
        Err(StoreError::NoJob { .. })
    ));
    let after = store.create(new_job(None)).await.unwrap();
    let other = open(&path).await;
    assert_eq!(other.get(&after.id).await.unwrap().job, after);
    assert_eq!(store.get(&after.id).await.unwrap().job, after);
}
