//! The TLS handshakes of a server's connections.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use turnbuckle_session::internal::count_refusal;
use turnbuckle_types::ClientAddress;
use turnbuckle_types::base::text::Escaped;

use crate::options::HttpServerOptions;
use crate::shares::ShareLimits;

/// The largest number of handshakes at a time. Further ones wait, and those that have taken longer than
/// [`MIN_HANDSHAKE_TIME`] make room for them.
const MAX_HANDSHAKES: usize = 256;

/// The time that each handshake has, however many others wait for a permit.
const MIN_HANDSHAKE_TIME: Duration = Duration::from_secs(1);

/// The handshakes of a server's connections, within their bounds.
pub(super) struct TlsHandshakes {
    acceptor: TlsAcceptor,
    permits: Semaphore,
    /// The number of connections that wait for a permit.
    waiting: watch::Sender<usize>,
    address_permits: AddressPermits,
    handshake_timeout: Duration,
}

impl TlsHandshakes {
    /// Returns the handshakes of a server, if it has a certificate.
    pub(super) fn new(options: &HttpServerOptions) -> Option<Self> {
        Self::with_permits(options, MAX_HANDSHAKES)
    }

    fn with_permits(options: &HttpServerOptions, most: usize) -> Option<Self> {
        let identity = options.tls.as_ref()?;
        let mut config = (*identity.config).clone();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        #[cfg(feature = "http2")]
        if options.http2 {
            config.alpn_protocols.insert(0, b"h2".to_vec());
        }
        Some(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            permits: Semaphore::new(most),
            waiting: watch::Sender::new(0),
            address_permits: AddressPermits::new(
                ShareLimits::new(most, &options.shares).per_address(),
            ),
            handshake_timeout: options.timeouts.tls_handshake_timeout,
        })
    }

    /// Performs the handshake of a connection with a client at this address. Returns `None` if it failed,
    /// took too long, or made room for others.
    pub(super) async fn accept<S>(&self, stream: S, peer: Option<IpAddr>) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let handshake = async {
            // An address waits for one of its own permits first: it cannot hold all permits, and not the
            // whole queue for them.
            let own = peer.map(|peer| self.address_permits.permits_of(peer));
            let _own = match &own {
                Some(own) => Some(own.acquire().await.map_err(io::Error::other)?),
                None => None,
            };
            let _permit = self.acquire().await.map_err(io::Error::other)?;
            tokio::select! {
                accepted = self.acceptor.accept(stream) => accepted.map(Some),
                () = self.wait_for_crowd() => Ok(None),
            }
        };
        let setting = "HttpTimeouts::tls_handshake_timeout";
        match timeout(self.handshake_timeout, handshake).await {
            Ok(Ok(Some(stream))) => return Some(stream),
            Ok(Ok(None)) => {
                count_refusal(setting);
                tracing::debug!("a slow TLS handshake made room for other clients that wait");
            }
            Ok(Err(error)) => {
                count_refusal("HttpServerOptions::tls");
                tracing::debug!(error = %Escaped(&error), "a TLS handshake failed");
            }
            Err(_) => {
                count_refusal(setting);
                tracing::debug!(
                    "a TLS handshake took too long (HttpTimeouts::tls_handshake_timeout)"
                );
            }
        }
        None
    }
}

impl TlsHandshakes {
    /// Waits for a permit.
    async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        let _place = WaitingPlace::new(&self.waiting);
        self.permits.acquire().await
    }

    /// Waits until a handshake that begins now has to make room: clients that are slow or silent must
    /// not hold all permits until their timeout while others wait.
    async fn wait_for_crowd(&self) {
        sleep(MIN_HANDSHAKE_TIME).await;
        let mut waiting = self.waiting.subscribe();
        // The sender lives as long as `self`.
        let _ = waiting.wait_for(|waiting| *waiting > 0).await;
    }
}

/// A connection that waits for a permit. Dropped, it waits no longer.
struct WaitingPlace<'a>(&'a watch::Sender<usize>);

impl<'a> WaitingPlace<'a> {
    fn new(waiting: &'a watch::Sender<usize>) -> Self {
        waiting.send_modify(|waiting| *waiting += 1);
        Self(waiting)
    }
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

/// The permits of each client address that has handshakes.
struct AddressPermits {
    most: usize,
    by_network: Mutex<HashMap<IpAddr, Weak<Semaphore>>>,
}

impl AddressPermits {
    fn new(most: usize) -> Self {
        Self {
            most,
            by_network: Mutex::default(),
        }
    }

