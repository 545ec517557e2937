//! URIs that no resource has.

use serde_json::{Value, json};

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// A URI that no resource has.
const UNKNOWN: &str = "check-nowhere://no/such/resource";

/// Text that is no URI.
const MALFORMED: &str = "this is no URI";

/// Ways up from a folder, each as a client may write them.
const CLIMBS: [&str; 2] = [
    "../../../../../../../../../..",
    "..%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2F..",
];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "resources.unknown-uri",
        Level::Must,
        "a URI that no resource has is refused",
        |cx| Box::pin(unknown(cx)),
    )
    .needs(&[Need::Capability("resources")])
    .requires(&["0a6c1e42f075", "aa1e734cead3"])
    .fix("compare the URI of `resources/read` with what you serve, and answer others with an error, never with empty contents"),
    Check::new(
        "resources.not-found-32002",
        Level::Should,
        "a URI that no resource has is refused with -32002",
        |cx| Box::pin(not_found(cx, -32002)),
    )
    .legacy()
    .needs(&[Need::Capability("resources")])
    .requires(&["00cf43c0f6f1"])
    .fix("answer an unknown resource with the error -32002 (Resource not found)"),
    Check::new(
        "resources.not-found-32602",
        Level::Must,
        "a URI that no resource has is refused with -32602",
        |cx| Box::pin(not_found(cx, -32602)),
    )
    .modern()
    .needs(&[Need::Capability("resources")])
    .requires(&["9ca2e5bd8369"])
    .fix("answer an unknown resource with the error -32602 (Invalid params); -32002 was that of older revisions"),
    Check::new(
        "resources.no-traversal",
        Level::Must,
        "a URI does not lead out of the folders that are served",
        |cx| Box::pin(no_traversal(cx)),
    )
    .hostile()
    .needs(&[Need::Capability("resources")])
    .requires(&["e1c736150704", "aa1e734cead3"])
    .fix("resolve the path, then compare it with the folders that are served, before the file is opened"),
];

async fn unknown(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for uri in [UNKNOWN, MALFORMED] {
        if takes_all(cx) {
            return Err(Stop::Skip(
                "a template of the server takes every URI".into(),
            ));
        }
        let answer = cx.request("resources/read", json!({"uri": uri})).await?;
        let Some(result) = answer.get("result") else {
            continue;
        };
        cx.fault(match result["contents"].as_array() {
            Some(contents) if contents.is_empty() => {
                format!("reading {uri:?} gives empty contents instead of an error")
            }
            _ => format!("reading {uri:?} gives a result instead of an error"),
        });
    }
    Ok(())
}

/// Returns whether a template begins with a variable, and so may match any URI.
fn takes_all(cx: &CheckContext<'_>) -> bool {
    let mut templates = cx.survey().templates.iter();
    templates.any(|it| {
        it["uriTemplate"]
            .as_str()
            .is_some_and(|text| text.starts_with('{'))
    })
}

async fn not_found(cx: &mut CheckContext<'_>, code: i64) -> Result<(), Stop> {
    let answer = cx
        .request("resources/read", json!({"uri": UNKNOWN}))
        .await?;
    match answer["error"]["code"].as_i64() {
        Some(found) if found == code => {}
        Some(found) => cx.fault(format!(
            "reading {UNKNOWN} is refused with {found} instead of {code}"
        )),
        None => return Err(Stop::Skip(format!("reading {UNKNOWN} is not refused"))),
    }
    Ok(())
}

async fn no_traversal(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let passwords = "etc/passwd";
    let plain = json!({"uri": format!("file:///{passwords}")});
    if has_passwords(&cx.request("resources/read", plain).await?) {
        return Err(Stop::Skip("the server serves the whole file system".into()));
    }
    let uris = climbing(cx, passwords);
    if uris.is_empty() {
        return Err(Stop::Skip(
            "no resource and no template looks like a file".into(),
        ));
    }
    for uri in uris {
        let answer = cx.request("resources/read", json!({"uri": uri})).await?;
        if has_passwords(&answer) {
            cx.fault(format!("reading {uri} gives the contents of /{passwords}"));
        }
    }
    Ok(())
}

/// Returns URIs that climb from what is served to a file of the system.
fn climbing(cx: &CheckContext<'_>, file: &str) -> Vec<String> {
    let survey = cx.survey();
    let files = survey.resources.iter().filter_map(|it| it["uri"].as_str());
    let folders = files
        .filter(|uri| uri.starts_with("file:"))
        .filter_map(|uri| uri.rsplit_once('/'))
        .map(|(folder, _)| format!("{folder}/"));
    let templates = survey
        .templates
        .iter()
        .filter_map(|it| it["uriTemplate"].as_str());
    let beginnings = templates
        .filter_map(|template| template.split_once('{'))
        .filter(|(_, rest)| rest.ends_with('}') && rest.matches('{').count() == 0)
        .map(|(beginning, _)| beginning.to_owned());
    let starts: Vec<_> = folders.take(2).chain(beginnings.take(4)).collect();
    let climb = |start: &String| CLIMBS.map(|climb| format!("{start}{climb}/{file}"));
    starts.iter().flat_map(climb).collect()
}

fn has_passwords(answer: &Value) -> bool {
    let contents = answer["result"]["contents"]
        .as_array()
        .into_iter()
        .flatten();
    let mut texts = contents.filter_map(|content| content["text"].as_str());
    texts.any(|text| {
        text.lines()
            .any(|line| line.starts_with("root:") && line.matches(':').count() == 6)
    })
}
