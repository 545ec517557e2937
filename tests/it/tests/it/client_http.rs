//! Tests of the HTTP requests of our client, with every header.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use turnbuckle_it::coupled::{Coupled, Post, connect_over_http};
use turnbuckle_it::harness::{Bind, Case};
use turnbuckle_it::peer::{Peer, PeerConnectors, Step};

use turnbuckle_wire::revision::{EraKind, Revision};

use crate::client_support::{full_server, plain, settle};

fn cases_over(binding: Bind) -> Vec<Case> {
    let all = Case::all().into_iter();
    all.filter(|case| case.binding == binding).collect()
}

/// Does something of every kind, and says goodbye.
async fn converse(case: Case) -> Coupled {
    let client = Coupled::connect(case, &full_server(), plain()).await;
    client.list_tools().fetch_all().await.unwrap();
    client
        .call_tool("echo", &json!({"text": "x"}))
        .await
        .unwrap();
    client
        .call_tool("steps", &())
        .on_progress(|_| ())
        .await
        .unwrap();
    client.read_resource("a:1").await.unwrap();
    client.get_prompt("greet", [("name", "Ada")]).await.unwrap();
    let late = client
        .call_tool("forever", &())
        .idle_timeout(Duration::from_secs(1));
    assert!(late.await.unwrap_err().is_timeout(), "{case}");
    settle().await;
    client.close().await;
    client
}

// requirement: 178c17027890 50086e18c399 94434bc04ecb ab175fb19019 ab65bf122d5a fc144ea21389
#[tokio::test(start_paused = true)]
async fn every_message_is_a_post_of_its_own() {
    for case in cases_over(Bind::Http) {
        let client = converse(case).await;
        let posts = client.posts.with_verb("POST");
        let posted: Vec<_> = posts.iter().map(|post| post.message.clone()).collect();
        assert_eq!(posted, client.tap().sent_messages(), "{case}");
        for post in &posts {
            assert!(post.message.is_object(), "{case}");
            assert_eq!(post.path, "/mcp", "{case}");
            let accept = post.header("accept").unwrap();
            assert!(accept.contains("application/json"), "{case} {accept}");
            assert!(accept.contains("text/event-stream"), "{case} {accept}");
            assert_eq!(
                post.header("content-type"),
                Some("application/json"),
                "{case}"
            );
        }
        for get in client.posts.with_verb("GET") {
            let accept = get.header("accept").unwrap();
            assert!(accept.contains("text/event-stream"), "{case} {accept}");
        }
    }
}

// requirement: 0c0c56bab89d 271e08773c56 3847034bec20 5a7bf177e037 6e31bcd5db3a 97f9f9a880c6
// requirement: ae6b048f07f6 b03e98dffa11
#[tokio::test(start_paused = true)]
async fn a_session_travels_with_everything_after_the_handshake_and_is_ended() {
    for case in cases_over(Bind::Http)
        .into_iter()
        .filter(|case| case.is_legacy())
    {
        let client = converse(case).await;
        let all = client.posts.all();
        assert_eq!(all[0].method(), "initialize", "{case}");
        assert_eq!(all[0].header("mcp-session-id"), None, "{case}");
        let session = all[1].header("mcp-session-id").unwrap();
        for post in &all[1..] {
            assert_eq!(
                post.header("mcp-session-id"),
                Some(session),
                "{case} {post:?}"
            );
            if case.revision.features().version_header {
                let version = post.header("mcp-protocol-version");
                assert_eq!(version, Some(case.revision.as_str()), "{case} {post:?}");
            }
        }
        let ended = all.last().unwrap();
        assert_eq!(
            (&*ended.verb, client.posts.with_verb("DELETE").len()),
            ("DELETE", 1),
            "{case}"
        );
        assert!(
            !format!("{:?} {:?}", *client, client.server_info()).contains(session),
            "{case}"
        );
    }
}

// requirement: 32ff8c18720d 36dcb01d652e 51629ee2428a 6d367ec94155 813b2b4a4578 e9b58503fa7b
#[tokio::test(start_paused = true)]
async fn headers_mirror_the_method_and_name_of_a_modern_message() {
    for case in cases_over(Bind::Http)
        .into_iter()
        .filter(|case| case.is_modern())
    {
        let client = converse(case).await;
        for post in client.posts.all() {
            assert_eq!(post.verb, "POST", "{case}");
            assert_eq!(post.header("mcp-session-id"), None, "{case}");
            let version = post.header("mcp-protocol-version");
            assert_eq!(version, Some(case.revision.as_str()), "{case}");
            let params = &post.message["params"];
            let named = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(named.as_str(), version, "{case}");
            assert_eq!(post.header("mcp-method"), Some(post.method()), "{case}");
            let name = params["name"].as_str().or(params["uri"].as_str());
            assert_eq!(post.header("mcp-name"), name, "{case} {post:?}");
        }
        let named = ["tools/call", "resources/read", "prompts/get"];
        assert!(
            named
                .iter()
                .all(|method| !client.posts.with_method(method).is_empty())
        );
    }
}

// requirement: 8dd52ba1004b a24561240f77
#[tokio::test(start_paused = true)]
async fn an_answer_comes_as_one_object_or_as_a_stream() {
    for revision in Revision::ALL.into_iter().skip(1) {
        for streams in [false, true] {
            let peer = Peer::calls(revision, move |heard| match streams {
                true => vec![heard.progress(1), heard.text("answered")],
                false => vec![heard.text("answered")],
            });
            let (client, _) = connect_over_http(&peer, plain()).await.unwrap();
            let result = client.call_tool("t", &()).await.unwrap();
            assert_eq!(
                result.content[0].as_text(),
                Some("answered"),
                "{revision} {streams}"
            );
        }
    }
}

