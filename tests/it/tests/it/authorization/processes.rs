//! Several processes with one credential store, and processes that are killed.
//!
//! A child is this test binary with [`child`] as its only test.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use turnbuckle::auth::AuthError;
use turnbuckle::auth::client::StepKind;
use turnbuckle::auth::client::store::{
    BoxFuture, CredentialStore, FileStore, MemoryStore, StoreLock,
};
use turnbuckle::auth::{OAuth, Secret};
use turnbuckle_it::wires::{Rng, seed};

use super::harness::{TIMEOUT, User, Wire, World, age, call, connect, credentials};

/// The variables by which a child knows what to do.
const URL: &str = "TURNBUCKLE_AUTH_URL";
const STORE: &str = "TURNBUCKLE_AUTH_STORE";
const REFRESHES: &str = "TURNBUCKLE_AUTH_REFRESHES";

/// A directory that is removed with this value.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("turnbuckle-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start_child(url: &str, store: &Path, refreshes: usize) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([
            "authorization::processes::child",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(URL, url)
        .env(STORE, store)
        .env(REFRESHES, refreshes.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// A file store whose access tokens are about to end when they are read, so that each use of one is a
/// refresh.
struct Ending(FileStore);

impl CredentialStore for Ending {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            let stored = self.0.load(key).await?;
            Ok(stored.map(|text| {
                let mut value: serde_json::Value = serde_json::from_str(text.expose()).unwrap();
                let end = value["obtained_at"].as_u64().unwrap() + 10;
                value["obtained_at"] = (end - 3600).into();
                value["expires_at"] = end.into();
                Secret::new(value.to_string())
            }))
        })
    }

    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        self.0.save(key, value)
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        self.0.remove(key)
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>> {
        self.0.keys()
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>> {
        self.0.lock(key)
    }
}

/// Makes calls with a token of the store, or asks for a fresh token again and again.
#[tokio::test]
#[ignore = "it is a process that the other tests start"]
async fn child() {
    let (Ok(url), Ok(store)) = (env::var(URL), env::var(STORE)) else {
        return;
    };
    let refreshes: usize = env::var(REFRESHES).unwrap().parse().unwrap();
    let store = FileStore::open(store).unwrap();
    if refreshes > 0 {
        for _ in 0..refreshes {
            let oauth = OAuth::builder(&url, Ending(store.clone()))
                .stored_only()
                .build()
                .unwrap();
            oauth.access_token().await.expect("a fresh token");
        }
        return;
    }
    let oauth = OAuth::builder(&url, store)
        .login_ui(User::new())
        .build()
        .unwrap();
    let client = connect(Wire::Modern, &url, &oauth).await.unwrap();
    call(&client, "whoami").await.unwrap();
}

/// Logs in with a file store.
async fn log_in(world: &World, directory: &Path) -> OAuth {
    let store = FileStore::open(directory).unwrap();
    let oauth = OAuth::builder(&world.url, store)
        .login_ui(User::new())
        .build()
        .unwrap();
    oauth.log_in().await.unwrap();
    oauth
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_refresh_one_credential_a_hundred_times_without_loss_or_reuse() {
    let world = World::start(Wire::Modern).await;
    let directory = Directory::new("refreshes");
    log_in(&world, &directory.0).await;
    world.authorization_server.clear_events();
    let mut children = [(); 2].map(|()| start_child(&world.url, &directory.0, 50));
    for child in &mut children {
        let status = tokio::time::timeout(TIMEOUT, child.wait()).await;
        assert!(status.expect("the child ends in time").unwrap().success());
    }
    let refreshes = world.token_requests("refresh_token");
    assert_eq!(refreshes.len(), 100);
    let failed: Vec<_> = refreshes
        .iter()
        .filter(|event| event.status != 200)
        .collect();
    assert_eq!(failed.first(), None, "{} failed", failed.len());
    // The last one that was stored is good.
    let store = FileStore::open(&directory.0).unwrap();
    let oauth = OAuth::builder(&world.url, store)
        .stored_only()
        .build()
        .unwrap();
    let client = connect(Wire::Modern, &world.url, &oauth).await.unwrap();
    assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
}

#[tokio::test]
async fn a_token_that_another_process_refreshed_is_adopted() {
    let world = World::with(Wire::Modern, |it| it.token_ttl(Duration::from_secs(2))).await;
    let store = MemoryStore::new();
    // Two values do not share anything but the store, as two processes.
    let user = User::new();
    let (first, second) = (world.oauth(&user, &store), world.oauth(&user, &store));
    first.log_in().await.unwrap();
    second.access_token().await.unwrap();
    while first.access_token().await.is_some() && world.refreshes() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let token = second.access_token().await.unwrap();
    assert_eq!(credentials(&store).await["access_token"], token.expose());
    assert_eq!((world.refreshes(), user.logins()), (1, 1));
}

/// Kills a process in the middle of a login or of a refresh: once the servers have seen a number of
/// its requests. The next start works, and says why it has to log in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_at_any_request_leaves_a_store_that_works() {
    let mut random = Rng::new(seed(), "killed processes");
    let world = World::start(Wire::Modern).await;
    let directory = Directory::new("killed");
    let (mut logins, mut refreshes, mut killed) = (0, 0, 0);
    for round in 0..40 {
        let is_login = round % 2 == 0;
        if is_login {
            let _ = std::fs::remove_dir_all(&directory.0);
        } else {
            age(&FileStore::open(&directory.0).unwrap(), 10).await;
        }
        world.authorization_server.clear_events();
        let before = world.exchange_count();
        let seen = || world.authorization_server.events().len() + world.exchange_count() - before;
        let last_request = random.between(0, if is_login { 9 } else { 4 });
        let mut child = start_child(&world.url, &directory.0, 0);
        while seen() < last_request && child.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().await.unwrap();

        let user = User::new();
        let store = FileStore::open(&directory.0).unwrap();
        let oauth = OAuth::builder(&world.url, store)
            .login_ui(user.clone())
            .build()
            .unwrap();
        let client = connect(Wire::Modern, &world.url, &oauth).await;
        let result = match client {
            Ok(client) => call(&client, "whoami").await,
            Err(error) => Err(error),
        };
        let transcript = oauth.transcript();
        let at = format!("round {round}, after {last_request} requests: {transcript}");
        assert_eq!(
            result
                .as_deref()
                .unwrap_or_else(|error| panic!("{at} {error:?}")),
            "alice"
        );
        assert!(user.logins() <= 1, "{at}");
        if user.logins() == 1 && !is_login {
            let refused = transcript
                .steps
                .iter()
                .find(|step| step.step == StepKind::Refresh);
            let refused = refused.unwrap_or_else(|| panic!("no reason: {at}"));
            assert!(refused.response.contains("invalid_grant"), "{at}");
            assert!(
                refused
                    .advice
                    .as_ref()
                    .unwrap()
                    .contains("before it could store"),
                "{at}"
            );
        }
        logins += user.logins();
        refreshes += world.refreshes();
    }
    assert!(killed > 20, "too few were killed in time: {killed}");
    assert!(logins > 0 && refreshes > 0);
}
