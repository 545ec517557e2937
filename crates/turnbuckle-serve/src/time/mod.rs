//! A server with the time, in the time zones of the system's database.

use std::time::SystemTime;

use jiff::civil::Time;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use turnbuckle::ServerBuilder;
use turnbuckle::prelude::*;
use turnbuckle::types::{CallToolResult, Schema, ToolAnnotations};

use crate::Error;
use crate::fault::{self, Fault};
use crate::output::{pretty, schema_of};

/// The longest name of a time zone, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// Options of the server.
#[derive(Debug, Clone)]
pub struct Options {
    local_timezone: Option<String>,
    clock: fn() -> SystemTime,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            local_timezone: None,
            clock: SystemTime::now,
        }
    }
}

impl Options {
    /// Creates options with the time zone of the system.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time zone that models take if the user names none, such as `Europe/Paris`.
    #[must_use]
    pub fn local_timezone(mut self, name: impl Into<String>) -> Self {
        self.local_timezone = Some(name.into());
        self
    }

    /// Sets the clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }
}

/// Creates the server.
///
/// # Errors
/// If the local time zone does not exist.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    let local = match options.local_timezone {
        Some(name) => {
            find_zone(&name).map_err(|error| Error::new(error.to_string()))?;
            name
        }
        None => system_zone(),
    };
    let clock = options.clock;
    let current = Tool::builder("get_current_time")
        .description("Returns the time now in a time zone")
        .annotations(annotations())
        .input_schema(current_schema(&local)?)
        .output_schema(schema_of::<LocalTime>())
        .handler(move |Args(arguments): Args<Current>| result(current(&arguments, clock)));
    let convert = Tool::builder("convert_time")
        .description("Converts a time of today from one time zone to another")
        .annotations(annotations())
        .input_schema(convert_schema(&local)?)
        .output_schema(schema_of::<Conversion>())
        .handler(move |Args(arguments): Args<Convert>| result(convert(&arguments, clock)));
    let server = Server::new("time", env!("CARGO_PKG_VERSION")).title("Time");
    Ok(server.tools([current, convert]))
}

/// Returns the name of the system's time zone, or UTC where it has none.
fn system_zone() -> String {
    // jiff lists the whole database of zones for it, which takes as long as the rest of the start.
    let named = std::env::var_os("TZ").is_none().then(linked_zone).flatten();
    named.unwrap_or_else(|| {
        let system = TimeZone::system();
        system.iana_name().unwrap_or("UTC").to_owned()
    })
}

/// Returns the name of the zone that the system's configuration is a link to.
fn linked_zone() -> Option<String> {
    const CONFIGURATION: &str = "/etc/localtime";
    let target = std::fs::read_link(CONFIGURATION).ok()?;
    let (_, name) = target.to_str()?.split_once("/zoneinfo/")?;
    std::fs::exists(CONFIGURATION)
        .ok()?
        .then(|| name.to_owned())
}

fn annotations() -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only_hint(true)
        .destructive_hint(false)
        .idempotent_hint(true)
        .open_world_hint(false)
}

/// Returns the schema of `get_current_time`, which names the local time zone.
fn current_schema(local: &str) -> Result<Schema, Error> {
    schema(json!({
        "type": "object",
        "properties": {"timezone": {
            "type": "string",
            "description": describe_zone("Time zone", local),
        }},
        "required": ["timezone"],
    }))
}

/// Returns the schema of `convert_time`, which names the local time zone.
fn convert_schema(local: &str) -> Result<Schema, Error> {
    schema(json!({
        "type": "object",
        "properties": {
            "source_timezone": {
                "type": "string",
                "description": describe_zone("Time zone of the time", local),
            },
            "time": {
                "type": "string",
                "description": "The time, as HH:MM of 24 hours",
            },
            "target_timezone": {
                "type": "string",
                "description": describe_zone("Time zone to convert to", local),
            },
        },
        "required": ["source_timezone", "time", "target_timezone"],
    }))
}

/// Describes an argument that names a time zone.
fn describe_zone(what: &str, local: &str) -> String {
    format!("{what}, such as Asia/Tokyo; {local} is the user's own")
}

