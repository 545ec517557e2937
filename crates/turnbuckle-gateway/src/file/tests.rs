use std::time::Duration;

use super::*;

/// The file of the guide.
const WHOLE: &str = r#"
listen = "127.0.0.1:8000"
auth = { issuer = "https://id.example.com", resource = "https://mcp.example.com/mcp" }
store = "sqlite:gateway.db"
keys_env = "TURNBUCKLE_KEYS"
audit = "stderr"
metrics = "/metrics"

[upstream.github]
url = "https://api.example.com/mcp"
mode = "per-principal"
allow = ["issues_*", "search"]
deny = ["issues_delete"]
rename = { issues_list = "issues" }
scopes = { "issues_*" = ["issues"] }
limits = { in_flight = 64, timeout = "30s", result_bytes = "4 MiB" }

[upstream.files]
command = ["turnbuckle", "serve", "filesystem", "/srv/docs"]
mode = "pool:8"
limits = { result_bytes = 4096 }
"#;

fn toml_error(text: &str) -> String {
    GatewayFile::parse_toml(text).unwrap_err().to_string()
}

fn json_error(text: &str) -> String {
    GatewayFile::parse_json(text).unwrap_err().to_string()
}

#[test]
fn a_whole_file_is_read() {
    let file = GatewayFile::parse_toml(WHOLE).unwrap();
    assert_eq!(file.auth.unwrap().resource, "https://mcp.example.com/mcp");
    let github = &file.upstream["github"];
    assert_eq!(github.mode, Some(UpstreamMode::PerPrincipal));
    assert_eq!(github.rename["issues_list"], "issues");
    assert_eq!(github.limits.timeout, Some(Time(Duration::from_secs(30))));
    assert_eq!(github.limits.result_bytes, Some(Size(4 << 20)));
    let files = &file.upstream["files"];
    assert_eq!(files.mode, Some(UpstreamMode::Pool(8)));
    assert_eq!(files.limits.result_bytes, Some(Size(4096)));
    assert_eq!(files.command.as_ref().unwrap()[1], "serve");
}

#[test]
fn json_has_the_same_names() {
    let text = r#"{
        // A comment.
        "listen": "unix:/run/mcp.sock",
        "upstream": {"a": {"command": ["a"], "limits": {"timeout": "5m"}}},
    }"#;
    let file = GatewayFile::parse_json(text).unwrap();
    assert_eq!(file.listen.as_deref(), Some("unix:/run/mcp.sock"));
    let timeout = file.upstream["a"].limits.timeout;
    assert_eq!(timeout, Some(Time(Duration::from_secs(300))));
}

#[test]
fn an_unknown_key_is_an_error_with_its_line_and_the_key_that_was_meant() {
    for (text, error) in [
        (
            "\nlisten = 'a'\nstroe = 'b'",
            "line 3: unknown key \"stroe\": did you mean \"store\"?",
        ),
        (
            "[upstream.a]\nurl = 'x'\nalow = ['a']",
            "line 3: unknown key \"alow\": did you mean \"allow\"?",
        ),
        (
            "[upstream.a]\nlimits = { time_out = '1s' }",
            "line 2: unknown key \"time_out\": did you mean \"timeout\"?",
        ),
        (
            "[auth]\nzzz = 1",
            "line 2: unknown key \"zzz\": the keys here are issuer, resource, scopes",
        ),
    ] {
        assert_eq!(toml_error(text), error);
    }
    let text = "{\"upstream\": {\n\"a\": {\"comand\": [\"x\"]}}}";
    assert_eq!(
        json_error(text),
        "line 2: unknown key \"comand\": did you mean \"command\"?"
    );
    let text = "{\"store\": \"a\",\n\"store\": \"b\"}";
    assert_eq!(json_error(text), "line 2: the key \"store\" is there twice");
}

#[test]
fn a_wrong_value_is_an_error_with_its_line() {
    for (text, error) in [
        ("[upstream.a]\nmode = 'pool'", "line 2: the modes are"),
        ("[upstream.a]\nmode = 'pool:0'", "line 2: the modes are"),
        (
            "[upstream.a.limits]\n\ntimeout = '5d'",
            "line 3: \"5d\": a time is",
        ),
        (
            "[upstream.a.limits]\ntimeout = '0s'",
            "line 2: \"0s\": a time must",
        ),
        (
            "[upstream.a.limits]\nresult_bytes = '4 MB'",
            "line 2: \"4 MB\": a size is",
        ),
        (
            "[upstream.a.limits]\nresult_bytes = 0",
            "line 2: \"0\": a size is",
        ),
        ("[upstream.a.limits]\nin_flight = -1", "line 2: "),
        ("[upstream.a]\nallow = 'a'", "line 2: "),
        ("listen = ", "line 1: "),
    ] {
        let found = toml_error(text);
        assert!(found.starts_with(error), "{text}: {found}");
    }
}

#[test]
fn no_error_and_no_debug_output_shows_a_secret() {
    let error = toml_error("[upstream.a]\nheaders = { A = 'hunter2', B = 3 }");
    assert!(!error.contains("hunter2"), "{error}");
    for key in ["headers", "env", "header_env", "header_principal", "limits"] {
        let expected = format!("line 2: `{key}`: found a text, expected a table");
        let text = format!("[upstream.a]\n{key} = 'Bearer hunter2, expected hunter2'");
        assert_eq!(toml_error(&text), expected);
        let text =
            format!("{{\"upstream\": {{\"a\": {{\n\"{key}\": \"Bearer hunter2, expected b\"}}}}}}");
        assert_eq!(json_error(&text), expected);
    }
    for text in [
        "[upstream.a]\nheader_principal = { A = 'hunter2' }",
        "[upstream.a]\ncommand = 'hunter2'",
        "upstream = 'hunter2'",
        "[upstream]\na = 'hunter2'",
        "store = ['hunter2']",
    ] {
        let error = toml_error(text);
        assert!(
            !error.contains("hunter2") && error.contains("expected"),
            "{error}"
        );
    }
    assert!(!json_error("\"hunter2\"").contains("hunter2"));
    let text = "store = 'redis://:hunter2@h'\n[upstream.a]\nurl = 'https://u:hunter2@h'\n\
                headers = { A = 'hunter2' }\nenv = { A = 'hunter2' }";
    let file = GatewayFile::parse_toml(text).unwrap();
    let shown = format!("{file:?}");
    assert!(
        !shown.contains("hunter2") && shown.contains("Secret(…)"),
        "{shown}"
    );
}

#[test]
fn the_size_and_the_depth_of_a_file_are_bounded() {
    let large = " ".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1);
    for error in [toml_error(&large), json_error(&large)] {
        assert!(error.contains("MAX_FILE_BYTES"), "{error}");
    }
    let deep = "[".repeat(100_000);
    toml_error(&format!("listen = {deep}"));
    json_error(&deep);
}
