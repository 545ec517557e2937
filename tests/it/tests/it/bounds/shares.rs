//! The shares of owners and client addresses, and the rates of their handshakes: nobody locks others
//! out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use turnbuckle_http::{HttpLimits, HttpServer, HttpServerOptions, HttpShares, Sessions};
use turnbuckle_it::web::{Ask, Got, Web};
use turnbuckle_server::{HandlerContext, ReadRequest, Resource};
use turnbuckle_session::handler::{Limits, Rate, Signal};
use turnbuckle_types::Principal;
use turnbuckle_wire::revision::Revision;

use super::refused_by;
use crate::refusals::Refusals;
use crate::servers::{echo, echo_builder};

/// Long enough for anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(60);

fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

fn eve() -> Principal {
    Principal::new("https://issuer.example", "eve")
}

fn initialize(web: &Web) -> Ask {
    web.initialize(Revision::NEWEST_LEGACY, json!({}))
}

/// Opens a session whose stream somebody reads, so that it keeps its place.
async fn open_in_use(web: &Web, who: impl Fn(Ask) -> Ask) -> Result<Got, Got> {
    let opened = who(initialize(web)).send().await;
    if opened.status != 200 {
        return Err(opened);
    }
    let id = opened.header("mcp-session-id").expect("an id").to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let initialized = web.post(initialized.to_string());
    let initialized = who(initialized.header("mcp-session-id", &id)).send().await;
    assert_eq!(initialized.status, 202);
    let stream = web.ask(http::Method::GET).header("accept", "*/*");
    Ok(who(stream.header("mcp-session-id", &id)).send().await)
}

#[tokio::test(start_paused = true)]
async fn sessions_of_one_owner_or_address_leave_room_for_others() {
    let web = Web::with(
        &echo(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(4)),
    );
    for (setting, who) in [
        (
            "HttpShares::max_owner_percent",
            &(|ask: Ask| ask.principal(eve())) as &dyn Fn(Ask) -> Ask,
        ),
        ("HttpShares::max_address_percent", &|ask: Ask| {
            ask.address(address(1))
        }),
    ] {
        let mut streams = Vec::new();
        for _ in 0..2 {
            streams.push(open_in_use(&web, who).await.expect("a session"));
        }
        let refused = open_in_use(&web, who).await.expect_err("a refusal");
        assert_eq!(refused.status, 429);
        assert!(refused.header("retry-after").is_some());
        refused_by(&refused.json().await, setting);
        // Others have room.
        let ann = Principal::new("https://issuer.example", "ann");
        let other = |ask: Ask| ask.principal(ann.clone()).address(address(2));
        let other = open_in_use(&web, other).await.expect("a session");
        drop((streams, other));
    }
}

