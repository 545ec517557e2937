//! `gateway` and `gateway check`.

use serde_json::json;

use crate::support::{Scratch, TOOL, run};

#[test]
fn check_prints_what_each_upstream_would_offer() {
    let folder = Scratch::new();
    let file = |name: &str, rules: &str| {
        let auth = "auth = { issuer = 'https://id.example', resource = 'https://mcp.example/mcp' }";
        let command = format!("command = ['{TOOL}', 'demo', '--stdio']");
        folder.file(
            name,
            &format!("{auth}\n[upstream.demo]\n{command}\n{rules}"),
        )
    };
    let good = file(
        "good.toml",
        "allow = ['echo']\nrename = { echo = 'say' }\nscopes = { echo = ['talk'] }",
    );
    let checked = run(&["gateway", "check", &good, "-o", "json"])
        .ends(0)
        .json();
    let tools = json!([{"name": "say", "ownName": "echo", "scopes": ["talk"]}]);
    assert_eq!(
        (&checked[0]["tools"], &checked[0]["resources"]),
        (&tools, &json!([]))
    );
    let text = run(&["gateway", "check", &good]).ends(0).out;
    assert!(
        text.contains("say  is echo, with the scopes talk"),
        "{text}"
    );

    let unused = file("unused.toml", "allow = ['echo', 'ehco']");
    let found = run(&["gateway", "check", &unused]).ends(1);
    assert!(
        found.out.contains("\"ehco\" matches none of its items"),
        "{found:?}"
    );
    for (rules, reason) in [
        ("deny = ['ehco']", "`deny`: \"ehco\" matches none"),
        (
            "scopes = { ehco = ['a'] }",
            "`scopes`: \"ehco\" matches none",
        ),
        (
            "rename = { echo = 'no name' }",
            "\"no name\", which is not valid",
        ),
    ] {
        let file = file("faulty.toml", rules);
        let error = run(&["gateway", "check", &file, "-o", "json"])
            .ends(1)
            .error();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(reason), "{message}");
    }
    let down = folder.file(
        "down.toml",
        "[upstream.gone]\nurl = 'http://127.0.0.1:9/mcp'",
    );
    run(&["gateway", "check", &down]).ends(7);
    let wrong = file("wrong.toml", "alow = []");
    let error = run(&["gateway", "check", &wrong, "-o", "json"])
        .ends(2)
        .error();
    let message = error["message"].as_str().unwrap();
    assert!(
        message.ends_with("line 4: unknown key \"alow\": did you mean \"allow\"?"),
        "{message}"
    );
}

#[test]
fn a_gateway_serves_the_servers_of_its_file() {
    let folder = Scratch::new();
    let text = format!(
        "audit = 'audit.jsonl'\n[upstream.demo]\ncommand = ['{TOOL}', 'demo', '--stdio']\n\
         allow = ['echo']"
    );
    let file = folder.file("gateway.toml", &text);
    let words = [
        "call",
        "demo__echo",
        "message=hello",
        "--",
        TOOL,
        "gateway",
        "--file",
        &file,
        "--stdio",
    ];
    assert_eq!(run(&words).ends(0).out.trim(), "hello");
    let audit = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert!(
        audit.contains("\"item\":\"echo\"") && !audit.contains("hello"),
        "{audit}"
    );
    let words = [
        "call",
        "search_tools",
        "query=echo",
        "--",
        TOOL,
        "gateway",
        "-f",
        &file,
        "--stdio",
        "--lazy",
    ];
    assert!(run(&words).ends(0).out.contains("demo__echo"));
}

#[test]
fn operations_that_are_left_out_are_named() {
    let folder = Scratch::new();
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "CRM", "version": "1"},
        "servers": [{"url": "https://crm.example.com"}],
        "paths": {
            "/contacts": {"get": {}},
            "/imports": {"post": {"requestBody": {"content": {"multipart/form-data": {}}}}},
        },
    });
    let document = folder.file("crm.json", &document.to_string());
    let line = "POST /imports is left out: its body has no media type of JSON, text or a form";
    let served = run(&["serve", "openapi", &document, "--stdio"]).ends(0);
    assert!(served.err.lines().any(|it| it == line), "{served:#?}");
    let file = folder.file("gateway.toml", "[upstream.crm]\nopenapi = 'crm.json'");
    let checked = run(&["gateway", "check", &file]).ends(0);
    assert!(checked.out.contains(line), "{checked:#?}");
}

