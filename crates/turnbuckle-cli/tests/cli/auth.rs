//! Logins: the `auth` commands, and the login of every other command.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use serde_json::{Value, json};
use turnbuckle::auth_testing::TestAuthorizationServer;

use crate::auth_demo::{AuthDemo, LoggedIn, parameter, redirect_of};
use crate::support::{HttpDemo, Run, Scratch, command, run};

#[test]
fn a_login_is_used_shown_and_removed() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    let tip = format!("`turnbuckle auth login {url}`");
    for words in [
        &["info", url][..],
        &["call", url, "whoami"],
        &["auth", "status", url],
        &["auth", "token", url],
        &["auth", "debug", url],
    ] {
        let refused = demo.run(words).ends(3);
        assert!(refused.err.contains(&tip), "{refused:#?}");
    }
    let error = demo.run(&["info", url, "-o", "json"]).ends(3).error();
    assert_eq!(error["code"], "auth_required");
    assert_eq!(error["message"], "the server asks for a login (HTTP 401)");
    assert_eq!(error["hint"], *tip);

    let login = demo.log_in(&["auth", "login", url]).run.ends(0);
    assert!(login.out.contains(&demo.issuer), "{login:#?}");
    let who = demo.run(&["call", url, "whoami"]).ends(0);
    assert!(who.out.starts_with("You are alice of "), "{who:#?}");
    let status = demo.run(&["auth", "status", url]).ends(0);
    assert!(status.out.contains("valid for 59 min") || status.out.contains("valid for 60 min"));
    let json = demo.run(&["auth", "status", url, "-o", "json"]).ends(0);
    let report = json.json();
    assert_eq!(report["server"], *url);
    assert_eq!(report["issuer"], *demo.issuer);
    assert_eq!(report["scopes"], serde_json::json!(["demo:read"]));
    assert_eq!(report["valid"], true);
    assert_eq!(report["canRefresh"], true);
    assert!(report["expiresAt"].is_u64() && report["clientId"].is_string());

    let token = demo.token();
    assert_eq!(token.matches('.').count(), 2, "a JWT");
    let debug = demo.run(&["auth", "debug", url, "-v"]).ends(0);
    for run in [login, who, status, json, debug] {
        assert!(!format!("{run:?}").contains(&token), "{run:#?}");
    }
    let json = demo
        .run(&["auth", "token", url, "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(json["accessToken"], *token);

    let out = demo.run(&["auth", "logout", url]).ends(0);
    assert!(out.err.contains("logged out"), "{out:#?}");
    demo.run(&["call", url, "whoami"]).ends(3);
    let again = demo.run(&["auth", "logout", url]).ends(0);
    assert!(again.err.contains("no credentials"), "{again:#?}");
}

#[test]
fn a_command_never_logs_in_without_a_user() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    for words in [
        &["info", url][..],
        &["info", url, "--stored-auth-only"],
        &["info", url, "--no-input"],
    ] {
        // A browser would be started, but nobody is at a terminal.
        let refused = demo.command(words).env("BROWSER", "false").output();
        let refused = Run::new(refused.expect("the tool runs")).ends(3);
        assert!(!refused.err.contains("Your browser"), "{refused:#?}");
    }
    demo.run(&["auth", "login", url, "--stored-auth-only"])
        .ends(2);
    demo.log_in(&["auth", "login", url]).run.ends(0);
    demo.run(&["info", url, "--stored-auth-only"]).ends(0);
}

