//! The HTTP request of a call.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use turnbuckle::types::{Json, Map};
use url::Url;

use super::operation::{Body, BodyForm, Operation, Parameter, ParameterLocation, Style};
use super::options::{Credential, CredentialForm};
use crate::web::WebRequest;

/// All characters that are not unreserved in a URL.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Makes the request of a call.
///
/// # Errors
/// When an argument cannot stand in its place.
pub(super) fn make(
    operation: &Operation,
    base: &Url,
    credentials: &[Credential],
    arguments: &Map<Json>,
) -> Result<(Url, WebRequest), String> {
    let mut path = operation.path.clone();
    let mut query = Vec::new();
    let mut cookies = Vec::new();
    let mut headers = HeaderMap::new();
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("application/json, */*;q=0.8"),
    );
    for parameter in &operation.parameters {
        let Some(argument) = arguments
            .get(&parameter.argument)
            .filter(|one| !one.is_null())
        else {
            if parameter.place == ParameterLocation::Path {
                return Err(format!("the argument {:?} is missing", parameter.argument));
            }
            continue;
        };
        match parameter.place {
            ParameterLocation::Path => {
                let text = simple(parameter, argument, escape);
                if matches!(&*text, "" | "." | "..") {
                    let name = &parameter.argument;
                    return Err(format!(
                        "the argument {name:?} cannot be {text:?} in a path"
                    ));
                }
                path = path.replace(&format!("{{{}}}", parameter.name), &text);
            }
            ParameterLocation::Query => query.extend(pairs(parameter, argument)),
            ParameterLocation::Cookie => cookies.extend(pairs(parameter, argument)),
            ParameterLocation::Header => {
                let text = simple(parameter, argument, str::to_owned);
                let value = HeaderValue::from_str(&text);
                let name = HeaderName::from_bytes(parameter.name.as_bytes());
                let (Ok(name), Ok(value)) = (name, value) else {
                    return Err(format!(
                        "the argument {:?} has characters that a header cannot have",
                        parameter.argument
                    ));
                };
                headers.insert(name, value);
            }
        }
    }
    for credential in credentials {
        match &credential.place {
            CredentialForm::Header(name, value) => {
                headers.insert(name.clone(), value.clone());
            }
            CredentialForm::Query(name, value) => query.push((escape(name), escape(value))),
        }
    }
    if !cookies.is_empty() {
        let cookies: Vec<String> = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let value =
            HeaderValue::from_str(&cookies.join("; ")).map_err(|error| error.to_string())?;
        headers.insert(COOKIE, value);
    }
    let body = match &operation.body {
        Some(body) => body_bytes(body, arguments)?,
        None => None,
    };
    if let (Some(_), Some(Body { media_type, .. })) = (&body, &operation.body) {
        let value = HeaderValue::from_str(media_type).map_err(|error| error.to_string())?;
        headers.insert(CONTENT_TYPE, value);
    }
    let url = join(base, &path, &query)?;
    let request = WebRequest {
        method: operation.method.clone(),
        headers,
        body: body.unwrap_or_default(),
    };
    Ok((url, request))
}

fn join(base: &Url, path: &str, query: &[(String, String)]) -> Result<Url, String> {
    let mut url = base.clone();
    let whole = format!(
        "{}/{}",
        base.path().trim_end_matches('/'),
        path.trim_start_matches('/')
    );
    url.set_path(&whole);
    if !query.is_empty() {
        let pairs: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        url.set_query(Some(&pairs.join("&")));
    }
    Ok(url)
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Returns a value as text: a string without quotes, everything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns an argument as its parts: those of an array or object, or else itself. A number stays as it was written.
fn parts(argument: &Json) -> Vec<(Option<String>, String)> {
    match argument.decode::<Value>() {
        Ok(Value::Array(items)) => items.iter().map(|item| (None, text(item))).collect(),
        Ok(Value::Object(fields)) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| (Some(name.clone()), text(value)))
                .collect()
        }
        Ok(Value::String(text)) => vec![(None, text)],
        _ => vec![(None, argument.as_str().to_owned())],
    }
}

/// Returns an argument in the style `simple`: values behind a comma each.
fn simple(parameter: &Parameter, argument: &Json, escape: fn(&str) -> String) -> String {
    if parameter.style == Style::Json {
        return escape(argument.as_str());
    }
    let parts = parts(argument).into_iter().map(|(name, value)| match name {
        None => escape(&value),
        Some(name) if parameter.explode => format!("{}={}", escape(&name), escape(&value)),
        Some(name) => format!("{},{}", escape(&name), escape(&value)),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Returns an argument as pairs of a query, which are escaped.
fn pairs(parameter: &Parameter, argument: &Json) -> Vec<(String, String)> {
    let name = escape(&parameter.name);
    let separator = match parameter.style {
        Style::Json => return vec![(name, escape(argument.as_str()))],
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::Simple | Style::Form | Style::DeepObject => ",",
    };
    let parts = parts(argument);
    match parameter.style {
        Style::DeepObject => parts
            .into_iter()
            .map(|(member, value)| match member {
                Some(member) => (format!("{name}%5B{}%5D", escape(&member)), escape(&value)),
                None => (name.clone(), escape(&value)),
            })
            .collect(),
        _ if parameter.explode => parts
            .into_iter()
            .map(|(member, value)| {
                let name = member.map_or_else(|| name.clone(), |member| escape(&member));
                (name, escape(&value))
            })
            .collect(),
        _ => {
            let words = parts
                .into_iter()
                .flat_map(|(member, value)| member.into_iter().chain([value]));
            let words: Vec<String> = words.map(|word| escape(&word)).collect();
            vec![(name, words.join(separator))]
        }
    }
}

fn body_bytes(body: &Body, arguments: &Map<Json>) -> Result<Option<Bytes>, String> {
    let members = |names: &[(String, String)]| {
        let mut members: Map<Json> = Map::new();
        for (name, argument) in names {
            if let Some(value) = arguments.get(argument) {
                members.insert(name.as_str(), value.clone());
            }
        }
        members
    };
    let bytes = match &body.form {
        BodyForm::Json(argument) => arguments
            .get(argument)
            .map(|value| value.as_str().to_owned()),
        BodyForm::Text(argument) => arguments
            .get(argument)
            .map(|value| parts(value).remove(0).1),
        BodyForm::JsonMembers(names) => {
            let members = members(names);
            let text = serde_json::to_string(&members).map_err(|error| error.to_string())?;
            (body.is_required || !members.is_empty()).then_some(text)
        }
        BodyForm::FormFields(names) => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            let members = members(names);
            for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                for (_, text) in parts(value) {
                    form.append_pair(name, &text);
                }
            }
            (body.is_required || !members.is_empty()).then(|| form.finish())
        }
    };
    Ok(bytes.map(Bytes::from))
}
