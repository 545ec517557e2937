//! `null` beside other values: taken out of a schema, and put back.

use serde_json::{Map, Value, json};

type Keywords = Map<String, Value>;

/// Returns a schema that also allows `null`. Its description stays outside of the alternatives.
pub(super) fn or_null(schema: Value) -> Value {
    let Value::Object(mut keywords) = schema else {
        return schema;
    };
    let mut outside = Keywords::new();
    for name in ["title", "description", "default"] {
        if let Some(value) = keywords.remove(name) {
            outside.insert(name.to_owned(), value);
        }
    }
    let null = json!({ "type": "null" });
    let branches = match keywords.remove("anyOf") {
        Some(Value::Array(mut branches)) if keywords.is_empty() => {
            branches.push(null);
            branches
        }
        others => {
            keywords.extend(others.map(|others| ("anyOf".to_owned(), others)));
            vec![keywords.into(), null]
        }
    };
    outside.insert("anyOf".to_owned(), branches.into());
    outside.into()
}

/// Removes `null` from unions. Returns whether there was one beside other values.
pub(super) fn without_null(schema: &mut Keywords) -> bool {
    let mut nullable = false;
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get_mut(keyword) {
            let is_null = |branch: &Value| branch.get("type") == Some(&json!("null"));
            if !branches.iter().all(is_null) {
                let before = branches.len();
                branches.retain(|branch| !is_null(branch));
                nullable |= branches.len() < before;
            }
        }
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum")
        && !options.iter().all(Value::is_null)
    {
        let before = options.len();
        options.retain(|option| !option.is_null());
        nullable |= options.len() < before;
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        let types = std::mem::take(types);
        nullable |= split_types(schema, types);
    }
    if nullable && schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    nullable
}

/// Makes one branch for each type with the keywords of that type. `null` is left out; returns
/// whether it was there beside others.
fn split_types(schema: &mut Keywords, mut types: Vec<Value>) -> bool {
    let before = types.len();
    if before > 1 {
        types.retain(|name| name != "null");
    }
    schema.remove("type");
    if let [one] = &types[..] {
        schema.insert("type".to_owned(), one.clone());
        return before > 1;
    }
    let mut about = Vec::new();
    // What sees which members were looked at must see all of them where it is.
    if !["unevaluatedItems", "unevaluatedProperties"]
        .iter()
        .any(|name| schema.contains_key(*name))
    {
        let names: Vec<String> = schema.keys().cloned().collect();
        for name in names {
            if let Some(of) = types_of(&name)
                && let Some(value) = schema.remove(&name)
            {
                about.push((of, name, value));
            }
        }
    }
    let branch = |kind: &Value| {
        let mut branch = Keywords::from_iter([("type".to_owned(), kind.clone())]);
        for (of, name, value) in &about {
            if kind.as_str().is_some_and(|kind| of.contains(&kind)) {
                branch.insert(name.clone(), value.clone());
            }
        }
        Value::from(branch)
    };
    let branches: Vec<Value> = types.iter().map(branch).collect();
    if branches.is_empty() {
        schema.insert("type".to_owned(), json!([]));
    } else if let Some(others) = schema.remove("anyOf") {
        let mut all = vec![json!({ "anyOf": branches }), json!({ "anyOf": others })];
        if let Some(Value::Array(more)) = schema.remove("allOf") {
            all.extend(more);
        }
        schema.insert("allOf".to_owned(), all.into());
    } else {
        schema.insert("anyOf".to_owned(), branches.into());
    }
    types.len() < before
}

/// Returns the types that a keyword applies to, or `None` if it applies to all.
fn types_of(keyword: &str) -> Option<&'static [&'static str]> {
    Some(match keyword {
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "required"
        | "minProperties"
        | "maxProperties"
        | "propertyNames"
        | "dependentRequired"
        | "dependentSchemas" => &["object"],
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains"
        | "minContains" | "maxContains" => &["array"],
        "minLength" | "maxLength" | "pattern" => &["string"],
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            &["integer", "number"]
        }
        _ => return None,
    })
}
