//! Hints for caches.
//!
//! Specification: server/utilities/caching (2026-07-28).

use serde_json::Value;

use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "cache.hints",
        Level::Must,
        "the results that clients may cache say for how long and for whom",
        |cx| Box::pin(hints(cx)),
    )
    .modern()
    .requires(&[
        "7aaf47101c9b",
        "6889106e63ff",
        "f7973665da97",
        "62b6a60a9ff5",
        "89d8eb769074",
        "cbf5812cd6e5",
    ])
    .fix("add `ttlMs` and `cacheScope` to the results of discovery, of lists and of `resources/read`; `ttlMs: 0` asks not to cache"),
    Check::new(
        "cache.ttl",
        Level::Must,
        "`ttlMs` is a whole number that is not negative",
        |cx| Box::pin(ttl(cx)),
    )
    .modern()
    .requires(&["c437ee73059e"])
    .fix("give `ttlMs` in whole milliseconds, 0 for results that are stale at once"),
    Check::new(
        "cache.scope-of-pages",
        Level::Must,
        "all pages of a list have the same `cacheScope`",
        |cx| Box::pin(scope_of_pages(cx)),
    )
    .modern()
    .requires(&["033753c1c59c", "bdb52f339e78"])
    .fix("choose `cacheScope` once for a list: `private` for all pages as soon as one is"),
];

/// Hints of a result: the method, the item, `ttlMs` and `cacheScope`.
type Hints = (String, Value, Value);

/// Returns the hints of every result that has to have them.
async fn all_hints(cx: &mut CheckContext<'_>) -> Result<Vec<Hints>, Stop> {
    let survey = cx.survey();
    let of = |name: String, result: &Value| {
        (name, result["ttlMs"].clone(), result["cacheScope"].clone())
    };
    let mut all = vec![of("server/discover".into(), &survey.handshake)];
    for list in &survey.pages {
        for (index, page) in list.pages.iter().enumerate() {
            let name = match index {
                0 => list.method.to_owned(),
                _ => format!("{}, page {}", list.method, index + 1),
            };
            all.push((name, page.ttl.clone(), page.scope.clone()));
        }
    }
    if !survey.resources.is_empty() {
        for read in cx.reads().await? {
            if let Some(result) = read.success() {
                all.push(of(format!("resources/read of {}", read.item()), result));
            }
        }
    }
    Ok(all)
}

async fn hints(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (name, ttl, scope) in all_hints(cx).await? {
        if ttl.is_null() {
            cx.fault_at(&name, "the result has no `ttlMs`");
        }
        if scope.is_null() {
            cx.fault_at(&name, "the result has no `cacheScope`");
        } else if scope != "public" && scope != "private" {
            cx.fault_at(
                &name,
                format!("`cacheScope` is {scope} instead of \"public\" or \"private\""),
            );
        }
    }
    Ok(())
}

async fn ttl(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for (name, ttl, _) in all_hints(cx).await? {
        // A whole number may be written with a fraction of zero.
        let is_whole = ttl
            .as_f64()
            .is_some_and(|it| it >= 0.0 && it.fract() == 0.0);
        if !ttl.is_null() && !is_whole {
            cx.fault_at(&name, format!("`ttlMs` is {ttl}"));
        }
    }
    Ok(())
}

async fn scope_of_pages(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut is_any = false;
    for list in cx.survey().pages.iter().filter(|list| list.pages.len() > 1) {
        is_any = true;
        let first = &list.pages[0].scope;
        let differs = list.pages.iter().position(|page| page.scope != *first);
        if let Some(index) = differs {
            let (other, number) = (&list.pages[index].scope, index + 1);
            cx.fault_at(
                list.method,
                format!("`cacheScope` of page 1 is {first}, of page {number} {other}"),
            );
        }
    }
    match is_any {
        true => Ok(()),
        false => Err(Stop::Skip("no list has more than one page".into())),
    }
}