fn schema(schema: serde_json::Value) -> Result<Schema, Error> {
    Schema::encode(&schema).map_err(|error| Error::new(error.to_string()))
}

/// Arguments of `get_current_time`.
#[derive(Deserialize, JsonSchema)]
struct Current {
    timezone: String,
}

/// Arguments of `convert_time`.
#[derive(Deserialize, JsonSchema)]
struct Convert {
    source_timezone: String,
    time: String,
    target_timezone: String,
}

/// A time in a time zone.
#[derive(Serialize, JsonSchema)]
struct LocalTime {
    timezone: String,
    datetime: String,
    day_of_week: String,
    is_dst: bool,
}

/// A time in two time zones.
#[derive(Serialize, JsonSchema)]
struct Conversion {
    source: LocalTime,
    target: LocalTime,
    time_difference: String,
}

impl LocalTime {
    fn new(timezone: &str, time: &Zoned) -> Self {
        Self {
            timezone: timezone.to_owned(),
            datetime: time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            day_of_week: time.strftime("%A").to_string(),
            is_dst: time
                .time_zone()
                .to_offset_info(time.timestamp())
                .dst()
                .is_dst(),
        }
    }
}

/// Returns the result of a tool.
fn result<T: Serialize>(value: fault::Result<T>) -> Result<CallToolResult> {
    pretty(&value.map_err(IntoFailure::into_failure)?)
}

fn current(arguments: &Current, clock: fn() -> SystemTime) -> fault::Result<LocalTime> {
    let zone = find_zone(&arguments.timezone)?;
    let time = now(clock)?.to_zoned(zone);
    Ok(LocalTime::new(&arguments.timezone, &time))
}

fn convert(arguments: &Convert, clock: fn() -> SystemTime) -> fault::Result<Conversion> {
    let source_zone = find_zone(&arguments.source_timezone)?;
    let target_zone = find_zone(&arguments.target_timezone)?;
    let time = parse_time(&arguments.time)
        .ok_or("Invalid time format. Expected HH:MM [24-hour format]")?;
    let today = now(clock)?.to_zoned(source_zone.clone()).date();
    let invalid = |error: jiff::Error| Fault::new(error.to_string());
    let source = source_zone.into_ambiguous_zoned(today.to_datetime(time));
    if matches!(source.offset(), AmbiguousOffset::Gap { .. }) {
        return Err(Fault::new(format!(
            "the clocks of {} skip {} on {today}: take another time",
            arguments.source_timezone, arguments.time
        )));
    }
    let source = source.compatible().map_err(invalid)?;
    let target = source.with_time_zone(target_zone);
    let seconds = target.offset().seconds() - source.offset().seconds();
    Ok(Conversion {
        source: LocalTime::new(&arguments.source_timezone, &source),
        target: LocalTime::new(&arguments.target_timezone, &target),
        time_difference: format_difference(seconds),
    })
}

fn now(clock: fn() -> SystemTime) -> fault::Result<Timestamp> {
    Timestamp::try_from(clock()).map_err(|error| Fault::new(error.to_string()))
}

/// Finds a time zone by its name in the database.
fn find_zone(name: &str) -> fault::Result<TimeZone> {
    let zone = (name.len() <= MAX_NAME_BYTES).then(|| TimeZone::get(name).ok());
    zone.flatten()
        .ok_or_else(|| Fault::new(format!("Invalid timezone: {name:.MAX_NAME_BYTES$}")))
}

/// Reads `HH:MM`.
fn parse_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let number = |digits: &str| -> Option<i8> {
        let is_number =
            (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok())?
    };
    Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

/// Formats a difference of offsets in hours, with as many digits as it needs: `+9.0h`, `+5.75h`.
fn format_difference(seconds: i32) -> String {
    let hours = f64::from(seconds) / 3600.0;
    if seconds % 3600 == 0 {
        return format!("{hours:+.1}h");
    }
    let hours = format!("{hours:+.2}");
    format!("{}h", hours.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_of_the_system_is_that_of_its_library() {
        let system = TimeZone::system();
        assert_eq!(system_zone(), system.iana_name().unwrap_or("UTC"));
    }
}
