//! Lookups of host names.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

/// The addresses of one name, once they are known.
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A function that looks up the addresses of a host name.
pub type Lookup = Arc<dyn Fn(String) -> LookupFuture + Send + Sync>;

/// Asks the operating system for the addresses of a name.
#[must_use]
pub fn system_lookup(name: String) -> LookupFuture {
    Box::pin(async move {
        let addresses = tokio::net::lookup_host((name, 0)).await?;
        Ok(addresses.map(|address| address.ip()).collect())
    })
}

/// A lookup as the resolver of a connector.
#[derive(Clone)]
pub(crate) struct Resolver(pub(crate) Lookup);

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = (self.0)(name.as_str().to_owned());
        Box::pin(async move {
            // The connector replaces the port 0.
            let addresses = addresses.await?.into_iter();
            let addresses: Vec<_> = addresses.map(|address| (address, 0).into()).collect();
            Ok(addresses.into_iter())
        })
    }
}
