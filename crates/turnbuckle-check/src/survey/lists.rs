//! Lists, page by page.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::probe::{Probe, ProbeError};

/// Pages that are read of one list.
const MAX_PAGES: usize = 200;

/// Items that are kept of one list.
const MAX_ITEMS: usize = 10_000;

/// The pages of a list that was read.
#[derive(Debug, Clone)]
pub(crate) struct ListPages {
    /// The method that lists.
    pub(crate) method: &'static str,
    /// The member of the result that has the items.
    pub(crate) member: &'static str,
    /// The pages, in order.
    pub(crate) pages: Vec<Page>,
    /// The reason why reading stopped before the end of the list.
    pub(crate) endless: Option<String>,
}

/// One page of a list, without its items.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// The number of items.
    pub(crate) items: usize,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
    /// The time for which the page may be cached.
    pub(crate) ttl: Value,
    /// The clients for which the page may be cached.
    pub(crate) scope: Value,
}

/// A list that cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// The answer of the server, or its fault, as a sentence.
    pub(crate) reason: String,
    /// The code of the error, if the server answered with one.
    pub(crate) code: Option<i64>,
}

impl Refusal {
    fn new(reason: String) -> Self {
        Self { reason, code: None }
    }
}

pub(super) enum ListError {
    Refused(Refusal),
    Broken(ProbeError),
}

/// Reads a list to its end.
pub(super) async fn read_list(
    probe: &mut Probe,
    method: &'static str,
    member: &'static str,
) -> Result<(Vec<Value>, ListPages), ListError> {
    let mut items = Vec::new();
    let mut list = ListPages {
        method,
        member,
        pages: Vec::new(),
        endless: None,
    };
    let mut cursors = HashSet::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let (found, page) = read_page(probe, method, member, cursor.as_deref()).await?;
        items.extend(found);
        cursor.clone_from(&page.next);
        list.pages.push(page);
        if items.len() > MAX_ITEMS {
            items.truncate(MAX_ITEMS);
            list.endless = Some(format!("it has more than {MAX_ITEMS} items"));
            return Ok((items, list));
        }
        let Some(next) = &cursor else {
            return Ok((items, list));
        };
        // A cursor that comes again would never end.
        if !cursors.insert(next.clone()) {
            list.endless = Some(format!("the cursor {next:?} comes a second time"));
            return Ok((items, list));
        }
    }
    list.endless = Some(format!("it has more than {MAX_PAGES} pages"));
    Ok((items, list))
}

/// Reads one page of a list: its items, and the rest of it.
async fn read_page(
    probe: &mut Probe,
    method: &str,
    member: &str,
    cursor: Option<&str>,
) -> Result<(Vec<Value>, Page), ListError> {
    let params = match cursor {
        Some(cursor) => json!({"cursor": cursor}),
        None => json!({}),
    };
    let mut answer = match probe.request(method, params).await {
        Ok(answer) => answer,
        Err(error @ (ProbeError::Status { .. } | ProbeError::NotJson { .. })) => {
            return Err(ListError::Refused(Refusal::new(error.to_string())));
        }
        Err(error) => return Err(ListError::Broken(error)),
    };
    if let Some(error) = answer.get("error") {
        return Err(ListError::Refused(Refusal {
            reason: format!("{method} failed: {error}"),
            code: error["code"].as_i64(),
        }));
    }
    let result = &mut answer["result"];
    let Value::Array(items) = result[member].take() else {
        return Err(ListError::Refused(Refusal::new(format!(
            "the result of {method} has no array `{member}`"
        ))));
    };
    let page = Page {
        items: items.len(),
        next: result["nextCursor"].as_str().map(str::to_owned),
        ttl: result["ttlMs"].take(),
        scope: result["cacheScope"].take(),
    };
    Ok((items, page))
}
