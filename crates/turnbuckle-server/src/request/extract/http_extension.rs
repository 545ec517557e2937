//! The extractor of values that layers put into HTTP requests.

use std::any::type_name;
use std::ops::Deref;

use turnbuckle_types::ProtocolError;

use super::{Extract, HandlerRequirements, Invocation};
use crate::error::failure::{Failure, Result};

/// A value that a layer in front of the HTTP endpoint put into the request's extensions: a tenant, a
/// user, a connection of a pool.
///
/// The value is cloned for the handler. Over HTTP+SSE it is that of the request that opened the
/// event stream. On other transports, and if no layer added a `T`, the handler fails before it
/// runs; `Option<HttpExtension<T>>` is `None` then.
///
/// ```
/// use turnbuckle_server::{HttpExtension, Tool};
///
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// let tenant = Tool::builder("tenant").handler(|HttpExtension(tenant): HttpExtension<Tenant>| tenant.0);
/// # let _ = tenant;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpExtension<T>(pub T);

impl<T> Deref for HttpExtension<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone + Send + Sync + 'static> HttpExtension<T> {
    /// Returns the value of the request, if it has one.
    fn find(invocation: &Invocation<'_>) -> Option<Self> {
        let http = invocation.context().http()?;
        http.extensions().get().cloned().map(Self)
    }
}

impl<T: Clone + Send + Sync + 'static> Extract for HttpExtension<T> {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        if let Some(found) = Self::find(invocation) {
            return Ok(found);
        }
        if invocation.context().http().is_none() {
            return Err(Failure::new(
                "this works over HTTP only: the request came over another transport",
            ));
        }
        let name = type_name::<T>();
        tracing::error!("no layer put a {name} into the extensions of the HTTP request");
        let error = "a layer of the server did not add what this needs to the HTTP request";
        Err(ProtocolError::internal(error).into())
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        requirements.http.extensions = true;
    }
}

impl<T: Clone + Send + Sync + 'static> Extract for Option<HttpExtension<T>> {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(HttpExtension::find(invocation))
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        HttpExtension::<T>::add_requirements(requirements);
    }
}
