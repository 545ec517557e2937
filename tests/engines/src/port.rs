//! Ports for programs that take none from the operating system.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpSocket;

/// A port on 127.0.0.1 that the operating system gives to nobody else while this lives.
///
/// A program that names the port can listen on it, and again after it has ended: its socket and the one that is kept
/// here allow the address to be used again, and the one here never listens. A port that nobody keeps may be refused
/// to a listener, for instance for a minute after a connection that had it has ended.
#[derive(Debug)]
pub struct ReservedPort(TcpSocket);

impl ReservedPort {
    /// Reserves a port that is free.
    ///
    /// # Errors
    /// If no port is free.
    pub fn new() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self(socket))
    }

    /// Returns the number of the port.
    ///
    /// # Panics
    /// If the operating system does not tell it, although the socket is bound.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.0.local_addr().expect("the socket is bound").port()
    }
}
