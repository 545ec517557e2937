//! Shares: the part of each table that one owner and one client address may take, so that nobody can
//! lock others out.
//!
//! A table (sessions, HTTP+SSE connections, streams, connections of the server) has a total. An owner
//! is a principal, or else a connection. An address is an IPv4 address or the /64 network of an IPv6
//! address.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use http::{Extensions, Request};
use turnbuckle_session::internal::{KeyedRates, OwnerAccount, ServerEndpoint};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{ClientAddress, Principal, ProtocolError};

use crate::options::HttpShares;

/// The largest number of client addresses whose handshakes are counted apart; further ones count
/// together.
const MAX_ADDRESSES: usize = 10_000;

/// A connection to the server, as its requests see it.
#[derive(Debug)]
pub(crate) struct ConnectionInfo {
    /// The account of its requests without a principal.
    pub(crate) account: OwnerAccount,
    id: u64,
    address: Option<ClientAddress>,
    /// True while the buffer that requests are read into is larger than what a request counts for.
    has_large_buffer: AtomicBool,
}

impl ConnectionInfo {
    pub(crate) fn new(account: OwnerAccount, address: Option<IpAddr>) -> Arc<Self> {
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            account,
            id: LAST_ID.fetch_add(1, Ordering::Relaxed),
            address: address.map(ClientAddress),
            has_large_buffer: AtomicBool::new(false),
        })
    }

    /// Returns the address of the peer, or `None` on a Unix socket.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.address.map(|address| address.0)
    }

    /// Returns whether a piece of the request would keep a large buffer for as long as it exists.
    pub(crate) fn has_large_buffer(&self) -> bool {
        self.has_large_buffer.load(Ordering::Relaxed)
    }

    pub(crate) fn set_large_buffer(&self, is_large: bool) {
        self.has_large_buffer.store(is_large, Ordering::Relaxed);
    }

    /// Shows layers and routes the address of the peer, unless a trusted proxy named that of the client. A
    /// layer may put another in its place.
    pub(crate) fn show_address<B>(&self, request: &mut Request<B>) {
        if let Some(address) = self.address {
            request.extensions_mut().get_or_insert(address);
        }
    }
}

/// Returns the address of the client that sent a request with these extensions on that connection.
pub(crate) fn find_address(
    extensions: &Extensions,
    connection: Option<&ConnectionInfo>,
) -> Option<ClientAddress> {
    let named = extensions.get::<ClientAddress>().copied();
    named.or_else(|| connection?.address)
}

/// A client as shares count it: keyed hashes of its owner and its address, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Client {
    pub(crate) owner: Option<u64>,
    pub(crate) address: Option<u64>,
}

/// The bound of a table that leaves no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exceeded {
    Total,
    Owner,
    Address,
}

impl Exceeded {
    /// Returns the setting of the bound: `total`, or that of the shares.
    pub(crate) fn setting(self, total: &'static str) -> &'static str {
        match self {
            Self::Total => total,
            Self::Owner => "HttpShares::max_owner_percent",
            Self::Address => "HttpShares::max_address_percent",
        }
    }

    /// Returns what refuses an entry of a table of `things` whose total is the setting `total`.
    pub(crate) fn message(self, things: &str, total: &str) -> String {
        match self {
            Self::Total => format!("too many {things} are open ({total})"),
            Self::Owner => format!(
                "too many {things} of one client are open (HttpShares::max_owner_percent, {total})"
            ),
            Self::Address => format!(
                "too many {things} of one client address are open \
                 (HttpShares::max_address_percent, {total})"
            ),
        }
    }
}

/// The bounds of a table: all of it, and the shares of one owner and of one address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShareLimits {
    total: usize,
    owner: usize,
    address: usize,
}

impl ShareLimits {
    /// Returns the bounds of a table with this total.
    pub(crate) fn new(total: usize, shares: &HttpShares) -> Self {
        let share = |percent: u8| {
            let percent = usize::from(percent.min(100));
            // The parts of a large total are taken apart, so that nothing overflows.
            (total / 100 * percent + (total % 100 * percent).div_ceil(100)).max(1)
        };
        Self {
            total,
            owner: share(shares.max_owner_percent),
            address: share(shares.max_address_percent),
        }
    }

    /// Returns the share of one address.
    #[cfg(feature = "tls")]
    pub(crate) fn per_address(&self) -> usize {
        self.address
    }
}

/// The numbers of a table's entries: all, and those of each owner and of each address.
#[derive(Debug, Default)]
pub(crate) struct ShareCounts {
    total: usize,
    by_owner: HashMap<u64, usize>,
    by_address: HashMap<u64, usize>,
}