#[test]
fn the_options_of_a_login_are_remembered() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    // The test server registers the client, whose id and port the second login uses.
    let first = demo.log_in(&["auth", "login", url]);
    let client_id = first.parameter("client_id");
    let redirect_uri = first.parameter("redirect_uri");
    let port = redirect_uri
        .trim_start_matches("http://127.0.0.1:")
        .trim_end_matches("/callback");
    demo.run(&["auth", "logout", url]).ends(0);
    let second = demo.log_in(&[
        "auth",
        "login",
        url,
        "--client-id",
        &client_id,
        "--callback-port",
        port,
        "--scope",
        "demo:write",
    ]);
    assert_eq!(second.parameter("client_id"), client_id);
    assert_eq!(second.parameter("redirect_uri"), redirect_uri);
    assert_eq!(second.parameter("scope"), "demo:read demo:write");
    second.run.ends(0);
    let status = demo
        .run(&["auth", "status", url, "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(status["clientId"], *client_id);
    demo.run(&["call", url, "write_note", "text=hi"]).ends(0);
    demo.run(&["auth", "logout", url]).ends(0);
    demo.run(&["auth", "status", url]).ends(3);
    // The options are gone too.
    let third = demo.log_in(&["auth", "login", url]);
    assert_eq!(third.parameter("scope"), "demo:read");
}

#[test]
fn a_client_secret_comes_from_the_environment() {
    let demo = AuthDemo::start();
    let words = [
        "auth",
        "login",
        &demo.url,
        "--client-id",
        "-x",
        "--client-secret-env",
        "NO_SUCH",
    ];
    let missing = demo.run(&words).ends(2);
    assert!(missing.err.contains("NO_SUCH is not set"), "{missing:#?}");
    let words = [&words[..6], &["TURNBUCKLE_TEST_SECRET", "--no-browser"]].concat();
    let mut command = demo.command(&words);
    command.env("TURNBUCKLE_TEST_SECRET", "a-client-secret");
    // An id may begin with a hyphen, as that of a server that draws it at random. The user refuses.
    let refused = LoggedIn::run(command, |url| {
        let state = parameter(url, "state");
        let issuer = &demo.issuer;
        format!("http://127.0.0.1/callback?error=access_denied&state={state}&iss={issuer}")
    });
    assert_eq!(refused.parameter("client_id"), "-x");
    let refused = refused.run.ends(3);
    assert!(refused.err.contains("access_denied"), "{refused:#?}");
    assert!(refused.err.contains("auth debug"), "{refused:#?}");
    assert!(
        !format!("{refused:?}").contains("a-client-secret"),
        "{refused:#?}"
    );
}

#[test]
fn more_scopes_are_named_in_the_tip() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    demo.log_in(&["auth", "login", url]).run.ends(0);
    let refused = demo.run(&["call", url, "write_note", "text=hi"]).ends(3);
    assert!(
        refused.err.contains("more scopes (HTTP 403)"),
        "{refused:#?}"
    );
    assert!(refused.err.contains("--scope demo:write`"), "{refused:#?}");
    let verbose = demo
        .run(&["call", url, "write_note", "text=hi", "-v"])
        .ends(3);
    assert!(verbose.err.contains("resource metadata"), "{verbose:#?}");
    let words = ["auth", "login", url, "--scope", "demo:write"];
    let login = demo.log_in(&words);
    assert_eq!(login.parameter("scope"), "demo:read demo:write");
    demo.run(&["call", url, "write_note", "text=hi"]).ends(0);
    assert_eq!(demo.run(&["call", url, "read_note"]).ends(0).out, "hi\n");
}

#[test]
fn debug_prints_each_step_and_the_fix() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    let stored = demo.run(&["auth", "debug", url]).ends(3);
    assert!(stored.out.contains("FAILED  authorization"), "{stored:#?}");
    assert!(stored.out.contains("fix"), "{stored:#?}");
    let login = demo.log_in(&["auth", "debug", url]).run.ends(0);
    for step in ["challenge", "resource metadata", "registration", "token"] {
        assert!(
            login.out.contains(&format!("ok      {step}:")),
            "{login:#?}"
        );
    }
    assert!(
        login.out.contains("The server accepts the token."),
        "{login:#?}"
    );
    let login = demo
        .log_in(&["auth", "debug", url, "-o", "json"])
        .run
        .ends(0);
    let report: Value = serde_json::from_str(&login.out).expect("it is JSON");
    assert_eq!(report["succeeded"], true);
    assert_eq!(report["status"]["valid"], true);
    let steps = report["steps"].as_array().expect("there are steps");
    assert!(
        steps.iter().all(|step| step["succeeded"] == true),
        "{report}"
    );
    let token = demo.token();
    assert!(!format!("{login:?}{stored:?}").contains(&token));

    let open = HttpDemo::start();
    let free = open.run("auth", &[]).code;
    assert_eq!(free, Some(2), "a URL is no command");
    let free = demo.run(&["auth", "debug", &open.url]).ends(0);
    assert!(free.out.contains("without a login"), "{free:#?}");
    let free = demo.run(&["auth", "login", &open.url]).ends(1);
    assert!(free.err.contains("needs no login"), "{free:#?}");
}

