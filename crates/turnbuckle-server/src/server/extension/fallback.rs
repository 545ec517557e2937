//! Requests whose methods neither the specification nor an extension of the server has.

use std::sync::Arc;

use turnbuckle_session::internal::HandlerOutcome;
use turnbuckle_types::{Json, Map};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::era::params::raw_params;

use super::AsIs;
use super::registry::error_of;
use crate::ServerBuilder;
use crate::error::failure::Result;
use crate::request::context::HandlerContext;

impl ServerBuilder {
    /// Sets the handler of requests whose method neither the specification nor an extension of the server has: for
    /// a proxy, which does not know the methods of the extensions behind it.
    ///
    /// It gets the method and the parameters, with `_meta`, of clients whose revision has extensions; others read
    /// "method not found" (-32601). The members of its result are sent unchanged.
    pub fn unknown_method<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(String, Map<Json>, HandlerContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Map<Json>>> + Send + 'static,
    {
        self.draft.fallback = Some(Arc::new(
            move |name: &str, text: &str, context: HandlerContext| {
                let params = raw_params(text).and_then(|raw| raw.decode().ok());
                let run = handler(name.to_owned(), params.unwrap_or_default(), context.clone());
                HandlerOutcome::Pending(Box::pin(async move {
                    match run.await {
                        Ok(result) => Reply::Complete(Box::new(AsIs(result))),
                        Err(failure) => Reply::Error(error_of(failure, &context)),
                    }
                }))
            },
        ));
        self
    }
}
