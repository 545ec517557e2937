//! A link whose messages reach the server before it is known that they did, as over HTTP+SSE.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_client::{Client, Era};
use turnbuckle_server::{Context, Server, Tool};
use turnbuckle_session::{
    Carrying, Connector, Dispatch, Inbox, Joined, Limits, Link, LinkKind, MemoryTransport, Opening,
    Parcel, Settling, Signal, TransportContext, pair, serve,
};

/// Carries requests without ever saying so.
struct Posts(Joined<MemoryTransport>);

impl Connector for Posts {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        Box::pin(async move { Ok(Arc::new(Posting(self.0.open(inbox).await?)) as Arc<dyn Link>) })
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}

struct Posting(Arc<dyn Link>);

impl Link for Posting {
    fn kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        let is_request = parcel.kind.request_id().is_some();
        let carrying = self.0.carry(parcel);
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

    fn close(&self) -> Settling {
        self.0.close()
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_may_have_been_sent_is_taken_back_on_the_wire() {
    let (running, cancelled) = (Signal::new(), Signal::new());
    let (runs, sees) = (running.clone(), cancelled.clone());
    let hang = move |(): (), context: Context| {
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
    let (ours, theirs) = pair();
    let (limits, context) = (Limits::default(), TransportContext::default());
    tokio::spawn(serve(server, theirs, limits, context, Signal::new()));
    let builder = Client::builder("c", "1").era(Era::Legacy);
    let client = builder.connect(Posts(Joined::new(ours))).await.unwrap();

    let call = client.call("hang", &()).into_future();
    tokio::select! {
        outcome = call => panic!("{outcome:?}"),
        () = running.cancelled() => {}
    }
    let seen = tokio::time::timeout(Duration::from_secs(5), cancelled.cancelled());
    seen.await.unwrap();
}
