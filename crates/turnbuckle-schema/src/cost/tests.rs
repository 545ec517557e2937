use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::SchemaLimits;

const MAX_WORK: u64 = 10_000_000;

fn plan(schema: &Value) -> Plan {
    Plan::new(schema, &SchemaLimits::new().max_depth(256)).unwrap()
}

fn cost(schema: Value, value: &Value) -> Option<ValidationCost> {
    estimate_cost(&plan(&schema), value, MAX_WORK)
}

fn work(schema: Value, value: Value) -> u64 {
    cost(schema, &value).unwrap().work
}

/// Returns the number of pairs of a subschema and a part, followed naively.
fn applications(root: &Value, schema: &Value, value: &Value) -> u64 {
    let Some(keywords) = schema.as_object() else {
        return 1;
    };
    let visit = |schema: &Value, value: &Value| applications(root, schema, value);
    let mut sum = 1;
    for keyword in ["anyOf", "allOf", "oneOf"] {
        for inner in keywords
            .get(keyword)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            sum += visit(inner, value);
        }
    }
    if let (Some(inner), Some(items)) = (keywords.get("items"), value.as_array()) {
        sum += items.iter().map(|item| visit(inner, item)).sum::<u64>();
    }
    if let (Some(inner), Some(members)) = (keywords.get("propertyNames"), value.as_object()) {
        sum += members
            .keys()
            .map(|name| visit(inner, &json!(name)))
            .sum::<u64>();
    }
    for (name, inner) in keywords
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        sum += value.get(name).map_or(0, |member| visit(inner, member));
    }
    if keywords.contains_key("$ref") {
        sum += visit(root, value);
    }
    sum
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!({ "type": "string" })),
        Just(json!({ "enum": [1, "a"] })),
        Just(json!({ "properties": { "a": { "$ref": "#" } } })),
        Just(json!({ "items": { "$ref": "#" } })),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            inner.clone().prop_map(|one| json!({ "items": one })),
            inner
                .clone()
                .prop_map(|one| json!({ "propertyNames": one })),
            (inner.clone(), inner).prop_map(|(a, b)| json!({ "properties": { "a": a, "b": b } })),
            several.clone().prop_map(|all| json!({ "anyOf": all })),
            several.prop_map(|all| json!({ "allOf": all })),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("a")), Just(json!(null))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| json!(items)),
            prop::collection::hash_map("[abc]", inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #[test]
    fn every_application_is_counted(schema in schemas(), value in values()) {
        let effort = cost(schema.clone(), &value).unwrap();
        prop_assert!(effort.applications >= applications(&schema, &schema, &value));
        prop_assert!(effort.work >= effort.applications);
    }
}

