//! Cursors of pages that begin with a provider's items.
//!
//! Such a cursor holds the provider's own cursor, which may be the key of a row or a part of a query.
//! It is encrypted and authenticated with keys of the server, and bound to its list and
//! to the principal: a provider gets back only cursors that it returned for the same principal.

use turnbuckle_session::handler::RequestContext;
use turnbuckle_types::ProtocolError;

use crate::catalog::page::{self, ListKind};
use crate::request::input::{StateBinding, StateKeys};

/// The most bytes of a provider's own cursor.
pub(crate) const MAX_CURSOR_BYTES: usize = 4096;

/// The most bytes of a cursor that a client sends: a sealed cursor in Base64.
const MAX_SEALED_BYTES: usize = MAX_CURSOR_BYTES * 4 / 3 + 256;

/// The position where the page of a list begins, after the registered items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ProviderPosition {
    /// The index of the provider, in the order of registration.
    pub(crate) provider: u32,
    /// The number of items to leave out, since they were on the page before: the provider returned
    /// more than the page had room for.
    pub(crate) skip: u32,
    /// The provider's own cursor; `None` at its beginning.
    pub(crate) cursor: Option<String>,
}

impl ProviderPosition {
    /// Returns the beginning of the next provider.
    pub(crate) fn next_provider(&self) -> Self {
        Self {
            provider: self.provider + 1,
            ..Self::default()
        }
    }

    /// Seals the position into a cursor.
    pub(crate) fn seal(
        &self,
        list: ListKind,
        keys: &StateKeys,
        context: &RequestContext,
    ) -> Result<String, ProtocolError> {
        let mut payload = Vec::with_capacity(64);
        payload.extend_from_slice(&self.provider.to_be_bytes());
        payload.extend_from_slice(&self.skip.to_be_bytes());
        payload.push(u8::from(self.cursor.is_some()));
        payload.extend_from_slice(self.cursor.as_deref().unwrap_or_default().as_bytes());
        // The order of a list is stable, so a cursor needs no time at which it expires.
        let sealed = keys.seal(&binding(list, context), u64::MAX, &payload);
        sealed.map_err(|error| ProtocolError::internal(error.to_string()))
    }

    /// Opens a cursor that [`seal`](Self::seal) made for the same list and principal.
    ///
    /// # Errors
    /// Invalid params, if the text is not such a cursor.
    pub(crate) fn open(
        cursor: &str,
        list: ListKind,
        keys: &StateKeys,
        context: &RequestContext,
    ) -> Result<Self, ProtocolError> {
        if cursor.len() > MAX_SEALED_BYTES {
            return Err(page::unknown_cursor());
        }
        let opened = keys.open(&binding(list, context), 0, cursor).ok();
        let position = opened.and_then(|payload| Self::decode(&payload));
        position.ok_or_else(page::unknown_cursor)
    }

    fn decode(payload: &[u8]) -> Option<Self> {
        let (provider, rest) = payload.split_first_chunk()?;
        let (skip, rest) = rest.split_first_chunk()?;
        let (has_cursor, cursor) = rest.split_first()?;
        let cursor = str::from_utf8(cursor).ok()?;
        Some(Self {
            provider: u32::from_be_bytes(*provider),
            skip: u32::from_be_bytes(*skip),
            cursor: (*has_cursor == 1).then(|| cursor.to_owned()),
        })
    }
}

fn binding(list: ListKind, context: &RequestContext) -> StateBinding<'_> {
    StateBinding {
        method: list.method().as_str(),
        target: "cursor",
        arguments: "",
        principal: context.principal(),
    }
}
