//! Tests of proxies: which requests they see, and servers behind them.

use std::sync::Mutex;

use hyper_util::client::proxy::matcher::Matcher;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::TlsSettings;

/// A certificate authority.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { pem, issuer }
    }

    /// Returns the TLS of a server with this name.
    fn acceptor(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }

    /// Returns a client that uses a proxy for all servers but those of `no_proxy`.
    fn client(&self, proxy: &str, no_proxy: &str) -> Client {
        let mut tls = TlsSettings::default();
        tls.add_roots(self.pem.as_bytes()).unwrap();
        let options = ClientOptions { tls, ..options() };
        let matcher = Matcher::builder().all(proxy).no(no_proxy).build();
        let lookup = slow_lookup(Duration::ZERO, [127, 0, 0, 1].into());
        let connector = Connector::with_parts(options, Proxies::new(matcher), lookup);
        Client::with_parts(connector, ConnectionPool::new(32, Duration::from_secs(4)))
    }
}

type Heads = Arc<Mutex<Vec<String>>>;

async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Answers requests, and keeps their heads.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, heads: &Heads) {
    while let Some(head) = read_head(&mut stream).await {
        heads.lock().unwrap().push(head);
        stream.write_all(GOOD).await.unwrap();
    }
}

/// Starts a server at a port of this machine. Returns its address and the heads that it read.
async fn start<F>(serve: impl Fn(TcpStream, Heads) -> F + Send + 'static) -> (String, Heads)
where
    F: Future<Output = ()> + Send + 'static,
{
    let heads = Heads::default();
    let kept = heads.clone();
    let (url, _) = listen(move |stream| serve(stream, kept.clone())).await;
    let address = url.replace("http://", "").replace("/mcp", "");
    (address, heads)
}

#[tokio::test]
async fn a_proxy_reads_requests_to_plain_servers() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("proxy.example");
    let (plain, plain_heads) = start(async |stream, heads| answer(stream, &heads).await).await;
    let (secure, secure_heads) = start(move |stream, heads| {
        let acceptor = acceptor.clone();
        async move { answer(acceptor.accept(stream).await.unwrap(), &heads).await }
    })
    .await;
    let secure = secure.replace("127.0.0.1", "proxy.example");
    for (proxy, heads) in [
        (format!("http://me:p%40ss@{plain}"), plain_heads),
        (format!("https://me:p%40ss@{secure}"), secure_heads),
    ] {
        let client = authority.client(&proxy, "");
        for _ in 0..2 {
            let answer = ask(&client, "http://server.example/mcp?a=b").await;
            assert_eq!(answer.unwrap(), "good");
        }
        assert_eq!(client.idle_connections(), 1);
        let heads = heads.lock().unwrap();
        assert_eq!(heads.len(), 2);
        assert_eq!(
            heads[0],
            "GET http://server.example/mcp?a=b HTTP/1.1\r\nhost: server.example\r\n\
             proxy-authorization: Basic bWU6cEBzcw==\r\n\r\n"
        );
    }
}

#[tokio::test]
async fn servers_with_tls_are_behind_a_tunnel() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("server.example");
    let (proxy, heads) = start(move |mut stream, heads| {
        let acceptor = acceptor.clone();
        async move {
            let head = read_head(&mut stream).await.unwrap();
            let is_known = head.contains("Proxy-Authorization: Basic bWU6cGFzcw==\r\n");
            heads.lock().unwrap().push(head);
            if !is_known {
                let refusal = b"HTTP/1.1 407 Who?\r\ncontent-length: 0\r\n\r\n";
                return stream.write_all(refusal).await.unwrap();
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            answer(acceptor.accept(stream).await.unwrap(), &heads).await;
        }
    })
    .await;
    let url = "https://server.example:8443/mcp";
    let client = authority.client(&format!("http://me:pass@{proxy}"), "");
    assert!(!client.resolves_host(&url.parse().unwrap()));
    assert_eq!(ask(&client, url).await.unwrap(), "good");
    assert_eq!(ask(&client, url).await.unwrap(), "good");
    {
        let heads = heads.lock().unwrap();
        assert_eq!(heads.len(), 3);
        assert!(heads[0].starts_with("CONNECT server.example:8443 HTTP/1.1\r\n"));
        assert!(
            heads[1].starts_with("GET /mcp HTTP/1.1\r\n"),
            "{}",
            heads[1]
        );
        assert!(!heads[1].contains("roxy-"), "{}", heads[1]);
    }
    let client = authority.client(&format!("http://you:s3cret@{proxy}"), "");
    let error = ask(&client, url).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the proxy http://{proxy}/ of the environment: tunnel error: proxy authorization \
             required"
        )
    );
    assert!(!error.is_sent());
}

