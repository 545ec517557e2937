//! Tests of the logins' user interfaces. A function of the test stands for the browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use url::Url;

use super::browser::check_authorization_url;
use super::*;

const URL: &str = "https://as.example/authorize?state=s&redirect_uri=x";

/// Sends a request for a redirect URI, as a browser after the login.
fn redirect(redirect_uri: &str, query: &str) {
    let url = Url::parse(redirect_uri).unwrap();
    let authority = url.authority().to_owned();
    let mut stream = TcpStream::connect(&authority).unwrap();
    let head = format!(
        "GET {}?{query} HTTP/1.1\r\nHost: {authority}\r\n\r\n",
        url.path()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

type Shown = Arc<Mutex<Vec<String>>>;

/// Returns a function that notes the URLs that it is given, and the list.
fn note() -> (Shown, impl Fn(&str) + Send + Sync + 'static) {
    let shown = Shown::default();
    let list = Arc::clone(&shown);
    (shown, move |url: &str| {
        list.lock().unwrap().push(url.to_owned())
    })
}

#[tokio::test]
async fn the_browser_gets_the_url_and_the_redirect_comes_back() {
    let (opened, open) = note();
    let (shown, show) = note();
    let ui = Browser::new().fallback(show).launcher(move |url| {
        open(url);
        Ok(())
    });
    let pending = ui.prepare(None).await.unwrap();
    let redirect_uri = pending.redirect_uri().to_owned();
    let user = tokio::task::spawn_blocking(move || redirect(&redirect_uri, "code=c&state=s"));
    assert_eq!(pending.open(URL).await.unwrap(), "code=c&state=s");
    user.await.unwrap();
    // The listener can win before the browser's thread has begun.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(opened.lock().unwrap().iter().all(|url| url == URL));
    assert!(shown.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_url_is_shown_if_no_browser_can_be_started() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let ui = Browser::new()
        .fallback(move |url| sender.send(url.to_owned()).unwrap())
        .launcher(|_| Err(std::io::ErrorKind::NotFound.into()));
    let pending = ui.prepare(None).await.unwrap();
    let redirect_uri = pending.redirect_uri().to_owned();
    let user = tokio::task::spawn_blocking(move || {
        assert_eq!(receiver.recv().unwrap(), URL);
        redirect(&redirect_uri, "code=c&state=s");
    });
    assert_eq!(pending.open(URL).await.unwrap(), "code=c&state=s");
    user.await.unwrap();
}

#[tokio::test]
async fn a_browser_that_blocks_does_not_hold_the_login_up() {
    let (end, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let ui = Browser::new().launcher(move |_| {
        // Until the test drops the sender.
        let _ = blocked.lock().unwrap().recv();
        Ok(())
    });
    let pending = ui.prepare(None).await.unwrap();
    let redirect_uri = pending.redirect_uri().to_owned();
    let user = tokio::task::spawn_blocking(move || redirect(&redirect_uri, "state=s"));
    pending.open(URL).await.unwrap();
    user.await.unwrap();
    drop(end);
}

#[tokio::test]
async fn a_login_that_takes_too_long_ends_and_frees_the_port() {
    let timeout = Duration::from_millis(50);
    let ui = Browser::new().login_timeout(timeout).launcher(|_| Ok(()));
    let pending = ui.prepare(None).await.unwrap();
    let redirect_uri = pending.redirect_uri().to_owned();
    let error = pending.open(URL).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Denied);
    assert!(error.to_string().contains("login_timeout"), "{error}");
    let again = ui.prepare(Some(&redirect_uri)).await.unwrap();
    assert_eq!(again.redirect_uri(), redirect_uri);
}

// requirement: 9bdfa1558048 cde76d7ac36b d7ddb3258974 dde4cbbc51b3 ed46be3a2568
#[tokio::test]
async fn only_web_addresses_are_opened() {
    let too_long = format!("https://as.example/{}", "x".repeat(16 * 1024));
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "ms-calculator:",
        "ftp://as.example/",
        "as.example/authorize",
        "-https://as.example/",
        "https://as.example/\r\nx",
        "https://as.example/\u{1b}[2J",
        "https://as.example/a b",
        "\thttps://as.example/",
        "https://",
        "",
        &too_long,
    ] {
        let (opened, open) = note();
        let (shown, show) = note();
        let browser = Browser::new().fallback(show).launcher(move |url| {
            open(url);
            Ok(())
        });
        let error = browser
            .prepare(None)
            .await
            .unwrap()
            .open(url)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), AuthErrorKind::UrlRefused, "{url}");
        assert!(opened.lock().unwrap().is_empty() && shown.lock().unwrap().is_empty());
        let (shown, show) = note();
        let printed = PrintUrl::new(show)
            .prepare(None)
            .await
            .unwrap()
            .open(url)
            .await;
        assert_eq!(
            printed.unwrap_err().kind(),
            AuthErrorKind::UrlRefused,
            "{url}"
        );
        assert!(shown.lock().unwrap().is_empty());
    }
    for url in [
        URL,
        "http://127.0.0.1:9000/authorize?a=%22%3B%20rm%20-rf%20%24HOME&b='$(id)'",
    ] {
        assert_eq!(
            check_authorization_url(url).unwrap().as_str(),
            url.replace('\'', "%27")
        );
    }
}

