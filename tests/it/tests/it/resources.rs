//! Resources: what may be read, by whom, and what is said of what is not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Failure, HandlerContext, ReadRequest, Resource, Server, ServerBuilder};
use turnbuckle_types::ProtocolError;

use crate::support::{code, connect_as, list_values, message, missing_name_code, result};

fn builder() -> ServerBuilder {
    Server::new("resources", "1.0.0")
}

async fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({"uri": uri})).await
}

// requirement: 50110d42ea08
#[tokio::test(start_paused = true)]
async fn a_blob_is_base64() {
    let bytes: Vec<u8> = (0..=255).chain([0, 255, 254]).collect();
    let kept = bytes.clone();
    let server = builder()
        .resource(
            Resource::builder("data:bytes", "bytes")
                .handler(move |_: ReadRequest, _: HandlerContext| {
                    let bytes = kept.clone();
                    async move { bytes }
                })
                .mime_type("application/octet-stream"),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = read(&mut client, "data:bytes").await;
        let contents = &result(&answer)["contents"][0];
        assert_eq!(contents["uri"], "data:bytes");
        assert_eq!(contents["mimeType"], "application/octet-stream");
        assert_eq!(contents.get("text"), None);
        assert_eq!(
            from_base64(contents["blob"].as_str().unwrap()),
            bytes,
            "{case}"
        );
    }
}

/// Decodes the strict Base64 of RFC 4648, section 4.
fn from_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert_eq!(text.len() % 4, 0);
    let digits = text.trim_end_matches('=');
    let mut bits = 0u32;
    let mut bytes = Vec::new();
    for (at, digit) in digits.bytes().enumerate() {
        let value = ALPHABET
            .iter()
            .position(|it| *it == digit)
            .expect("a digit");
        bits = (bits << 6) | u32::try_from(value).unwrap();
        if at % 4 != 0 {
            bytes.push(u8::try_from((bits >> (6 - 2 * (at % 4))) & 0xff).unwrap());
        }
    }
    bytes
}

// requirement: dc2c9c6aa9c4
#[test]
fn a_malformed_uri_is_refused_at_registration() {
    let at = |uri: &str| {
        Resource::builder(uri.to_owned(), "r").handler(async |_: ReadRequest, _: HandlerContext| "")
    };
    for uri in ["file:///a%20b", "note:1", "git+ssh://host/x?y=[1]#z"] {
        assert!(builder().resource(at(uri)).build().is_ok(), "{uri}");
    }
    for uri in [
        "",
        "notes/1",
        "/etc/passwd",
        "1a:b",
        ":x",
        "a b:c",
        "note:a b",
        "note:é",
        "note:%2",
        "note:%zz",
        "note:}x",
        "note:<x>",
        "note:\"",
    ] {
        assert!(builder().resource(at(uri)).build().is_err(), "{uri}");
        let running = builder().dynamic_resources().build().unwrap();
        assert!(running.add_resource(at(uri)).is_err(), "{uri}");
    }
    for uri in ["file:///{path}", "note:{id}{?page}", "{+uri}"] {
        assert!(builder().resource(at(uri)).build().is_ok(), "{uri}");
    }
    for uri in [
        "",
        "notes/{id}",
        "/{path}",
        "1a:{b}",
        "note:{",
        "note:}",
        "note:{a b}",
        "note:{}",
    ] {
        assert!(builder().resource(at(uri)).build().is_err(), "{uri}");
    }
}

/// Creates a server with one resource and a greedy template, and a count of their reads.
fn reading() -> (Server, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let counting = |reads: &Arc<AtomicUsize>| {
        let reads = reads.clone();
        move |reading: ReadRequest, _: HandlerContext| {
            reads.fetch_add(1, Ordering::Relaxed);
            async move {
                match reading.variables.text("path") {
                    Some("gone") => Err(ProtocolError::resource_not_found(reading.uri)),
                    _ => Ok(reading.uri),
                }
            }
        }
    };
    let server = builder()
        .resource(Resource::builder("note:1", "one").handler(counting(&reads)))
        .resource(Resource::builder("file:///{+path}", "files").handler(counting(&reads)))
        .build()
        .unwrap();
    (server, reads)
}

// requirement: aa1e734cead3
#[tokio::test(start_paused = true)]
async fn a_malformed_uri_is_refused_on_read() {
    let (server, reads) = reading();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let too_long = format!("file:///{}", "x".repeat(4096));
        for uri in [
            "",
            "note",
            "file:///a b",
            "file:///é",
            "file:///%2",
            "file:///a\\b",
            "file:///\u{0}",
            &too_long,
        ] {
            let answer = read(&mut client, uri).await;
            assert_eq!(code(&answer), -32602, "{case} {uri:?}");
            assert!(answer.to_string().len() < 500, "{case} {uri:?}");
        }
        for params in [
            json!({}),
            json!({"uri": 5}),
            json!({"uri": null}),
            json!({"uri": []}),
        ] {
            let answer = client.request("resources/read", params).await;
            assert_eq!(code(&answer), missing_name_code(case), "{case}");
        }
        assert_eq!(reads.load(Ordering::Relaxed), 0, "{case}");
        let good = read(&mut client, "file:///a%20b").await;
        assert_eq!(
            result(&good)["contents"][0]["text"],
            "file:///a%20b",
            "{case}"
        );
        reads.store(0, Ordering::Relaxed);
    }
}

