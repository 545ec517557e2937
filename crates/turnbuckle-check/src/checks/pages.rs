//! Lists: their pages and cursors, and that they are the same for every connection.
//!
//! Specification: server/utilities/pagination.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;
use crate::survey::ListPages;

/// A cursor that no server gave.
const UNKNOWN: &str = "check-no-such-cursor";

pub(super) const CHECKS: &[Check] = &[
    Check::new("pages.ends", Level::Note, "a list ends", |cx| {
        Box::pin(ends(cx))
    })
    .fix("leave `nextCursor` out of the last page, and give each page a cursor of its own"),
    Check::new(
        "pages.no-duplicates",
        Level::Note,
        "an item stands on one page of a list alone",
        |cx| Box::pin(no_duplicates(cx)),
    )
    .fix("begin a page behind the last item of the one before"),
    Check::new(
        "pages.stable",
        Level::Should,
        "a cursor leads to the same page every time",
        |cx| Box::pin(stable(cx)),
    )
    .requires(&["1eb1c6d7c838"])
    .fix("make cursors of a place in the list, and keep them valid when they were used"),
    Check::new(
        "pages.bad-cursor-32602",
        Level::Should,
        "a cursor that the server did not give is refused with -32602",
        |cx| Box::pin(bad_cursor(cx)),
    )
    .requires(&["09ea0fd9e76a", "a4292eb88a60"])
    .fix("answer a cursor that you cannot read with the error -32602 (Invalid params)"),
    Check::new(
        "pages.same-on-every-connection",
        Level::Must,
        "a list does not depend on the connection or on earlier requests",
        |cx| Box::pin(same_everywhere(cx)),
    )
    .modern()
    .requires(&[
        "7814e0bbc462",
        "153749625378",
        "f2887cafcbe1",
        "b6826507c974",
    ])
    .fix("list the same to every connection with the same authorization"),
    Check::new(
        "pages.cursor-on-other-connection",
        Level::Should,
        "a cursor is good on another connection",
        |cx| Box::pin(other_connection(cx)),
    )
    .modern()
    .requires(&["f10aa01fa303", "0705efc7d780"])
    .fix("keep what a cursor means in the cursor itself, or in a store that all connections share"),
];

/// Returns the lists that the server declares and that can be read.
fn lists<'r>(cx: &CheckContext<'r>) -> Result<&'r [ListPages], Stop> {
    let lists = &cx.survey().pages;
    match lists.is_empty() {
        true => Err(Stop::Skip("the server has no list that can be read".into())),
        false => Ok(lists),
    }
}

/// Returns the lists that have more than one page.
fn lists_with_pages<'r>(cx: &CheckContext<'r>) -> Result<Vec<&'r ListPages>, Stop> {
    let paged: Vec<_> = lists(cx)?
        .iter()
        .filter(|list| list.pages.len() > 1)
        .collect();
    match paged.is_empty() {
        true => Err(Stop::Skip("no list has more than one page".into())),
        false => Ok(paged),
    }
}

/// Returns the name or URI of an item.
fn key(item: &Value) -> &str {
    let keys = ["uri", "uriTemplate", "name"];
    keys.into_iter()
        .find_map(|it| item[it].as_str())
        .unwrap_or_default()
}

/// Returns the names or URIs in a result of a list.
fn keys(result: &Value, member: &str) -> Vec<String> {
    let items = result[member].as_array().into_iter().flatten();
    items.map(|item| key(item).to_owned()).collect()
}

async fn ends(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for list in lists(cx)? {
        if let Some(reason) = &list.endless {
            cx.fault_at(list.method, format!("the list does not end: {reason}"));
        }
    }
    Ok(())
}

async fn no_duplicates(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for list in lists_with_pages(cx)? {
        // A list that comes again and again is told of as one that does not end.
        if list.endless.is_some() {
            continue;
        }
        let mut items = cx.survey().list(list.method).iter();
        let mut seen = HashSet::new();
        for (index, page) in list.pages.iter().enumerate() {
            let names: Vec<_> = items.by_ref().take(page.items).map(key).collect();
            if let Some(name) = names.iter().find(|name| seen.contains(*name)) {
                let number = index + 1;
                cx.fault_at(
                    list.method,
                    format!("{name} stands on page {number} and on one before"),
                );
            }
            seen.extend(names);
        }
    }
    Ok(())
}