/// Takes part in a handshake of SOCKS 5. Returns the credentials and the target.
async fn accept_socks(stream: &mut TcpStream) -> String {
    let mut greeting = [0; 3];
    stream.read_exact(&mut greeting).await.unwrap();
    stream.write_all(&[5, greeting[2]]).await.unwrap();
    let mut said = String::new();
    if greeting[2] == 2 {
        assert_eq!(stream.read_u8().await.unwrap(), 1);
        for end in [":", "@"] {
            said += &read_text(stream).await;
            said += end;
        }
        stream.write_all(&[1, 0]).await.unwrap();
    }
    let mut command = [0; 4];
    stream.read_exact(&mut command).await.unwrap();
    said += &match command[3] {
        1 => std::net::Ipv4Addr::from(stream.read_u32().await.unwrap()).to_string(),
        _ => read_text(stream).await,
    };
    let port = stream.read_u16().await.unwrap();
    let success = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    stream.write_all(&success).await.unwrap();
    format!("{said}:{port}")
}

async fn read_text(stream: &mut TcpStream) -> String {
    let mut text = vec![0; stream.read_u8().await.unwrap().into()];
    stream.read_exact(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn socks_proxies_lead_to_servers_with_and_without_tls() {
    let authority = Authority::new();
    let acceptor = authority.acceptor("server.example");
    let (proxy, heads) = start(move |mut stream, heads| {
        let acceptor = acceptor.clone();
        async move {
            let target = accept_socks(&mut stream).await;
            let is_secure = target.ends_with(":443");
            heads.lock().unwrap().push(target);
            match is_secure {
                true => answer(acceptor.accept(stream).await.unwrap(), &heads).await,
                false => answer(stream, &heads).await,
            }
        }
    })
    .await;
    for (proxy, url, target) in [
        (
            format!("socks5h://{proxy}"),
            "https://server.example/",
            "server.example:443",
        ),
        (
            format!("socks5h://me:pw@{proxy}"),
            "http://server.example/",
            "me:pw@server.example:80",
        ),
        (
            format!("socks5://{proxy}"),
            "https://server.example/",
            "127.0.0.1:443",
        ),
        (
            format!("socks5://{proxy}"),
            "http://server.example:8080/",
            "127.0.0.1:8080",
        ),
    ] {
        heads.lock().unwrap().clear();
        let client = authority.client(&proxy, "");
        let resolves = client.resolves_host(&url.parse().unwrap());
        assert_eq!(resolves, proxy.starts_with("socks5:"));
        assert_eq!(ask(&client, url).await.unwrap(), "good");
        let heads = heads.lock().unwrap();
        assert_eq!(heads[0], target);
        assert!(heads[1].starts_with("GET / HTTP/1.1\r\n"), "{}", heads[1]);
    }
}

#[tokio::test]
async fn some_servers_have_no_proxy() {
    let authority = Authority::new();
    let (server, _) = start(async |stream, heads| answer(stream, &heads).await).await;
    let client = authority.client("http://127.0.0.1:1", "direct.example,10.0.0.0/8");
    let port = server.rsplit(':').next().unwrap();
    for host in [
        "direct.example",
        "a.direct.example",
        "localhost",
        "127.0.0.1",
    ] {
        let answer = ask(&client, &format!("http://{host}:{port}/")).await;
        assert_eq!(answer.unwrap(), "good", "{host}");
    }
    for (proxy, reason) in [
        ("http://127.0.0.1:1", "refused"),
        ("socks4://127.0.0.1:1", "its URL must begin with"),
    ] {
        let client = authority.client(proxy, "");
        let error = ask(&client, "http://server.example/").await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("the proxy {proxy}/ of the environment: ")),
            "{text}"
        );
        assert!(text.contains(reason), "{text}");
    }
}

#[tokio::test]
async fn untrusted_certificates_are_named() {
    let (authority, other) = (Authority::new(), Authority::new());
    let acceptor = other.acceptor("server.example");
    let (server, _) = start(move |stream, _| {
        let acceptor = acceptor.clone();
        async move { drop(acceptor.accept(stream).await) }
    })
    .await;
    let client = authority.client("http://127.0.0.1:1", "server.example");
    let url = format!("https://{}/", server.replace("127.0.0.1", "server.example"));
    let error = ask(&client, &url).await.unwrap_err();
    let expected = "the TLS handshake failed: invalid peer certificate: ";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert!(!error.is_sent());
}
