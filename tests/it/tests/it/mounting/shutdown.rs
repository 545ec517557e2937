//! The graceful shutdown of an axum server while clients listen to the endpoints mounted in it.

use std::io;

use axum::Router;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use turnbuckle_http::{HttpServerOptions, HttpSse, StreamableHttp};

use crate::http_serve::{PATIENCE, get_stream, initialize, listen, read_all, read_until};
use crate::servers::echo;

#[tokio::test]
async fn an_axum_server_shuts_down_while_clients_of_every_kind_listen() -> io::Result<()> {
    let streamable = StreamableHttp::new(echo(), HttpServerOptions::new());
    let sse = HttpSse::new(echo(), HttpServerOptions::new());
    let (trigger, triggered) = oneshot::channel::<()>();
    let triggered = async move {
        let _ = triggered.await;
    };
    let shutdown = streamable.shutdown().close_after(triggered);
    let shutdown = sse.shutdown().close_after(shutdown);
    let router = Router::new()
        .route_service("/mcp", streamable)
        .route_service("/sse", sse.clone())
        .route_service("/messages", sse);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown);
    let serving = tokio::spawn(serving.into_future());
    let send = async |text: &str| {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(text.as_bytes()).await?;
        io::Result::Ok(stream)
    };

    let mut modern = send(&listen()).await?;
    read_until(&mut modern, "acknowledged").await;
    let opened = read_all(send(&initialize()).await?).await;
    let mut legacy = send(&get_stream(&opened)).await?;
    read_until(&mut legacy, "retry").await;
    let mut oldest =
        send("GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n").await?;
    read_until(&mut oldest, "sessionId").await;

    trigger.send(()).unwrap();
    let ended = timeout(PATIENCE, serving).await;
    ended.expect("the shutdown does not wait for who listens")??;
    let end = read_all(modern).await;
    assert!(end.contains(r#""id":7"#) && end.contains("result"), "{end}");
    read_all(legacy).await;
    read_all(oldest).await;
    Ok(())
}