/// Returns the names or URIs on the second page of a list, as they were read first.
fn second_page<'r>(cx: &CheckContext<'r>, list: &ListPages) -> Vec<&'r str> {
    let items = cx.survey().list(list.method).iter();
    items
        .skip(list.pages[0].items)
        .take(list.pages[1].items)
        .map(key)
        .collect()
}

async fn stable(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for list in lists_with_pages(cx)? {
        let Some(cursor) = &list.pages[0].next else {
            continue;
        };
        let answer = cx.request(list.method, json!({"cursor": cursor})).await?;
        if let Some(error) = answer.get("error") {
            cx.fault_at(
                list.method,
                format!("the cursor {cursor:?} is refused the second time: {error}"),
            );
            continue;
        }
        let (first, again) = (second_page(cx, list), keys(&answer["result"], list.member));
        if first != again {
            let sentence =
                format!("the cursor {cursor:?} leads to {first:?}, the second time to {again:?}");
            cx.fault_at(list.method, sentence);
        }
    }
    Ok(())
}

async fn bad_cursor(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    // By what happens, the lists to which it does.
    let mut faults = BTreeMap::<_, Vec<_>>::new();
    for list in lists(cx)? {
        let answer = cx.request(list.method, json!({"cursor": UNKNOWN})).await?;
        let fault = match answer["error"]["code"].as_i64() {
            Some(-32602) => continue,
            Some(code) => {
                format!("which the server did not give, is refused with {code} instead of -32602")
            }
            None => "which the server did not give, is answered with a page".into(),
        };
        faults.entry(fault).or_default().push(list.method);
    }
    for (fault, methods) in faults {
        let methods = methods.join(", ");
        cx.fault(format!("{methods}: the cursor {UNKNOWN:?}, {fault}"));
    }
    Ok(())
}

async fn same_everywhere(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut other = cx.fresh(cx.options()).await?;
    for list in lists(cx)? {
        // Over lines, another connection may be another process, which knows nothing of the calls that
        // changed the list of this one.
        let first: BTreeSet<_> = match cx.case().is_duplex() {
            true => first_page(cx, list),
            false => BTreeSet::new(),
        };
        let mut difference = None;
        // A list that changed in between is the same at last.
        for _ in 0..3 {
            let here = cx.result(list.method, json!({})).await?;
            let there = other.request(list.method, json!({})).await?;
            let here: BTreeSet<_> = keys(&here, list.member).into_iter().collect();
            let there: BTreeSet<_> = keys(&there["result"], list.member).into_iter().collect();
            difference = here.symmetric_difference(&there).next().cloned();
            if difference.is_none() || there == first {
                difference = None;
                break;
            }
        }
        if let Some(name) = difference {
            let sentence = format!("{name} is listed on one connection, on another it is not");
            cx.fault_at(list.method, sentence);
        }
    }
    Ok(())
}

/// Returns the names or URIs on the first page of a list, as they were read first.
fn first_page(cx: &CheckContext<'_>, list: &ListPages) -> BTreeSet<String> {
    let items = cx.survey().list(list.method).iter();
    items
        .take(list.pages[0].items)
        .map(|it| key(it).to_owned())
        .collect()
}

async fn other_connection(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let paged = lists_with_pages(cx)?;
    let mut other = cx.fresh(cx.options()).await?;
    for list in paged {
        let Some(cursor) = &list.pages[0].next else {
            continue;
        };
        let answer = other
            .request(list.method, json!({"cursor": cursor}))
            .await?;
        if let Some(error) = answer.get("error") {
            cx.fault_at(
                list.method,
                format!("the cursor {cursor:?} is refused on another connection: {error}"),
            );
        }
    }
    Ok(())
}
