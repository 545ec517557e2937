//! The time in time zones, at a fixed moment.

use std::cell::Cell;
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

thread_local! {
    /// The seconds since 1970 that the clock of [`call_at`] shows on this thread.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// Calls a tool at a moment, in seconds since 1970.
async fn call_at(seconds: u64, tool: &str, arguments: Value) -> Result<Value, String> {
    NOW.set(seconds);
    let clock = || SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.get());
    let client = testing::connect(server(options().clock(clock)).unwrap())
        .await
        .unwrap();
    result(&client, tool, arguments).await
}

async fn connect() -> TestClient {
    testing::connect(server(options()).unwrap()).await.unwrap()
}

/// Calls a tool, and returns its result, or the text of its error.
async fn call(tool: &str, arguments: Value) -> Result<Value, String> {
    result(&connect().await, tool, arguments).await
}

async fn result(client: &TestClient, tool: &str, arguments: Value) -> Result<Value, String> {
    let result = client.call_tool(tool, &arguments).await.unwrap();
    let Some(structured) = &result.structured_content else {
        assert_eq!(result.is_error, Some(true));
        return Err(result.text().into_owned());
    };
    let structured: Value = structured.decode().unwrap();
    let text: Value = serde_json::from_str(&result.text()).unwrap();
    assert_eq!(text, structured);
    Ok(structured)
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

/// Moments in zones, with the day and whether it is summer time.
#[rustfmt::skip]
const MOMENTS: &[(u64, &str, &str, &str, bool)] = &[
    (1736983800, "Europe/Warsaw", "2025-01-16T00:30:00+01:00", "Thursday", false),
    (1736983800, "Europe/London", "2025-01-15T23:30:00+00:00", "Wednesday", false),
    (1736983800, "America/New_York", "2025-01-15T18:30:00-05:00", "Wednesday", false),
    (1752622200, "Europe/Warsaw", "2025-07-16T01:30:00+02:00", "Wednesday", true),
    (1752622200, "Europe/London", "2025-07-16T00:30:00+01:00", "Wednesday", true),
    (1752622200, "America/New_York", "2025-07-15T19:30:00-04:00", "Tuesday", true),
    (1743296399, "Europe/Warsaw", "2025-03-30T01:59:59+01:00", "Sunday", false),
    (1743296400, "Europe/Warsaw", "2025-03-30T03:00:00+02:00", "Sunday", true),
    (1736983800, "Australia/Sydney", "2025-01-16T10:30:00+11:00", "Thursday", true),
    (1736983800, "Africa/Cairo", "2025-01-16T01:30:00+02:00", "Thursday", false),
    (1736983800, "America/Sao_Paulo", "2025-01-15T20:30:00-03:00", "Wednesday", false),
    (1736983800, "Etc/GMT+5", "2025-01-15T18:30:00-05:00", "Wednesday", false),
];

/// A moment, a time in two zones, both times, whether each is summer time, and their difference.
type Conversion = (
    u64,
    [&'static str; 3],
    [&'static str; 2],
    [bool; 2],
    &'static str,
);

#[rustfmt::skip]
const CONVERSIONS: &[Conversion] = &[
    (1736935200, ["Europe/Warsaw", "08:00", "Europe/London"], ["2025-01-15T08:00:00+01:00", "2025-01-15T07:00:00+00:00"], [false, false], "-1.0h"),
    (1736935200, ["Europe/London", "08:00", "Europe/Warsaw"], ["2025-01-15T08:00:00+00:00", "2025-01-15T09:00:00+01:00"], [false, false], "+1.0h"),
    (1761645600, ["Europe/Warsaw", "08:00", "America/New_York"], ["2025-10-28T08:00:00+01:00", "2025-10-28T03:00:00-04:00"], [false, true], "-5.0h"),
    (1762250400, ["Europe/Warsaw", "08:00", "America/New_York"], ["2025-11-04T08:00:00+01:00", "2025-11-04T02:00:00-05:00"], [false, false], "-6.0h"),
    (1736935200, ["Europe/Warsaw", "08:00", "Asia/Kathmandu"], ["2025-01-15T08:00:00+01:00", "2025-01-15T12:45:00+05:45"], [false, false], "+4.75h"),
    (1736935200, ["Asia/Kathmandu", "08:00", "Europe/Warsaw"], ["2025-01-15T08:00:00+05:45", "2025-01-15T03:15:00+01:00"], [false, false], "-4.75h"),
    (1736935200, ["Europe/Warsaw", "08:00", "Australia/Lord_Howe"], ["2025-01-15T08:00:00+01:00", "2025-01-15T18:00:00+11:00"], [false, true], "+10.0h"),
    (1752573600, ["Europe/Warsaw", "08:00", "Australia/Lord_Howe"], ["2025-07-15T08:00:00+02:00", "2025-07-15T16:30:00+10:30"], [true, false], "+8.5h"),
    (1736935200, ["Europe/Warsaw", "22:30", "Pacific/Apia"], ["2025-01-15T22:30:00+01:00", "2025-01-16T10:30:00+13:00"], [false, false], "+12.0h"),
    (1736935200, ["Europe/Warsaw", "08:00", "Asia/Tehran"], ["2025-01-15T08:00:00+01:00", "2025-01-15T10:30:00+03:30"], [false, false], "+2.5h"),
    (1434362400, ["Europe/Warsaw", "08:00", "America/Caracas"], ["2015-06-15T08:00:00+02:00", "2015-06-15T01:30:00-04:30"], [true, false], "-6.5h"),
    (1761472800, ["Europe/Warsaw", "08:00", "Asia/Jerusalem"], ["2025-10-26T08:00:00+01:00", "2025-10-26T09:00:00+02:00"], [false, false], "+1.0h"),
    (1752573600, ["Europe/Warsaw", "08:00", "Antarctica/Troll"], ["2025-07-15T08:00:00+02:00", "2025-07-15T08:00:00+02:00"], [true, true], "+0.0h"),
    (1736935200, ["Europe/Warsaw", "22:30", "Pacific/Kiritimati"], ["2025-01-15T22:30:00+01:00", "2025-01-16T11:30:00+14:00"], [false, false], "+13.0h"),
    (1736935200, ["Europe/Warsaw", "22:30", "Pacific/Chatham"], ["2025-01-15T22:30:00+01:00", "2025-01-16T11:15:00+13:45"], [false, true], "+12.75h"),
    (1736935200, ["Pacific/Kiritimati", "00:00", "Pacific/Pago_Pago"], ["2025-01-16T00:00:00+14:00", "2025-01-14T23:00:00-11:00"], [false, false], "-25.0h"),
    (1761472800, ["Europe/Warsaw", "02:30", "UTC"], ["2025-10-26T02:30:00+02:00", "2025-10-26T00:30:00+00:00"], [true, false], "-2.0h"),
];

#[tokio::test]
async fn zones_have_their_offsets_and_summer_times() {
    for (seconds, zone, datetime, day, is_dst) in MOMENTS {
        let now = call_at(*seconds, "get_current_time", json!({"timezone": zone})).await;
        assert_eq!(
            now.unwrap(),
            json!({"timezone": zone, "datetime": datetime, "day_of_week": day, "is_dst": is_dst})
        );
    }
    for (seconds, [source, time, target], datetimes, is_dst, difference) in CONVERSIONS {
        let arguments = conversion(source, time, target);
        let converted = call_at(*seconds, "convert_time", arguments).await.unwrap();
        for (index, side) in ["source", "target"].into_iter().enumerate() {
            let found = &converted[side];
            assert_eq!(found["timezone"], [source, target][index].to_owned());
            assert_eq!(found["datetime"], datetimes[index]);
            assert_eq!(found["is_dst"], is_dst[index], "{source} to {target}");
        }
        assert_eq!(converted["time_difference"], *difference);
    }
}

#[tokio::test]
async fn a_time_that_the_clocks_skip_is_refused() {
    // 2025-03-30, when Poland goes from 02:00 to 03:00.
    let day = 1_743_328_800;
    let arguments = conversion("Europe/Warsaw", "02:30", "UTC");
    let error = call_at(day, "convert_time", arguments).await.unwrap_err();
    assert_eq!(
        error,
        "the clocks of Europe/Warsaw skip 02:30 on 2025-03-30: take another time"
    );
    let after = conversion("Europe/Warsaw", "03:00", "UTC");
    let after = call_at(day, "convert_time", after).await.unwrap();
    assert_eq!(after["target"]["datetime"], "2025-03-30T01:00:00+00:00");
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
                .contains("Europe/Paris is the user's own"),
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
