//! Attacks on TLS handshakes.

use std::future::pending;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio_rustls::rustls::ClientConnection;
use tokio_rustls::rustls::pki_types::ServerName;

use super::attacker::{Attacker, pause};
use crate::problem::Result;

/// Connects and sends nothing of its handshake.
pub(super) async fn silent(it: Attacker) -> Result {
    let _stream = it.route.connect_tcp().await?;
    pending().await
}

/// Sends its handshake byte by byte, as far as it gets.
pub(super) async fn slow_handshake(it: Attacker) -> Result {
    let hello = client_hello(&it)?;
    loop {
        let mut stream = it.route.connect_tcp().await?;
        for byte in &hello {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            pause(100).await;
        }
    }
}

/// Lets the server answer the beginning of a handshake, and leaves.
pub(super) async fn half_handshake(it: Attacker) -> Result {
    let hello = client_hello(&it)?;
    loop {
        let mut stream = it.route.connect_tcp().await?;
        stream.write_all(&hello).await?;
        pause(20).await;
    }
}

/// Ends its handshake and leaves.
pub(super) async fn handshakes(it: Attacker) -> Result {
    loop {
        // A handshake that is refused is tried again.
        let _ = it.route.connect().await;
        pause(20).await;
    }
}

/// Returns the first message of a handshake.
fn client_hello(it: &Attacker) -> Result<Vec<u8>> {
    let tls = it.route.tls.as_ref().ok_or("a server without TLS")?;
    let name = ServerName::from(it.route.address.ip());
    let config = Arc::clone(tls.config());
    let mut connection = ClientConnection::new(config, name)?;
    let mut hello = Vec::new();
    connection.write_tls(&mut hello)?;
    Ok(hello)
}
