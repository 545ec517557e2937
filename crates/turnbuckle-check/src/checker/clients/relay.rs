//! Relays standard input and output to a scripted server: the process that a client starts.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy};
use tokio::net::TcpStream;

/// The most bytes that are written to standard error.
const MAX_STDERR_BYTES: usize = 16 << 20;

/// Connects to the scripted server at `HOST:PORT/KEY` or `HOST:PORT/KEY/BYTES` and relays bytes in both
/// directions until the server ends the connection. First it writes that many bytes to `errors`.
///
/// # Errors
/// When the text is no such address of this machine, or the server cannot be reached.
pub async fn relay(
    place: &str,
    mut input: impl AsyncRead + Send + Unpin + 'static,
    mut output: impl AsyncWrite + Unpin,
    mut errors: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "no HOST:PORT/KEY");
    let mut parts = place.split('/');
    let address: SocketAddr = parts
        .next()
        .and_then(|it| it.parse().ok())
        .ok_or_else(invalid)?;
    let key = parts.next().ok_or_else(invalid)?;
    let flood: usize = parts
        .next()
        .map_or(Some(0), |it| it.parse().ok())
        .ok_or_else(invalid)?;
    if !address.ip().is_loopback() {
        return Err(invalid());
    }
    let line = [b"x".repeat(1023), vec![b'\n']].concat();
    for _ in 0..flood.min(MAX_STDERR_BYTES) / line.len() {
        errors.write_all(&line).await?;
    }
    errors.flush().await?;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("{key}\n").as_bytes()).await?;
    let (mut from_server, mut to_server) = stream.into_split();
    let sending = tokio::spawn(async move {
        let _ = copy(&mut input, &mut to_server).await;
        let _ = to_server.shutdown().await;
    });
    let received = copy(&mut from_server, &mut output).await;
    sending.abort();
    output.flush().await?;
    received.map(|_| ())
}
