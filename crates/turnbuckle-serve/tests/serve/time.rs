//! The time in time zones, at a fixed moment.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle_serve::time::{Options, server};

/// Returns a time in summer: 2024-07-01, 12:30 UTC.
fn summer() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_719_837_000)
}

fn options() -> Options {
    Options::new().local_timezone("Europe/Paris").clock(summer)
}

async fn connect() -> TestClient {
    testing::connect(server(options()).unwrap()).await.unwrap()
}

/// Calls a tool, and returns its result, or the text of its error.
async fn call(tool: &str, arguments: Value) -> Result<Value, String> {
    let result = connect().await.call_tool(tool, &arguments).await.unwrap();
    match result.is_error {
        Some(true) => Err(result.text().into_owned()),
        _ => Ok(serde_json::from_str(&result.text()).unwrap()),
    }
}

fn conversion(source: &str, time: &str, target: &str) -> Value {
    json!({"source_timezone": source, "time": time, "target_timezone": target})
}

#[tokio::test]
async fn the_time_has_its_zone_day_and_whether_it_is_summer_time() {
    assert_eq!(
        call("get_current_time", json!({"timezone": "Europe/Warsaw"}))
            .await
            .unwrap(),
        json!({
            "timezone": "Europe/Warsaw", "datetime": "2024-07-01T14:30:00+02:00", "day_of_week": "Monday",
            "is_dst": true,
        })
    );
    let utc = call("get_current_time", json!({"timezone": "UTC"}))
        .await
        .unwrap();
    assert_eq!(
        (&utc["datetime"], &utc["is_dst"]),
        (&json!("2024-07-01T12:30:00+00:00"), &json!(false))
    );
}

#[tokio::test]
async fn times_are_converted_on_the_day_of_the_source() {
    let converted = call(
        "convert_time",
        conversion("Asia/Tokyo", "00:15", "America/New_York"),
    )
    .await
    .unwrap();
    assert_eq!(
        converted,
        json!({
            "source": {"timezone": "Asia/Tokyo", "datetime": "2024-07-01T00:15:00+09:00", "day_of_week": "Monday", "is_dst": false},
            "target": {"timezone": "America/New_York", "datetime": "2024-06-30T11:15:00-04:00", "day_of_week": "Sunday", "is_dst": true},
            "time_difference": "-13.0h",
        })
    );
    for (target, difference) in [
        ("Asia/Kathmandu", "+3.75h"),
        ("Asia/Kolkata", "+3.5h"),
        ("Europe/Paris", "+0.0h"),
    ] {
        let converted = call("convert_time", conversion("Europe/Warsaw", "9:05", target))
            .await
            .unwrap();
        assert_eq!(converted["time_difference"], difference);
    }
}

#[tokio::test]
async fn zones_and_times_that_do_not_exist_are_refused() {
    let long = "x".repeat(1_000);
    for zone in [
        "Nowhere/City",
        "",
        "../../etc/passwd",
        "/etc/localtime",
        "posix/../UTC0",
        &*long,
    ] {
        let error = call("get_current_time", json!({"timezone": zone}))
            .await
            .unwrap_err();
        assert!(
            error.starts_with("Invalid timezone: ") && error.len() < 200,
            "{error}"
        );
        let error = call("convert_time", conversion("UTC", "12:00", zone))
            .await
            .unwrap_err();
        assert!(error.starts_with("Invalid timezone: "), "{error}");
    }
    for time in [
        "25:00", "12:60", "12", "12:00:00", "noon", "", "+1:00", "１2:00",
    ] {
        let error = call("convert_time", conversion("UTC", time, "UTC"))
            .await
            .unwrap_err();
        assert_eq!(
            error, "Invalid time format. Expected HH:MM [24-hour format]",
            "{time}"
        );
    }
    assert!(server(Options::new().local_timezone("Nowhere/City")).is_err());
}

#[tokio::test]
async fn the_schemas_name_the_local_time_zone() {
    for tool in connect().await.list_tools().fetch_all().await.unwrap() {
        assert!(
            tool.input_schema
                .as_str()
                .contains("Use 'Europe/Paris' as local timezone"),
            "{}",
            tool.name
        );
    }
}

#[tokio::test]
async fn the_check_is_clean() {
    let checked = Checker::new(server(options()).unwrap())
        .run()
        .await
        .unwrap();
    checked.assert_clean();
}
