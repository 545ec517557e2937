//! Servers that only speak the HTTP+SSE transport.

use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Dispatch, Frame, LinkError, LinkKind, TransportConnector, TransportContext,
    memory_pair, serve,
};
use turnbuckle_wire::revision::Revision;

use crate::scripted_link::{ScriptedConnector, scripted_link};

/// The server of HTTP+SSE at the same place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Older {
    Speaks,
    Absent,
    /// There is one, for those who are authorized.
    DemandsAuthorization,
}

impl Older {
    fn connector(self) -> Arc<dyn Connector> {
        let error = match self {
            Self::Speaks => {
                let (ours, theirs) = memory_pair();
                let server: Arc<dyn Dispatch> = Server::new("s", "1").build().unwrap().into();
                let (limits, context) = (Limits::default(), TransportContext::default());
                tokio::spawn(serve(server, theirs, limits, context, Signal::new()));
                return Arc::new(TransportConnector::new(ours));
            }
            Self::Absent => LinkError::ProtocolViolation {
                reason: "no stream".to_owned(),
            },
            Self::DemandsAuthorization => LinkError::Unauthorized {
                status: 401,
                challenge: Some("Bearer".to_owned()),
                failure: None,
                body: String::new(),
            },
        };
        let refuse = move |_| Err(error.clone());
        Arc::new(ScriptedConnector::new(LinkKind::Duplex, refuse))
    }
}

/// Connects to an endpoint that responds to every request with a JSON-RPC error without an id.
async fn connect(error: Value, older: Older, era: EraPreference) -> Result<Client, Error> {
    let builder = Client::builder("c", "1").era(era);
    let frame = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
    let connector = ScriptedConnector::new(LinkKind::Exchange, move |inbox| {
        let frame = frame.clone();
        Ok(scripted_link(LinkKind::Exchange, move |message| {
            let frame = Frame::Message(frame.clone().into());
            inbox.receive(frame, message.kind.request_id());
            Box::pin(std::future::ready(Ok(())))
        }))
    });
    let connector = connector.fallback(Some(older.connector()));
    builder.connect(connector).await
}

#[tokio::test(start_paused = true)]
async fn a_json_rpc_error_at_the_handshake_leads_to_http_sse() {
    for error in [
        json!({"code": -32000, "message": "Session not found"}),
        json!({"code": -32600, "message": "this endpoint takes other methods"}),
    ] {
        for era in [
            EraPreference::Auto,
            EraPreference::Legacy,
            EraPreference::Only(Revision::V2024_11_05),
        ] {
            let client = connect(error.clone(), Older::Speaks, era).await.unwrap();
            assert!(
                client.list_tools().fetch_all().await.is_err(),
                "it has no tools"
            );
            assert_eq!(client.server_info().unwrap().link_kind, LinkKind::Duplex);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_http_sse_the_first_error_is_reported() {
    let error = json!({"code": -32000, "message": "Session not found"});
    let error = connect(error, Older::Absent, EraPreference::Auto)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("Session not found"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_demand_for_authorization_over_http_sse_is_reported() {
    let error = json!({"code": -32000, "message": "Session not found"});
    let error = connect(error, Older::DemandsAuthorization, EraPreference::Auto)
        .await
        .unwrap_err();
    let is_demand = matches!(&error, Error::Unauthorized { status: 401, challenge, .. }
        if challenge.as_deref() == Some("Bearer"));
    assert!(is_demand, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_not_sought_over_http_sse() {
    let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2999-01-01"]}});
    for era in [EraPreference::Auto, EraPreference::Legacy] {
        let outcome = connect(error.clone(), Older::Speaks, era).await;
        let refused = matches!(
            outcome,
            Err(Error::ErrorResponse(_) | Error::Incompatible { .. })
        );
        assert!(refused, "{outcome:?}");
    }
}
