//! Reports items of lists that are left out because they are not valid.

use std::sync::OnceLock;
use turnbuckle_types::base::debug_fields;

use turnbuckle_types::base::text::shorten;

/// An item that the client left out of a list because it is not valid.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InvalidItem<'a> {
    /// The method that lists such items, for instance `tools/list`.
    pub method: &'a str,
    /// The item's name or, for a resource without a name, its URI; empty if it has neither.
    pub name: &'a str,
    /// The reason why the item is not valid.
    pub reason: &'a str,
}

type OnInvalidItem = Box<dyn Fn(InvalidItem<'_>) + Send + Sync>;

/// The user's callback for items that are left out of lists.
#[derive(Default)]
pub(crate) struct InvalidItemReporter(OnceLock<OnInvalidItem>);

impl InvalidItemReporter {
    /// Sets the callback. Only the first one that is set is called.
    pub(crate) fn set_callback(&self, callback: OnInvalidItem) {
        let _ = self.0.set(callback);
    }

    /// Logs a warning about an item and calls the callback.
    pub(crate) fn report(&self, method: &str, name: &str, reason: &str) {
        tracing::warn!(
            method,
            name = %shorten(name),
            reason = %shorten(reason),
            "an item of a list is not valid and is left out"
        );
        if let Some(callback) = self.0.get() {
            callback(InvalidItem {
                method,
                name,
                reason,
            });
        }
    }
}

debug_fields!(InvalidItemReporter {});
