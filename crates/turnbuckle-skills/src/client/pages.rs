//! Lists of the extension that come in pages, bounded in pages, items and bytes.

use std::collections::HashSet;
use std::marker::PhantomData;

use turnbuckle_client::{Client, Error};
use turnbuckle_types::{ExtensionRequest, Json, Request, describe_decode_error};

use super::error::SkillError;

/// A request whose result stays the text that it arrived in, so that its bytes can be counted.
pub(super) struct Raw<M>(PhantomData<fn(M)>);

impl<M: ExtensionRequest> Request for Raw<M> {
    const METHOD: &'static str = M::METHOD;
    type Params = M::Params;
    type Result = Json;
}

impl<M: ExtensionRequest> ExtensionRequest for Raw<M> {
    const EXTENSION: &'static str = M::EXTENSION;
    const MIRRORED_PARAM: Option<&'static str> = M::MIRRORED_PARAM;
    const IS_SAFE_TO_RESEND: bool = M::IS_SAFE_TO_RESEND;
}

/// Sends the request for one page. Returns its result and the bytes of it.
///
/// `subject` names the list in an error, such as the URI of a directory.
pub(super) async fn fetch_page<M: ExtensionRequest>(
    client: &Client,
    subject: &str,
    params: M::Params,
) -> Result<(M::Result, usize), SkillError> {
    let result = client.request_extension::<Raw<M>>(params).await;
    let result = result.map_err(|error| SkillError::request(M::METHOD, subject, error))?;
    let page = result.decode().map_err(|error| {
        let error = Error::InvalidResult {
            method: M::METHOD.to_owned(),
            reason: describe_decode_error(&error),
        };
        SkillError::request(M::METHOD, subject, error)
    })?;
    Ok((page, result.as_str().len()))
}

/// The walk through the pages of one list, within the limits of the client.
pub(super) struct PageWalk {
    method: &'static str,
    max_pages: usize,
    max_items: usize,
    max_bytes: usize,
    pages: usize,
    items: usize,
    bytes: usize,
    cursors: HashSet<String>,
}

impl PageWalk {
    pub(super) fn new(client: &Client, method: &'static str) -> Self {
        let first_page = client.list_resources().page(None);
        let limits = first_page.limits();
        Self {
            method,
            max_pages: limits.max_list_pages,
            max_items: limits.max_list_items,
            max_bytes: limits.max_list_bytes,
            pages: 0,
            items: 0,
            bytes: 0,
            cursors: HashSet::new(),
        }
    }

    /// Counts a page.
    ///
    /// # Errors
    /// Fails if the list exceeds a limit, or its cursor was there before.
    pub(super) fn count(
        &mut self,
        items: usize,
        bytes: usize,
        next_cursor: Option<&str>,
    ) -> Result<(), SkillError> {
        self.pages += 1;
        self.items = self.items.saturating_add(items);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes {
            let reason = format!("has more than {} bytes", self.max_bytes);
            return Err(self.endless(reason, "ClientLimits::max_list_bytes"));
        }
        if self.items > self.max_items {
            let reason = format!("has more than {} items", self.max_items);
            return Err(self.endless(reason, "ClientLimits::max_list_items"));
        }
        let Some(cursor) = next_cursor else {
            return Ok(());
        };
        if self.pages >= self.max_pages {
            let reason = format!("has more than {} pages", self.max_pages);
            return Err(self.endless(reason, "ClientLimits::max_list_pages"));
        }
        if !self.cursors.insert(cursor.to_owned()) {
            let reason = "repeats a cursor".to_owned();
            return Err(self.endless(reason, "ClientLimits::max_list_pages"));
        }
        Ok(())
    }

    fn endless(&self, reason: String, setting: &'static str) -> SkillError {
        SkillError::EndlessList {
            method: self.method,
            reason,
            setting,
        }
    }
}
