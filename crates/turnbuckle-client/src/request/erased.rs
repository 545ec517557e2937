//! A request and its result without their types, so that the code that sends requests exists once and
//! not once for each method.

use std::sync::Arc;

use turnbuckle_session::internal::MirroredFields;
use turnbuckle_types::{CacheScope, InputResponses, Json, RawObject, TaskMetadata};
use turnbuckle_wire::era::{Project, WriteParams};
use turnbuckle_wire::revision::Method;

use crate::cache::{CacheableRequest, CachedResult};
use crate::error::Error;
use crate::method::{ResultInspector, ServerMethod};
use crate::request::service::{ClientResponse, SendRequest, send_behind_layers};

/// A request of any method, and its result once there is one. The functions do what those of the same name
/// in [`ClientRequest`](crate::method::ClientRequest) say.
pub(crate) trait ErasedRequest: CacheableRequest + Send + Sync {
    fn method(&self) -> &'static str;
    fn can_be_task(&self) -> bool;

    /// Returns the parameters to be sent: the given ones, with the changes since.
    fn params(&self) -> &dyn WriteParams;
    /// Takes back all changes of the parameters.
    fn reset_params(&mut self);
    fn has_cursor(&self) -> bool;
    fn task(&self) -> Option<&TaskMetadata>;
    fn set_task(&mut self, task: Option<TaskMetadata>);
    fn input_members(&mut self) -> Option<(&mut InputResponses, &mut Option<String>)>;

    fn decode_result(&mut self, text: &str, structured_only: bool)
    -> Result<(), serde_json::Error>;
    /// Returns whether the page was decoded.
    fn decode_valid_items(&mut self, text: &str, on_invalid: &mut dyn FnMut(&str, &str)) -> bool;
    fn result_type(&self) -> Option<&Json>;
    /// Learns from the result or checks it, and undoes its projection.
    fn inspect(&mut self, inspector: ResultInspector<'_>) -> Result<(), Error>;
    /// Takes a result from the cache. Returns whether it is one of this method.
    fn set_cached(&mut self, cached: &CachedResult) -> bool;

    /// Returns the function that sends a request of this method behind the layers.
    fn send_function(&self) -> SendRequest;
    /// Takes the result from a response that passed the layers. Returns the bytes of its JSON, if known.
    fn set_response(&mut self, response: ClientResponse) -> Result<usize, Error>;
}

/// A request of the method `M`.
pub(crate) struct TypedRequest<'a, M: ServerMethod> {
    given: &'a M::Params,
    /// A copy with changes, if there are any. Boxed, because most requests have none.
    changed: Option<Box<M::Params>>,
    result: Option<M::Result>,
}

impl<'a, M: ServerMethod> TypedRequest<'a, M> {
    pub(crate) fn new(params: &'a M::Params) -> Self {
        Self {
            given: params,
            changed: None,
            result: None,
        }
    }

    /// Returns the result of a request that was sent.
    pub(crate) fn into_result(self) -> Result<M::Result, Error> {
        self.result.ok_or_else(|| Error::InvalidResult {
            method: M::METHOD.to_owned(),
            reason: "it was not decoded".into(),
        })
    }

    fn current(&self) -> &M::Params {
        self.changed.as_deref().unwrap_or(self.given)
    }

    fn change(&mut self) -> &mut M::Params {
        let given = self.given;
        self.changed.get_or_insert_with(|| Box::new(given.clone()))
    }
}

impl<M: ServerMethod> CacheableRequest for TypedRequest<'_, M> {
    fn facts(&self) -> Method {
        M::FACTS
    }

    fn mirrored_fields(&self) -> MirroredFields<'_> {
        M::mirrored_fields(self.current())
    }

    fn encode_params(&self) -> Result<RawObject, serde_json::Error> {
        RawObject::encode(self.current())
    }

    fn cache_hints(&self) -> (Option<u64>, Option<&CacheScope>) {
        self.result.as_ref().map_or((None, None), M::cache_hints)
    }

    fn cacheable_result(&self) -> Option<CachedResult> {
        Some(Arc::new(self.result.clone()?))
    }
}

impl<M: ServerMethod> ErasedRequest for TypedRequest<'_, M> {
    fn method(&self) -> &'static str {
        M::METHOD
    }

    fn can_be_task(&self) -> bool {
        M::CAN_BE_TASK
    }

    fn params(&self) -> &dyn WriteParams {
        self.current()
    }

    fn reset_params(&mut self) {
        self.changed = None;
    }

    fn has_cursor(&self) -> bool {
        M::has_cursor(self.current())
    }

    fn task(&self) -> Option<&TaskMetadata> {
        M::task(self.current())
    }

    fn set_task(&mut self, task: Option<TaskMetadata>) {
        M::set_task(self.change(), task);
    }

    fn input_members(&mut self) -> Option<(&mut InputResponses, &mut Option<String>)> {
        M::input_members(self.change())
    }

    fn decode_result(
        &mut self,
        text: &str,
        structured_only: bool,
    ) -> Result<(), serde_json::Error> {
        self.result = Some(M::decode_result(text, structured_only)?);
        Ok(())
    }

    fn decode_valid_items(&mut self, text: &str, on_invalid: &mut dyn FnMut(&str, &str)) -> bool {
        self.result = M::decode_valid_items(text, on_invalid);
        self.result.is_some()
    }

    fn result_type(&self) -> Option<&Json> {
        M::result_type(self.result.as_ref()?)
    }

    fn inspect(&mut self, inspector: ResultInspector<'_>) -> Result<(), Error> {
        let params = self.changed.as_deref().unwrap_or(self.given);
        if let Some(result) = &mut self.result {
            M::inspect(inspector, params, result)?;
            result.undo_projection();
        }
        Ok(())
    }

    fn set_cached(&mut self, cached: &CachedResult) -> bool {
        self.result = cached.downcast_ref().cloned();
        self.result.is_some()
    }

    fn send_function(&self) -> SendRequest {
        send_behind_layers::<M>
    }

    fn set_response(&mut self, response: ClientResponse) -> Result<usize, Error> {
        let (result, bytes) = response.into_result(M::METHOD)?;
        self.result = Some(result);
        Ok(bytes)
    }
}
