//! Types that derive all that is sent.

use serde_json::json;
use turnbuckle::__private::schemars;
use turnbuckle::data;

#[data(rename_all = "camelCase")]
#[derive(Debug, PartialEq)]
struct Location {
    /// The name of the city
    #[schema(min_len = 2, pattern = "^[A-Z]")]
    city_name: String,
    #[schema(min = -90, max = 90, rename = "lat")]
    latitude: f64,
    #[schema(default = 3)]
    days: u8,
    kind: Kind,
}

#[data]
#[derive(Debug, PartialEq, Clone, Copy)]
enum Kind {
    #[schema(rename = "large")]
    Town,
    /// Fewer people
    Village {
        #[schema(default = 5)]
        farms: u8,
    },
    Numbered(#[schema(max = 9)] u8),
}

#[data]
struct Wrapped<T>(T);

#[test]
fn a_data_type_is_deserialized_serialized_and_described() {
    let location: Location = serde_json::from_value(json!({
        "cityName": "Lund", "lat": 55.7, "kind": {"Village": {}}
    }))
    .unwrap();
    let expected = Location {
        city_name: "Lund".to_owned(),
        latitude: 55.7,
        days: 3,
        kind: Kind::Village { farms: 5 },
    };
    assert_eq!(location, expected);
    let written = serde_json::to_value(&location).unwrap();
    assert_eq!(
        written,
        json!({"cityName": "Lund", "lat": 55.7, "days": 3, "kind": {"Village": {"farms": 5}}})
    );
    assert_eq!(serde_json::to_value(Kind::Town).unwrap(), json!("large"));
    assert_eq!(
        serde_json::to_value(Wrapped(Kind::Numbered(1)).0).unwrap(),
        json!({"Numbered": 1})
    );
    let schema = serde_json::to_value(schemars::schema_for!(Location)).unwrap();
    let properties = &schema["properties"];
    assert_eq!(
        properties["cityName"],
        json!({"type": "string", "description": "The name of the city", "minLength": 2, "pattern": "^[A-Z]"})
    );
    assert_eq!(properties["lat"]["minimum"], json!(-90));
    assert_eq!(properties["days"]["default"], json!(3));
    assert_eq!(schema["required"], json!(["cityName", "lat", "kind"]));
}
