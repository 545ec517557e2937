//! Upstreams by an OpenAPI document, and settings that cannot be used.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle::client::ChangeFilter;
use turnbuckle::servers::InProcess;
use turnbuckle::session::handler::Change;
use turnbuckle::session::transport::{Connector, Inbox, LinkKind, OpenFuture};
use turnbuckle_gateway::{Gateway, GatewayFile};

use crate::support::{Used, client, upstream};

const DOCUMENT: &str = r#"{
    "openapi": "3.1.0",
    "info": {"title": "CRM", "version": "1"},
    "servers": [{"url": "https://crm.example.com"}],
    "paths": {
        "/contacts": {
            "get": {"operationId": "listContacts", "responses": {}},
            "delete": {"operationId": "deleteContacts", "responses": {}}
        },
        "/imports": {
            "post": {"operationId": "listImports", "requestBody": {"content": {"multipart/form-data": {}}}}
        }
    }
}"#;

async fn connect(text: &str, directory: &std::path::Path) -> Result<Gateway, String> {
    let file = GatewayFile::parse_toml(text).unwrap();
    let builder = Gateway::builder(file).directory(directory);
    builder.connect().await.map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn operations_of_a_document_are_tools_as_far_as_they_are_allowed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("crm.json"), DOCUMENT).unwrap();
    let text = "[upstream.crm]\nopenapi = 'crm.json'\nallow = ['list*']\n\
                headers = { Authorization = 'Bearer hunter2' }";
    let gateway = connect(text, folder.path()).await.unwrap();
    let offers = gateway.offers();
    let tools: Vec<&str> = offers[0].tools.iter().map(|it| &*it.name).collect();
    assert_eq!(tools, ["crm__listContacts"]);
    let left_out = offers[0].left_out.join("\n");
    assert!(
        left_out.starts_with("POST /imports is left out: "),
        "{left_out}"
    );
    assert!(!format!("{gateway:?}").contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_cannot_be_used_names_its_upstream() {
    let folder = tempfile::tempdir().unwrap();
    for (table, reason) in [
        (
            "allow = ['a']",
            "it needs one of `command`, `url` and `openapi`",
        ),
        ("command = []", "`command` is empty"),
        (
            "command = ['a']\nurl = 'https://b'",
            "it has `command` and `url`, and can have one of them",
        ),
        (
            "command = ['a']\nlimits = { in_flight = 0 }",
            "`limits.in_flight` is 0: it must be at least 1",
        ),
        (
            "command = ['a']\nheaders = { A = 'b' }",
            "are for an upstream with a `url`",
        ),
        (
            "url = 'https://a'\ncwd = 'b'",
            "are for an upstream with a `command`",
        ),
        (
            "url = 'http://a.example'\nheaders = { A = 'b' }",
            "without encryption",
        ),
        (
            "command = ['a']\nheaders_command = ['b']",
            "are for an upstream with a `url`",
        ),
        (
            "url = 'http://a.example'\nheaders_command = ['b']",
            "without encryption",
        ),
        (
            "url = 'https://a'\nheaders_command = []",
            "`headers_command` is empty",
        ),
        (
            "command = ['a']\npass_env = ['TURNBUCKLE_NOT_SET']",
            "\"TURNBUCKLE_NOT_SET\" is not set",
        ),
        ("openapi = 'none.json'", "`openapi`"),
        (
            "url = 'https://a'\nserver_url = 'https://b'",
            "`server_url` is for",
        ),
        (
            "url = 'https://a'\nheader_principal = { X-User = 'subject' }",
            "per-principal",
        ),
        ("url = 'https://a'\ndeny = ['']", "1 to 256 characters"),
    ] {
        let error = connect(&format!("[upstream.crm]\n{table}"), folder.path())
            .await
            .unwrap_err();
        assert!(
            error.starts_with("the upstream \"crm\": ") && error.contains(reason),
            "{error}"
        );
    }
    for (text, reason) in [
        ("", "there is no upstream"),
        (
            "store = 'sqlite:a.db'\n[upstream.a]\ncommand = ['a']",
            "`store` needs `keys_env`",
        ),
        (
            "keys_env = 'TURNBUCKLE_NOT_SET'\n[upstream.a]\ncommand = ['a']",
            "`keys_env`",
        ),
        (
            "audit = '.'\n[upstream.a]\ncommand = ['a']",
            "the audit log",
        ),
        (
            "auth = { issuer = 'x', resource = 'y' }\n[upstream.a]\ncommand = ['a']",
            "`auth`",
        ),
        (
            "auth = { issuer = 'https://x' }\n[upstream.a]\ncommand = ['a']",
            "`auth` has no `resource`, a URL",
        ),
    ] {
        let error = connect(text, folder.path()).await.unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

/// A connector to a server that answers after a time.
struct DelayedConnector(Duration, InProcess);

impl Connector for DelayedConnector {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(async move {
            tokio::time::sleep(self.0).await;
            self.1.open(inbox).await
        })
    }

    fn link_kind(&self) -> LinkKind {
        self.1.link_kind()
    }

    fn description(&self) -> String {
        "a late server".into()
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_upstream_delays_the_start_by_two_seconds_and_its_items_follow() {
    let file = "[upstream.good]\n[upstream.late]\n[upstream.mute]";
    let server = |names| upstream(names, &Used::default());
    let begun = Instant::now();
    let gateway = Gateway::builder(GatewayFile::parse_toml(file).unwrap())
        .connector("good", InProcess::new(server(&["good"])))
        .connector(
            "late",
            DelayedConnector(Duration::from_secs(5), InProcess::new(server(&["late"]))),
        )
        .connector(
            "mute",
            DelayedConnector(Duration::from_secs(3600), InProcess::new(server(&["mute"]))),
        )
        .connect()
        .await
        .unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    let client = client(&gateway, None).await;
    let names = async || {
        let tools = client.list_tools().fetch_all().await.unwrap();
        tools.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["good__good"]);
    let filter = ChangeFilter::new().tools();
    let mut changes = client.subscribe(filter).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(names().await, ["good__good", "late__late"]);
}
