//! Servers that only speak the HTTP+SSE transport.

use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Dispatch, Frame, Inbox, Link, LinkError, LinkFuture, LinkKind, OpenFuture,
    OutboundMessage, SendFuture, TransportConnector, TransportContext, memory_pair, serve,
};
use turnbuckle_wire::revision::Revision;

/// An endpoint that responds to every request with a JSON-RPC error without an id.
struct Refuses {
    error: Value,
    older: Older,
}

/// The server of HTTP+SSE at the same place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Older {
    Speaks,
    Absent,
    /// There is one, for those who are authorized.
    DemandsAuthorization,
}

impl Connector for Refuses {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let frame = json!({"jsonrpc": "2.0", "id": null, "error": self.error}).to_string();
        Box::pin(async move { Ok(Arc::new(Refusing { inbox, frame }) as Arc<dyn Link>) })
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn fallback(&self) -> Option<Arc<dyn Connector>> {
        match self.older {
            Older::Speaks => {}
            Older::Absent => {
                let reason = "no stream".to_owned();
                return Some(Arc::new(Unusable(LinkError::ProtocolViolation { reason })));
            }
            Older::DemandsAuthorization => {
                return Some(Arc::new(Unusable(LinkError::Unauthorized {
                    status: 401,
                    challenge: Some("Bearer".to_owned()),
                    failure: None,
                    body: String::new(),
                })));
            }
        }
        let (ours, theirs) = memory_pair();
        let server: Arc<dyn Dispatch> = Server::new("s", "1").build().unwrap().into();
        let (limits, context) = (Limits::default(), TransportContext::default());
        tokio::spawn(serve(server, theirs, limits, context, Signal::new()));
        Some(Arc::new(TransportConnector::new(ours)))
    }

    fn description(&self) -> String {
        "an address".into()
    }
}

/// An endpoint to which no link can be opened.
struct Unusable(LinkError);

impl Connector for Unusable {
    fn open(&self, _: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "nothing".into()
    }
}

struct Refusing {
    inbox: Arc<dyn Inbox>,
    frame: String,
}

impl Link for Refusing {
    fn kind(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        Err(message)
    }

    fn send(&self, parcel: OutboundMessage) -> SendFuture {
        let frame = Frame::Message(self.frame.clone().into());
        self.inbox.receive(frame, parcel.kind.request_id());
        Box::pin(std::future::ready(Ok::<(), LinkError>(())))
    }

    fn may_have_sent(&self) -> bool {
        true
    }

    fn close(&self) -> LinkFuture {
        Box::pin(std::future::ready(()))
    }
}

async fn connect(error: Value, older: Older, era: EraPreference) -> Result<Client, Error> {
    let builder = Client::builder("c", "1").era(era);
    builder.connect(Refuses { error, older }).await
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
