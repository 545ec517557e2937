use std::future::{Ready, ready};
use std::net::IpAddr;

use http_body_util::Full;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower_layer::layer_fn;
use turnbuckle_server::Server;
use turnbuckle_types::ClientAddress;

use super::*;
use crate::{HttpServer, HttpServerOptions};

/// A service that answers with the address of the client, as the request shows it.
#[derive(Clone)]
struct ShowAddress;

impl Service<Request<RequestBody>> for ShowAddress {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let address = request.extensions().get::<ClientAddress>();
        ready(Ok(Response::new(format!("{address:?}").into())))
    }
}

/// A layer's service that names another address, as one behind a proxy does.
#[derive(Clone)]
struct NameAddress(HttpRoutes, IpAddr);

impl Service<Request<RequestBody>> for NameAddress {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = RoutesFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> RoutesFuture {
        request.extensions_mut().insert(ClientAddress(self.1));
        self.0.call(request)
    }
}

async fn bind() -> HttpServer {
    let server = Server::new("s", "1").build().unwrap();
    HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new())
        .await
        .unwrap()
}

/// Serves one request and returns the body of the response.
async fn answer(server: HttpServer) -> String {
    let (address, shutdown) = (server.local_addr().unwrap(), server.shutdown());
    let serving = tokio::spawn(server.serve());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /other HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    shutdown.close();
    serving.await.unwrap().unwrap();
    response.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_layer_and_a_route_see_the_address_of_the_client() {
    let peer = "Some(ClientAddress(127.0.0.1))";
    assert_eq!(answer(bind().await.fallback(ShowAddress)).await, peer);
    let layered = bind().await.layer(layer_fn(|_| ShowAddress));
    assert_eq!(answer(layered).await, peer);
}

#[tokio::test]
async fn a_layer_names_another_address_of_the_client() {
    let behind: IpAddr = "192.0.2.1".parse().unwrap();
    let server = bind().await.fallback(ShowAddress);
    let server = server.layer(layer_fn(move |inner| NameAddress(inner, behind)));
    assert_eq!(answer(server).await, "Some(ClientAddress(192.0.2.1))");
}
