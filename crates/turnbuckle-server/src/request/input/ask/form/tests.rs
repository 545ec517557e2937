use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;

fn form_of<T: DeserializeOwned + JsonSchema>() -> Value {
    serde_json::to_value(schema_of::<T>().unwrap()).unwrap()
}

fn fault_of<T: DeserializeOwned + JsonSchema>() -> String {
    schema_of::<T>().unwrap_err().to_string()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plan {
    Free,
    Paid,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Region {
    /// Europe
    Eu,
    /// America
    Us,
    Other,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form is of interest")]
struct Order {
    /// Whom it is for.
    #[schemars(title = "Your name", length(min = 1, max = 40))]
    name: String,
    #[schemars(email)]
    mail: String,
    #[schemars(range(min = 1, max = 9))]
    copies: u8,
    price: Option<f64>,
    #[serde(default = "yes")]
    gift: bool,
    plan: Plan,
    #[serde(default)]
    region: Option<Region>,
    #[schemars(length(min = 1))]
    extras: Vec<Region>,
}

fn yes() -> bool {
    true
}

#[test]
fn a_struct_becomes_a_form_with_its_fields_in_their_order() {
    let regions = json!([
        {"const": "other", "title": "other"},
        {"const": "eu", "title": "Europe"},
        {"const": "us", "title": "America"},
    ]);
    let form = form_of::<Order>();
    assert_eq!(
        form,
        json!({
            "type": "object",
            "properties": {
                "name": {
                    "type": "string", "title": "Your name", "description": "Whom it is for.",
                    "minLength": 1, "maxLength": 40,
                },
                "mail": {"type": "string", "format": "email"},
                "copies": {"type": "integer", "minimum": 1, "maximum": 9},
                "price": {"type": "number"},
                "gift": {"type": "boolean", "default": true},
                "plan": {"type": "string", "enum": ["free", "paid"]},
                "region": {"type": "string", "oneOf": regions},
                "extras": {"type": "array", "minItems": 1, "items": {"anyOf": regions}},
            },
            "required": ["name", "mail", "copies", "plan", "extras"],
        })
    );
    let text = serde_json::to_string(&schema_of::<Order>().unwrap()).unwrap();
    let names = [
        "name", "mail", "copies", "price", "gift", "plan", "region", "extras",
    ];
    let places: Vec<_> = names
        .map(|name| text.find(&format!("\"{name}\":")).unwrap())
        .into();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn a_unit_is_a_form_without_fields() {
    assert_eq!(form_of::<()>(), json!({"type": "object", "properties": {}}));
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form is of interest")]
struct Nested {
    order: Order,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form is of interest")]
struct Tree {
    left: Option<Box<Tree>>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form is of interest")]
struct Names {
    names: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form is of interest")]
struct Patterned {
    #[schemars(regex(pattern = "^[a-z]+$"))]
    code: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form is of interest")]
struct Anything {
    data: Value,
}

#[test]
fn fields_that_no_form_can_have_are_named() {
    for (message, field) in [
        (
            fault_of::<Nested>(),
            "Nested cannot be a form: field `order`",
        ),
        (fault_of::<Tree>(), "Tree cannot be a form: field `left`"),
        (
            fault_of::<Names>(),
            "field `names`: a list in a form is one of choices",
        ),
        (
            fault_of::<Patterned>(),
            "field `code`: a form has no `pattern`",
        ),
        (fault_of::<Anything>(), "field `data`: it takes anything"),
        (fault_of::<Plan>(), "Plan cannot be a form: it is no struct"),
        (
            fault_of::<Vec<Order>>(),
            "it is no struct with named fields",
        ),
    ] {
        assert!(message.contains(field), "{message}");
    }
}
