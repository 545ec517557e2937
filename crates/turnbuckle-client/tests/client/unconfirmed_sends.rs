//! A link whose messages may reach the server before their sending is confirmed, as over HTTP+SSE.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_client::{Client, EraPreference};
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Dispatch, Inbox, Link, LinkFuture, LinkKind, MemoryTransport, OpenFuture,
    OutboundMessage, SendFuture, TransportConnector, TransportContext, memory_pair, serve,
};

/// A link that carries requests without confirming it.
struct Posts(TransportConnector<MemoryTransport>);

impl Connector for Posts {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(async move { Ok(Arc::new(Posting(self.0.open(inbox).await?)) as Arc<dyn Link>) })
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        self.0.description()
    }
}

struct Posting(Arc<dyn Link>);

impl Link for Posting {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        Err(message)
    }

    fn send(&self, parcel: OutboundMessage) -> SendFuture {
        let is_request = parcel.kind.request_id().is_some();
        let carrying = self.0.send(parcel);
        Box::pin(async move {
            carrying.await?;
            match is_request {
                true => std::future::pending().await,
                false => Ok(()),
            }
        })
    }

    fn may_have_sent(&self) -> bool {
        true
    }

    fn close(&self) -> LinkFuture {
        self.0.close()
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_may_have_been_sent_is_cancelled_on_the_wire() {
    let (running, cancelled) = (Signal::new(), Signal::new());
    let (runs, sees) = (running.clone(), cancelled.clone());
    let hang = move |(): (), context: HandlerContext| {
        let (runs, sees) = (runs.clone(), sees.clone());
        async move {
            runs.cancel();
            context.cancelled().await;
            sees.cancel();
            "cancelled"
        }
    };
    let server = Server::new("s", "1").tool(Tool::builder("hang").handler(hang));
    let server: Arc<dyn Dispatch> = server.build().unwrap().into();
    let (ours, theirs) = memory_pair();
    let (limits, context) = (Limits::default(), TransportContext::default());
    tokio::spawn(serve(server, theirs, limits, context, Signal::new()));
    let builder = Client::builder("c", "1").era(EraPreference::Legacy);
    let client = builder
        .connect(Posts(TransportConnector::new(ours)))
        .await
        .unwrap();

    let call = client.call_tool("hang", &()).into_future();
    tokio::select! {
        outcome = call => panic!("{outcome:?}"),
        () = running.cancelled() => {}
    }
    let seen = tokio::time::timeout(Duration::from_secs(5), cancelled.cancelled());
    seen.await.unwrap();
}
