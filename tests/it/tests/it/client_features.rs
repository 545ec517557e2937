//! Our client and our server, feature by feature, in every revision over every binding. All that
//! they say is held against the official schemas.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{ChangeFilter, Error};
use turnbuckle_it::coupled::{Coupled, connect_to};
use turnbuckle_it::harness::{Bind, Case};
use turnbuckle_it::peer::{Peer, Step};
use turnbuckle_session::handler::Change;
use turnbuckle_session::transport::TimeoutKind;
use turnbuckle_types::{CallToolResult, LoggingLevel, PromptReference};
use turnbuckle_wire::revision::Revision;

use crate::client_support::{Add, Sum, full_server, plain, settle};

#[track_caller]
fn text(result: &CallToolResult) -> &str {
    result.content[0].as_text().unwrap()
}

// requirement: 6984c64cfbd0 a38857c14157 be048c77e6a5
#[tokio::test(start_paused = true)]
async fn lists_are_read_over_their_pages() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let tools = client.list_tools().fetch_all().await.unwrap();
        let tools: Vec<_> = tools.into_iter().map(|it| it.name).collect();
        let all = names(&["add", "steps", "log", "forever", "fails", "echo"]);
        assert_eq!(tools, all, "{case}");
        let resources = client.list_resources().fetch_all().await.unwrap();
        assert_eq!(resources.len(), 3, "{case}");
        // Lists of one page, too.
        assert_eq!(
            client.list_prompts().fetch_all().await.unwrap().len(),
            1,
            "{case}"
        );
        let templates = client.list_resource_templates().fetch_all().await.unwrap();
        assert_eq!(templates[0].uri_template, "note:{id}", "{case}");

        // Every cursor goes back as it came, and where there is none the list has ended.
        let asked = client.tap().sent_of("tools/list");
        let cursors: Vec<_> = asked.iter().map(|it| it["params"].get("cursor")).collect();
        let answers = client.tap().received_messages();
        let given = |id: &Value| {
            let answer = answers.iter().find(|it| it["id"] == *id).unwrap();
            answer["result"].get("nextCursor").cloned()
        };
        assert_eq!(cursors[0], None, "{case}");
        for (page, after) in asked.iter().zip(&cursors[1..]) {
            assert_eq!(given(&page["id"]).as_ref(), *after, "{case}");
        }
        assert_eq!(given(&asked.last().unwrap()["id"]), None, "{case}");
        assert_eq!(asked.len(), 3, "{case}");
        assert_eq!(client.tap().sent_of("prompts/list").len(), 1, "{case}");
    }
}

// requirement: 3b4ee2ea5630 86dfb9db8878 9774fb4db6ac b81901557cbc e38b2b6c6e6a
#[tokio::test(start_paused = true)]
async fn calls_have_typed_arguments_and_results() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        client.list_tools().fetch_all().await.unwrap();
        let call = client.call_tool("add", &Add { a: 2, b: 3 });
        let sum = call.structured_content::<Sum>().await.unwrap();
        assert_eq!(sum, Sum { sum: 5 }, "{case}");
        // A tool that fails has a result, which says how.
        let failed = client.call_tool("fails", &()).await.unwrap();
        assert!(failed.is_error(), "{case}");
        assert!(failed.text().contains("does not work"), "{case}");
        let failed = client
            .call_tool("fails", &())
            .structured_content::<Sum>()
            .await;
        assert!(matches!(failed, Err(Error::ToolFailed(_))), "{case}");
        // A tool that is not there is an error of the protocol.
        let error = client.call_tool("none", &()).await.unwrap_err();
        assert_eq!(error.error_response().unwrap().code, -32602, "{case}");
        let sent = client.tap().sent_of("tools/call");
        assert_eq!(
            sent[0]["params"]["arguments"],
            json!({"a": 2, "b": 3}),
            "{case}"
        );
    }
}

