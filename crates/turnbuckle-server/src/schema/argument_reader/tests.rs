use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::*;
use crate::error::failure::FailureKind;
use crate::schema::input_schema_of;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Forecast {
    city: String,
    days: Option<u8>,
    units: Option<Units>,
    #[serde(default)]
    stops: Vec<Stop>,
    #[schemars(range(min = 1, max = 9))]
    people: Option<u8>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stop {
    name: String,
}

/// A type that accepts less than its schema.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct At {
    places: Vec<Host>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Host {
    #[schemars(with = "String")]
    address: std::net::Ipv4Addr,
}

fn reader_of<T: JsonSchema>(lenient: bool) -> ArgumentReader {
    ArgumentReader::new(
        EnforcedSchema::from_derived(input_schema_of::<T>().unwrap()),
        lenient,
        false,
    )
}

fn read_as<T: DeserializeOwned + JsonSchema>(json: &str, lenient: bool) -> Result<T, String> {
    let raw: RawJson<'_> = serde_json::from_str(json).unwrap();
    let read = reader_of::<T>(lenient).read(Some(raw));
    read.map_err(|failure| match failure.into_kind() {
        FailureKind::Arguments(error) => error.to_string(),
        _ => panic!("another failure"),
    })
}

fn read<T: DeserializeOwned + JsonSchema>(json: &str) -> Result<T, String> {
    read_as(json, true)
}

#[test]
fn good_arguments_decode() {
    let forecast: Forecast = read(r#"{"city":"Bern","units":"metric"}"#).unwrap();
    assert_eq!(forecast.city, "Bern");
    assert_eq!(forecast.units, Some(Units::Metric));
    assert!(read::<At>(r#"{"places":[{"address":"127.0.0.1"}]}"#).is_ok());
}

#[test]
fn errors_have_the_path_the_expected_and_the_actual_value() {
    for (json, expected) in [
        ("{}", vec!["arguments.city: is missing, but required"]),
        (
            r#"{"city":5}"#,
            vec!["arguments.city: expected a string, got 5"],
        ),
        (
            r#"{"units":"metrik","people":12,"stops":[{"name":"a"},{}]}"#,
            vec![
                "arguments.city: is missing",
                "arguments.units: ",
                "did you mean \"metric\"",
                "from 1 to 9",
                "arguments.stops[1].name",
            ],
        ),
        (
            r#"{"city":"a","stops":[{"nom":"a"}]}"#,
            vec!["arguments.stops[0]", "nom", "name"],
        ),
        ("[1]", vec!["arguments: expected an object, got [1]"]),
        ("null", vec!["arguments: expected an object, got null"]),
    ] {
        let error = read::<Forecast>(json).unwrap_err();
        for part in expected {
            assert!(error.contains(part), "{json}: {error}");
        }
    }
    let error = read::<At>(r#"{"places":[{"address":"127.0.0.1"},{"address":"here"}]}"#);
    let error = error.unwrap_err();
    assert!(
        error.starts_with("arguments.places[1].address: "),
        "{error}"
    );
}

#[test]
fn schema_attributes_are_enforced() {
    assert!(read::<Forecast>(r#"{"city":"a","people":9}"#).is_ok());
    assert!(read::<Forecast>(r#"{"city":"a","people":10}"#).is_err());
}

#[test]
fn values_are_repaired_where_the_schema_requires_it() {
    let meant = r#"{"city":"7","days":"3","units":null,"stops":"[{\"name\":\"a\"}]"}"#;
    let forecast: Forecast = read(meant).unwrap();
    assert_eq!((forecast.city.as_str(), forecast.days), ("7", Some(3)));
    assert_eq!(forecast.stops, [Stop { name: "a".into() }]);
    assert!(read_as::<Forecast>(meant, false).is_err());
    let null = r#"{"city":"a","stops":null}"#;
    assert!(read::<Forecast>(null).is_ok());
    assert!(read_as::<Forecast>(null, false).is_err());
    assert!(read::<Forecast>(r#"{"city":"a","days":"three"}"#).is_err());
}

#[test]
fn a_whole_number_with_a_fraction_is_read_as_an_integer() {
    let whole = r#"{"city":"a","days":3.0,"people":2.0}"#;
    let forecast: Forecast = read(whole).unwrap();
    assert_eq!((forecast.days, forecast.people), (Some(3), Some(2)));
    assert!(read_as::<Forecast>(whole, false).is_err());
    assert!(read::<Forecast>(r#"{"city":"a","days":3.5}"#).is_err());
}

#[test]
fn values_in_errors_are_shortened_and_have_no_control_characters() {
    let long = format!(
        r#"{{"city":"a","units":"\u001b[31m{}"}}"#,
        "x".repeat(100_000)
    );
    let error = read::<Forecast>(&long).unwrap_err();
    assert!(error.len() < 500, "{}", error.len());
    assert!(
        !error.contains('\u{1b}') && error.contains("[31mxxx"),
        "{error}"
    );
    let key = format!(
        r#"{{"city":"a","stops":[{{"{}":1}}]}}"#,
        "k\\n".repeat(100_000)
    );
    let error = read::<Forecast>(&key).unwrap_err();
    assert!(error.len() < 1500, "{}", error.len());
    assert!(
        error.lines().all(|line| line.starts_with("arguments")),
        "{error}"
    );
}

#[test]
fn absent_arguments_are_empty_ones() {
    let read: Value = reader_of::<Value>(true).read(None).unwrap();
    assert_eq!(read, serde_json::json!({}));
    assert!(reader_of::<Forecast>(true).read::<Forecast>(None).is_err());
}

#[test]
fn a_handler_without_arguments_accepts_none() {
    let none = ArgumentReader::new(
        EnforcedSchema::from_derived(input_schema_of::<()>().unwrap()),
        true,
        true,
    );
    let admits = |json: &str| {
        none.check_unread(Some(serde_json::from_str(json).unwrap()))
            .is_ok()
    };
    assert!(none.check_unread(None).is_ok());
    assert!(admits("{}") && admits("{ \n}"));
    assert!(!admits(r#"{"a":1}"#) && !admits("[]"));
}

#[test]
fn deep_arguments_are_refused() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        read::<Value>(&format!(r#"{{"a":{open}{close}}}"#))
    };
    assert!(nested(127).is_ok());
    let error = nested(128).unwrap_err();
    assert!(error.contains("deeper than 127 levels"), "{error}");
}
