//! Groups and mounted servers.

use serde_json::json;
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{Group, Prompt, Resource, Server, ServerBuilder, State, Tool};
use turnbuckle_types::Principal;

use crate::support::{call, code, connect_as, list_values, message, principal, result, text};

fn tool(name: &str) -> Tool {
    Tool::builder(name.to_owned()).handler(|| "called")
}

/// Returns a server builder with one item of each kind, all of which return its state.
fn notes() -> ServerBuilder {
    let show_state = |State { arc: whose }: State<String>| whose.to_string();
    Server::new("notes", "1.0.0")
        .state("notes".to_owned())
        .tool(Tool::builder("find").handler(show_state))
        .prompt(Prompt::builder("sum_up").handler(show_state))
        .resource(Resource::builder("notes://all", "all").handler(show_state))
        .resource(Resource::builder("notes://{id}", "one").handler(show_state))
}

#[tokio::test(start_paused = true)]
async fn a_mounted_group_has_its_prefix_and_its_own_state() {
    let inner = Group::new().mount("deep", notes());
    let server = Server::new("outer", "1.0.0")
        .state("outer".to_owned())
        .tool(Tool::builder("find").handler(|whose: State<String>| whose.to_string()))
        .mount("notes", notes())
        .group(
            Group::new().state(7_u8).tool(
                Tool::builder("both")
                    .handler(|n: State<u8>, whose: State<String>| format!("{} of {}", *n, *whose)),
            ),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let tools = client.request("tools/list", json!({})).await;
        assert_eq!(
            list_values(&tools, "tools", "name"),
            ["find", "notes_find", "both"]
        );
        for (name, says) in [
            ("find", "outer"),
            ("notes_find", "notes"),
            ("both", "7 of outer"),
        ] {
            assert_eq!(
                text(&call(&mut client, name, json!({})).await),
                says,
                "{case}"
            );
        }
        let got = json!({"name": "notes_sum_up"});
        let got = client.request("prompts/get", got).await;
        assert_eq!(
            result(&got)["messages"][0]["content"]["text"],
            "notes",
            "{case}"
        );
        for uri in ["notes://all", "notes://1"] {
            let read = client.request("resources/read", json!({"uri": uri})).await;
            assert_eq!(result(&read)["contents"][0]["text"], "notes", "{case}");
        }
        let bare = client
            .request("prompts/get", json!({"name": "sum_up"}))
            .await;
        assert_eq!(code(&bare), -32602, "{case}");
    }
    let nested = Server::new("outer", "1.0.0")
        .mount("a", inner)
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &nested).await;
        let tools = client.request("tools/list", json!({})).await;
        assert_eq!(list_values(&tools, "tools", "name"), ["a_deep_find"]);
    }
}

#[track_caller]
fn build_error(builder: ServerBuilder) -> String {
    builder.build().expect_err("it must be refused").to_string()
}

#[test]
fn colliding_and_invalid_names_are_refused_with_their_groups() {
    let server = || Server::new("s", "1");
    assert_eq!(
        build_error(
            server()
                .tool(tool("a_b"))
                .mount("a", Group::new().tool(tool("b")))
        ),
        "there are two tools \"a_b\": one of the server's own, one mounted as \"a\""
    );
    assert_eq!(
        build_error(
            server()
                .mount("a", Group::new().mount("b", Group::new().tool(tool("c"))))
                .mount("a_b", Group::new().tool(tool("c")))
        ),
        "there are two tools \"a_b_c\": one mounted as \"a_b\", one mounted as \"a_b\""
    );
    assert_eq!(
        build_error(server().mount("a", notes()).mount("b", notes())),
        "there are two resources \"notes://all\": one mounted as \"a\", one mounted as \"b\""
    );
    assert_eq!(
        build_error(server().tool(tool("b")).group(Group::new().tool(tool("b")))),
        "there are two tools \"b\""
    );
    let long = "t".repeat(60);
    assert!(
        server().tool(tool(&"t".repeat(65))).build().is_ok(),
        "it is only warned about"
    );
    assert!(
        server()
            .mount("abc", Group::new().tool(tool(&long)))
            .build()
            .is_ok()
    );
    let error = build_error(server().mount("abcd", Group::new().tool(tool(&long))));
    assert!(
        error.contains(&format!("abcd_{long}")) && error.contains("65 characters"),
        "{error}"
    );
    for prefix in ["", "a b", "a/b"] {
        let error = build_error(server().mount(prefix, notes()));
        assert!(error.contains("cannot be a mount prefix"), "{error}");
    }
}

#[test]
fn a_state_is_there_once_in_a_group_and_must_be_there() {
    let twice = Group::new().state(1_u8).state(2_u8);
    let error = build_error(Server::new("s", "1").group(twice));
    assert!(error.contains("two states of the type u8"), "{error}");
    let needs = || Tool::builder("t").handler(|_: State<u8>| ());
    let beside = Server::new("s", "1")
        .group(Group::new().state(1_u8))
        .tool(needs());
    assert!(build_error(beside).contains("State<u8>"));
}

#[tokio::test(start_paused = true)]
async fn an_item_and_all_its_groups_decide_its_visibility() {
    let is = |who: &'static str| {
        move |principal: Option<&Principal>| principal.is_some_and(|it| it.subject.contains(who))
    };
    let inner = Group::new()
        .visible_to(is("b"))
        .tool(tool("ab"))
        .tool(tool("abc").visible_to(is("c")));
    let server = Server::new("s", "1")
        .tool(tool("all"))
        .group(
            Group::new()
                .visible_to(is("a"))
                .tool(tool("a"))
                .group(inner),
        )
        .group(Group::new().scope("write").tool(tool("scoped")))
        .build()
        .unwrap();
    for case in Case::all() {
        for (who, sees) in [
            ("x", "all scoped"),
            ("b", "all scoped"),
            ("ab", "all a ab scoped"),
            ("ac", "all a scoped"),
            ("abc", "all a ab abc scoped"),
        ] {
            let mut client = connect_as(case, &server, who).await;
            let tools = client.request("tools/list", json!({})).await;
            let tools = list_values(&tools, "tools", "name");
            assert_eq!(tools.join(" "), sees, "{who}, {case}");
            let answer = call(&mut client, "abc", json!({})).await;
            if who == "abc" {
                assert_eq!(text(&answer), "called");
            } else {
                assert_eq!(message(&answer), "Unknown tool: abc", "{who}, {case}");
            }
            if case.binding != turnbuckle_it::harness::Bind::Http {
                let scoped = call(&mut client, "scoped", json!({})).await;
                assert!(scoped.get("error").is_some(), "{who}, {case}: {scoped:#}");
            }
        }
        let able = principal("x").scopes(["write"]);
        let options = ClientOptions::new().principal(able);
        let mut client = Client::connect_with(case, &server, options).await;
        assert_eq!(
            text(&call(&mut client, "scoped", json!({})).await),
            "called",
            "{case}"
        );
    }
}
