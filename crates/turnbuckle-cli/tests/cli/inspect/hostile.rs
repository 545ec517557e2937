//! Tests with other pages, other users of the machine, and requests without bounds.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use super::browser::{Inspect, is_ready};
use crate::support::DEMO;

#[test]
fn every_answer_has_the_headers_that_protect_the_page() {
    let inspect = Inspect::demo();
    for path in [
        "/",
        "/inspector.js",
        "/api/state",
        "/api/nothing",
        "/nothing",
    ] {
        let reply = inspect.get(path);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'")
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{path}");
        }
    }
}

#[test]
fn pages_of_other_places_are_refused_everywhere() {
    let inspect = Inspect::demo();
    let port = inspect.port;
    let own = format!("127.0.0.1:{port}");
    let foreign: [(&str, String); 10] = [
        ("Host", format!("evil.example:{port}")),
        ("Host", "127.0.0.1".to_owned()),
        ("Host", "127.0.0.1:1".to_owned()),
        ("Host", format!("{own}.evil.example")),
        ("Origin", "https://evil.example".to_owned()),
        ("Origin", "null".to_owned()),
        ("Origin", "http://127.0.0.1:1".to_owned()),
        ("Origin", format!("https://{own}")),
        ("Sec-Fetch-Site", "cross-site".to_owned()),
        ("Sec-Fetch-Site", "same-site".to_owned()),
    ];
    let body = json!({ "code": inspect.code }).to_string();
    for (name, value) in &foreign {
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/inspector.js"),
            ("GET", "/api/state"),
            ("GET", "/api/events"),
            ("POST", "/api/login"),
            ("POST", "/api/sessions/s1/restart"),
            ("PUT", "/api/place"),
            ("DELETE", "/api/sessions/s1/subscriptions/x"),
        ] {
            let headers = [
                (*name, value.as_str()),
                ("Content-Type", "application/json"),
            ];
            let reply = inspect.request(method, path, &headers, body.as_bytes());
            assert_eq!(reply.status, 403, "{method} {path} with {name}: {value}");
            assert!(reply.text().len() < 200);
        }
    }
    let twice = [("Host", own.as_str()), ("Host", own.as_str())];
    assert!(matches!(
        inspect.request("GET", "/", &twice, b"").status,
        400 | 403
    ));
    let origin = format!("http://{own}");
    let page = [
        ("Origin", origin.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    assert_eq!(inspect.request("GET", "/api/state", &page, b"").status, 200);
    let local = format!("localhost:{port}");
    assert_eq!(
        inspect.request("GET", "/", &[("Host", &local)], b"").status,
        200
    );
}

#[test]
fn without_the_cookie_nothing_is_shown_and_nothing_is_done() {
    let mut inspect = Inspect::start(&DEMO);
    for (method, path) in [
        ("GET", "/api/state"),
        ("GET", "/api/events"),
        ("GET", "/api/timeline"),
        ("GET", "/api/timeline/1/raw"),
        ("POST", "/api/sessions"),
        ("POST", "/api/sessions/s1/requests"),
        ("POST", "/api/inbox/q1"),
        ("PUT", "/api/place"),
        ("DELETE", "/api/sessions/s1/subscriptions/x"),
    ] {
        for cookie in [
            "",
            "turnbuckle=x",
            &format!("turnbuckle-{}=guess", inspect.port),
        ] {
            let headers = [("Cookie", cookie), ("Content-Type", "application/json")];
            let reply = inspect.request(method, path, &headers, b"{}");
            assert_eq!(reply.status, 401, "{method} {path}: {}", reply.text());
        }
    }
    for path in ["/", "/inspector.js", "/inspector.css"] {
        let reply = inspect.get(path);
        assert_eq!(reply.status, 200);
        assert!(!reply.text().contains(&inspect.code) && reply.header("set-cookie").is_none());
    }
    inspect.log_in();
    assert_eq!(inspect.get("/api/state").json()["place"], Value::Null);
}

#[test]
fn a_code_works_once_and_a_second_user_of_it_ends_the_first() {
    let mut inspect = Inspect::start(&DEMO);
    for code in ["", "x", &inspect.code[1..]] {
        let reply = inspect.post("/api/login", &json!({ "code": code }));
        assert_eq!(reply.status, 401);
    }
    inspect.log_in();
    let again = json!({ "code": inspect.code });
    // The browser that has the cookie opens the address again.
    assert_eq!(inspect.post("/api/login", &again).status, 204);
    assert_eq!(inspect.get("/api/state").status, 200);
    let cookie = inspect.cookie.take();
    assert_eq!(inspect.post("/api/login", &again).status, 401);
    inspect.cookie = cookie;
    assert_eq!(inspect.get("/api/state").status, 401);
}

#[test]
fn guesses_are_bounded() {
    let mut inspect = Inspect::start(&DEMO);
    let guess = |code: &str| inspect.post("/api/login", &json!({ "code": code })).status;
    let statuses: Vec<_> = (0..40).map(|n| guess(&n.to_string())).collect();
    assert_eq!(statuses[..30], [401; 30]);
    assert_eq!(statuses[30..], [429; 10]);
    assert_eq!(guess(&inspect.code), 429);
    inspect.cookie = Some(format!("turnbuckle-{}=guess", inspect.port));
    assert_eq!(inspect.get("/api/state").status, 429);
}

#[test]
fn only_what_changes_something_by_design_changes_something() {
    let inspect = Inspect::demo();
    inspect.wait_for(is_ready);
    for path in [
        "/api/sessions",
        "/api/sessions/s1/restart",
        "/api/sessions/s1/close",
        "/api/sessions/s1/requests",
        "/api/inbox/q1",
        "/api/place",
        "/api/login",
    ] {
        assert_eq!(inspect.get(path).status, 404, "{path}");
    }
    // A form of another page can send this, but not JSON.
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let headers = [("Content-Type", kind)];
        let reply = inspect.request("POST", "/api/sessions/s1/close", &headers, b"{}");
        assert_eq!(reply.status, 400, "{kind}");
    }
    assert!(is_ready(&inspect.get("/api/state").json()));
}

