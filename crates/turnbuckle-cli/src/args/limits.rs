//! The limits of the library that `--limit NAME=VALUE` sets.

use std::time::Duration;

use turnbuckle::client::ReconnectPolicy;
use turnbuckle::http::HttpClientOptions;
use turnbuckle::session::transport::ClientLimits;
use turnbuckle::skills::client::SkillLimits;
use turnbuckle::{ClientBuilder, SchemaLimits};

use super::{parse_size, parse_time};

/// The name and the number of a `--limit`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitValue {
    setting: Setting,
    /// A number, or a time in milliseconds.
    value: usize,
}

/// The setting of the library that a limit sets.
#[derive(Clone, Copy, Debug)]
enum Setting {
    Client(fn(ClientLimits, usize) -> ClientLimits),
    Builder(fn(ClientBuilder, usize) -> ClientBuilder),
    Http(fn(HttpClientOptions, usize) -> HttpClientOptions),
    Schema(fn(SchemaLimits, usize) -> SchemaLimits),
    Skill(fn(SkillLimits, usize) -> SkillLimits),
}

use Setting::{Builder, Client, Http, Schema, Skill};

/// A limit: its name on the command line, the setting that errors name, and how it is set.
type Limit = (&'static str, &'static str, Setting);

#[rustfmt::skip] // A line each: it is a table.
const LIMITS: [Limit; 21] = [
    ("max-list-pages", "ClientLimits::max_list_pages", Client(ClientLimits::max_list_pages)),
    ("max-list-items", "ClientLimits::max_list_items", Client(ClientLimits::max_list_items)),
    ("max-list-bytes", "ClientLimits::max_list_bytes", Client(ClientLimits::max_list_bytes)),
    ("max-request-bytes", "ClientLimits::max_request_bytes", Client(ClientLimits::max_request_bytes)),
    ("max-outgoing-requests", "ClientLimits::max_outgoing_requests", Client(ClientLimits::max_outgoing_requests)),
    ("max-input-requests", "ClientLimits::max_input_requests", Client(ClientLimits::max_input_requests)),
    ("max-input-rounds", "ClientBuilder::max_input_rounds", Builder(ClientBuilder::max_input_rounds)),
    ("handler-timeout", "ClientLimits::handler_timeout", Client(|limits, ms| limits.handler_timeout(time(ms)))),
    ("max-connect-attempts", "ClientBuilder::reconnect_policy", Builder(|builder, attempts| {
        builder.reconnect_policy(ReconnectPolicy::new().max_attempts(attempts))
    })),
    ("max-redirects", "HttpClientOptions::max_redirects", Http(HttpClientOptions::max_redirects)),
    ("endpoint-timeout", "HttpClientOptions::endpoint_timeout", Http(|options, ms| options.endpoint_timeout(time(ms)))),
    ("max-reconnects", "HttpClientOptions::max_reconnects", Http(|options, times| options.max_reconnects(count(times)))),
    ("max-fruitless-reconnects", "HttpClientOptions::max_fruitless_reconnects", Http(|options, times| {
        options.max_fruitless_reconnects(count(times))
    })),
    ("max-schema-depth", "SchemaLimits::max_depth", Schema(SchemaLimits::max_depth)),
    ("max-subschemas", "SchemaLimits::max_subschemas", Schema(SchemaLimits::max_subschemas)),
    ("max-expanded-subschemas", "SchemaLimits::max_expanded_subschemas", Schema(SchemaLimits::max_expanded_subschemas)),
    ("max-patterns", "SchemaLimits::max_patterns", Schema(SchemaLimits::max_patterns)),
    ("max-pattern-bytes", "SchemaLimits::max_pattern_bytes", Schema(SchemaLimits::max_pattern_bytes)),
    ("max-schema-work", "SchemaLimits::max_work", Schema(|limits, work| limits.max_work(work as u64))),
    ("max-skill-files", "SkillLimits::max_files", Skill(SkillLimits::max_files)),
    ("max-skill-bytes", "SkillLimits::max_bytes", Skill(|limits, bytes| limits.max_bytes(bytes as u64))),
];

fn time(ms: usize) -> Duration {
    Duration::from_millis(ms as u64)
}

fn count(times: usize) -> u32 {
    u32::try_from(times).unwrap_or(u32::MAX)
}

/// Replaces the settings that errors of the library name by options of the command.
pub(crate) fn replace_settings(text: String) -> String {
    LIMITS.iter().fold(text, |text, (name, setting, _)| {
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
        let names = LIMITS.map(|(name, ..)| name).join(", ");
        format!("expected NAME=VALUE; the names are {names}")
    };
    let (name, value) = text.split_once('=').ok_or_else(names)?;
    let limit = LIMITS.iter().find(|(other, ..)| *other == name);
    let (.., setting) = limit.ok_or_else(names)?;
    let value = if name.ends_with("-timeout") {
        let time = parse_time(value)?;
        usize::try_from(time.as_millis()).map_err(|_| "the time is too long")?
    } else {
        parse_size(value)?
    };
    Ok(LimitValue {
        setting: *setting,
        value,
    })
}

/// Returns the limits of a client's requests.
pub(crate) fn client_limits(limits: &[LimitValue]) -> ClientLimits {
    let mut client = ClientLimits::new();
    for LimitValue { setting, value } in limits.iter().copied() {
        if let Client(set) = setting {
            client = set(client, value);
        }
    }
    client
}

/// Returns the builder of the client with these limits.
pub(crate) fn limit_client(mut builder: ClientBuilder, limits: &[LimitValue]) -> ClientBuilder {
    let mut schemas = SchemaLimits::new();
    for LimitValue { setting, value } in limits.iter().copied() {
        match setting {
            Builder(set) => builder = set(builder, value),
            Schema(set) => schemas = set(schemas, value),
            Client(_) | Http(_) | Skill(_) => {}
        }
    }
    builder.limits(client_limits(limits)).schema_limits(schemas)
}

/// Returns the options of the HTTP transport with these limits.
pub(crate) fn limit_http(options: HttpClientOptions, limits: &[LimitValue]) -> HttpClientOptions {
    limits
        .iter()
        .fold(options, |options, limit| match limit.setting {
            Http(set) => set(options, limit.value),
            _ => options,
        })
}

/// Returns these limits of a skill.
pub(crate) fn limit_skills(limits: &[LimitValue]) -> SkillLimits {
    let skills = SkillLimits::new();
    limits
        .iter()
        .fold(skills, |skills, limit| match limit.setting {
            Skill(set) => set(skills, limit.value),
            _ => skills,
        })
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