#[test]
fn a_name_from_a_file_is_enough_and_its_key_stays_hidden() {
    let demo = AuthDemo::start();
    let text = serde_json::json!({"mcpServers": {
        "plain": {"url": demo.url},
        "keyed": {"url": format!("{}?key=a-secret-key", demo.url)},
    }});
    let file = demo.home.file("mcp.json", &text.to_string());
    let refused = demo.run(&["info", "plain", "-c", &file]).ends(3);
    let tip = format!("`turnbuckle auth login --config {file} plain`");
    assert!(refused.err.contains(&tip), "{refused:#?}");
    demo.log_in(&["auth", "login", "plain", "-c", &file])
        .run
        .ends(0);
    demo.run(&["info", "plain", "-c", &file]).ends(0);
    demo.run(&["info", &demo.url]).ends(0);
    for words in [&["info"][..], &["auth", "status"], &["auth", "logout"]] {
        let run = demo.run(&[words, &["keyed", "-c", &file]].concat());
        assert!(!format!("{run:?}").contains("a-secret-key"), "{run:#?}");
    }
}

#[test]
fn a_token_can_be_bound_to_a_key() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    let words = ["auth", "login", url, "--dpop", "-o", "json"];
    let login = demo.log_in(&words).run.ends(0);
    assert_eq!(login.json()["keyBound"], true);
    demo.run(&["call", url, "whoami"]).ends(0);
    let token = demo.run(&["auth", "token", url]).ends(0);
    assert!(token.err.contains("DPoP"), "{token:#?}");
    // Without a proof of the key the token is of no use.
    let words = ["info", url, "--bearer-env", "TURNBUCKLE_TEST_TOKEN"];
    let stolen = demo
        .command(&words)
        .env("TURNBUCKLE_TEST_TOKEN", token.out.trim())
        .output();
    Run::new(stolen.expect("the tool runs")).ends(3);
}

#[test]
fn the_json_error_has_the_steps_on_demand() {
    let demo = AuthDemo::start();
    let brief = demo.run(&["info", &demo.url, "-o", "json"]).ends(3);
    assert!(brief.error()["steps"].is_null());
    let verbose = demo.run(&["info", &demo.url, "-o", "json", "-v"]).ends(3);
    let steps = verbose.error()["steps"].clone();
    assert_eq!(steps[0]["step"], "challenge", "{steps}");
    assert!(steps.as_array().is_some_and(|steps| steps.len() > 2));
}

#[test]
fn the_trace_hides_the_tokens_of_a_login() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    demo.log_in(&["auth", "login", url]).run.ends(0);
    let token = demo.token();
    let trace = demo.home.name("trace.jsonl");
    let message = format!("message=it is {token}!");
    let echo = demo.run(&["call", url, "echo", &message, "--trace", &trace]);
    assert!(echo.ends(0).out.contains(&token), "the server sent it back");
    let trace = std::fs::read_to_string(trace).expect("it was written");
    assert!(trace.contains("it is [redacted]!"), "{trace}");
    assert!(!trace.contains(&token));
}

#[test]
fn a_header_of_the_user_replaces_the_login() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    demo.log_in(&["auth", "login", url]).run.ends(0);
    let token = demo.token();
    demo.run(&["auth", "logout", url]).ends(0);
    let words = [
        "call",
        url,
        "whoami",
        "--bearer-env",
        "TURNBUCKLE_TEST_TOKEN",
    ];
    let call = demo
        .command(&words)
        .env("TURNBUCKLE_TEST_TOKEN", &token)
        .output();
    Run::new(call.expect("the tool runs")).ends(0);
    let call = demo
        .command(&words)
        .env("TURNBUCKLE_TEST_TOKEN", "wrong")
        .output();
    let refused = Run::new(call.expect("the tool runs")).ends(3);
    assert!(refused.err.contains("--bearer-env"), "{refused:#?}");
}

#[test]
fn nothing_is_stored_for_a_server_without_a_login() {
    let demo = HttpDemo::start();
    let home = Scratch::new();
    let call = command(&["call", &demo.url, "echo", "message=hi"])
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path())
        .env("LOCALAPPDATA", home.path())
        .output();
    Run::new(call.expect("the tool runs")).ends(0);
    let mut files = std::fs::read_dir(home.path()).expect("it is there");
    assert!(files.next().is_none());
}

#[test]
fn tokens_are_never_sent_without_encryption() {
    for verb in ["login", "logout", "status", "token", "debug"] {
        let refused = run(&["auth", verb, "http://mcp.example.com/mcp"]).ends(2);
        assert!(refused.err.contains("without encryption"), "{refused:#?}");
        run(&["auth", verb, "--", "server"]).ends(2);
    }
}

