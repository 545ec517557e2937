//! Opens a login page in place of a browser.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, LOCATION, USER_AGENT};
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use turnbuckle_types::base::host::is_loopback;
use url::Url;

use super::login::VISITED;

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// Time for each answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the visitor, by which the server knows it.
pub(crate) const VISITOR: &str = "turnbuckle-check";

/// Opens a login page of a scripted server and follows it back to the client, on this machine alone.
///
/// # Errors
/// When the URL is not that of a page on this machine, or an answer does not come.
pub async fn visit(url: &str) -> io::Result<()> {
    let mut url = local(url)?;
    let first = url.clone();
    for _ in 0..MAX_REDIRECTS {
        let response = get(&url).await?;
        let location = response.headers().get(LOCATION);
        let location = location.and_then(|value| value.to_str().ok());
        let Some(location) = location.filter(|_| response.status().is_redirection()) else {
            break;
        };
        let next = url.join(location).map_err(io::Error::other)?;
        url = local(next.as_str())?;
    }
    if url != first {
        let visited = first.join(VISITED).map_err(io::Error::other)?;
        get(&visited).await?;
    }
    Ok(())
}

/// Parses a URL of this machine without encryption.
fn local(url: &str) -> io::Result<Url> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "no http URL of this machine");
    let url = Url::parse(url).map_err(|_| invalid())?;
    let is_local = url.host_str().is_some_and(is_loopback) && url.scheme() == "http";
    is_local.then_some(url).ok_or_else(invalid)
}

async fn get(url: &Url) -> io::Result<Response<Incoming>> {
    let asking = async {
        let addresses = url.socket_addrs(|| None)?;
        let stream = TcpStream::connect(&*addresses).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        tokio::spawn(connection);
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let request = Request::get(path)
            .header(HOST, host)
            .header(USER_AGENT, VISITOR)
            .body(Empty::<Bytes>::new())
            .map_err(io::Error::other)?;
        sender.send_request(request).await.map_err(io::Error::other)
    };
    timeout(ANSWER_TIMEOUT, asking).await?
}
