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

/// The derives of serde stand below the attribute, as those of a program that has serde.
#[data(rename_all = "camelCase")]
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Article {
    article_name: String,
    #[schema(min = 1, default = 1, rename = "many")]
    count: u8,
}

/// The derives stand above it.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[data(derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Order {
    #[schema(max_len = 2)]
    all_articles: Vec<Article>,
}

/// Serde is implemented by hand.
#[data(derive(JsonSchema))]
struct Price(u32);

impl serde::Serialize for Price {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

#[test]
fn traits_that_a_type_has_are_not_derived_again() {
    let value = json!({"allArticles": [{"articleName": "ink"}]});
    let order: Order = serde_json::from_value(value).unwrap();
    let count = 1;
    let article_name = "ink".to_owned();
    let all_articles = vec![Article {
        article_name,
        count,
    }];
    assert_eq!(order, Order { all_articles });
    let written = serde_json::to_value(&order).unwrap();
    assert_eq!(
        written,
        json!({"allArticles": [{"articleName": "ink", "many": 1}]})
    );
    let schema = serde_json::to_value(schemars::schema_for!(Order)).unwrap();
    assert_eq!(schema["properties"]["allArticles"]["maxItems"], 2);
    let article = &schema["$defs"]["Article"];
    assert_eq!(article["properties"]["many"]["minimum"], 1);
    assert_eq!(article["required"], json!(["articleName"]));
    assert_eq!(serde_json::to_value(Price(3)).unwrap(), json!(3));
    assert_eq!(
        schemars::schema_for!(Price).get("type"),
        Some(&json!("integer"))
    );
}

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

/// Types that contain each other, and one that a macro names.
#[data]
#[derive(Debug, PartialEq)]
struct Node {
    leaf: Option<Box<Leaf>>,
    next: OptionalNode,
}

type OptionalNode = Option<Box<Node>>;

#[data(rename_all = "lowercase")]
#[derive(Debug, PartialEq)]
enum Leaf {
    Inside(Node),
    Pair { left: Box<Node>, count: u8 },
    Empty,
}

macro_rules! wrapper {
    ($name:ident of $inner:ty) => {
        #[data]
        #[derive(Debug, PartialEq)]
        struct $name {
            inner: $inner,
        }
    };
}
wrapper!(Wrapper of Node);

#[test]
fn types_that_contain_each_other_are_data() {
    let node = || Node {
        leaf: None,
        next: None,
    };
    let pair = Leaf::Pair {
        left: Box::new(node()),
        count: 1,
    };
    for (leaf, text) in [
        (
            pair,
            r#"{"pair":{"left":{"leaf":null,"next":null},"count":1}}"#,
        ),
        (
            Leaf::Inside(node()),
            r#"{"inside":{"leaf":null,"next":null}}"#,
        ),
        (Leaf::Empty, r#""empty""#),
    ] {
        assert_eq!(serde_json::to_string(&leaf).unwrap(), text);
        assert_eq!(serde_json::from_str::<Leaf>(text).unwrap(), leaf);
    }
    // A field that an alias makes optional may be missing.
    assert_eq!(serde_json::from_str::<Node>("{}").unwrap(), node());
    let wrapper: Wrapper = serde_json::from_str(r#"{"inner":{}}"#).unwrap();
    assert_eq!(wrapper, Wrapper { inner: node() });
}

#[test]
fn errors_name_the_type_and_not_what_is_generated() {
    let error = |text| {
        serde_json::from_str::<Wrapper>(text)
            .unwrap_err()
            .to_string()
    };
    assert!(
        error("1").contains("expected struct Wrapper"),
        "{}",
        error("1")
    );
    assert!(
        error("{}").contains("missing field `inner`"),
        "{}",
        error("{}")
    );
    let schema = serde_json::to_value(schemars::schema_for!(Wrapper)).unwrap();
    assert_eq!(schema["title"], "Wrapper");
    assert_eq!(schema["properties"]["inner"]["$ref"], "#/$defs/Node");
}
