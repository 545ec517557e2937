//! The requests that the functions of a provider get, and the page that a list function returns.

/// A request for one page of a provider's items: the parameter of its `list` function.
///
/// ```
/// use turnbuckle_server::{ListPage, ListRequest, Resource, Result};
///
/// async fn list_numbers(request: ListRequest) -> Result<ListPage<Resource>> {
///     let first: usize = request.cursor.as_deref().map_or(Ok(0), str::parse)?;
///     let next = first + request.limit;
///     let number = |n| Resource::builder(format!("number:{n}"), "number").handler(|| "a number");
///     let page = ListPage::new((first..next).map(number));
///     Ok(if next < 1_000 { page.next_cursor(next.to_string()) } else { page })
/// }
/// ```
///
/// Specification: server/utilities/pagination (2026-07-28).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListRequest {
    /// The [`next_cursor`](ListPage::next_cursor) of the page before; `None` for the first page.
    ///
    /// It is always a cursor that this provider returned for the same principal: clients get it
    /// sealed, and a changed one is refused before the provider is asked.
    pub cursor: Option<String>,
    /// The number of items that the page has room for. Further items are kept for the next page, for
    /// which the function is called with the same cursor again.
    pub limit: usize,
}

/// The name of a tool or prompt, or the URI of a resource: the parameter of a provider's `find`
/// function. Its length and its characters are checked.
///
/// To complete a variable of a resource template, a client names the template itself, and `find` is
/// asked for the template's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemName(pub String);

/// One page of a provider's items.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPage<T> {
    /// The items. Their order should be the same in every list.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last page.
    pub next_cursor: Option<String>,
}

impl<T> ListPage<T> {
    /// Creates the last page of a list.
    pub fn new(items: impl IntoIterator<Item = T>) -> Self {
        Self {
            items: items.into_iter().collect(),
            next_cursor: None,
        }
    }

    /// Sets the cursor with which the next page is requested: up to 4,096 bytes that only this
    /// provider understands, such as the key of the last row.
    #[must_use]
    pub fn next_cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
        self.next_cursor = cursor.into();
        self
    }
}

impl<T> From<Vec<T>> for ListPage<T> {
    fn from(items: Vec<T>) -> Self {
        Self::new(items)
    }
}
