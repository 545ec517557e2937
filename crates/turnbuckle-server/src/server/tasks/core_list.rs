//! The list of a caller's tasks, for clients of 2025-11-25.
//!
//! Specification: basic/utilities/tasks, "Listing Tasks" (2025-11-25).

use std::sync::Arc;

use turnbuckle_session::handler::RequestContext;
use turnbuckle_types::{ListTasksResult, ProtocolError};
use turnbuckle_wire::revision::Method;

use super::record::Caller;
use super::service::TaskService;
use crate::request::input::{StateBinding, StateKeys};

/// The most tasks on one page.
const PAGE: usize = 50;

/// The most bytes of a cursor that a client sends. Ours have fewer.
const MAX_CURSOR_BYTES: usize = 256;

impl TaskService {
    /// Returns a page of the caller's tasks.
    ///
    /// # Errors
    /// When the server does not list tasks, the cursor is not one of this list and caller, or the store fails.
    pub(super) async fn list(
        self: &Arc<Self>,
        context: &RequestContext,
        cursor: Option<&str>,
    ) -> Result<ListTasksResult, ProtocolError> {
        if !self.options.list {
            return Err(ProtocolError::method_not_found(Method::ListTasks.as_str()));
        }
        let server = self.settings().and_then(|settings| settings.server());
        let server =
            server.ok_or_else(|| ProtocolError::internal("the server has been dropped"))?;
        let keys = &server.0.cursor_keys;
        let after = match cursor {
            None => 0,
            Some(cursor) => open(cursor, keys, context)?,
        };
        let mut result = ListTasksResult::new(Vec::new());
        // Without an identity nobody has tasks that can be told from those of others.
        let Some(caller) = context.principal().map(Caller::from) else {
            return Ok(result);
        };
        let (ids, next) = self.records.list(&caller, after, PAGE).await?;
        for id in ids {
            if let Ok(record) = self.get(&id, context.principal()).await {
                result.tasks.push(record.to_core(&id));
            }
        }
        result.next_cursor = next.map(|next| seal(next, keys, context)).transpose()?;
        Ok(result)
    }
}

/// Seals a position into a cursor. A list only grows at its end, so a cursor needs no time at which it expires.
fn seal(
    position: u64,
    keys: &StateKeys,
    context: &RequestContext,
) -> Result<String, ProtocolError> {
    let sealed = keys.seal(&binding(context), u64::MAX, &position.to_be_bytes());
    sealed.map_err(|error| ProtocolError::internal(error.to_string()))
}

/// Opens a cursor that [`seal`] made for the same caller.
fn open(cursor: &str, keys: &StateKeys, context: &RequestContext) -> Result<u64, ProtocolError> {
    let opened = match cursor.len() <= MAX_CURSOR_BYTES {
        true => keys.open(&binding(context), 0, cursor).ok(),
        false => None,
    };
    let position = opened.and_then(|payload| Some(u64::from_be_bytes((*payload).try_into().ok()?)));
    position.ok_or_else(|| {
        ProtocolError::invalid_params("the cursor is not one of this list: begin without one")
    })
}

fn binding(context: &RequestContext) -> StateBinding<'_> {
    StateBinding {
        method: Method::ListTasks.as_str(),
        target: "cursor",
        arguments: "",
        principal: context.principal(),
    }
}
