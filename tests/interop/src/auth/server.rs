//! A protected server with tools that need different scopes.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use turnbuckle::auth::ResourceServer;
use turnbuckle::auth_testing::TestAuthorizationServer;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::types::Principal;
use turnbuckle::{Authorize as _, Server, Tool};

use crate::{DELETE, Problem, READ, USAGE, WRITE};

/// The client that other servers introspect tokens as, and its secret.
const INSPECTOR: (&str, &str) = ("inspector", "the secret of the inspector");

/// Serves until standard input ends, and says where in a line `READY {…}`. For each line of input it
/// prints the requests that our authorization server received, `REQUESTS […]`.
pub(crate) async fn run(issuer: &[&str]) -> Result<(), Problem> {
    let tool = |name: &'static str, scope: &'static str| {
        let caller = |who: Principal| json!({ "subject": who.subject, "scopes": who.scopes });
        Tool::builder(name)
            .scope(scope)
            .handler(move |who: Principal| caller(who).to_string())
    };
    let server = Server::new("orders", env!("CARGO_PKG_VERSION"))
        .tool(tool("read_orders", READ))
        .tool(tool("write_orders", WRITE))
        .tool(tool("delete_orders", DELETE))
        .build()?;
    let server = HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new()).await?;
    let url = server.url();
    // Clocks do not differ here, and a token that has ended has to be noticed at once.
    let auth = ResourceServer::builder(&url)
        .required_scopes([READ])
        .leeway(Duration::ZERO);
    let (auth, ours) = match *issuer {
        [seconds] => {
            let ours = start_issuer(Duration::from_secs(seconds.parse()?)).await?;
            (auth.issuer(ours.issuer()), Some(ours))
        }
        ["jwt", issuer] => (auth.issuer(issuer), None),
        ["introspection", issuer, at, id, secret] => {
            (auth.introspection(issuer, at, id, secret), None)
        }
        _ => return Err(USAGE.into()),
    };
    let server = server.auth(auth.build()?);
    let ready = json!({
        "url": url,
        "issuer": ours.as_ref().map(TestAuthorizationServer::issuer),
        "inspector": { "id": INSPECTOR.0, "secret": INSPECTOR.1 },
    });
    println!("READY {ready}");
    tokio::select! {
        served = server.serve() => Ok(served?),
        ended = print_requests(ours.as_ref()) => ended,
    }
}

async fn start_issuer(token_ttl: Duration) -> Result<TestAuthorizationServer, Problem> {
    let server = TestAuthorizationServer::builder()
        .scopes([READ, WRITE, DELETE])
        .token_ttl(token_ttl)
        .client(INSPECTOR.0, INSPECTOR.1, [""; 0])
        .start();
    Ok(server.await?)
}

async fn print_requests(issuer: Option<&TestAuthorizationServer>) -> Result<(), Problem> {
    let mut lines = BufReader::new(stdin()).lines();
    while lines.next_line().await?.is_some() {
        let events = issuer.map(TestAuthorizationServer::events);
        let requests = events.unwrap_or_default().into_iter().map(|event| {
            json!({
                "endpoint": format!("{:?}", event.endpoint),
                "parameters": event.parameter_names,
                "grant": event.grant_type,
                "resource": event.resource,
                "scope": event.scope,
                "status": event.status,
            })
        });
        println!("REQUESTS {}", requests.collect::<serde_json::Value>());
    }
    Ok(())
}