#[tokio::test(start_paused = true)]
async fn handshakes_of_one_address_take_no_session_from_others() {
    let options = HttpServerOptions::new()
        .http_limits(HttpLimits::new().max_sessions(8))
        .shares(HttpShares::new().address_handshake_rate(Rate::UNLIMITED));
    let web = Web::with(&echo(), options);
    let honest = initialize(&web).address(address(2)).send().await;
    let id = honest.header("mcp-session-id").expect("an id").to_owned();
    for _ in 0..100 {
        let opened = initialize(&web).address(address(1)).send().await;
        assert_eq!(opened.status, 200);
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let ping = web.post(ping).header("mcp-session-id", &id);
    assert_eq!(ping.send().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn handshakes_of_one_address_have_a_rate() {
    let options = HttpServerOptions::new()
        .shares(HttpShares::new().address_handshake_rate(Rate::per_second(2)));
    for web in [
        Web::with(&echo(), options.clone()),
        Web::with(&echo(), options.clone().sessions(Sessions::Stateless)),
    ] {
        let open = |last| initialize(&web).address(address(last));
        for _ in 0..2 {
            assert_eq!(open(1).send().await.status, 200);
        }
        let refused = open(1).send().await;
        assert_eq!(refused.status, 429);
        assert!(refused.header("retry-after").is_some());
        let refused = refused.json().await;
        assert_eq!(refused["id"], json!(0), "{refused}");
        refused_by(&refused, "HttpShares::address_handshake_rate");
        assert_eq!(open(2).send().await.status, 200, "another address");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(open(1).send().await.status, 200);
    }
    let web = Web::sse(&echo(), options);
    let open = || web.ask(http::Method::GET).to("/sse").address(address(1));
    let _two = [open().send().await, open().send().await];
    let refused = open().send().await;
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    let setting = "HttpShares::address_handshake_rate";
    refused_by(&refused.json().await, setting);
}

#[tokio::test(start_paused = true)]
async fn handshakes_of_one_principal_have_a_rate() {
    let limits = Limits::new().handshake_rate(Rate::per_second(2));
    let web = Web::with(&echo(), HttpServerOptions::new().limits(limits));
    let open = |who: Principal| initialize(&web).principal(who);
    for _ in 0..2 {
        assert_eq!(open(eve()).send().await.status, 200);
    }
    let refused = open(eve()).send().await;
    assert_eq!(refused.status, 429);
    refused_by(&refused.json().await, "Limits::handshake_rate");
    let ann = Principal::new("https://issuer.example", "ann");
    assert_eq!(open(ann).send().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn http_sse_connections_of_one_address_leave_room_for_others() {
    let web = Web::sse(
        &echo(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_sse_connections(4)),
    );
    let open = |last| web.ask(http::Method::GET).to("/sse").address(address(last));
    let first = [open(1).send().await, open(1).send().await];
    let refused = open(1).send().await;
    assert_eq!(refused.status, 429);
    let setting = "HttpShares::max_address_percent";
    refused_by(&refused.json().await, setting);
    assert_eq!(open(2).send().await.status, 200);
    drop(first);
    assert_eq!(open(1).send().await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn streams_that_one_owner_listens_on_leave_room_for_others() {
    let options = HttpServerOptions::new().http_limits(HttpLimits::new().max_listening_streams(4));
    let web = Web::with(&echo(), options);
    let listen = |who: Principal| {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        web.modern("subscriptions/listen", filter).principal(who)
    };
    let first = [listen(eve()).events().await, listen(eve()).events().await];
    let refused = listen(eve()).send().await;
    assert_eq!(refused.status, 429);
    let setting = "HttpShares::max_owner_percent, HttpLimits::max_listening_streams";
    refused_by(&refused.json().await, setting);
    let refused = open_in_use(&web, |ask| ask.principal(eve())).await;
    assert_eq!(
        refused.expect("a session").status,
        429,
        "a GET stream is one, too"
    );
    let ann = Principal::new("https://issuer.example", "ann");
    let mut others = vec![listen(ann.clone()).events().await];
    others.push(listen(ann).events().await);
    let bob = Principal::new("https://issuer.example", "bob");
    let refused = listen(bob).send().await;
    assert_eq!(refused.status, 503);
    let setting = "(HttpLimits::max_listening_streams)";
    refused_by(&refused.json().await, setting);
    drop(first);
    let again = listen(eve()).send().await;
    assert!(again.is_stream());
}

async fn start(options: HttpServerOptions) -> (SocketAddr, Signal) {
    let server = HttpServer::bind(echo(), "127.0.0.1:0", options);
    let server = server.await.expect("a free port");
    let (address, shutdown) = (server.local_addr().unwrap(), server.shutdown());
    tokio::spawn(server.serve());
    (address, shutdown)
}

/// Connects from one of the addresses of this machine.
async fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((from, 0).into()).expect("an address");
    socket.connect(to).await.expect("a connection")
}

async fn ask(stream: &mut TcpStream) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    // A refusal may be there before the request.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut text = Vec::new();
    let mut piece = [0; 1024];
    while !text.ends_with(b"}") {
        match timeout(PATIENCE, stream.read(&mut piece)).await {
            Ok(Ok(size @ 1..)) => text.extend_from_slice(&piece[..size]),
            ended => {
                assert!(ended.is_ok(), "neither an answer nor an end");
                break;
            }
        }
    }
    String::from_utf8(text).expect("text")
}

/// Only Linux has more than one loopback address without further ado.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connections_of_one_address_leave_room_for_others() {
    let refusals = Refusals::start();
    let (server, shutdown) =
        start(HttpServerOptions::new().http_limits(HttpLimits::new().max_connections(4))).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = connect([127, 0, 0, 1], server).await;
        assert!(ask(&mut stream).await.starts_with("HTTP/1.1 400"));
        held.push(stream);
    }
    for _ in 0..3 {
        let mut refused = connect([127, 0, 0, 1], server).await;
        let mut text = String::new();
        let read = timeout(PATIENCE, refused.read_to_string(&mut text)).await;
        read.expect("an end").expect("a response");
        assert!(text.starts_with("HTTP/1.1 429"), "{text}");
        assert!(text.contains("retry-after: 5\r\n"), "{text}");
        assert!(text.contains("HttpShares::max_address_percent"), "{text}");
    }
    // Each refusal counts, and a line of the log that is left out does not.
    assert_eq!(refusals.count("HttpShares::max_address_percent"), 3);
    assert_eq!(refusals.settings(), ["HttpShares::max_address_percent"]);
    let mut other = connect([127, 0, 0, 2], server).await;
    assert!(ask(&mut other).await.starts_with("HTTP/1.1 400"));
    drop(held);
    let mut again = String::new();
    while !again.starts_with("HTTP/1.1 400") {
        again = ask(&mut connect([127, 0, 0, 1], server).await).await;
    }
    shutdown.close();
}

#[tokio::test]
async fn a_connection_owns_requests_without_a_principal() {
    let limits = Limits::new().handshake_rate(Rate::per_second(0).burst(2));
    let (server, shutdown) = start(HttpServerOptions::new().limits(limits)).await;
    let open = |mut stream: TcpStream| async move {
        let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("room");
        let mut piece = [0; 4096];
        let size = timeout(PATIENCE, stream.read(&mut piece)).await;
        let text = &piece[..size.expect("a response").expect("no error")];
        (String::from_utf8_lossy(text).into_owned(), stream)
    };
    let mut stream = TcpStream::connect(server).await.expect("a connection");
    for status in ["200", "200", "429"] {
        let (text, same) = open(stream).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
        stream = same;
    }
    let other = TcpStream::connect(server).await.expect("a connection");
    assert!(open(other).await.0.starts_with("HTTP/1.1 200"));
    shutdown.close();
}

#[tokio::test(start_paused = true)]
async fn resource_subscriptions_of_one_client_leave_room_for_others() {
    let server = echo_builder()
        .resource(
            Resource::builder("r:{x}", "r")
                .handler(async |_: ReadRequest, _: HandlerContext| "text"),
        )
        .max_total_subscriptions(4)
        .build()
        .unwrap();
    let web = Web::new(&server);
    let listen = |last, uris: &[&str]| {
        let filter = json!({"notifications": {"resourceSubscriptions": uris}});
        web.modern("subscriptions/listen", filter)
            .address(address(last))
    };
    let first = listen(1, &["r:1", "r:2"]).events().await;
    let refused = listen(1, &["r:1"]).send().await;
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    let setting = "of one client (ServerBuilder::max_total_subscriptions)";
    refused_by(&refused.json().await, setting);
    let other = listen(2, &["r:1", "r:2"]).send().await;
    assert!(other.is_stream());
    drop((first, other));
}