#[test]
fn the_test_server_prints_a_warning() {
    let mut child = command(&["auth", "serve-test", "--port", "0", "--scope", "a:read"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut banner = BufReader::new(child.stdout.take().expect("it has an output"));
    let mut seen = String::new();
    while !seen.contains("Ctrl-C") {
        assert_ne!(banner.read_line(&mut seen).expect("it is UTF-8"), 0);
    }
    let _ = child.kill();
    let _ = child.wait();
    assert!(seen.contains("Never use it in production"), "{seen}");
    assert!(seen.contains("\nhttp://127.0.0.1:"), "{seen}");
}

/// Starts a server that asks for a login, and then for one more scope. Returns its URL.
fn demanding_server(issuer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    let url = format!("http://{address}/mcp");
    let resource = url.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let _ = demand(connection, &resource, &issuer);
        }
    });
    url
}

fn demand(mut connection: TcpStream, resource: &str, issuer: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let before = head.len();
        reader.read_line(&mut head)?;
        let line = head[before..].trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let head = head.to_lowercase();
    let (status, challenge, body) = if head.contains("/.well-known/oauth-protected-resource/mcp") {
        let metadata = json!({"resource": resource, "authorization_servers": [issuer]});
        ("200 OK", "", metadata.to_string())
    } else if head.contains("\nauthorization: bearer") {
        let challenge = "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"more\"\r\n";
        ("403 Forbidden", challenge, String::new())
    } else {
        (
            "401 Unauthorized",
            "www-authenticate: Bearer\r\n",
            String::new(),
        )
    };
    let size = body.len();
    write!(
        connection,
        "HTTP/1.1 {status}\r\n{challenge}content-type: application/json\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[test]
fn a_second_login_of_one_command_has_made_no_mistake_yet() {
    let runtime = tokio::runtime::Runtime::new().expect("it starts");
    let issuer = TestAuthorizationServer::builder().auto_approve(true);
    let issuer = runtime.block_on(issuer.start()).expect("it starts");
    let url = demanding_server(issuer.issuer().to_owned());
    let home = Scratch::new();
    let home = home.path().to_str().expect("it is UTF-8");
    let mut command = command(&["auth", "debug", &url, "--no-browser"]);
    for name in ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"] {
        command.env(name, home);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    let mut input = child.stdin.take().expect("it has an input");
    let lines = BufReader::new(child.stderr.take().expect("it has an output")).lines();
    let (mut seen, mut logins) = (String::new(), 0);
    for line in lines {
        let line = line.expect("it is UTF-8");
        if line.trim().starts_with("http://") {
            logins += 1;
            writeln!(input, "{}", redirect_of(line.trim())).expect("it reads");
        }
        seen += &line;
    }
    child.wait().expect("it ends");
    assert_eq!(logins, 2, "{seen}");
    assert!(!seen.contains("This is not the address"), "{seen}");
}

#[test]
fn a_name_that_is_not_listed_is_tried_where_the_caller_is_logged_in() {
    let demo = AuthDemo::start();
    let url = &*demo.url;
    demo.log_in(&["auth", "login", url]).run.ends(0);
    let unknown = demo.run(&["call", url, "whoamy"]).ends(5);
    // The server was asked, and its list has one with almost the same name.
    assert!(!unknown.err.contains("has no tool"), "{unknown:#?}");
    assert!(unknown.err.contains("whoami"), "{unknown:#?}");
    let open = HttpDemo::start();
    let unknown = run(&["call", &open.url, "ecko"]).ends(5);
    assert!(unknown.err.contains("has no tool \"ecko\""), "{unknown:#?}");
    for words in [
        &["prompt", url, "cod", "number=1"][..],
        &["complete", url, "cod", "a=1"],
    ] {
        let unknown = demo.run(words).ends(5);
        assert!(!unknown.err.contains("has no prompt"), "{unknown:#?}");
    }
    for words in [
        &["prompt", &open.url, "test_simple_promp"][..],
        &["complete", &open.url, "test_simple_promp", "a=1"],
    ] {
        let unknown = run(words).ends(5);
        let text = "has no prompt \"test_simple_promp\"";
        assert!(unknown.err.contains(text), "{unknown:#?}");
        assert!(
            unknown.err.contains("\"test_simple_prompt\""),
            "{unknown:#?}"
        );
    }
}
