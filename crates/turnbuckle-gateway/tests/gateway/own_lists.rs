//! Lists of an upstream that differ between clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use turnbuckle::prelude::*;
use turnbuckle::servers::InProcess;
use turnbuckle::session::transport::{Connector, Inbox, LinkError, LinkKind, OpenFuture};
use turnbuckle_gateway::{Gateway, GatewayFile};

use crate::support::{Used, client, lines, text, upstream};

/// A connector whose first connection, which is of nobody, has other tools than those of clients, or is refused.
struct Login {
    nobody: Option<Server>,
    user: Server,
    opened: Arc<AtomicUsize>,
}

impl Connector for Login {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let server = match self.opened.fetch_add(1, Ordering::SeqCst) {
            0 => self.nobody.as_ref(),
            _ => Some(&self.user),
        };
        let connector = server.cloned().map(InProcess::new);
        Box::pin(async move {
            match connector {
                Some(connector) => connector.open(inbox).await,
                None => Err(LinkError::Unauthorized {
                    status: 401,
                    challenge: None,
                    failure: None,
                    body: String::new(),
                }),
            }
        })
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a server with a login".into()
    }
}

const RULES: &str = "audit = 'audit.jsonl'\n[upstream.up]\nmode = 'per-principal'\ndeny = ['secret']\n\
                     rename = { issues = 'tickets', fail = 'try' }\nscopes = { search = ['read'] }";

async fn gateway(top: &str, nobody: Option<Server>, folder: &std::path::Path) -> Gateway {
    let file = GatewayFile::parse_toml(&format!("{top}{RULES}")).unwrap();
    let login = Login {
        nobody,
        user: upstream(&["issues", "fail", "search", "secret"], &Used::default()),
        opened: Arc::default(),
    };
    let builder = Gateway::builder(file).directory(folder);
    builder.connector("up", login).connect().await.unwrap()
}

fn ann() -> Option<Principal> {
    Some(Principal::new("https://id.example.com", "ann"))
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_names_the_upstream_of_a_tool_that_one_client_has() {
    let nobody = || upstream(&["public"], &Used::default());
    // An upstream that refuses nobody is not taken for one that is down.
    for nobody in [Some(nobody()), None] {
        let folder = tempfile::tempdir().unwrap();
        let gateway = gateway("", nobody, folder.path()).await;
        let client = client(&gateway, ann()).await;
        let tools = client.list_tools().fetch_all().await.unwrap();
        let tools: Vec<_> = tools.iter().map(|it| &*it.name).collect();
        assert_eq!(tools, ["tickets", "try", "up__search"]);
        for name in ["tickets", "try", "up__search", "up__secret", "up__public"] {
            let _ = client.call_tool(name, &json!({})).await;
        }
        let lines = lines(&gateway, &folder.path().join("audit.jsonl")).await;
        let found = lines.iter().map(|line| {
            ["name", "upstream", "item", "outcome"]
                .map(|key| text(line, key))
                .join(" ")
        });
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                "tickets up issues completed",
                "try up fail tool_error",
                "up__search up search missing_scopes",
                "up__secret up secret denied",
                "up__public up public unknown_item",
            ]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn three_tools_find_and_call_those_that_the_client_has() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = upstream(&["public"], &Used::default());
    let gateway = gateway("lazy = true\n", Some(nobody), folder.path()).await;
    let client = client(&gateway, ann()).await;
    let tools = client.list_tools().fetch_all().await.unwrap();
    assert_eq!(tools.len(), 3);
    let call = async |tool: &str, arguments| {
        let result = client.call_tool(tool, &arguments).await.unwrap();
        result.text().into_owned()
    };
    let found = call("search_tools", json!({"query": ""})).await;
    assert!(
        found.contains("tickets") && found.contains("up__search"),
        "{found}"
    );
    assert!(
        !found.contains("public") && !found.contains("secret"),
        "{found}"
    );
    let described = call("describe_tool", json!({"name": "tickets"})).await;
    assert!(described.contains("inputSchema"), "{described}");
    let described = call("describe_tool", json!({"name": "up__public"})).await;
    assert!(described.contains("there is no tool"), "{described}");
    assert_eq!(call("call_tool", json!({"name": "tickets"})).await, "done");
    // What is offered without a client is what nobody has.
    let offered = gateway.offers()[0]
        .tools
        .iter()
        .map(|it| it.name.clone())
        .collect::<Vec<_>>();
    assert_eq!(offered, ["up__public"]);
}
