//! The HTTP request of a call.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
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
            ParameterLocation::Form => {}
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
    // The members of an object are names, which must not replace a credential.
    let sets = |place, name: &str| {
        let name = percent_decode_str(name).decode_utf8_lossy();
        credentials.iter().any(|one| one.sets(place, &name))
    };
    query.retain(|(name, _)| !sets(ParameterLocation::Query, name));
    cookies.retain(|(name, _)| !sets(ParameterLocation::Cookie, name));
    let mut all_cookies = Vec::new();
    for credential in credentials {
        match &credential.place {
            CredentialForm::Header(name, value) if *name == COOKIE => {
                let value = value.to_str().map_err(|error| error.to_string())?;
                all_cookies.push(value.to_owned());
            }
            CredentialForm::Header(name, value) => {
                headers.insert(name.clone(), value.clone());
            }
            CredentialForm::Query(name, value) => query.push((escape(name), escape(value))),
        }
    }
    let cookies = cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    all_cookies.extend(cookies);
    if !all_cookies.is_empty() {
        let value =
            HeaderValue::from_str(&all_cookies.join("; ")).map_err(|error| error.to_string())?;
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

pub(super) fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Returns a value as text: a string without quotes, everything else as JSON. A number stays as it was written.
fn text(value: &Json) -> String {
    let text = value.decode::<String>();
    text.unwrap_or_else(|_| value.as_str().to_owned())
}

/// Returns an argument as its parts: those of an array or object, or else itself.
fn parts(argument: &Json) -> Vec<(Option<String>, String)> {
    if let Ok(items) = argument.decode::<Vec<Json>>() {
        return items.iter().map(|item| (None, text(item))).collect();
    }
    match argument.decode::<Map<Json>>() {
        Ok(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| (Some(name.to_owned()), text(value)))
                .collect()
        }
        Err(_) => vec![(None, text(argument))],
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

/// Returns an argument as pairs of a query, of cookies or of a form, which are escaped.
fn pairs(parameter: &Parameter, argument: &Json) -> Vec<(String, String)> {
    let name = escape(&parameter.name);
    let separator = match parameter.style {
        Style::Json => return vec![(name, escape(argument.as_str()))],
        Style::FormField if argument.is_object() => {
            return vec![(name, escape(argument.as_str()))];
        }
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::Simple | Style::Form | Style::FormField | Style::DeepObject => ",",
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
        BodyForm::FormFields(fields) => {
            let given = |field: &Parameter| arguments.get(&field.argument).cloned();
            let is_empty = !fields.iter().any(|field| given(field).is_some());
            let fields = fields
                .iter()
                .filter_map(|field| Some((field, given(field)?)))
                .filter(|(_, value)| !value.is_null());
            let pairs = fields.flat_map(|(field, value)| pairs(field, &value));
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            // Forms write a space in this way.
            let form = pairs.join("&").replace("%20", "+");
            (body.is_required || !is_empty).then_some(form)
        }
    };
    Ok(bytes.map(Bytes::from))
}