#[tokio::test]
async fn a_printed_url_works_with_the_listener() {
    let (shown, show) = note();
    let pending = PrintUrl::new(show).prepare(None).await.unwrap();
    let redirect_uri = pending.redirect_uri().to_owned();
    let user = tokio::task::spawn_blocking(move || redirect(&redirect_uri, "code=c&state=s"));
    assert_eq!(pending.open(URL).await.unwrap(), "code=c&state=s");
    user.await.unwrap();
    assert_eq!(*shown.lock().unwrap(), [URL]);
}

/// Returns a login whose user pastes the texts in turn, and then waits.
fn pasting(texts: &'static [&'static str]) -> PrintUrl {
    let next = Arc::new(AtomicUsize::new(0));
    PrintUrl::new(|_| {}).read_redirect(move || {
        let text = texts.get(next.fetch_add(1, Ordering::SeqCst)).copied();
        async move { text.map(str::to_owned) }
    })
}

#[tokio::test]
async fn a_pasted_redirect_url_or_query_counts() {
    for (texts, expected) in [
        (
            &["http://127.0.0.1:1/callback?code=c&state=s\n"][..],
            "http://127.0.0.1:1/callback?code=c&state=s",
        ),
        (&["  code=c&state=s "], "code=c&state=s"),
        (&["?code=c&state=s"], "?code=c&state=s"),
        (
            &["http://127.0.0.1:1/callback?state=s#_=_"],
            "http://127.0.0.1:1/callback?state=s",
        ),
        (
            &[
                "",
                "nonsense",
                "http://127.0.0.1:1/state=s",
                "state=x",
                "state=s",
            ],
            "state=s",
        ),
    ] {
        let pending = pasting(texts).prepare(None).await.unwrap();
        assert_eq!(pending.open(URL).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn wrong_pastes_end_the_login() {
    let pending = pasting(&["", "a", "b", "c=d", "code=x"])
        .prepare(None)
        .await
        .unwrap();
    let error = pending.open(URL).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Denied);
    assert!(!error.to_string().contains("code=x"), "{error}");
}

#[tokio::test]
async fn the_listener_counts_after_the_end_of_the_input() {
    let pending = pasting(&[]).prepare(None).await.unwrap();
    let redirect_uri = pending.redirect_uri().to_owned();
    let user = tokio::task::spawn_blocking(move || redirect(&redirect_uri, "state=s"));
    assert_eq!(pending.open(URL).await.unwrap(), "state=s");
    user.await.unwrap();
}

#[tokio::test]
async fn without_a_user_a_login_is_required() {
    let Err(error) = NoLogin::new().prepare(None).await else {
        panic!("NoLogin prepared a login");
    };
    assert_eq!(error.kind(), AuthErrorKind::LoginRequired);
}

/// The URL that [`opening_process`] opens.
#[cfg(target_os = "linux")]
const OPENED_URL: &str = "TURNBUCKLE_AUTH_TEST_OPENED_URL";

/// The other process of the test below. As a test of its own it does nothing.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn opening_process() {
    let Ok(url) = std::env::var(OPENED_URL) else {
        return;
    };
    let ui = Browser::new().login_timeout(Duration::from_secs(2));
    let pending = ui.prepare(None).await.unwrap();
    let error = pending.open(&url).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Denied);
}

// requirement: 042afdd1bb52 4782c7008f39
#[cfg(target_os = "linux")]
#[test]
fn the_system_is_given_the_url_without_a_shell() {
    use std::os::unix::fs::PermissionsExt;

    let name = format!("turnbuckle-auth-browser-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).unwrap();
    // A browser that writes its arguments, one a line.
    let browser = directory.join("browser");
    std::fs::write(
        &browser,
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.opened\"\n",
    )
    .unwrap();
    let executable = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&browser, executable).unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let url = "https://as.example/?state=s&a=$(touch${IFS}x);b=`touch${IFS}y`|c>z&&d=%PATH%";
    let url = Url::parse(url).unwrap();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([&format!("{module}::opening_process"), "--exact"])
        .env(OPENED_URL, url.as_str())
        .env("BROWSER", &browser)
        .current_dir(&directory)
        .status();
    assert!(status.unwrap().success());
    let opened = std::fs::read_to_string(directory.join("browser.opened")).unwrap();
    assert_eq!(opened, format!("{url}\n"));
    // Nothing in the URL was run.
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
    std::fs::remove_dir_all(&directory).unwrap();
}