// requirement: a866cd69725d b9599130e3c7
#[tokio::test(start_paused = true)]
async fn a_session_that_is_gone_is_followed_by_another_handshake_without_it() {
    for revision in Revision::ALL.into_iter().skip(1) {
        if revision.features().era == EraKind::Modern {
            continue;
        }
        let peer = Peer::new(revision, |heard| {
            let gone = heard.method() == "resources/read" && heard.connection == 1;
            gone.then(|| vec![Step::Head(404, Vec::new())])
        });
        let (client, posts) = connect_over_http(&peer, plain()).await.unwrap();
        client.read_resource("a:b").await.unwrap();
        let session = |post: &Post| post.header("mcp-session-id").map(str::to_owned);
        let opened: Vec<_> = posts
            .with_method("initialize")
            .iter()
            .map(session)
            .collect();
        assert_eq!(opened, [None, None], "{revision}");
        let read: Vec<_> = posts
            .with_method("resources/read")
            .iter()
            .map(session)
            .collect();
        assert_eq!(
            read,
            [Some("1".to_owned()), Some("2".to_owned())],
            "{revision}"
        );
    }
}

// requirement: 18bb3bf45fc5 3db868adcc72 82ae7b2cfd54 b9ec7ccd1c51
#[tokio::test(start_paused = true)]
async fn a_broken_stream_is_taken_up_by_a_get_when_its_server_says() {
    for revision in Revision::ALL.into_iter().skip(1) {
        if revision.features().era == EraKind::Modern {
            continue;
        }
        let asked = std::sync::Mutex::new(Value::Null);
        let peer = Peer::new(revision, move |heard| {
            let mut asked = asked.lock().unwrap();
            let events = || Step::Head(200, vec![("content-type", "text/event-stream".into())]);
            match (heard.method(), &*heard.verb) {
                ("tools/call", _) => {
                    *asked = heard.id().clone();
                    let begin = Bytes::from_static(b"id: 7\nretry: 3000\ndata:\n\n");
                    Some(vec![events(), Step::Write(begin)])
                }
                (_, "GET") if !asked.is_null() => {
                    let answer = json!({"jsonrpc": "2.0", "id": *asked,
                        "result": {"content": [{"type": "text", "text": "late"}]}});
                    Some(vec![events(), Step::Say(answer)])
                }
                _ => None,
            }
        });
        let (client, posts) = connect_over_http(&peer, plain()).await.unwrap();
        let result = client.call_tool("t", &()).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("late"), "{revision}");
        let call = posts.with_method("tools/call").remove(0);
        let resumed = posts.with_verb("GET").pop().unwrap();
        assert_eq!(resumed.header("last-event-id"), Some("7"), "{revision}");
        let waited = resumed.at - call.at;
        assert!(waited >= Duration::from_secs(3), "{revision} {waited:?}");
        assert!(waited < Duration::from_secs(5), "{revision} {waited:?}");
        assert_eq!(posts.with_method("tools/call").len(), 1, "{revision}");
    }
}

// requirement: d6d327da71d2
#[tokio::test(start_paused = true)]
async fn a_400_is_read_before_an_older_way_is_tried() {
    let answering = |status: u16, body: Value| {
        Peer::new(Revision::NEWEST_LEGACY, move |heard| {
            (heard.method() == "server/discover").then(|| {
                let mut body = body.clone();
                if body.is_object() {
                    body["id"] = heard.id().clone();
                }
                let json = vec![("content-type", "application/json".into())];
                vec![
                    Step::Head(status, json),
                    Step::Write(body.to_string().into()),
                ]
            })
        })
    };
    let error = |code: i64, data: Value| {
        json!({"jsonrpc": "2.0",
        "error": {"code": code, "message": "no", "data": data}})
    };
    for body in [
        error(
            -32022,
            json!({"supported": ["2999-01-01"], "requested": "2026-07-28"}),
        ),
        error(-32021, json!({"requiredCapabilities": {"sampling": {}}})),
        error(-32020, Value::Null),
    ] {
        let peer = answering(400, body.clone());
        plain().connect(peer.web()).await.unwrap_err();
        assert_eq!(peer.messages().len(), 1, "{body}");
    }
    for body in [
        json!("no such thing"),
        error(-32600, Value::Null),
        error(-32000, Value::Null),
    ] {
        let peer = answering(400, body.clone());
        let client = plain().connect(peer.web()).await.unwrap();
        assert_eq!(
            client.server_info().unwrap().revision,
            Revision::NEWEST_LEGACY,
            "{body}"
        );
    }
}

// requirement: 4a238a4238eb
#[tokio::test(start_paused = true)]
async fn over_http_and_sse_messages_go_to_the_endpoint_that_was_named() {
    for case in cases_over(Bind::Sse)
        .into_iter()
        .filter(|case| case.is_legacy())
    {
        let client = converse(case).await;
        let all = client.posts.all();
        assert_eq!((&*all[0].verb, &*all[0].path), ("GET", "/sse"), "{case}");
        let posts = client.posts.with_verb("POST");
        assert_eq!(posts.len() + 1, all.len(), "{case}");
        assert!(posts.iter().all(|post| post.path != "/sse"), "{case}");
        let posted: Vec<_> = posts.iter().map(|post| post.message.clone()).collect();
        assert_eq!(posted, client.tap().sent_messages(), "{case}");
    }
}