#[test]
fn paths_lead_to_no_file() {
    let inspect = Inspect::demo();
    for path in [
        "/../Cargo.toml",
        "/..%2fCargo.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/inspector.js/..",
        "/inspector.js%00",
        "/page/index.html",
        "/api/timeline/1/blob/..%2f..",
        "/api/sessions/s1/items/tools/..%2f..%2fx",
        "/a/b/c/d/e/f/g/h/i/j/k",
        "/%ff",
    ] {
        assert_eq!(inspect.get(path).status, 404, "{path}");
    }
}

#[test]
fn bodies_are_bounded() {
    let inspect = Inspect::demo();
    let json = ("Content-Type", "application/json");
    let declared = [json, ("Content-Length", "99999999999")];
    let reply = inspect.request("POST", "/api/sessions", &declared, b"{");
    assert_eq!(reply.status, 413);
    let long = format!("\"{}\"", "x".repeat(3 << 20));
    let reply = inspect.request("PUT", "/api/place", &[json], long.as_bytes());
    assert_eq!(reply.status, 413);
    let deep = "[".repeat(15_000);
    let reply = inspect.request("POST", "/api/sessions", &[json], deep.as_bytes());
    assert_eq!(reply.status, 400);
    assert_eq!(inspect.get("/api/state").status, 200);
}

#[test]
fn streams_of_events_are_bounded_and_end_with_their_browser() {
    let inspect = Inspect::demo();
    let open = || {
        let mut stream = BufReader::new(inspect.send("GET", "/api/events", &[], b""));
        let mut line = String::new();
        stream.read_line(&mut line).expect("it answers");
        (line, stream)
    };
    let mut streams: Vec<_> = (0..64).map(|_| open()).collect();
    assert!(streams.iter().all(|(line, _)| line.contains("200")));
    assert!(open().0.contains("503"));
    assert_eq!(inspect.get("/api/state").status, 200);
    drop(streams.split_off(1));
    // The end of a stream is seen when the next event is written.
    let mut place = 0;
    while open().0.contains("503") {
        place += 1;
        let headers = [("Content-Type", "application/json")];
        let body = place.to_string();
        inspect.request("PUT", "/api/place", &headers, body.as_bytes());
    }
}
