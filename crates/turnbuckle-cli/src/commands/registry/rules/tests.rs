use serde_json::json;

use super::*;

fn valid() -> Value {
    json!({
        "$schema": SCHEMA,
        "name": "com.example/notes",
        "title": "Notes",
        "description": "Keeps notes",
        "version": "1.0.0-rc.1+5",
        "websiteUrl": "https://example.com/notes",
        "repository": {"url": "https://gitlab.com/example/group/notes", "source": "gitlab", "subfolder": "a/b"},
        "icons": [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"]}],
        "packages": [
            {
                "registryType": "npm",
                "identifier": "@example/notes",
                "version": "1.0.0",
                "runtimeHint": "npx",
                "transport": {"type": "streamable-http", "url": "http://127.0.0.1:{--port}/{TENANT}/{count}"},
                "packageArguments": [
                    {"type": "named", "name": "--port", "format": "number", "default": "80", "isRequired": true},
                    {"type": "positional", "valueHint": "folder", "choices": ["a", "b"]},
                    {"type": "positional", "value": "{x}", "variables": {"x": {"description": "X"}}},
                    {"type": "named", "name": "--more", "valueHint": "count", "isRepeated": true},
                ],
                "environmentVariables": [{"name": "TENANT", "isSecret": true}],
            },
            {"registryType": "oci", "identifier": "example.com/notes:1.0.0", "transport": {"type": "stdio"}},
        ],
        "remotes": [{
            "type": "sse",
            "url": "https://{region}.example.com/sse",
            "headers": [{"name": "X-Key", "isSecret": true}],
            "variables": {"region": {"choices": ["eu"]}},
        }],
        "_meta": {PUBLISHER_META: {"tool": "x"}},
    })
}

/// Returns the findings after a change of the valid document.
fn findings_after(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut document = valid();
    change(&mut document);
    let findings = check(&document);
    findings
        .iter()
        .map(|finding| {
            let word = if finding.is_error { "error" } else { "warning" };
            format!("{word} {}: {}", finding.path, finding.message)
        })
        .collect()
}

#[test]
fn a_valid_document_has_no_findings() {
    assert_eq!(findings_after(|_| ()), <[&str; 0]>::default());
}

/// Asserts that a value at a path leads to one finding with these texts.
#[track_caller]
fn assert_finding(path: &str, value: Value, expected: &str) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let found = findings_after(|document| {
        let parent = document.pointer_mut(parent).unwrap();
        let name = name.replace("~1", "/");
        match (parent, value) {
            (Value::Object(members), Value::Null) => {
                members.remove(&name);
            }
            (Value::Object(members), value) => {
                members.insert(name, value);
            }
            (Value::Array(values), value) => values[name.parse::<usize>().unwrap()] = value,
            (other, _) => panic!("{other}"),
        }
    });
    assert_eq!(found.len(), 1, "{path}: {found:?}");
    assert!(found[0].starts_with(expected), "{path}: {found:?}");
}

