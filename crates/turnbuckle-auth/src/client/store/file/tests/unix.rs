//! Tests of owners and modes on Unix.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn insecure(error: AuthError, parts: &[&str]) {
    assert_eq!(error.kind(), AuthErrorKind::StoreInsecure, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{error} lacks {part}");
    }
}

// requirement: 3ed2aec9b98f c054f64bf4c7 ff46d9735c02
#[tokio::test]
async fn only_the_user_can_read_created_files() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store.save("key", &Secret::new("value")).await.unwrap();
    drop(store.lock("key").await.unwrap());
    assert_eq!(mode(&dir.store()), 0o700);
    assert_eq!(mode(&dir.store().join("locks")), 0o700);
    assert_eq!(mode(&value_file(&dir.store(), "key")), 0o600);
    for name in names(&dir.store().join("locks")) {
        assert_eq!(mode(&dir.store().join("locks").join(name)), 0o600);
    }
}

#[test]
fn only_the_user_can_read_the_directories_above_that_are_created_too() {
    let dir = TestDir::new();
    let above = dir.store().join("above");
    FileStore::open(above.join("credentials")).unwrap();
    assert_eq!(mode(&above), 0o700);
}

// requirement: c054f64bf4c7
#[tokio::test]
async fn a_directory_that_others_can_access_is_refused() {
    let dir = TestDir::new();
    std::fs::create_dir_all(dir.store()).unwrap();
    for bits in [0o755, 0o750, 0o701, 0o770] {
        set_mode(&dir.store(), bits);
        let error = FileStore::open(dir.store()).unwrap_err();
        insecure(error, &["chmod 700 ", dir.store().to_str().unwrap()]);
    }
    set_mode(&dir.store(), 0o700);
    let store = FileStore::open(dir.store()).unwrap();
    store.save("key", &Secret::new("value")).await.unwrap();
    set_mode(&dir.store(), 0o755);
    insecure(store.load("key").await.unwrap_err(), &["chmod 700"]);
    insecure(
        store.save("key", &Secret::new("v")).await.unwrap_err(),
        &["chmod 700"],
    );
    insecure(store.keys().await.unwrap_err(), &["chmod 700"]);
    set_mode(&dir.store(), 0o700);
    set_mode(&dir.store().join("locks"), 0o777);
    insecure(store.lock("key").await.unwrap_err(), &["chmod 700"]);
}

// requirement: 3ed2aec9b98f c054f64bf4c7
#[tokio::test]
async fn a_file_that_others_can_access_is_refused() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store.save("key", &Secret::new("value")).await.unwrap();
    let path = value_file(&dir.store(), "key");
    set_mode(&path, 0o640);
    let parts = ["chmod 600 ", path.to_str().unwrap()];
    insecure(store.load("key").await.unwrap_err(), &parts);
    insecure(store.keys().await.unwrap_err(), &parts);
    // A new value comes in a new file.
    store.save("key", &Secret::new("new")).await.unwrap();
    assert_eq!(mode(&path), 0o600);
    assert!(store.load("key").await.unwrap().is_some());
}

#[tokio::test]
async fn links_and_pipes_are_refused() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store.save("target", &Secret::new("value")).await.unwrap();
    let path = value_file(&dir.store(), "key");
    symlink(value_file(&dir.store(), "target"), &path).unwrap();
    insecure(
        store.load("key").await.unwrap_err(),
        &["not a regular file"],
    );
    std::fs::remove_file(&path).unwrap();
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    set_mode(&path, 0o600);
    insecure(
        store.load("key").await.unwrap_err(),
        &["not a regular file"],
    );
}

/// Only root can give files away, so the test does nothing for others.
#[tokio::test]
async fn files_of_another_user_are_refused() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store.save("key", &Secret::new("value")).await.unwrap();
    let path = value_file(&dir.store(), "key");
    if chown(&path, Some(12345), None).is_err() {
        return;
    }
    let parts = ["belongs to user 12345", "chown", path.to_str().unwrap()];
    insecure(store.load("key").await.unwrap_err(), &parts);
    chown(dir.store(), Some(12345), None).unwrap();
    insecure(
        store.load("key").await.unwrap_err(),
        &["belongs to user 12345"],
    );
    let path = dir.store();
    let parts = ["belongs to user 12345", "chown", path.to_str().unwrap()];
    insecure(FileStore::open(&path).unwrap_err(), &parts);
    assert!(
        !names(&dir.store())
            .iter()
            .any(|name| name.ends_with(TEMPORARY_SUFFIX))
    );
}
