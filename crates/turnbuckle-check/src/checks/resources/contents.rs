//! Contents of listed resources and of templates.

use serde_json::{Value, json};

use super::super::formats::{TemplatePart, base64_fault, base64_length, template_parts};
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// The template of the official conformance suite.
const TEMPLATE: &str = "test://template/{id}/data";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "resources.read-matches-list",
        Level::Note,
        "a listed resource can be read, and its contents are those of the list",
        |cx| Box::pin(read_matches(cx)),
    )
    .needs(&[Need::Resource])
    .fix("list only what can be read, with the URI, the media type and the size that its contents have"),
    Check::new(
        "resources.blob-base64",
        Level::Must,
        "binary contents are Base64",
        |cx| Box::pin(blob_base64(cx)),
    )
    .needs(&[Need::Resource])
    .requires(&["50110d42ea08"])
    .fix("encode `blob` with the standard alphabet of Base64, with padding and without line breaks"),
    Check::new(
        "resources.templates-expand",
        Level::Note,
        "a URI made from a template can be read",
        |cx| Box::pin(templates_expand(cx)),
    )
    .needs(&[Need::Template])
    .fix("match URIs of `resources/read` against the templates that are listed"),
];

async fn read_matches(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for read in cx.reads().await? {
        if let Some(error) = read.answer.get("error") {
            cx.fault_in(read, format!("the listed resource cannot be read: {error}"));
            continue;
        }
        // What asks for something first has no contents yet.
        let Some(contents) = read.success().map(|it| it["contents"].as_array()) else {
            continue;
        };
        let contents = contents.map(Vec::as_slice).unwrap_or_default();
        if contents.is_empty() {
            cx.fault_in(read, "the listed resource has no contents");
        }
        // Several contents, such as the files of a folder, have URIs and types of their own.
        let [content] = contents else {
            continue;
        };
        let listed = &read.definition;
        for member in ["uri", "mimeType"] {
            let (wanted, found) = (&listed[member], &content[member]);
            if wanted.is_string() && found.is_string() && wanted != found {
                cx.fault_in(
                    read,
                    format!("the list says {member} {wanted}, the contents say {found}"),
                );
            }
        }
        let text = content["text"].as_str().map(str::len);
        let length = text.or_else(|| content["blob"].as_str().and_then(base64_length));
        if let (Some(size), Some(length)) = (listed["size"].as_u64(), length)
            && usize::try_from(size) != Ok(length)
        {
            cx.fault_in(
                read,
                format!("the list says {size} bytes, the contents have {length}"),
            );
        }
    }
    Ok(())
}

async fn blob_base64(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut is_any = false;
    for read in cx.reads().await? {
        let contents = read.answer["result"]["contents"].as_array();
        for content in contents.into_iter().flatten() {
            let Some(blob) = content["blob"].as_str() else {
                continue;
            };
            is_any = true;
            if let Some(fault) = base64_fault(blob) {
                cx.fault_in(read, format!("`blob` {fault}"));
            }
        }
    }
    match is_any {
        true => Ok(()),
        false => Err(Stop::Skip("no listed resource has binary contents".into())),
    }
}

async fn templates_expand(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let mut judged = 0;
    for template in survey.templates.iter().take(8) {
        let text = template["uriTemplate"].as_str().unwrap_or_default();
        let Ok(parts) = template_parts(text) else {
            continue;
        };
        let Some((uri, is_certain)) = expand(cx, text, &parts).await? else {
            continue;
        };
        let answer = cx.request("resources/read", json!({"uri": uri})).await?;
        if let Some(error) = answer.get("error") {
            // A value that nobody named may not exist.
            if is_certain {
                cx.fault_at(text, format!("{uri} cannot be read: {error}"));
                judged += 1;
            }
            continue;
        }
        judged += 1;
        let contents = &answer["result"]["contents"];
        if let [content] = contents.as_array().map(Vec::as_slice).unwrap_or_default()
            && content["uri"] != uri
        {
            cx.fault_at(
                text,
                format!("reading {uri} gives contents of {}", content["uri"]),
            );
        }
    }
    match judged {
        0 => Err(Stop::Skip(
            "no value is known with which a template can be read".into(),
        )),
        _ => Ok(()),
    }
}

/// Returns a URI of a template with simple variables, and whether its values are known to exist.
async fn expand(
    cx: &mut CheckContext<'_>,
    template: &str,
    parts: &[TemplatePart<'_>],
) -> Result<Option<(String, bool)>, Stop> {
    let mut uri = String::new();
    let mut is_certain = true;
    for part in parts {
        match part {
            TemplatePart::Literal(text) => uri += text,
            TemplatePart::Expression(' ' | '+', names) if names.len() == 1 => {
                let value = match template {
                    TEMPLATE => Some("123".to_owned()),
                    _ => suggestion(cx, template, names[0]).await?,
                };
                is_certain &= value.is_some();
                uri += value.as_deref().unwrap_or("check");
            }
            TemplatePart::Expression(..) => return Ok(None),
        }
    }
    Ok(Some((uri, is_certain)))
}

/// Returns a value that the server suggests for a variable, if it needs no escapes in a URI.
async fn suggestion(
    cx: &mut CheckContext<'_>,
    template: &str,
    name: &str,
) -> Result<Option<String>, Stop> {
    if cx.survey().capability("completions").is_none() {
        return Ok(None);
    }
    let params = json!({"ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": name, "value": ""}});
    let answer = cx.request("completion/complete", params).await?;
    let values = answer["result"]["completion"]["values"].as_array();
    let mut values = values.into_iter().flatten().filter_map(Value::as_str);
    let is_plain = |value: &&str| {
        !value.is_empty()
            && value
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || "-._~".contains(it))
    };
    Ok(values.find(is_plain).map(str::to_owned))
}
