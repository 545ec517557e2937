//! The server on a Unix socket, as one of many servers, and behind a proxy.

use serde_json::json;

use super::{call_text, text};
use crate::cells::each;
use crate::hosts::{connect_among_others, connect_through_proxy};

#[cfg(unix)]
#[test]
fn a_unix_socket_serves_every_revision() {
    use crate::hosts::socket::SocketClient;

    each(|at| async move {
        let Some(there) = SocketClient::connect(at.cell).await else {
            return;
        };
        let sum = call_text(&there.client, "add", json!({"a": 1, "b": 2})).await;
        assert_eq!(sum, "3");
        let asked = call_text(&there.client, "roots", json!({})).await;
        assert!(asked.contains("file:///work"), "{asked}");
        there.close().await;
    });
}

#[test]
fn a_server_behind_a_proxy_asks_the_client_in_front() {
    each(|at| async move {
        let Some((client, proxy)) = connect_through_proxy(at.cell).await else {
            return;
        };
        let roots = call_text(&client, "shop__roots", json!({})).await;
        assert_eq!(roots, "file:///work");
        let form = call_text(&client, "shop__form", json!({"message": "why"})).await;
        let expected = match at.reader.forms {
            true => "WHY",
            false => "unsupported",
        };
        assert_eq!(form, expected);
        client.close().await;
        proxy.servers().close().await;
    });
}

#[test]
fn a_server_among_many_is_reached_under_its_name() {
    each(|at| async move {
        let Some(servers) = connect_among_others(at.cell).await else {
            return;
        };
        let tools = servers.tools();
        for name in ["other__add", "shop__add", "shop__borrow-3"] {
            assert!(tools.iter().any(|tool| tool.item.name == name), "{name}");
        }
        let sum = servers.call_tool("shop__add", &json!({"a": 1, "b": 2}));
        assert_eq!(text(&sum.await.unwrap()), "3");
        let failed = servers.call_tool("shop__parse", &json!({"text": "seven"}));
        let failed = failed.await.unwrap();
        assert!(failed.is_error());
        assert_eq!(text(&failed), "invalid digit found in string");
        let prompt = servers.get_prompt("shop__blurb-5", [("", ""); 0]);
        let prompt = prompt.await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("Praise book 5."));
        let read = servers.read_resource("shop+shelf://0").await.unwrap();
        let read = serde_json::to_value(read.contents).unwrap();
        assert_eq!(read[0]["text"], "Chapter one of 0");
        servers.close().await;
    });
}
