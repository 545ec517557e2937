//! Lists of registered items and those of providers.

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde_json::json;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    Group, HandlerContext, KeyRing, ListPage, ListRequest, Provider, SecretKey, Server, Tool,
};
use turnbuckle_types::Principal;

use super::{
    LISTS, Table, find_tool, list_tools, next_cursor, pages, provider_server, register, subject,
    tool,
};
use crate::support::{code, connect_as, list_values, result};

#[tokio::test(start_paused = true)]
async fn registered_items_come_first_and_pages_are_filled_across() {
    let table = Table::with(&["a", "b", "c", "d", "e"]);
    let server = register(provider_server(&table, 2), &["z", "x", "y"])
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for list in LISTS {
            let pages = pages(&mut client, list).await;
            let expected = [
                vec!["z", "x"],
                vec!["y", "a"],
                vec!["b", "c"],
                vec!["d", "e"],
                vec![],
            ];
            assert_eq!(pages, expected, "{case} {list:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_alone_declares_the_capability_of_its_items() {
    let table = Table::with(&["a"]);
    let server = provider_server(&table, 100).build().unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for list in LISTS {
            assert_eq!(pages(&mut client, list).await, [["a"]], "{case} {list:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn providers_are_listed_in_the_order_of_registration() {
    let table = |names: &[&str]| Group::new().state(Table::with(names));
    let rows = |name: &'static str| Provider::tools(name).list(list_tools).find(find_tool);
    let server = Server::new("ordered", "1.0.0")
        .page_size(NonZeroUsize::new(3).unwrap())
        .group(table(&["m", "n"]).provider(rows("first")))
        .mount("second", table(&["a", "b"]).provider(rows("second")))
        .group(table(&[]).provider(rows("third")))
        .group(table(&["c"]).provider(rows("fourth")))
        .tool(tool("z"))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let pages = pages(&mut client, LISTS[0]).await.concat();
        let expected = ["z", "m", "n", "second_a", "second_b", "c"];
        assert_eq!(pages, expected, "{case}");
        let params = json!({"name": "second_b", "arguments": {"n": 1}});
        let called = client.request("tools/call", params).await;
        assert_eq!(result(&called)["content"][0]["text"], "b {\"n\":1}");
        let params = json!({"name": "b", "arguments": {"n": 1}});
        assert_eq!(code(&client.request("tools/call", params).await), -32602);
    }
}

#[tokio::test(start_paused = true)]
async fn a_registered_name_hides_the_provided_one() {
    let table = Table::with(&["a", "b", "c"]);
    let server = register(provider_server(&table, 100), &["b"])
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for list in LISTS {
            let listed = pages(&mut client, list).await.concat();
            assert_eq!(listed, ["b", "a", "c"], "{case} {list:?}");
        }
    }
    server.update().disable_tool("b").apply().unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let listed = pages(&mut client, LISTS[0]).await.concat();
        assert_eq!(listed, ["a", "c"], "{case}");
        let params = json!({"name": "b", "arguments": {"n": 1}});
        assert_eq!(code(&client.request("tools/call", params).await), -32602);
    }
}

#[tokio::test(start_paused = true)]
async fn rows_that_come_and_go_do_not_shift_the_next_page() {
    let table = Table::with(&["b", "c", "d", "e", "f"]);
    let server = register(provider_server(&table, 2), &["x"])
        .build()
        .unwrap();
    for case in Case::all() {
        for (method, items, name) in LISTS {
            *table.rows.lock().unwrap() = ["b", "c", "d", "e", "f"].map(str::to_owned).into();
            let mut client = Client::connect(case, &server).await;
            let first = client.request(method, json!({})).await;
            assert_eq!(list_values(&first, items, name), ["x", "b"]);
            *table.rows.lock().unwrap() = ["a", "c", "d", "f"].map(str::to_owned).into();
            let cursor = next_cursor(&first).unwrap();
            for _ in 0..2 {
                let params = json!({"cursor": cursor});
                let second = client.request(method, params).await;
                let listed = list_values(&second, items, name);
                assert_eq!(listed, ["c", "d"], "{case} {method}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_ignores_the_limit_is_cut_into_pages() {
    let all = Provider::tools("all").list(async |_: ListRequest| {
        ["a", "b", "c", "d", "e"]
            .map(tool)
            .into_iter()
            .collect::<Vec<_>>()
    });
    let server = Server::new("all", "1.0.0")
        .page_size(NonZeroUsize::new(2).unwrap())
        .provider(all)
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let pages = pages(&mut client, LISTS[0]).await;
        let expected = [vec!["a", "b"], vec!["c", "d"], vec!["e"]];
        assert_eq!(pages, expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn hostile_cursors_are_refused_before_a_provider_is_asked() {
    let table = Table::with(&["a", "b", "c", "d"]);
    let server = provider_server(&table, 2).build().unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let mut cursors = Vec::new();
        for (method, ..) in LISTS {
            let first = client.request(method, json!({})).await;
            cursors.push(next_cursor(&first).unwrap());
        }
        table.requests.lock().unwrap().clear();
        for (at, (method, ..)) in LISTS.into_iter().enumerate() {
            let (own, foreign) = (&cursors[at], &cursors[(at + 1) % LISTS.len()]);
            let mut bad = vec![
                String::new(),
                "b".to_owned(),
                "A".repeat(24),
                "A".repeat(100),
                "A".repeat(100_000),
                foreign.clone(),
                format!("{own}="),
                own[1..].to_owned(),
                own[..own.len() - 1].to_owned(),
            ];
            for place in (0..own.len()).step_by(23) {
                let other = if &own[place..=place] == "A" { "B" } else { "A" };
                let mut changed = own.clone();
                changed.replace_range(place..=place, other);
                bad.push(changed);
            }
            for cursor in bad {
                let answer = client.request(method, json!({"cursor": cursor})).await;
                assert_eq!(code(&answer), -32602, "{case} {method} {cursor:.40}");
            }
        }
        assert!(table.requests.lock().unwrap().is_empty(), "{case}");
        for ((method, items, name), cursor) in LISTS.into_iter().zip(cursors) {
            let next = client.request(method, json!({"cursor": cursor})).await;
            assert_eq!(list_values(&next, items, name), ["c", "d"], "{case}");
        }
        let requests = std::mem::take(&mut *table.requests.lock().unwrap());
        assert!(requests.iter().all(|it| it.cursor.as_deref() == Some("b")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_is_good_for_its_principal_and_for_servers_with_the_same_keys() {
    let keys = || KeyRing::new(SecretKey::from_bytes([7; 32]));
    let server = |table: &Arc<Table>| provider_server(table, 1).keys(keys()).build();
    let table = Table::with(&["a", "b"]);
    let (one, other) = (server(&table).unwrap(), server(&table).unwrap());
    let stranger = provider_server(&table, 1).build().unwrap();
    for case in Case::all() {
        let mut ada = connect_as(case, &one, "ada").await;
        let page = ada.request("tools/list", json!({})).await;
        let params = json!({"cursor": next_cursor(&page).unwrap()});
        for (server, name, code_or_name) in [
            (&one, "bob", Err(-32602)),
            (&stranger, "ada", Err(-32602)),
            (&other, "ada", Ok("b")),
        ] {
            let mut client = connect_as(case, server, name).await;
            let page = client.request("tools/list", params.clone()).await;
            match code_or_name {
                Ok(name) => assert_eq!(list_values(&page, "tools", "name"), [name], "{case}"),
                Err(expected) => assert_eq!(code(&page), expected, "{case} {name}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_principal_has_a_list_of_its_own() {
    async fn own_tools(_: ListRequest, context: HandlerContext) -> ListPage<Tool> {
        ListPage::new([tool(&format!("of-{}", subject(&context)))])
    }
    async fn secret_tools(_: ListRequest, _: Principal) -> ListPage<Tool> {
        ListPage::new([tool("open"), tool("scoped").scope("tools:scoped")])
    }
    let only_ada = Group::new()
        .visible_to(|who| who.is_some_and(|who| who.subject == "ada"))
        .provider(Provider::tools("ada's").list(secret_tools));
    let server = Server::new("own", "1.0.0")
        .provider(Provider::tools("own").list(own_tools))
        .group(only_ada)
        .build()
        .unwrap();
    for case in Case::all() {
        for (name, expected) in [
            ("ada", &["of-ada", "open", "scoped"][..]),
            ("bob", &["of-bob"]),
        ] {
            let mut client = connect_as(case, &server, name).await;
            let page = client.request("tools/list", json!({})).await;
            assert_eq!(list_values(&page, "tools", "name"), expected, "{case}");
            if case.is_modern() {
                assert_eq!(result(&page)["cacheScope"], "private", "{case}");
            }
        }
    }
}
