//! The code that the floors share.

mod echo;

use std::io::{self, Write};

use tokio::net::TcpListener;

/// Appends the answer to a `tools/call` of the echo.
///
/// # Errors
/// When it is no such call.
pub fn answer(message: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    echo::answer(message, out)
}

/// Binds any free port of the loopback, and prints it as the first line of stdout.
///
/// # Errors
/// When there is none, or stdout is closed.
pub async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?.port())?;
    Ok(listener)
}
