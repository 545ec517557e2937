//! The rules for URLs from the wire: which schemes, hosts and addresses a server may name.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;
use turnbuckle_http_client::address::{AddressClass, classify};
use turnbuckle_http_client::{Lookup, system_lookup};
use turnbuckle_types::base::host::is_loopback;
use url::{Host, Origin, Url};

/// The most addresses of the MCP server that are remembered.
const MAX_OWN_ADDRESSES: usize = 32;

/// The rules for the URLs that one MCP server may name.
pub(super) struct UrlPolicy {
    server_host: Option<Host<String>>,
    /// True if the URL of the MCP server itself names this machine.
    is_server_loopback: bool,
    plain_http_origins: Vec<Origin>,
    lookup: Lookup,
    /// Set once the server's name was looked up.
    is_looked_up: OnceCell<()>,
    reach: Mutex<ServerReach>,
}

/// The addresses of the MCP server.
#[derive(Default)]
struct ServerReach {
    /// The most public class of all addresses that the server's name ever had, and of those that a
    /// request to the server went to. A server that changes the answers for its name can only lose
    /// by it.
    class: Option<AddressClass>,
    /// The addresses of the first lookup, and of requests to the server.
    own: Vec<IpAddr>,
}

impl ServerReach {
    /// Takes in addresses of the server. Addresses without a class count as public.
    fn raise(&mut self, addresses: &[IpAddr]) {
        let classes = addresses.iter().filter_map(|address| classify(*address));
        let class = classes.max().unwrap_or(AddressClass::Public);
        self.class = self.class.max(Some(class));
    }
}

/// The reason why a host has no address that may be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAddress {
    /// None of the addresses may be named.
    #[error("{0}")]
    Refused(String),
    /// The addresses could not be looked up.
    #[error("dns error: {0}")]
    Unknown(#[from] io::Error),
}

impl UrlPolicy {
    /// Creates the rules for the MCP server at `server`.
    pub(super) fn new(server: &Url, plain_http_origins: &[Url], lookup: Option<Lookup>) -> Self {
        Self {
            server_host: server.host().map(normalize),
            is_server_loopback: server.host_str().is_some_and(is_loopback),
            plain_http_origins: plain_http_origins.iter().map(Url::origin).collect(),
            lookup: lookup.unwrap_or_else(|| Arc::new(system_lookup)),
            is_looked_up: OnceCell::new(),
            reach: Mutex::default(),
        }
    }