#[test]
fn check_names_each_setting_that_cannot_work() {
    let folder = Scratch::new();
    for (settings, upstream, reason) in [
        (
            "listen = 'nonsense'",
            "",
            "`listen`: \"nonsense\" is no address",
        ),
        ("listen = '0.0.0.0:8000'", "", "with `allow_hosts`"),
        (
            "listen = 'unix:/nonexistent/a'",
            "",
            "there is no directory /nonexistent",
        ),
        (
            "audit = '/nonexistent/a'",
            "",
            "`audit`: /nonexistent/a: there is no directory",
        ),
        (
            "",
            "mode = 'per-principal'",
            "`mode = \"per-principal\"` needs `auth`",
        ),
        (
            "",
            "scopes = { echo = ['talk'] }",
            "`scopes` needs `auth`: without it, nobody has a scope",
        ),
        (
            "metrics = '/mcp'",
            "",
            "`metrics`: \"/mcp\" is a path of the server itself",
        ),
        ("metrics = '/livez'", "", "`metrics`: \"/livez\""),
        ("metrics = 'metrics'", "", "does not begin with a /"),
    ] {
        let text = format!(
            "{settings}\n[upstream.demo]\ncommand = ['{TOOL}', 'demo', '--stdio']\n{upstream}\n"
        );
        let file = folder.file("gateway.toml", &text);
        let checked = run(&["gateway", "check", &file]).ends(1);
        assert!(
            checked.err.contains(reason),
            "{settings}{upstream}: {checked:#?}"
        );
        if settings.contains("metrics") || !upstream.is_empty() {
            let refused = run(&["gateway", "-f", &file, "--port", "0"]).ends(2);
            assert!(refused.err.contains(reason), "{refused:#?}");
        }
    }
    let good = format!(
        "listen = '127.0.0.1:8000'\naudit = 'a'\nmetrics = '/m'\n[upstream.demo]\n\
         command = ['{TOOL}', 'demo', '--stdio']\n"
    );
    run(&["gateway", "check", &folder.file("good.toml", &good)]).ends(0);
}

#[cfg(unix)]
#[test]
fn a_headers_command_runs_beside_its_file_and_its_refusal_is_no_lack_of_a_login() {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::support::{Run, command};

    let folder = Scratch::new();
    let script = folder.file(
        "token",
        "#!/bin/sh\necho '{\"Authorization\": \"Bearer a\"}'\n",
    );
    let executable = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(script, executable).unwrap();
    let url = refusing_server();
    folder.file("headers.json", "{\"Authorization\": \"Bearer a\"}");
    for words in ["['./token']", "['cat', 'headers.json']"] {
        let text = format!("[upstream.crm]\nurl = '{url}'\nheaders_command = {words}\n");
        folder.file("gateway.toml", &text);
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        for (directory, file) in [
            (folder.path(), "gateway.toml".to_owned()),
            (folder.path(), "./gateway.toml".to_owned()),
            (
                folder.path().parent().unwrap(),
                format!("{name}/gateway.toml"),
            ),
        ] {
            let mut check = command(&["gateway", "check", &file]);
            let checked = check.current_dir(directory).output();
            let checked = Run::new(checked.expect("the tool runs")).ends(7);
            let has_reason = checked.out.contains("401") && !checked.out.contains("login");
            assert!(has_reason, "{words} {file}: {checked:#?}");
        }
    }
}

/// Starts a server that refuses every token, and returns its URL.
#[cfg(unix)]
fn refusing_server() -> String {
    use std::io::{BufRead as _, BufReader, Write as _};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        // A connection that ends with a body that nobody has read may take the response with it.
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("it connects");
            let lines = BufReader::new(stream.try_clone().expect("it can be cloned")).lines();
            let mut lines = lines.map_while(Result::ok);
            let _ = lines.find(String::is_empty);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n\
                  Content-Length: 0\r\nConnection: close\r\n\r\n",
            );
            open.push(stream);
        }
    });
    format!("http://{address}/mcp")
}

#[test]
fn a_file_that_cannot_be_used_is_named_without_its_secrets() {
    let folder = Scratch::new();
    let file = folder.file(
        "mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": \"TOKEN=hunter2\"}}}",
    );
    let wrong = run(&["gateway", "-f", &file, "--stdio"]).ends(2);
    assert!(wrong.err.contains("expected a table"), "{wrong:#?}");
    assert!(!wrong.err.contains("hunter2") && !wrong.err.contains("unknown key"));
    let file = folder.file(
        "gateway.toml",
        "[upstream.a]\ncommand = ['a']\nurl = 'https://b'",
    );
    let wrong = run(&["gateway", "-f", &file, "--stdio"]).ends(2);
    assert!(
        wrong
            .err
            .contains("gateway.toml: the upstream \"a\": it has `command` and `url`")
    );
}
