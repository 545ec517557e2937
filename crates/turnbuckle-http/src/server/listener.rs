//! The sockets that a server accepts connections on.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
#[cfg(unix)]
use std::path::Path;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};
use turnbuckle_types::base::text::Escaped;

use super::address::{AddressKind, ListenAddress};
#[cfg(unix)]
use super::socket_file::{self, SocketFile};

/// The delay before the next connection is accepted after accepting one has failed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// A socket that a server accepts connections on.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener, SocketAddr),
    #[cfg(unix)]
    Unix {
        listener: UnixListener,
        /// The socket's file, if the server made it.
        file: Option<SocketFile>,
    },
}

/// A connection that was accepted.
pub(super) enum AcceptedStream {
    /// A TCP connection, with the address of its peer.
    Tcp(TcpStream, Option<IpAddr>),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl AcceptedStream {
    /// Returns the address of the peer of a TCP connection.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(_, peer) => *peer,
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }

    /// Writes as many bytes as a TCP socket takes at once, and closes it.
    pub(super) fn write_now(self, bytes: &[u8]) {
        // The runtime does not know yet whether a new socket can be written to.
        if let Self::Tcp(stream, _) = self
            && let Ok(mut stream) = stream.into_std()
        {
            let _ = stream.write(bytes);
        }
    }
}

impl Listener {
    pub(super) async fn bind(address: ListenAddress) -> io::Result<Self> {
        let listener = match address.0 {
            AddressKind::Name(name) => TcpListener::bind(name).await?,
            AddressKind::Address(address) => TcpListener::bind(address).await?,
            AddressKind::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)?
            }
            #[cfg(unix)]
            AddressKind::Path { path, mode } => {
                let (listener, file) = socket_file::bind(&path, mode)?;
                return Self::from_unix(listener, Some(file));
            }
            #[cfg(unix)]
            AddressKind::Unix(listener) => return Self::from_unix(listener, None),
        };
        let address = listener.local_addr()?;
        Ok(Self::Tcp(listener, address))
    }

    #[cfg(unix)]
    fn from_unix(
        listener: std::os::unix::net::UnixListener,
        file: Option<SocketFile>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        Ok(Self::Unix { listener, file })
    }

    /// Returns the address of a TCP socket.
    pub(super) fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(_, address) => Some(*address),
            #[cfg(unix)]
            Self::Unix { .. } => None,
        }
    }

    /// Returns the path of a Unix socket, if it has one.
    #[cfg(unix)]
    pub(super) fn unix_path(&self) -> Option<std::path::PathBuf> {
        match self {
            Self::Tcp(..) => None,
            Self::Unix { listener, file } => match file {
                Some(file) => Some(file.path().to_owned()),
                None => Some(
                    listener
                        .local_addr()
                        .ok()?
                        .as_pathname()
                        .map(Path::to_owned)?,
                ),
            },
        }
    }

    /// Accepts the next connection.
    ///
    /// # Errors
    /// When the socket itself has failed.
    pub(super) async fn accept(&self) -> io::Result<AcceptedStream> {
        loop {
            let accepted = match self {
                Self::Tcp(listener, _) => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, peer)| AcceptedStream::Tcp(stream, Some(peer.ip())))
                }
                #[cfg(unix)]
                Self::Unix { listener, .. } => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, _)| AcceptedStream::Unix(stream))
                }
            };
            match accepted {
                Err(error) if !is_listener_error(&error) => {
                    tracing::warn!(error = %Escaped(&error), "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
                accepted => return accepted,
            }
        }
    }
}

/// Returns whether an error of `accept` is one of the listener itself. Any other is one of a single
/// connection, of the network or of scarce resources, and accepting may work a moment later.
fn is_listener_error(error: &io::Error) -> bool {
    // EBADF, EINVAL and ENOTSOCK.
    const LISTENER_ERRORS: [i32; 3] = if cfg!(windows) {
        [10009, 10022, 10038]
    } else if cfg!(any(target_os = "linux", target_os = "android")) {
        [9, 22, 88]
    } else {
        [9, 22, 38]
    };
    let code = error.raw_os_error();
    code.is_none_or(|code| LISTENER_ERRORS.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn only_an_error_of_the_listener_ends_the_server() {
        for code in [9, 22, 88] {
            assert!(
                is_listener_error(&io::Error::from_raw_os_error(code)),
                "{code}"
            );
        }
        // Among them ENOMEM, ENFILE, EMFILE, EPROTO, ENETDOWN, ECONNABORTED, ENOBUFS, EHOSTUNREACH.
        for code in [4, 11, 12, 23, 24, 71, 100, 103, 105, 113] {
            assert!(
                !is_listener_error(&io::Error::from_raw_os_error(code)),
                "{code}"
            );
        }
        assert!(
            is_listener_error(&io::Error::other("no runtime")),
            "not of the system"
        );
    }
}