    /// Checks all of a URL but its address.
    pub(super) fn check_url(&self, url: &Url) -> Result<Host<String>, String> {
        let host = url.host().map(normalize).ok_or("it names no host")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it holds credentials".to_owned());
        }
        match url.scheme() {
            "https" => Ok(host),
            "http" if self.is_server_loopback && is_loopback(&host.to_string()) => Ok(host),
            "http" if self.plain_http_origins.contains(&url.origin()) => Ok(host),
            "http" => Err(
                "it must begin with https:// (http:// is allowed only between \
                           programs on this machine)"
                    .to_owned(),
            ),
            _ => Err("it must begin with https://".to_owned()),
        }
    }

    /// Checks the address of a host whose address is known without a lookup. The addresses of other
    /// hosts are checked when the connection is made.
    pub(super) async fn check_literal(&self, host: &Host<String>) -> Result<(), String> {
        let address: IpAddr = match host {
            Host::Ipv4(address) => (*address).into(),
            Host::Ipv6(address) => (*address).into(),
            Host::Domain(name) if is_loopback(name) => Ipv4Addr::LOCALHOST.into(),
            Host::Domain(_) => return Ok(()),
        };
        self.filter(host, vec![address]).await.map(|_| ())
    }

    /// Looks up the addresses of a host and returns those that are allowed.
    pub(super) async fn resolve(&self, host: &Host<String>) -> Result<Vec<IpAddr>, NoAddress> {
        // The server's own lookup comes first: it is the closest to the user's own connection.
        self.look_up_server().await;
        let addresses = self.addresses(host).await?;
        let allowed = self.filter(host, addresses).await;
        allowed.map_err(NoAddress::Refused)
    }

    async fn addresses(&self, host: &Host<String>) -> io::Result<Vec<IpAddr>> {
        match host {
            Host::Ipv4(address) => Ok(vec![(*address).into()]),
            Host::Ipv6(address) => Ok(vec![(*address).into()]),
            Host::Domain(name) if is_loopback(name) => {
                Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Host::Domain(name) => (self.lookup)(name.clone()).await,
        }
    }

    /// Returns the addresses that the MCP server may name. `host` is the host that has them.
    async fn filter(
        &self,
        host: &Host<String>,
        mut addresses: Vec<IpAddr>,
    ) -> Result<Vec<IpAddr>, String> {
        let is_server = self.server_host.as_ref() == Some(host);
        if is_server && !matches!(host, Host::Domain(_)) {
            return Ok(addresses);
        }
        let refused = addresses.clone();
        self.look_up_server().await;
        let (limit, own) = {
            let mut reach = self.reach();
            if is_server {
                reach.raise(&addresses);
            }
            // A server without a known address is treated as a public one.
            let class = reach.class.filter(|_| self.is_looked_up.initialized());
            let own = if is_server {
                reach.own.clone()
            } else {
                Vec::new()
            };
            (class.unwrap_or(AddressClass::Public), own)
        };
        addresses.retain(|address| match classify(*address) {
            Some(class) => class >= limit || own.contains(address),
            None => false,
        });
        match (addresses.is_empty(), refused.first()) {
            (true, Some(address)) => Err(refusal(*address, limit)),
            _ => Ok(addresses),
        }
    }

    /// Takes in the address to which a request to the MCP server went. Without an address, a server
    /// with a name counts as public.
    pub(super) fn note_connection(&self, address: Option<IpAddr>) {
        // The class of these is known without a lookup.
        let is_fixed = match &self.server_host {
            Some(Host::Domain(name)) => is_loopback(name),
            Some(_) | None => true,
        };
        if is_fixed {
            return;
        }
        let mut reach = self.reach();
        match address {
            Some(address) => {
                reach.raise(&[address]);
                if !reach.own.contains(&address) && reach.own.len() < MAX_OWN_ADDRESSES {
                    reach.own.push(address);
                }
            }
            None => reach.class = Some(AddressClass::Public),
        }
    }

    /// Looks up the server's name, if that was not done before.
    async fn look_up_server(&self) {
        let Some(host) = &self.server_host else {
            return;
        };
        let looked_up = self.is_looked_up.get_or_try_init(|| async {
            let addresses = self.addresses(host).await?;
            let mut reach = self.reach();
            reach.raise(&addresses);
            if reach.own.is_empty() {
                reach.own = addresses;
                reach.own.truncate(MAX_OWN_ADDRESSES);
            }
            io::Result::Ok(())
        });
        // A failure is treated as a lookup that was not done.
        let _ = looked_up.await;
    }

    fn reach(&self) -> MutexGuard<'_, ServerReach> {
        self.reach.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(address: IpAddr, limit: AddressClass) -> String {
    match (classify(address), limit) {
        (None, _) => format!("the address {address} is link-local, reserved or a metadata service"),
        (Some(AddressClass::Loopback), _) => {
            format!("the address {address} is this machine, and the MCP server is not")
        }
        (Some(_), _) => {
            format!("the address {address} is in a private network, and the MCP server is not")
        }
    }
}

/// Returns a host without the dot at the end of a full name, in lower case.
pub(super) fn normalize(host: Host<&str>) -> Host<String> {
    match host {
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
        Host::Domain(name) => {
            Host::Domain(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase())
        }
    }
}

/// Returns whether a URL is HTTPS, or HTTP on this machine: nobody between can read what is sent there.
///
/// Specification: basic/authorization/security-considerations, "Communication Security"
/// (2026-07-28).
pub(crate) fn is_https_or_loopback(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "http" => url.host_str().is_some_and(is_loopback),
        _ => false,
    }
}