impl ShareCounts {
    /// Returns the bound that leaves no room for another entry of the client, if there is one.
    pub(crate) fn find_exceeded(&self, client: Client, limits: &ShareLimits) -> Option<Exceeded> {
        let count = |counts: &HashMap<u64, usize>, key: Option<u64>| {
            key.and_then(|key| counts.get(&key)).copied().unwrap_or(0)
        };
        // A share that is all of the table bounds nothing.
        let is_used_up =
            |share: usize, counts, key| share < limits.total && count(counts, key) >= share;
        if is_used_up(limits.owner, &self.by_owner, client.owner) {
            Some(Exceeded::Owner)
        } else if is_used_up(limits.address, &self.by_address, client.address) {
            Some(Exceeded::Address)
        } else if self.total >= limits.total {
            Some(Exceeded::Total)
        } else {
            None
        }
    }

    pub(crate) fn add(&mut self, client: Client) {
        self.total += 1;
        let keys = [
            (&mut self.by_owner, client.owner),
            (&mut self.by_address, client.address),
        ];
        for (counts, key) in keys {
            if let Some(key) = key {
                *counts.entry(key).or_default() += 1;
            }
        }
    }

    pub(crate) fn remove(&mut self, client: Client) {
        self.total -= 1;
        let keys = [
            (&mut self.by_owner, client.owner),
            (&mut self.by_address, client.address),
        ];
        for (counts, key) in keys {
            if let Some(key) = key
                && let Some(count) = counts.get_mut(&key)
            {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&key);
                    if counts.is_empty() {
                        *counts = HashMap::default();
                    }
                }
            }
        }
    }
}

/// A table whose entries count until they are dropped.
#[derive(Debug)]
pub(crate) struct ShareTable {
    limits: ShareLimits,
    counts: Mutex<ShareCounts>,
}

impl ShareTable {
    pub(crate) fn new(limits: ShareLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            counts: Mutex::default(),
        })
    }

    fn counts(&self) -> MutexGuard<'_, ShareCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of entries.
    pub(crate) fn count(&self) -> usize {
        self.counts().total
    }

    /// Counts an entry of a client until it is dropped.
    ///
    /// # Errors
    /// When the client has its share already, or the table is full.
    pub(crate) fn take(self: &Arc<Self>, client: Client) -> Result<Share, Exceeded> {
        let mut counts = self.counts();
        if let Some(exceeded) = counts.find_exceeded(client, &self.limits) {
            return Err(exceeded);
        }
        counts.add(client);
        drop(counts);
        Ok(Share {
            table: self.clone(),
            client,
        })
    }
}

/// An entry of a table, which counts until it is dropped.
pub(crate) struct Share {
    table: Arc<ShareTable>,
    client: Client,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.table.counts().remove(self.client);
    }
}

debug_fields!(Share { client });

/// The clients of one server or endpoint: their keys, and the rates of their handshakes.
#[derive(Debug)]
pub(crate) struct Clients {
    hasher: RandomState,
    handshakes: KeyedRates,
    counts_addresses: bool,
}

impl Clients {
    pub(crate) fn new(shares: &HttpShares) -> Self {
        Self {
            hasher: RandomState::new(),
            handshakes: KeyedRates::new(shares.address_handshake_rate, MAX_ADDRESSES),
            counts_addresses: shares.counts_addresses(),
        }
    }

    /// Returns the client that sent a request with these extensions on that connection.
    pub(crate) fn identify(
        &self,
        principal: Option<&Principal>,
        extensions: &Extensions,
        connection: Option<&ConnectionInfo>,
    ) -> Client {
        let address = find_address(extensions, connection);
        // A connection on which a proxy sends the requests of many clients is none of them.
        let own_connection = connection.filter(|connection| connection.address == address);
        let owner = match principal {
            Some(principal) => Some(self.hash(principal.identity())),
            None => own_connection.map(|connection| self.hash(connection.id)),
        };
        Client {
            owner,
            address: address.map(|address| self.hash(address.network())),
        }
    }

