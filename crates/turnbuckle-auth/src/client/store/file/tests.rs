//! Tests of the file store. Those with several processes start this test binary again.

#[cfg(unix)]
mod unix;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::super::MAX_VALUE_BYTES;
use super::*;

/// The variable that makes a test the other process of another test: its task.
const TASK: &str = "TURNBUCKLE_AUTH_TEST_TASK";
/// The directory of the store in the other process.
const DIR: &str = "TURNBUCKLE_AUTH_TEST_DIR";

/// A directory that is removed at the end of a test.
struct TestDir(PathBuf);

impl TestDir {
    fn new() -> Self {
        let random = crate::pkce::random_token().unwrap();
        let name = format!("turnbuckle-auth-{}", random.expose());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Returns the store's directory, which the store creates.
    fn store(&self) -> PathBuf {
        self.0.join("parent").join("store")
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Another process, which is killed at the end of a test.
struct OtherProcess(Child);

impl OtherProcess {
    fn start(task: &str, dir: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                &format!("{}::other_process", test_module()),
            ])
            .env(TASK, task)
            .env(DIR, dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Ends the process by SIGKILL, or TerminateProcess on Windows.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the path of this module as the test binary names its tests, without the crate.
fn test_module() -> &'static str {
    module_path!().split_once("::").unwrap().1
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{path:?} never came"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The work of the other processes. As a test of its own it does nothing.
#[test]
fn other_process() {
    let (Ok(task), Ok(dir)) = (std::env::var(TASK), std::env::var(DIR)) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = FileStore::open(&dir).unwrap();
        match task.as_str() {
            "increment" => increment(&store, 100).await,
            "hold" => {
                let _held = store.lock("key").await.unwrap();
                std::fs::write(Path::new(&dir).with_file_name("held"), "").unwrap();
                tokio::time::sleep(Duration::from_secs(120)).await;
            }
            "save" => {
                for turn in 0_u64.. {
                    let text = large_value(turn);
                    store.save("key", &Secret::new(text)).await.unwrap();
                    std::fs::write(Path::new(&dir).with_file_name("saved"), "").unwrap();
                }
            }
            other => panic!("unknown task {other}"),
        }
    });
}

/// Increments a counter under its lock.
async fn increment(store: &FileStore, times: usize) {
    for _ in 0..times {
        let _held = store.lock("counter").await.unwrap();
        let value = store.load("counter").await.unwrap();
        let count: usize = value.map_or(0, |value| value.expose().parse().unwrap());
        let value = Secret::new((count + 1).to_string());
        store.save("counter", &value).await.unwrap();
    }
}

/// Returns a value of one repeated letter, whose length follows from the letter.
fn large_value(turn: u64) -> String {
    let letter = char::from(b'a' + u8::try_from(turn % 26).unwrap());
    letter.to_string().repeat(large_length(letter))
}

fn large_length(letter: char) -> usize {
    MAX_VALUE_BYTES - usize::from(letter as u8)
}

/// Returns the names of the files in a directory.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn value_file(dir: &Path, key: &str) -> PathBuf {
    dir.join(format!("{}{VALUE_SUFFIX}", envelope::name_of_key(key)))
}

#[tokio::test]
async fn values_outlive_the_store() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store
        .save("https://mcp.example.com", &Secret::new("hunter2"))
        .await
        .unwrap();
    drop(store);
    let store = FileStore::open(dir.store()).unwrap();
    let value = store
        .load("https://mcp.example.com")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(value.expose(), "hunter2");
    assert_eq!(store.keys().await.unwrap(), ["https://mcp.example.com"]);
    assert!(!format!("{store:?}").contains("hunter2"));
}

#[tokio::test]
async fn two_stores_of_one_directory_exclude_each_other() {
    let dir = TestDir::new();
    let first = FileStore::open(dir.store()).unwrap();
    let second = FileStore::open(dir.store()).unwrap();
    let held = first.lock("key").await.unwrap();
    let mut waiting = second.lock("key");
    let early = tokio::time::timeout(Duration::from_millis(100), &mut waiting).await;
    assert!(early.is_err());
    drop(held);
    let _held = waiting.await.unwrap();
}

#[tokio::test]
async fn a_write_keeps_the_lock_until_it_is_over() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    let value = Secret::new("new");
    for _ in 0..50 {
        store.save("key", &Secret::new("old")).await.unwrap();
        let held = store.lock("key").await.unwrap();
        // The caller is cancelled in the middle of its write.
        let mut save = store.save("key", &value);
        let poll = std::future::poll_fn(|context| {
            std::task::Poll::Ready(save.as_mut().poll(context).is_ready())
        });
        poll.await;
        drop(save);
        drop(held);
        let _next = store.lock("key").await.unwrap();
        let first = store.load("key").await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
        let second = store.load("key").await.unwrap().unwrap();
        assert_eq!(first, second, "the write of the last holder came late");
    }
}