// requirement: 00cf43c0f6f1 9ca2e5bd8369
#[tokio::test(start_paused = true)]
async fn a_missing_resource_has_its_revisions_code() {
    let (server, _) = reading();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let own = case.revision.features().resource_not_found_code;
        for uri in ["note:2", "unknown:///x", "file:///gone"] {
            let answer = read(&mut client, uri).await;
            assert_eq!(
                code(&answer),
                if own { -32002 } else { -32602 },
                "{case} {uri}"
            );
            assert_eq!(answer["error"]["data"]["uri"], uri, "{case}");
        }
    }
}

// requirement: 0a6c1e42f075
#[tokio::test(start_paused = true)]
async fn a_missing_resource_is_never_empty() {
    let (server, _) = reading();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for uri in ["note:2", "note:", "unknown:///x", "file:///gone", "file:"] {
            let answer = read(&mut client, uri).await;
            assert!(answer.get("result").is_none(), "{case} {uri}: {answer}");
        }
    }
    // Nor is one that was taken away.
    assert!(server.remove_resource("note:1") && server.remove_resource("file:///{+path}"));
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for uri in ["note:1", "file:///a"] {
            code(&read(&mut client, uri).await);
        }
    }
}

// requirement: f2887cafcbe1
#[tokio::test(start_paused = true)]
async fn a_list_has_the_items_that_the_client_may_see() {
    let says = async |_: ReadRequest, _: HandlerContext| "ran";
    let server = builder()
        .resource(Resource::builder("note:all", "all").handler(says))
        .resource(
            Resource::builder("note:ada", "adas")
                .handler(says)
                .visible_to(|who| who.is_some_and(|who| who.subject == "ada")),
        )
        .resource(
            Resource::builder("ada:{id}", "adas")
                .handler(says)
                .visible_to(|who| who.is_some_and(|who| who.subject == "ada")),
        )
        .resource(
            Resource::builder("note:scoped", "scoped")
                .handler(says)
                .scope("write"),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let seen: [(Client, &[&str], &[&str]); 3] = [
            (
                Client::connect(case, &server).await,
                &["note:all", "note:scoped"],
                &[],
            ),
            (
                connect_as(case, &server, "bob").await,
                &["note:all", "note:scoped"],
                &[],
            ),
            (
                connect_as(case, &server, "ada").await,
                &["note:all", "note:ada", "note:scoped"],
                &["ada:{id}"],
            ),
        ];
        for (mut client, uris, templates) in seen {
            for _ in 0..2 {
                let list = client.request("resources/list", json!({})).await;
                assert_eq!(list_values(&list, "resources", "uri"), uris, "{case}");
                let list = client.request("resources/templates/list", json!({})).await;
                assert_eq!(
                    list_values(&list, "resourceTemplates", "uriTemplate"),
                    templates
                );
            }
            let sees = !templates.is_empty();
            let missing = read(&mut client, "note:nothing").await;
            for uri in ["note:ada", "ada:1"] {
                let answer = read(&mut client, uri).await;
                if sees {
                    assert_eq!(result(&answer)["contents"][0]["text"], "ran", "{case}");
                } else {
                    assert_eq!(code(&answer), code(&missing), "{case}");
                    assert_eq!(message(&answer), message(&missing), "{case}");
                }
            }
            let scoped = read(&mut client, "note:scoped").await;
            assert!(message(&scoped).contains("write"), "{case}");
            if !case.is_modern() {
                let params = json!({"uri": "note:scoped"});
                let scoped = client.request("resources/subscribe", params).await;
                assert!(message(&scoped).contains("write"), "{case}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_template_gives_its_variables_and_the_first_that_fits_reads() {
    let server = builder()
        .resource(
            Resource::builder("repo://{owner}/{+path}{?rev}", "files").handler(
                async |reading: ReadRequest, _: HandlerContext| {
                    let of = |name| reading.variables.text(name).unwrap_or("-").to_owned();
                    format!("{} {} {}", of("owner"), of("path"), of("rev"))
                },
            ),
        )
        .resource(
            Resource::builder("repo://{+rest}", "rest")
                .handler(async |_: ReadRequest, _: HandlerContext| "the second"),
        )
        .resource(
            Resource::builder("repo://ada/README", "readme")
                .handler(async |_: ReadRequest, _: HandlerContext| "itself"),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for (uri, says) in [
            ("repo://ada/src/main.rs?rev=7", "ada src/main.rs 7"),
            ("repo://ada/a%20b", "ada a b -"),
            ("repo://ada/README", "itself"),
        ] {
            let answer = read(&mut client, uri).await;
            assert_eq!(result(&answer)["contents"][0]["text"], says, "{case} {uri}");
            assert_eq!(result(&answer)["contents"][0]["uri"], uri, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_read_is_an_internal_error() {
    let server = builder()
        .resource(Resource::builder("note:1", "one").handler(
            async |_: ReadRequest, _: HandlerContext| Err::<String, _>(Failure::new("disk full")),
        ))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = read(&mut client, "note:1").await;
        assert_eq!(code(&answer), -32603, "{case}");
        assert_eq!(message(&answer), "disk full", "{case}");
    }
}
