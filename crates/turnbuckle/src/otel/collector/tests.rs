use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;

use super::*;

/// Reads a request with the body `spans`.
fn read_request(stream: &mut TcpStream) {
    let mut sent = Vec::new();
    let mut byte = [0];
    while !sent.ends_with(b"spans") && stream.read_exact(&mut byte).is_ok() {
        sent.extend(byte);
    }
}

#[tokio::test]
async fn threads_share_a_client_that_ends_inside_of_a_runtime() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let collector = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..2 {
            read_request(&mut stream);
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            stream.write_all(answer).unwrap();
        }
    });
    let client = Arc::new(CollectorClient::new(Duration::from_secs(5)).unwrap());
    for _ in 0..2 {
        let (client, uri) = (client.clone(), url.parse().unwrap());
        let export = thread::spawn(move || {
            let mut request = Request::new(Bytes::from_static(b"spans"));
            *request.uri_mut() = uri;
            client.send(request).unwrap()
        });
        assert_eq!(export.join().unwrap().body(), "ok");
    }
    collector.join().unwrap();
    drop(client);
}

/// The time for one request to a hostile collector.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The behaviour of a collector on one connection.
type Attack = fn(TcpStream);

/// Starts a collector that does something hostile with each connection; returns its URL.
fn hostile(act: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            act(stream.unwrap());
        }
    });
    url
}

/// Sends spans with a secret header. Fails if that takes much longer than [`TIMEOUT`].
fn export(url: &str) -> Result<Response<Bytes>, HttpError> {
    let mut request = Request::new(Bytes::from_static(b"spans"));
    *request.uri_mut() = url.parse().unwrap();
    let headers = request.headers_mut();
    headers.insert("authorization", "Bearer hunter2".parse().unwrap());
    let (sender, answered) = mpsc::channel();
    let client = CollectorClient::new(TIMEOUT).unwrap();
    thread::spawn(move || drop(sender.send(client.send(request))));
    let answered = answered.recv_timeout(Duration::from_secs(20));
    answered.expect("the request ends by its timeout")
}

/// Writes until the other side has gone.
fn write_forever(mut stream: TcpStream, head: &[u8], piece: &[u8]) {
    let _ = stream.write_all(head);
    while stream.write_all(piece).is_ok() {}
}

#[test]
fn a_hostile_collector_costs_one_timeout() {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\n";
    let attacks: [(&str, Attack); 9] = [
        ("never answers", |stream| {
            thread::sleep(Duration::from_secs(30));
            drop(stream);
        }),
        ("closes at once", drop),
        ("closes after the request", |mut stream| {
            read_request(&mut stream)
        }),
        ("has a head without end", |mut stream| {
            read_request(&mut stream);
            write_forever(stream, OK, b"a: b\r\n");
        }),
        ("has a header without end", |mut stream| {
            read_request(&mut stream);
            write_forever(stream, b"HTTP/1.1 200 OK\r\na: ", &[b'a'; 1024]);
        }),
        ("has a body without end", |mut stream| {
            read_request(&mut stream);
            let head = [OK, b"transfer-encoding: chunked\r\n\r\n"].concat();
            write_forever(stream, &head, b"1\r\na\r\n");
        }),
        ("sends interim responses without end", |mut stream| {
            read_request(&mut stream);
            while stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_ok() {
                thread::sleep(TIMEOUT / 100);
            }
        }),
        ("sends a byte now and then", |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(&[OK, b"content-length: 9999\r\n\r\n"].concat());
            while stream.write_all(b"a").is_ok() {
                thread::sleep(TIMEOUT / 10);
            }
        }),
        ("speaks TLS", |stream| {
            write_forever(stream, b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x03");
        }),
    ];
    for (attack, act) in attacks {
        let answered = export(&hostile(act));
        assert!(answered.is_err(), "{attack}: {answered:?}");
    }
}

#[test]
fn a_collector_that_speaks_no_tls_costs_one_timeout() {
    for garbage in [&b"HTTP/1.1 200 OK\r\n\r\n"[..], b"\x16\x03\x03\xff\xff"] {
        let url = hostile(move |stream| write_forever(stream, garbage, garbage));
        assert!(export(&url.replace("http:", "https:")).is_err());
    }
}

#[test]
fn an_answer_that_is_too_long_is_not_read_and_nothing_is_sent_again() {
    let url = hostile(|mut stream| {
        read_request(&mut stream);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
            MAX_ANSWER_BYTES + 1
        );
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![b'a'; MAX_ANSWER_BYTES + 1]);
    });
    let error = export(&url).unwrap_err();
    // The only error after which the SDK does not try again.
    assert!(error.is::<ResponseBodyTooLarge>(), "{error:?}");
}

#[test]
fn no_redirect_is_followed_with_the_credentials() {
    let (sender, received) = mpsc::channel();
    let elsewhere = hostile(move |_| sender.send(()).unwrap());
    for status in ["301", "302", "303", "307", "308"] {
        let elsewhere = elsewhere.clone();
        let url = hostile(move |mut stream| {
            read_request(&mut stream);
            let answer = format!(
                "HTTP/1.1 {status} Elsewhere\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        });
        assert_eq!(export(&url).unwrap().status().as_str(), status);
    }
    assert!(received.try_recv().is_err());
}