#[test]
fn processes_that_contend_lose_nothing() {
    let dir = TestDir::new();
    let mut others: Vec<_> = (0..2)
        .map(|_| OtherProcess::start("increment", &dir.store()))
        .collect();
    for other in &mut others {
        assert!(other.0.wait().unwrap().success());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = FileStore::open(dir.store()).unwrap();
        let value = store.load("counter").await.unwrap().unwrap();
        assert_eq!(value.expose(), "200");
    });
}

#[tokio::test]
async fn a_killed_process_frees_its_lock() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    let mut other = OtherProcess::start("hold", &dir.store());
    wait_for(&dir.store().with_file_name("held"));
    let mut waiting = store.lock("key");
    let early = tokio::time::timeout(Duration::from_millis(100), &mut waiting).await;
    assert!(early.is_err(), "the other process holds the lock");
    other.kill();
    let granted = tokio::time::timeout(Duration::from_secs(5), waiting).await;
    let _held = granted.unwrap().unwrap();
}

#[tokio::test]
async fn a_process_killed_during_writes_leaves_a_whole_value() {
    let dir = TestDir::new();
    let saved = dir.store().with_file_name("saved");
    for round in 0..25 {
        let _ = std::fs::remove_file(&saved);
        let mut other = OtherProcess::start("save", &dir.store());
        tokio::task::spawn_blocking({
            let saved = saved.clone();
            move || wait_for(&saved)
        })
        .await
        .unwrap();
        // At different moments of a write, which takes some milliseconds.
        tokio::time::sleep(Duration::from_micros(700 * round)).await;
        other.kill();
        let store = FileStore::open(dir.store()).unwrap();
        let value = store.load("key").await.unwrap().unwrap();
        let letter = value.expose().chars().next().unwrap();
        assert_eq!(
            value.expose(),
            letter.to_string().repeat(large_length(letter))
        );
        let left = names(&dir.store());
        assert!(
            !left.iter().any(|name| name.ends_with(TEMPORARY_SUFFIX)),
            "{left:?}"
        );
        assert_eq!(store.keys().await.unwrap(), ["key"]);
    }
}

#[tokio::test]
async fn damaged_files_are_errors() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store.save("key", &Secret::new("value")).await.unwrap();
    let path = value_file(&dir.store(), "key");
    let whole = std::fs::read(&path).unwrap();
    let damages = [
        Vec::new(),
        b"\n".to_vec(),
        b"{}\n".to_vec(),
        vec![0; whole.len()],
        vec![0xff; 100],
        whole[..whole.len() - 1].to_vec(),
        [&whole[..], b"x"].concat(),
        vec![b'x'; 1024 * 1024],
    ];
    for damage in damages {
        std::fs::write(&path, &damage).unwrap();
        let error = store.load("key").await.unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("run: rm ") && text.contains(path.to_str().unwrap()),
            "{text}"
        );
    }
    std::fs::write(&path, "no header").unwrap();
    let error = store.keys().await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
    // A damaged value can be replaced and removed.
    store.save("key", &Secret::new("value")).await.unwrap();
    assert!(store.load("key").await.unwrap().is_some());
    std::fs::write(&path, "").unwrap();
    store.remove("key").await.unwrap();
    assert!(store.load("key").await.unwrap().is_none());
}

#[tokio::test]
async fn a_file_of_another_key_is_an_error() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store.save("a", &Secret::new("of a")).await.unwrap();
    std::fs::copy(value_file(&dir.store(), "a"), value_file(&dir.store(), "b")).unwrap();
    let error = store.load("b").await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreCorrupt, "{error}");
}

#[tokio::test]
async fn the_number_of_values_is_bounded() {
    let dir = TestDir::new();
    let store = FileStore::open(dir.store()).unwrap();
    store.save("first", &Secret::new("v")).await.unwrap();
    for index in 1..MAX_VALUES {
        std::fs::write(dir.store().join(format!("{index}{VALUE_SUFFIX}")), "").unwrap();
    }
    store.save("first", &Secret::new("w")).await.unwrap();
    let error = store.save("one more", &Secret::new("v")).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreLimit, "{error}");
    std::fs::write(dir.store().join(format!("more{VALUE_SUFFIX}")), "").unwrap();
    let error = store.keys().await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::StoreLimit, "{error}");
}