#[test]
fn each_rule_is_reported_at_its_place() {
    let long = "x".repeat(101);
    let range = |text: &str| format!("error /packages/0/version: {text:?} is a range");
    for (path, value, expected) in [
        ("/$schema", json!(null), "error : \"$schema\" is missing"),
        (
            "/$schema",
            json!("https://static.modelcontextprotocol.io/schemas/2025-09-16/server.schema.json"),
            "warning /$schema: a newer one",
        ),
        ("/$schema", json!("other"), "error /$schema: the schema is"),
        (
            "/name",
            json!("notes"),
            "error /name: a name has a namespace",
        ),
        (
            "/name",
            json!("com.example/a/b"),
            "error /name: a name has one '/'",
        ),
        (
            "/name",
            json!("example/ab"),
            "error /name: the namespace is a domain",
        ),
        (
            "/name",
            json!("com.example/a b"),
            "error /name: after the '/'",
        ),
        (
            "/name",
            json!("-com.example/ab"),
            "error /name: the namespace is a domain",
        ),
        (
            "/name",
            json!("com..example/ab"),
            "error /name: the namespace is a domain",
        ),
        (
            "/name",
            json!("com.example/a"),
            "error /name: after the '/' stand at least two",
        ),
        (
            "/name",
            json!("com.example/ab-"),
            "error /name: after the '/'",
        ),
        (
            "/name",
            json!("com.example/_ab"),
            "error /name: after the '/'",
        ),
        (
            "/description",
            json!(long),
            "error /description: 101 characters are more than 100",
        ),
        (
            "/description",
            json!(""),
            "error /description: the text is empty",
        ),
        (
            "/description",
            json!(1),
            "error /description: a text is needed",
        ),
        ("/title", json!(long), "error /title: 101 characters"),
        (
            "/version",
            json!("latest"),
            "error /version: \"latest\" is no version",
        ),
        (
            "/version",
            json!("2026.11"),
            "warning /version: not a semantic version",
        ),
        (
            "/version",
            json!("01.2.3"),
            "warning /version: not a semantic version",
        ),
        (
            "/websiteUrl",
            json!("http://example.com"),
            "error /websiteUrl: \"http://example.com\" is not an https URL",
        ),
        (
            "/repository/source",
            json!(null),
            "error /repository: \"source\" is missing",
        ),
        (
            "/repository/source",
            json!("bitbucket"),
            "error /repository/source: \"bitbucket\" is none of github, gitlab",
        ),
        (
            "/repository/source",
            json!("github"),
            "error /repository/url: \"https://gitlab.com/example/group/notes\" is not https://github.com/",
        ),
        (
            "/repository/url",
            json!("https://gitlab.com/example"),
            "error /repository/url: \"https://gitlab.com/example\" is not",
        ),
        (
            "/repository/url",
            json!("http://gitlab.com/example/notes"),
            "error /repository/url: \"http://gitlab.com/example/notes\" is not",
        ),
        (
            "/repository/url",
            json!("https://gitlab.com.example.com/a/b"),
            "error /repository/url: \"https://gitlab.com.example.com/a/b\" is not",
        ),
        (
            "/repository/subfolder",
            json!("../x"),
            "error /repository/subfolder: a folder inside",
        ),
        (
            "/icons/0/src",
            json!("data:,x"),
            "error /icons/0/src: \"data:,x\" is not an https URL",
        ),
        (
            "/icons/0/mimeType",
            json!("image/gif"),
            "error /icons/0/mimeType: \"image/gif\" is none of",
        ),
        (
            "/icons/0/sizes",
            json!(["48"]),
            "error /icons/0/sizes/0: a size is",
        ),
        (
            "/icons/0/theme",
            json!("blue"),
            "error /icons/0/theme: \"blue\" is none of",
        ),
        (
            "/packages",
            json!({"npm": {}}),
            "error /packages: a list is needed here, not an object",
        ),
        (
            "/packages/0",
            json!(1),
            "error /packages/0: an object is needed",
        ),
        (
            "/packages/0/registryType",
            json!("gem"),
            "error /packages/0/registryType: \"gem\" is none of",
        ),
        (
            "/packages/0/identifier",
            json!(null),
            "error /packages/0: \"identifier\" is missing",
        ),
        (
            "/packages/0/identifier",
            json!("@example/ notes"),
            "error /packages/0/identifier: an identifier has no spaces",
        ),
        (
            "/packages/1/registryBaseUrl",
            json!("https://example.com"),
            "error /packages/1/registryBaseUrl: the identifier has the address",
        ),
        (
            "/packages/0/version",
            json!(null),
            "error /packages/0: \"version\" is missing",
        ),
        ("/packages/0/version", json!("^1.0"), &*range("^1.0")),
        ("/packages/0/version", json!("1.x"), &*range("1.x")),
        (
            "/packages/0/version",
            json!("1.0.0-next.1"),
            "error /packages/0/version: \"1.0.0-next.1\" has an 'x'",
        ),
        (
            "/version",
            json!("2.0.0-experimental"),
            "error /version: \"2.0.0-experimental\" has an 'x'",
        ),
        (
            "/packages/0/fileSha256",
            json!("AB"),
            "error /packages/0/fileSha256: a hash has 64",
        ),
        (
            "/packages/0/runtime_hint",
            json!("npx"),
            "error /packages/0/runtime_hint: the name is written \"runtimeHint\"",
        ),
        (
            "/packages/0/transport",
            json!(null),
            "error /packages/0: \"transport\" is missing",
        ),
        (
            "/packages/0/transport/type",
            json!("http"),
            "error /packages/0/transport/type: \"http\" is none of",
        ),
        (
            "/packages/0/transport/url",
            json!("http://127.0.0.1/{no}"),
            "error /packages/0/transport/url: {no} is not the name",
        ),
        (
            "/packages/0/transport/url",
            json!("http://127.0.0.1:{port}/"),
            "error /packages/0/transport/url: {port} is not the name of a variable; did you mean {--port}?",
        ),
        (
            "/packages/0/packageArguments/3/name",
            json!("--more <n>"),
            "error /packages/0/packageArguments/3/name: a name is the option alone",
        ),
        (
            "/packages/0/packageArguments/3/name",
            json!("--more=$MORE"),
            "error /packages/0/packageArguments/3/name: a name is the option alone",
        ),
        (
            "/packages/0/packageArguments/0/default",
            json!("--port 80"),
            "error /packages/0/packageArguments/0/default: the name stands before",
        ),
        (
            "/packages/0/packageArguments/3/value",
            json!("--more=1"),
            "error /packages/0/packageArguments/3/value: the name stands before",
        ),
        (
            "/packages/0/packageArguments/1/valueHint",
            json!(null),
            "error /packages/0/packageArguments/1: a positional argument",
        ),
        (
            "/packages/0/packageArguments/1/type",
            json!("flag"),
            "error /packages/0/packageArguments/1/type: \"flag\" is none of",
        ),
        (
            "/packages/0/packageArguments/1/format",
            json!("path"),
            "error /packages/0/packageArguments/1/format: \"path\" is none of",
        ),
        (
            "/packages/0/packageArguments/1/isRequired",
            json!("yes"),
            "error /packages/0/packageArguments/1/isRequired: true or false",
        ),
        (
            "/packages/0/packageArguments/2/variables",
            json!({}),
            "warning /packages/0/packageArguments/2/value: {x} is not one of",
        ),
        (
            "/packages/0/environmentVariables/0/default",
            json!("x"),
            "warning /packages/0/environmentVariables/0: everybody reads",
        ),
        (
            "/packages/1/version",
            json!("1.0.0"),
            "error /packages/1/version: the version of an image",
        ),
        (
            "/packages/1/transport/url",
            json!("https://x"),
            "error /packages/1/transport/url: a server on standard",
        ),
        (
            "/remotes/0/type",
            json!("stdio"),
            "error /remotes/0/type: \"stdio\" is none of",
        ),
        (
            "/remotes/0/url",
            json!(null),
            "error /remotes/0: \"url\" is missing",
        ),
        (
            "/remotes/0/url",
            json!("http://localhost:80/"),
            "error /remotes/0/url: nobody else reaches",
        ),
        (
            "/remotes/0/url",
            json!("http://{region}.example.com/sse"),
            "error /remotes/0/url: the URL of a remote server begins with https://",
        ),
        (
            "/remotes/0/url",
            json!("http://example.com/{region}"),
            "error /remotes/0/url: the URL of a remote server begins with https://",
        ),
        (
            "/remotes/0/url",
            json!("ftp://x"),
            "error /remotes/0/url: \"ftp://x\" is not an http or https URL",
        ),
        (
            "/_meta/other",
            json!({}),
            "error /_meta/other: a publisher writes",
        ),
        (
            "/_meta/io.modelcontextprotocol.registry~1publisher-provided",
            json!("x".repeat(5000)),
            "error /_meta/io.modelcontextprotocol.registry~1publisher-provided: 5002 bytes",
        ),
        (
            "/licence",
            json!("MIT"),
            "warning /licence: no reader knows this",
        ),
        (
            "/remote",
            json!([]),
            "warning /remote: no reader knows this; did you mean \"remotes\"?",
        ),
    ] {
        assert_finding(path, value, expected);
    }
}

#[test]
fn an_x_that_is_no_wildcard_is_taken() {
    for version in ["1.0.0+next.1", "1.0.0-next_1", "1.0.0.1-next", "1-next"] {
        let found = findings_after(|document| {
            document["packages"][0]["version"] = json!(version);
        });
        assert_eq!(found, <[&str; 0]>::default(), "{version}");
    }
}

#[test]
fn a_document_that_names_no_server_is_warned_of() {
    let found = findings_after(|document| {
        document["packages"] = json!([]);
        document["remotes"] = json!([]);
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("warning : there is neither"),
        "{found:?}"
    );
}

#[test]
fn a_bundle_names_its_file_and_its_hash() {
    let found = findings_after(|document| {
        document["packages"] = json!([{"registryType": "mcpb", "identifier": "notes", "transport": {"type": "stdio"}}]);
    });
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("fileSha256"), "{found:?}");
    assert!(found[1].contains("/packages/0/identifier"), "{found:?}");
}
