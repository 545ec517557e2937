//! A link whose messages may reach the server before their sending is confirmed, as over HTTP+SSE.

use std::future::{IntoFuture, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use turnbuckle_client::{Client, EraPreference};
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Dispatch, Link, LinkKind, TransportContext, TransportLink, memory_pair, serve,
};

use crate::scripted_link::{ScriptedConnector, scripted_link};

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
    let ours = Mutex::new(Some(ours));
    let connector = ScriptedConnector::new(LinkKind::Duplex, move |inbox| {
        let transport = ours.lock().unwrap().take().unwrap();
        let carrier: Arc<dyn Link> = TransportLink::start(transport, inbox, 1 << 16);
        Ok(scripted_link(LinkKind::Duplex, move |message| {
            let is_request = message.kind.request_id().is_some();
            let carrying = carrier.send(message);
            Box::pin(async move {
                carrying.await?;
                match is_request {
                    true => pending().await,
                    false => Ok(()),
                }
            })
        }))
    });
    let client = builder.connect(connector).await.unwrap();

    let call = client.call_tool("hang", &()).into_future();
    tokio::select! {
        outcome = call => panic!("{outcome:?}"),
        () = running.cancelled() => {}
    }
    let seen = tokio::time::timeout(Duration::from_secs(5), cancelled.cancelled());
    seen.await.unwrap();
}