/// Returns the most repetitions that a value of this kind may have, found by trying.
fn most(schema: &Value, value: impl Fn(usize) -> Value) -> usize {
    let plan = plan(schema);
    let fits = |n: usize| estimate_cost(&plan, &value(n), MAX_WORK).is_some();
    let (mut low, mut high) = (0, 1 << 20);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if fits(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

#[test]
fn work_is_bounded_without_recursion() {
    let alternatives: Vec<Value> = (0..1_900).map(|n| json!({ "const": n })).collect();
    let schema = json!({ "items": { "anyOf": alternatives } });
    let list = |n| json!(vec!["x"; n]);
    let most = most(&schema, list);
    assert!((500..2_000).contains(&most), "{most}");
    assert!(cost(schema.clone(), &list(most)).unwrap().work <= MAX_WORK);
    assert_eq!(cost(schema, &list(most + 1)), None);
}

#[test]
fn declared_properties_cost_work_even_if_absent() {
    let many: serde_json::Map<_, _> = (0..20_000).map(|n| (n.to_string(), json!(true))).collect();
    let schema = json!({ "items": { "properties": many } });
    assert!(cost(schema.clone(), &json!(vec![json!({}); 490])).is_some());
    assert_eq!(cost(schema.clone(), &json!(vec![json!({}); 510])), None);
    // What is no object has no properties to look for.
    assert!(cost(schema, &json!(vec![0; 1_000_000])).is_some());
}

#[test]
fn the_work_limit_is_exact() {
    let (plan, list) = (
        plan(&json!({ "items": { "type": "string" } })),
        json!(["a", "b"]),
    );
    let work = estimate_cost(&plan, &list, MAX_WORK).unwrap().work;
    assert!(estimate_cost(&plan, &list, work).is_some());
    assert_eq!(estimate_cost(&plan, &list, work - 1), None);
}

#[test]
fn listed_values_cost_work() {
    let options: Vec<usize> = (0..50_000).collect();
    let schema = json!({ "items": { "enum": options } });
    assert!(cost(schema.clone(), &json!(vec![1; 90])).is_some());
    assert_eq!(cost(schema, &json!(vec![1; 110])), None);
    let long = "x".repeat(64_000);
    assert!(work(json!({ "const": long }), json!(long)) > 1_000);
    assert!(work(json!({ "const": long }), json!("x")) < 10);
}

#[test]
fn unique_items_cost_work_by_their_kind() {
    let unique = json!({ "uniqueItems": true });
    assert!(cost(unique.clone(), &json!((0..10_000).collect::<Vec<_>>())).is_some());
    let nested = |n: usize| json!((0..n).map(|n| [n]).collect::<Vec<_>>());
    assert!(cost(unique.clone(), &nested(2_000)).is_some());
    assert_eq!(cost(unique, &nested(3_000)), None);
}

#[test]
fn patterns_cost_work_by_their_states_and_the_text() {
    let text = |n: usize| json!("a".repeat(n));
    let schema = json!({ "pattern": "^[0-9]{4}-[0-9]{2}$" });
    assert!(cost(schema, &text(1_000_000)).is_some());
    let heavy = json!({ "pattern": "(a{500}){20}" });
    assert!(cost(heavy.clone(), &text(10_000)).is_some());
    assert_eq!(cost(heavy, &text(20_000)), None);
    let names = json!({ "patternProperties": { "(a{500}){20}": true } });
    assert!(cost(names.clone(), &json!({ "a".repeat(10_000): 1 })).is_some());
    assert_eq!(cost(names, &json!({ "a".repeat(20_000): 1 })), None);
}

#[test]
fn unevaluated_keywords_double_the_work_at_each_level() {
    let nested = |levels| {
        (0..levels).fold(
            json!({}),
            |inner, _| json!({ "anyOf": [inner], "unevaluatedProperties": false }),
        )
    };
    assert!(cost(nested(10), &json!({})).is_some());
    assert_eq!(cost(nested(50), &json!({})), None);
}

#[test]
fn a_chain_is_bounded() {
    let schema = json!({ "properties": { "a": { "$ref": "#" } } });
    let deep = |n| (0..n).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(cost(schema.clone(), &deep(MAX_CHAIN / 2)).is_some());
    assert_eq!(cost(schema, &deep(MAX_CHAIN / 2 + 1)), None);
}

#[test]
fn common_data_is_far_from_the_limit() {
    let columns: Vec<String> = (0..50).map(|n| format!("column{n}")).collect();
    let fields = |field: Value| -> Value {
        let fields = columns.iter().map(|name| (name.clone(), field.clone()));
        fields.collect::<serde_json::Map<_, _>>().into()
    };
    let row = json!({
        "type": "object",
        "properties": fields(json!({ "type": "string", "maxLength": 100 })),
        "required": columns,
        "additionalProperties": false,
    });
    let rows = vec![fields(json!("text")); 10_000];
    assert!(work(json!({ "items": row }), json!(rows)) < MAX_WORK);
    let text = json!({ "type": "string", "minLength": 1 });
    assert!(work(text, json!("x".repeat(1 << 20))) < MAX_WORK / 100);
}