    /// Returns the permits of an address. They are forgotten when nobody holds them.
    fn permits_of(&self, address: IpAddr) -> Arc<Semaphore> {
        let network = ClientAddress(address).network();
        let by_network = self.by_network.lock();
        let mut by_network = by_network.unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = by_network.get(&network).and_then(Weak::upgrade) {
            return permits;
        }
        if by_network.len() == by_network.capacity() {
            by_network.retain(|_, permits| permits.strong_count() > 0);
        }
        let permits = Arc::new(Semaphore::new(self.most));
        by_network.insert(network, Arc::downgrade(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use rustls::crypto::ring;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::{ClientConfig, RootCertStore};
    #[cfg(feature = "prometheus")]
    use tokio::io::AsyncWriteExt as _;
    use tokio::io::duplex;
    use tokio::time::Instant;
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::options::HttpTimeouts;
    use crate::tls_identity::TlsIdentity;

    fn identity() -> (String, String) {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (issued.cert.pem(), issued.signing_key.serialize_pem())
    }

    fn handshakes(timeouts: HttpTimeouts, most: usize) -> TlsHandshakes {
        let (certificate, key) = identity();
        let identity = TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        let options = HttpServerOptions::new().tls(identity).timeouts(timeouts);
        TlsHandshakes::with_permits(&options, most).unwrap()
    }

    /// Returns how many refusals because of a setting the metrics of this process have.
    #[cfg(feature = "prometheus")]
    fn count_refusals(setting: &str) -> usize {
        let text = super::super::metrics::METRICS.render();
        let sample = format!("turnbuckle_server_refusals_total{{turnbuckle_bound=\"{setting}\"}} ");
        let count = text.lines().find_map(|line| line.strip_prefix(&sample));
        count.map_or(0, |count| count.parse().unwrap())
    }

    #[cfg(feature = "prometheus")]
    #[tokio::test(start_paused = true)]
    async fn handshakes_that_fail_or_take_too_long_are_counted() {
        let settings = [
            "HttpServerOptions::tls",
            "HttpTimeouts::tls_handshake_timeout",
        ];
        let before = settings.map(count_refusals);
        let handshakes = handshakes(HttpTimeouts::new(), 1);
        let (mut client, stream) = duplex(1024);
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(handshakes.accept(stream, None).await.is_none());
        let (_silent, stream) = duplex(1024);
        assert!(handshakes.accept(stream, None).await.is_none());
        // Other tests of this process count, too.
        let counts = settings.map(count_refusals);
        assert!(counts[0] > before[0] && counts[1] > before[1], "{counts:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_may_take_so_long() {
        let limit = Duration::from_secs(7);
        let handshakes = handshakes(HttpTimeouts::new().tls_handshake_timeout(limit), 1);
        let (_silent, stream) = duplex(1024);
        let begin = Instant::now();
        assert!(handshakes.accept(stream, None).await.is_none());
        assert_eq!(begin.elapsed(), limit);
    }

    #[tokio::test]
    async fn the_handshakes_after_a_replacement_have_the_new_certificate() {
        let identities = [identity(), identity()];
        let read = |(certificate, key): &(String, String)| {
            TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap()
        };
        let identity = read(&identities[0]);
        let handshakes =
            TlsHandshakes::new(&HttpServerOptions::new().tls(identity.clone())).unwrap();
        for (certificate, _) in &identities {
            let mut trusted = RootCertStore::empty();
            let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
            trusted.add(certificate.unwrap()).unwrap();
            let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(trusted)
                .with_no_client_auth();
            let (client_end, server_end) = duplex(64 << 10);
            let name = "localhost".try_into().unwrap();
            let connecting = TlsConnector::from(Arc::new(client)).connect(name, client_end);
            let (connected, accepted) =
                tokio::join!(connecting, handshakes.accept(server_end, None));
            assert!(connected.is_ok() && accepted.is_some());
            identity.replace(&read(&identities[1]));
        }
    }

    #[tokio::test]
    async fn the_running_tls_handshakes_are_limited() {
        let handshakes = handshakes(HttpTimeouts::new(), 1);
        let mut cx = Context::from_waker(Waker::noop());
        let ((_a, first), (_b, second)) = (duplex(1024), duplex(1024));
        let mut first = Box::pin(handshakes.accept(first, None));
        assert!(first.as_mut().poll(&mut cx).is_pending());
        assert_eq!(handshakes.permits.available_permits(), 0);
        let mut second = pin!(handshakes.accept(second, None));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        drop(first);
        assert_eq!(
            handshakes.permits.available_permits(),
            0,
            "the second has its turn"
        );
        assert!(second.as_mut().poll(&mut cx).is_pending());
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_of_more_than_a_second_makes_room_where_others_wait() {
        let handshakes = handshakes(HttpTimeouts::new(), 1);
        let start = Instant::now();
        let ((_a, silent), (_b, waiting)) = (duplex(1024), duplex(1024));
        let silent = async {
            assert!(handshakes.accept(silent, None).await.is_none());
            start.elapsed()
        };
        let waiting = async {
            assert!(handshakes.accept(waiting, None).await.is_none());
            start.elapsed()
        };
        let (silent, waiting) = tokio::join!(silent, waiting);
        assert_eq!(silent, MIN_HANDSHAKE_TIME);
        assert_eq!(waiting, HttpTimeouts::new().tls_handshake_timeout);
        assert_eq!(*handshakes.waiting.borrow(), 0);
    }

    #[tokio::test]
    async fn the_handshakes_of_one_address_leave_room_for_others() {
        let handshakes = handshakes(HttpTimeouts::new(), 4);
        let mut cx = Context::from_waker(Waker::noop());
        let mut held = Vec::new();
        for (peer, left) in [(1, 3), (1, 2), (1, 2), (1, 2), (2, 1)] {
            let (client, stream) = duplex(1024);
            let peer = Some(IpAddr::from([192, 0, 2, peer]));
            let mut handshake = Box::pin(handshakes.accept(stream, peer));
            assert!(handshake.as_mut().poll(&mut cx).is_pending());
            assert_eq!(handshakes.permits.available_permits(), left, "{peer:?}");
            held.push((client, handshake));
        }
        held.clear();
        assert_eq!(handshakes.permits.available_permits(), 4);
        for peer in 0..200 {
            handshakes
                .address_permits
                .permits_of([192, 0, 2, peer].into());
        }
        let known = handshakes.address_permits.by_network.lock().unwrap();
        assert!(known.len() < 100, "permits that nobody holds are forgotten");
    }
}