    /// Returns the account that stands for the connection of a request: that of the client's address, if
    /// a layer or a trusted proxy names one, because others use the same connection.
    pub(crate) fn connection_account<'a>(
        &self,
        server: &ServerEndpoint,
        extensions: &Extensions,
        connection: Option<&'a ConnectionInfo>,
    ) -> Option<Cow<'a, OwnerAccount>> {
        let account = connection.map(|connection| Cow::Borrowed(&connection.account));
        let of_connection = connection.and_then(|connection| connection.address);
        let named = extensions.get::<ClientAddress>().copied();
        // The account of a connection is at the connection's address.
        let is_other =
            |named: &ClientAddress| self.counts_addresses && of_connection != Some(*named);
        let Some(named) = named.filter(is_other) else {
            return account;
        };
        Some(Cow::Owned(server.account_at(named.0)))
    }

    /// Returns the client at an address, whose owner is not known yet.
    pub(crate) fn identify_address(&self, address: IpAddr) -> Client {
        Client {
            owner: None,
            address: Some(self.hash(ClientAddress(address).network())),
        }
    }

    /// Counts a handshake of a client: on the account of its principal or connection, and on its
    /// address.
    ///
    /// # Errors
    /// Returns an error that names the setting, when a rate is exceeded.
    pub(crate) fn admit_handshake(
        &self,
        client: Client,
        account: &OwnerAccount,
    ) -> Result<(), ProtocolError> {
        account.admit_handshake()?;
        client.address.map_or(Ok(()), |address| {
            let setting = "HttpShares::address_handshake_rate";
            self.handshakes
                .admit(address, "handshakes of one client address", setting)
        })
    }

    fn hash(&self, key: impl Hash) -> u64 {
        self.hasher.hash_one(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(owner: u64, address: u64) -> Client {
        Client {
            owner: Some(owner),
            address: Some(address),
        }
    }

    fn table(total: usize) -> Arc<ShareTable> {
        ShareTable::new(ShareLimits::new(total, &HttpShares::new()))
    }

    #[test]
    fn an_owner_and_an_address_have_half_of_a_table_each() {
        let table = table(8);
        let first: Vec<_> = (0..4).map(|_| table.take(client(1, 1)).unwrap()).collect();
        assert_eq!(table.take(client(1, 2)).unwrap_err(), Exceeded::Owner);
        assert_eq!(table.take(client(2, 1)).unwrap_err(), Exceeded::Address);
        let others: Vec<_> = (2..6)
            .map(|it| table.take(client(it, it)).unwrap())
            .collect();
        assert_eq!(table.take(client(9, 9)).unwrap_err(), Exceeded::Total);
        drop(first);
        assert_eq!(table.count(), 4);
        drop(table.take(client(1, 1)).unwrap());
        drop(others);
        let counts = table.counts();
        assert_eq!(
            counts.total + counts.by_owner.len() + counts.by_address.len(),
            0
        );
        assert_eq!(counts.by_owner.capacity(), 0);
    }

    #[test]
    fn a_client_without_owner_and_address_is_bounded_by_the_total_alone() {
        let table = table(2);
        let unknown = Client {
            owner: None,
            address: None,
        };
        let _both = [table.take(unknown).unwrap(), table.take(unknown).unwrap()];
        assert_eq!(table.take(unknown).unwrap_err(), Exceeded::Total);
    }

    #[test]
    fn shares_are_parts_of_any_total() {
        let share = |total, percent| {
            let shares = HttpShares::new().max_owner_percent(percent);
            ShareLimits::new(total, &shares).owner
        };
        assert_eq!(share(10_000, 50), 5000);
        assert_eq!((share(1, 50), share(3, 50), share(0, 50)), (1, 2, 1));
        assert_eq!((share(7, 0), share(7, 100), share(7, 200)), (1, 7, 7));
        assert_eq!(share(usize::MAX, 100), usize::MAX);
    }

    #[test]
    fn a_layer_overrides_the_address_of_the_connection() {
        let clients = Clients::new(&HttpShares::new());
        let account = OwnerAccount::new(&turnbuckle_session::handler::Limits::new());
        let proxy: IpAddr = "127.0.0.1".parse().unwrap();
        let connection = ConnectionInfo::new(account, Some(proxy));
        let mut extensions = Extensions::new();
        let identify =
            |extensions: &Extensions| clients.identify(None, extensions, Some(&connection));
        let peer = identify(&extensions);
        assert_eq!(peer.address, clients.identify_address(proxy).address);
        assert!(peer.owner.is_some());
        let behind: IpAddr = "192.0.2.1".parse().unwrap();
        extensions.insert(ClientAddress(behind));
        assert_eq!(
            identify(&extensions).address,
            clients.identify_address(behind).address
        );
        assert_eq!(
            identify(&extensions).owner,
            None,
            "others use the connection too"
        );
        let ann = Principal::new("https://issuer.example", "ann");
        let of_ann = clients.identify(Some(&ann), &extensions, Some(&connection));
        assert_ne!(of_ann.owner, peer.owner);
    }

    #[test]
    fn a_request_that_shows_the_address_of_its_connection_has_the_account_of_the_connection() {
        let server = turnbuckle_server::Server::new("s", "1").build().unwrap();
        let limits = turnbuckle_session::handler::Limits::new();
        let server = ServerEndpoint::new(server.into(), limits);
        let clients = Clients::new(&HttpShares::new());
        let peer: IpAddr = "127.0.0.1".parse().unwrap();
        let connection = ConnectionInfo::new(server.new_account(), Some(peer));
        let mut request = Request::new(());
        connection.show_address(&mut request);
        let account = |extensions: &Extensions| {
            clients.connection_account(&server, extensions, Some(&connection))
        };
        assert!(matches!(
            account(request.extensions()),
            Some(Cow::Borrowed(_))
        ));
        let behind = ClientAddress("192.0.2.1".parse().unwrap());
        request.extensions_mut().insert(behind);
        assert!(matches!(account(request.extensions()), Some(Cow::Owned(_))));
    }
}
