//! Servers of the transport before this one, whose address answers nonetheless.

use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle_client::{Client, Era, Error};
use turnbuckle_server::Server;
use turnbuckle_session::{
    Carrying, Connector, Dispatch, Frame, Inbox, Joined, Limits, Link, LinkError, LinkKind,
    Opening, Parcel, Settling, Signal, TransportContext, pair, serve,
};
use turnbuckle_wire::revision::Revision;

/// An address where every request is refused in the protocol's own words, without its id.
struct Refuses {
    error: Value,
    /// Whether there is a server behind the older transport.
    older: bool,
}

impl Connector for Refuses {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        let frame = json!({"jsonrpc": "2.0", "id": null, "error": self.error}).to_string();
        Box::pin(async move { Ok(Arc::new(Refusing { inbox, frame }) as Arc<dyn Link>) })
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn older(&self) -> Option<Arc<dyn Connector>> {
        if !self.older {
            return Some(Arc::new(Nothing));
        }
        let (ours, theirs) = pair();
        let server: Arc<dyn Dispatch> = Server::new("s", "1").build().unwrap().into();
        let (limits, context) = (Limits::default(), TransportContext::default());
        tokio::spawn(serve(server, theirs, limits, context, Signal::new()));
        Some(Arc::new(Joined::new(ours)))
    }

    fn describe(&self) -> String {
        "an address".into()
    }
}

/// What does not speak the older transport either.
struct Nothing;

impl Connector for Nothing {
    fn open(&self, _: Arc<dyn Inbox>) -> Opening<'_> {
        let reason = "no stream".to_owned();
        Box::pin(std::future::ready(Err(LinkError::Violation { reason })))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn describe(&self) -> String {
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

    fn carry(&self, parcel: Parcel) -> Carrying {
        let frame = Frame::Message(self.frame.clone().into());
        self.inbox.receive(frame, parcel.kind.request_id());
        Box::pin(std::future::ready(Ok::<(), LinkError>(())))
    }

    fn close(&self) -> Settling {
        Box::pin(std::future::ready(()))
    }
}

async fn connect(error: Value, older: bool, era: Era) -> Result<Client, Error> {
    let builder = Client::builder("c", "1").era(era);
    builder.connect(Refuses { error, older }).await
}

#[tokio::test(start_paused = true)]
async fn a_refusal_in_the_protocols_own_words_leads_to_the_older_transport() {
    for error in [
        json!({"code": -32000, "message": "Session not found"}),
        json!({"code": -32600, "message": "this endpoint takes other methods"}),
    ] {
        for era in [Era::Auto, Era::Legacy, Era::Only(Revision::V2024_11_05)] {
            let client = connect(error.clone(), true, era).await.unwrap();
            assert!(client.list_tools().all().await.is_err(), "it has no tools");
            assert_eq!(client.server().unwrap().binding, LinkKind::Duplex);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_older_transport_the_first_refusal_is_told() {
    let error = json!({"code": -32000, "message": "Session not found"});
    let error = connect(error, false, Era::Auto).await.unwrap_err();
    assert!(error.to_string().contains("Session not found"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_not_looked_for_behind_the_older_transport() {
    let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2999-01-01"]}});
    for era in [Era::Auto, Era::Legacy] {
        let outcome = connect(error.clone(), true, era).await;
        let refused = matches!(outcome, Err(Error::Refused(_) | Error::Incompatible { .. }));
        assert!(refused, "{outcome:?}");
    }
}