// requirement: 0588cd8f646e 4f333636b760 b9b544b85612
#[tokio::test(start_paused = true)]
async fn progress_is_heard_and_its_tokens_are_unique() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        let (first, mut progress) = client.call_tool("steps", &()).with_progress();
        let (second, mut others) = client.call_tool("steps", &()).with_progress();
        let listen = async {
            let mut heard = Vec::new();
            while let Some(notice) = progress.next().await {
                heard.push(serde_json::to_value(notice.progress).unwrap());
            }
            heard
        };
        let listen_too = async {
            let mut count = 0;
            while others.next().await.is_some() {
                count += 1;
            }
            count
        };
        let late = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            second.await
        };
        let (one, two, heard, count) = tokio::join!(first.into_future(), late, listen, listen_too);
        assert_eq!(
            (text(&one.unwrap()), text(&two.unwrap())),
            ("done", "done"),
            "{case}"
        );
        assert_eq!(
            (heard, count),
            (vec![json!(1), json!(2), json!(3)], 3),
            "{case}"
        );
        let sent = client.tap().sent_of("tools/call");
        let tokens: Vec<_> = sent
            .iter()
            .map(|it| &it["params"]["_meta"]["progressToken"])
            .collect();
        assert!(
            tokens.iter().all(|it| it.is_i64() || it.is_string()),
            "{case} {tokens:?}"
        );
        assert_ne!(tokens[0], tokens[1], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn log_messages_come_from_the_level_on_that_was_asked_for() {
    let server = full_server();
    for case in Case::all() {
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let hears = heard.clone();
        let builder = plain().log_level(LoggingLevel::Warning).on_log(move |log| {
            hears
                .lock()
                .unwrap()
                .push(serde_json::to_value(log.data).unwrap());
        });
        let client = Coupled::connect(case, &server, builder).await;
        if case.is_legacy() {
            client.set_log_level(LoggingLevel::Warning).await.unwrap();
        } else {
            let error = client
                .set_log_level(LoggingLevel::Warning)
                .await
                .unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{case} {error}");
        }
        client.call_tool("log", &()).await.unwrap();
        settle().await;
        assert_eq!(*heard.lock().unwrap(), [json!("much")], "{case}");
        if case.is_modern() {
            client
                .call_tool("log", &())
                .log_level(LoggingLevel::Debug)
                .await
                .unwrap();
            settle().await;
            assert_eq!(heard.lock().unwrap().len(), 3, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resources_prompts_and_completions_are_there() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        let read = client.read_resource("note:7").await.unwrap();
        let read = serde_json::to_value(&read.contents).unwrap();
        assert_eq!(read[0]["text"], "note 7", "{case}");
        let filled = client.get_prompt("greet", [("name", "Ada")]).await.unwrap();
        let filled = serde_json::to_value(&filled.messages).unwrap();
        assert_eq!(filled[0]["content"]["text"], "Hello Ada", "{case}");
        let typed = client.complete(PromptReference::new("greet"), "name", "A");
        assert_eq!(typed.await.unwrap().completion.values, ["Ada"], "{case}");
        let error = client.read_resource("a:none").await.unwrap_err();
        assert!(error.error_response().is_some(), "{case} {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn pings_are_answered_both_ways() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        // A handler is busy meanwhile.
        let busy = tokio::spawn(client.call_tool("forever", &()).into_future());
        settle().await;
        match client.ping().await {
            Ok(_) => assert!(case.is_legacy(), "{case}"),
            Err(Error::Unsupported { .. }) => assert!(case.is_modern(), "{case}"),
            Err(error) => panic!("{case}: {error}"),
        }
        busy.abort();
    }
}

// requirement: 0371cec0106d 06868470d224 182b4aaa7605 3d758103de26 56640aa98c1b 598b3486fbb0
// requirement: 6ae5730d3f54 87b9b95dc035 981e1de1541c
#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_in_the_way_of_its_transport() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        // What was answered is never cancelled.
        client
            .call_tool("echo", &json!({"text": "x"}))
            .await
            .unwrap();
        let dropped = tokio::spawn(client.call_tool("forever", &()).into_future());
        settle().await;
        dropped.abort();
        let late = client
            .call_tool("forever", &())
            .idle_timeout(Duration::from_secs(7));
        let began = tokio::time::Instant::now();
        let error = late.await.unwrap_err();
        assert!(
            matches!(error, Error::TimedOut(TimeoutKind::Idle(_))),
            "{case} {error}"
        );
        assert_eq!(began.elapsed().as_secs(), 7, "{case}");
        settle().await;
        let calls = client.tap().sent_of("tools/call");
        let ids: Vec<_> = calls[1..].iter().map(|it| &it["id"]).collect();
        let cancelled = client.tap().sent_of("notifications/cancelled");
        let cancelled: Vec<_> = cancelled
            .iter()
            .map(|it| &it["params"]["requestId"])
            .collect();
        // An exchange of the modern era is closed.
        match case.is_modern() && case.binding == Bind::Http {
            true => assert_eq!(cancelled, [&Value::Null; 0], "{case}"),
            false => assert_eq!(cancelled, ids, "{case}"),
        }
        assert_eq!(client.in_flight(), Default::default(), "{case}");
    }
}

// requirement: 2504ad379a5c 6a2cad29576f 6c2d1fea748e af3dc5ded27b ceeb29a93c45 ed627495b5aa
#[tokio::test(start_paused = true)]
async fn deadlines_are_per_request_and_progress_never_passes_the_last() {
    let server = full_server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        // Every notice starts the silence anew.
        let call = client
            .call_tool("steps", &())
            .idle_timeout(Duration::from_secs(4));
        assert_eq!(text(&call.await.unwrap()), "done", "{case}");
        let call = client
            .call_tool("steps", &())
            .idle_timeout(Duration::from_secs(2));
        assert!(call.await.unwrap_err().is_timeout(), "{case}");
        let call = client
            .call_tool("steps", &())
            .total_timeout(Duration::from_secs(8));
        let error = call.await.unwrap_err();
        assert!(
            matches!(error, Error::TimedOut(TimeoutKind::Total(_))),
            "{case} {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn changes_are_heard_of() {
    for case in Case::all() {
        let read =
            async |_: turnbuckle_server::ReadRequest, _: turnbuckle_server::HandlerContext| "";
        let server = turnbuckle_server::Server::new("changing", "1.0.0")
            .dynamic_tools()
            .resource(turnbuckle_server::Resource::builder("r:1", "one").handler(read))
            .build()
            .unwrap();
        let client = Coupled::connect(case, &server, plain()).await;
        let interest = ChangeFilter::new().tools().resource("r:1");
        let mut heard = client.subscribe(interest.clone()).await.unwrap();
        assert_eq!(heard.acknowledged_filter(), interest, "{case}");
        server.notify_tools_changed();
        assert_eq!(heard.next().await, Some(Change::Tools), "{case}");
        server.notify_resource_updated("r:1");
        assert_eq!(
            heard.next().await,
            Some(Change::Resource("r:1".into())),
            "{case}"
        );
        drop(heard);
        settle().await;
        let sent = client.tap().sent_messages();
        let asked = |method: &str| sent.iter().filter(|it| it["method"] == method).count();
        let expected = match case.is_legacy() {
            true => (1, 1, 0),
            false => (0, 0, 1),
        };
        let subscribed = (
            asked("resources/subscribe"),
            asked("resources/unsubscribe"),
            asked("subscriptions/listen"),
        );
        assert_eq!(subscribed, expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_client_does_not_request_undeclared_capabilities() {
    let bare = turnbuckle_server::Server::new("bare", "1.0.0")
        .build()
        .unwrap();
    for case in Case::all() {
        let client = Coupled::connect(case, &bare, plain()).await;
        let before = client.tap().sent_messages().len();
        let unsupported = |error: Error| {
            assert!(matches!(error, Error::Unsupported { .. }), "{case} {error}");
        };
        if case.revision.features().completions_capability {
            let typed = client.complete(PromptReference::new("p"), "a", "");
            unsupported(typed.await.unwrap_err());
        }
        unsupported(client.set_log_level(LoggingLevel::Info).await.unwrap_err());
        let heard = client
            .subscribe(ChangeFilter::new().tools().resource("r:1"))
            .await;
        match case.is_legacy() {
            true => unsupported(heard.unwrap_err()),
            // There the server says what it honours.
            false => assert!(heard.is_err(), "{case}"),
        }
        let after = client.tap().sent_messages();
        let sent: Vec<_> = after[before..]
            .iter()
            .map(|it| it["method"].as_str())
            .collect();
        let listens = sent.iter().all(|it| *it == Some("subscriptions/listen"));
        assert!(
            sent.is_empty() || (case.is_modern() && listens),
            "{case} {sent:?}"
        );
    }
}

// requirement: 126d7348daa8 41e2a7e9626a
#[tokio::test(start_paused = true)]
async fn no_message_holds_a_line_break() {
    for case in Case::duplex(Case::all()) {
        let client = Coupled::connect(case, &full_server(), plain()).await;
        let text_sent = "one\ntwo\r\n\u{2028}\u{85}é \u{1F600}\0";
        let result = client
            .call_tool("echo", &json!({"text": text_sent}))
            .await
            .unwrap();
        assert_eq!(text(&result), text_sent, "{case}");
    }
}

// requirement: 12f248a51380
#[tokio::test(start_paused = true)]
async fn a_completion_may_be_partial() {
    for revision in Revision::ALL {
        for (completion, values) in [
            (json!({"values": []}), 0),
            (json!({"values": ["a"]}), 1),
            (json!({"values": ["a", "b"], "total": 500}), 2),
            (json!({"values": ["a"], "hasMore": true}), 1),
        ] {
            let peer = Peer::new(revision, move |heard| {
                let answer = json!({"completion": completion, "resultType": "complete"});
                (heard.method() == "completion/complete").then(|| vec![heard.answer(answer)])
            });
            let client = connect_to(&peer, plain()).await.unwrap();
            let typed = client.complete(PromptReference::new("p"), "a", "");
            assert_eq!(
                typed.await.unwrap().completion.values.len(),
                values,
                "{revision}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_listed_item_is_kept_and_can_be_used() {
    let long = "n".repeat(300);
    let names = ["a b", "é/ü", "", "admin.tools:list", long.as_str()];
    for revision in Revision::ALL {
        let tool = |name: &str| {
            json!({"name": name, "x-vendor": {"a": [1, 2.50]},
                "inputSchema": {"type": "object", "x-ui": "wide"}})
        };
        let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
        let listed = tools.clone();
        let peer = Peer::new(revision, move |heard| {
            let list = json!({"tools": listed, "resultType": "complete", "ttlMs": 0,
                "cacheScope": "private"});
            (heard.method() == "tools/list").then(|| vec![heard.answer(list)])
        });
        let client = connect_to(&peer, plain()).await.unwrap();
        let kept = client.list_tools().fetch_all().await.unwrap();
        assert_eq!(
            serde_json::to_value(&kept).unwrap(),
            json!(tools),
            "{revision}"
        );
        for name in names {
            client.call_tool(name, &()).await.unwrap();
        }
        let calls = peer.messages_of("tools/call");
        let called: Vec<_> = calls
            .iter()
            .map(|it| it.message["params"]["name"].clone())
            .collect();
        assert_eq!(called, names, "{revision}");
    }
}

// requirement: e22f1847837c
#[tokio::test(start_paused = true)]
async fn a_hint_is_not_believed_unless_the_server_is_trusted() {
    for revision in [Revision::NEWEST, Revision::NEWEST_LEGACY] {
        for (trusts, calls) in [(false, 1), (true, 2)] {
            let peer = Peer::new(revision, |heard| match heard.method() {
                "tools/list" => {
                    let hints = json!({"readOnlyHint": true, "idempotentHint": true});
                    let tool = json!({"name": "t", "inputSchema": {"type": "object"},
                        "annotations": hints});
                    Some(vec![
                        heard.answer(json!({"tools": [tool], "resultType": "complete",
                        "ttlMs": 0, "cacheScope": "private"})),
                    ])
                }
                "tools/call" => Some(vec![Step::Break]),
                _ => None,
            });
            let builder = match trusts {
                true => plain().trust_tool_hints(),
                false => plain(),
            };
            let client = connect_to(&peer, builder).await.unwrap();
            client.list_tools().fetch_all().await.unwrap();
            assert!(
                client
                    .call_tool("t", &())
                    .await
                    .unwrap_err()
                    .is_connection_lost()
            );
            assert_eq!(
                peer.messages_of("tools/call").len(),
                calls,
                "{revision} {trusts}"
            );
        }
    }
}
