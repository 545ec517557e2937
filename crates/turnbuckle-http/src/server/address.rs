//! The addresses that a server listens on.

use std::fmt;
use std::net::{IpAddr, SocketAddr, TcpListener};
#[cfg(unix)]
use std::path::PathBuf;

/// The prefix of an address that is the path of a Unix socket.
#[cfg(unix)]
const UNIX: &str = "unix:";

/// The permissions of a new Unix socket: the user of the process may connect.
#[cfg(unix)]
const OWNER_ONLY: u32 = 0o600;

/// An address for an [`HttpServer`](crate::HttpServer) to listen on.
///
/// It is made from a text such as `127.0.0.1:8080`, `localhost:8080` or, on Unix,
/// `unix:/run/mcp.sock`; from a `SocketAddr`, an `(IpAddr, u16)` or a `(&str, u16)`; or from a
/// listener of the standard library that is bound already. A listener of tokio becomes one by its
/// `into_std`. Port 0 takes any free port.
///
/// At the path of a Unix socket, a socket that nobody listens on is replaced. Nothing else is. Only
/// the user of the process may connect to a new socket, unless [`unix`](Self::unix) says otherwise. It
/// is removed when the server ends.
pub struct ListenAddress(pub(super) AddressKind);

pub(super) enum AddressKind {
    /// A host and a port.
    Name(String),
    Address(SocketAddr),
    Tcp(TcpListener),
    #[cfg(unix)]
    Path {
        path: PathBuf,
        mode: u32,
    },
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener),
}

impl ListenAddress {
    /// Creates the address of a Unix socket at a path, with permissions such as `0o660` for the user
    /// and the group of the process.
    #[cfg(unix)]
    #[must_use]
    pub fn unix(path: impl Into<PathBuf>, mode: u32) -> Self {
        let path = path.into();
        Self(AddressKind::Path { path, mode })
    }
}

impl From<&str> for ListenAddress {
    fn from(address: &str) -> Self {
        #[cfg(unix)]
        if let Some(path) = address.strip_prefix(UNIX) {
            return Self::unix(path, OWNER_ONLY);
        }
        Self(AddressKind::Name(address.to_owned()))
    }
}

impl From<&String> for ListenAddress {
    fn from(address: &String) -> Self {
        address.as_str().into()
    }
}

impl From<String> for ListenAddress {
    fn from(address: String) -> Self {
        address.as_str().into()
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self(AddressKind::Address(address))
    }
}

impl From<(IpAddr, u16)> for ListenAddress {
    fn from(address: (IpAddr, u16)) -> Self {
        SocketAddr::from(address).into()
    }
}

impl From<(&str, u16)> for ListenAddress {
    fn from((host, port): (&str, u16)) -> Self {
        // An IPv6 address needs brackets beside a port.
        match host.parse::<IpAddr>() {
            Ok(address) => (address, port).into(),
            Err(_) => Self(AddressKind::Name(format!("{host}:{port}"))),
        }
    }
}

impl From<TcpListener> for ListenAddress {
    fn from(listener: TcpListener) -> Self {
        Self(AddressKind::Tcp(listener))
    }
}

#[cfg(unix)]
impl From<std::os::unix::net::UnixListener> for ListenAddress {
    fn from(listener: std::os::unix::net::UnixListener) -> Self {
        Self(AddressKind::Unix(listener))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            AddressKind::Name(name) => f.write_str(name),
            AddressKind::Address(address) => address.fmt(f),
            AddressKind::Tcp(listener) => match listener.local_addr() {
                Ok(address) => address.fmt(f),
                Err(_) => f.write_str("a TCP listener"),
            },
            #[cfg(unix)]
            AddressKind::Path { path, .. } => write!(f, "{UNIX}{}", path.display()),
            #[cfg(unix)]
            AddressKind::Unix(_) => f.write_str("a Unix listener"),
        }
    }
}

impl fmt::Debug for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListenAddress({self})")
    }
}
