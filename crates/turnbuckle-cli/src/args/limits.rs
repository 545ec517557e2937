//! The limits of the library that `--limit NAME=VALUE` sets.

use std::time::Duration;

use turnbuckle::client::ReconnectPolicy;
use turnbuckle::http::HttpClientOptions;
use turnbuckle::session::transport::ClientLimits;
use turnbuckle::{ClientBuilder, SchemaLimits};

use super::{parse_duration, parse_size};

/// A value of `--limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitValue {
    limit: Limit,
    /// A number, or a time in milliseconds.
    value: usize,
}

/// A limit that an error of the library can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    ListPages,
    ListItems,
    ListBytes,
    RequestBytes,
    OutgoingRequests,
    InputRequests,
    InputRounds,
    HandlerTimeout,
    ConnectAttempts,
    Redirects,
    EndpointTimeout,
    Reconnects,
    FruitlessReconnects,
    SchemaDepth,
    Subschemas,
    ExpandedSubschemas,
    Patterns,
    PatternBytes,
    SchemaWork,
}

/// Each limit with its name on the command line and the setting that errors name.
const LIMITS: [(Limit, &str, &str); 19] = [
    (
        Limit::ListPages,
        "max-list-pages",
        "ClientLimits::max_list_pages",
    ),
    (
        Limit::ListItems,
        "max-list-items",
        "ClientLimits::max_list_items",
    ),
    (
        Limit::ListBytes,
        "max-list-bytes",
        "ClientLimits::max_list_bytes",
    ),
    (
        Limit::RequestBytes,
        "max-request-bytes",
        "ClientLimits::max_request_bytes",
    ),
    (
        Limit::OutgoingRequests,
        "max-outgoing-requests",
        "ClientLimits::max_outgoing_requests",
    ),
    (
        Limit::InputRequests,
        "max-input-requests",
        "ClientLimits::max_input_requests",
    ),
    (
        Limit::InputRounds,
        "max-input-rounds",
        "ClientBuilder::max_input_rounds",
    ),
    (
        Limit::HandlerTimeout,
        "handler-timeout",
        "ClientLimits::handler_timeout",
    ),
    (
        Limit::ConnectAttempts,
        "max-connect-attempts",
        "ClientBuilder::reconnect_policy",
    ),
    (
        Limit::Redirects,
        "max-redirects",
        "HttpClientOptions::max_redirects",
    ),
    (
        Limit::EndpointTimeout,
        "endpoint-timeout",
        "HttpClientOptions::endpoint_timeout",
    ),
    (
        Limit::Reconnects,
        "max-reconnects",
        "HttpClientOptions::max_reconnects",
    ),
    (
        Limit::FruitlessReconnects,
        "max-fruitless-reconnects",
        "HttpClientOptions::max_fruitless_reconnects",
    ),
    (
        Limit::SchemaDepth,
        "max-schema-depth",
        "SchemaLimits::max_depth",
    ),
    (
        Limit::Subschemas,
        "max-subschemas",
        "SchemaLimits::max_subschemas",
    ),
    (
        Limit::ExpandedSubschemas,
        "max-expanded-subschemas",
        "SchemaLimits::max_expanded_subschemas",
    ),
    (
        Limit::Patterns,
        "max-patterns",
        "SchemaLimits::max_patterns",
    ),
    (
        Limit::PatternBytes,
        "max-pattern-bytes",
        "SchemaLimits::max_pattern_bytes",
    ),
    (
        Limit::SchemaWork,
        "max-schema-work",
        "SchemaLimits::max_work",
    ),
];

/// Replaces the settings that errors of the library name by options of the command.
pub(crate) fn replace_settings(text: String) -> String {
    LIMITS.iter().fold(text, |text, (_, name, setting)| {
        if text.contains(setting) {
            text.replace(setting, &format!("--limit {name}=…"))
        } else {
            text
        }
    })
}

/// Parses `NAME=VALUE`.
pub(crate) fn parse_limit(text: &str) -> Result<LimitValue, String> {
    let names = || {
        let names = LIMITS.map(|(_, name, _)| name).join(", ");
        format!("expected NAME=VALUE; the names are {names}")
    };
    let (name, value) = text.split_once('=').ok_or_else(names)?;
    let known = LIMITS.iter().find(|(_, known, _)| *known == name);
    let (limit, ..) = known.ok_or_else(names)?;
    let value = match limit {
        Limit::HandlerTimeout | Limit::EndpointTimeout => {
            let time = parse_duration(value)?;
            usize::try_from(time.as_millis()).map_err(|_| "the time is too long")?
        }
        _ => parse_size(value)?,
    };
    Ok(LimitValue {
        limit: *limit,
        value,
    })
}

/// Returns the builder of the client with these limits.
pub(crate) fn limit_client(builder: ClientBuilder, limits: &[LimitValue]) -> ClientBuilder {
    let mut client = ClientLimits::new();
    let mut schemas = SchemaLimits::new();
    let mut builder = builder;
    for LimitValue { limit, value } in limits.iter().copied() {
        let time = Duration::from_millis(value as u64);
        match limit {
            Limit::ListPages => client = client.max_list_pages(value),
            Limit::ListItems => client = client.max_list_items(value),
            Limit::ListBytes => client = client.max_list_bytes(value),
            Limit::RequestBytes => client = client.max_request_bytes(value),
            Limit::OutgoingRequests => client = client.max_outgoing_requests(value),
            Limit::InputRequests => client = client.max_input_requests(value),
            Limit::InputRounds => builder = builder.max_input_rounds(value),
            Limit::HandlerTimeout => client = client.handler_timeout(time),
            Limit::ConnectAttempts => {
                let policy = ReconnectPolicy::new().max_attempts(value);
                builder = builder.reconnect_policy(policy);
            }
            Limit::SchemaDepth => schemas = schemas.max_depth(value),
            Limit::Subschemas => schemas = schemas.max_subschemas(value),
            Limit::ExpandedSubschemas => schemas = schemas.max_expanded_subschemas(value),
            Limit::Patterns => schemas = schemas.max_patterns(value),
            Limit::PatternBytes => schemas = schemas.max_pattern_bytes(value),
            Limit::SchemaWork => schemas = schemas.max_work(value as u64),
            Limit::Redirects
            | Limit::EndpointTimeout
            | Limit::Reconnects
            | Limit::FruitlessReconnects => {}
        }
    }
    builder.limits(client).schema_limits(schemas)
}

/// Returns the options of the HTTP transport with these limits.
pub(crate) fn limit_http(
    mut options: HttpClientOptions,
    limits: &[LimitValue],
) -> HttpClientOptions {
    for LimitValue { limit, value } in limits.iter().copied() {
        let times = u32::try_from(value).unwrap_or(u32::MAX);
        options = match limit {
            Limit::Redirects => options.max_redirects(value),
            Limit::EndpointTimeout => options.endpoint_timeout(Duration::from_millis(value as u64)),
            Limit::Reconnects => options.max_reconnects(times),
            Limit::FruitlessReconnects => options.max_fruitless_reconnects(times),
            _ => options,
        };
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_name_and_a_number_a_size_or_a_time() {
        let value = |text| parse_limit(text).map(|limit| limit.value);
        assert_eq!(value("max-list-pages=7"), Ok(7));
        assert_eq!(value("max-list-bytes=2k"), Ok(2048));
        assert_eq!(value("handler-timeout=2s"), Ok(2000));
        for text in [
            "max-list-pages",
            "max-list-pages=",
            "pages=1",
            "handler-timeout=x",
        ] {
            assert!(parse_limit(text).is_err(), "{text}");
        }
    }
}
