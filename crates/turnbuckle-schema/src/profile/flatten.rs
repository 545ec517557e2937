//! Removal of alternatives at the root of a schema, for which services refuse whole requests.

use serde_json::{Map, Value, json};

use super::description::note;

type Keywords = Map<String, Value>;

/// Merges root alternatives that are plain objects into one object with the members of all. The
/// result accepts more; its description says which members belong together.
pub(super) fn flatten(root: Value) -> Value {
    let Value::Object(keywords) = root else {
        return root;
    };
    match ["anyOf", "oneOf"]
        .iter()
        .find_map(|name| flatten_alternatives(&keywords, name))
    {
        Some(flat) => flat.into(),
        None => keywords.into(),
    }
}

fn flatten_alternatives(root: &Keywords, keyword: &str) -> Option<Keywords> {
    let branches = root.get(keyword)?.as_array()?;
    let branches: Option<Vec<&Keywords>> = branches.iter().map(plain_object).collect();
    let branches = branches?;
    let is_open = ["additionalProperties", "patternProperties"]
        .iter()
        .all(|name| !root.contains_key(*name));
    let is_object = |schema: &Keywords| schema.get("type").is_some_and(|kind| kind == "object");
    let are_objects = branches.iter().all(|branch| is_object(branch));
    if !is_open || !(is_object(root) || are_objects && !root.contains_key("type")) {
        return None;
    }
    let mut flat = root.clone();
    flat.remove(keyword);
    let own = flat.remove("properties");
    let mut members = own
        .and_then(|own| own.as_object().cloned())
        .unwrap_or_default();
    let mut several: Vec<(&String, Vec<&Value>)> = Vec::new();
    for branch in &branches {
        for (name, schema) in members_of(branch) {
            if members.contains_key(name) {
                return None;
            }
            match several.iter_mut().find(|(known, _)| *known == name) {
                Some((_, schemas)) if schemas.contains(&schema) => {}
                Some((_, schemas)) => schemas.push(schema),
                None => several.push((name, vec![schema])),
            }
        }
    }
    for (name, schemas) in several {
        members.insert(name.clone(), union_of(&schemas));
    }
    let mut required = match flat.remove("required") {
        Some(Value::Array(required)) => required,
        _ => Vec::new(),
    };
    for name in required_by(branches.first()?) {
        let by_all = branches
            .iter()
            .all(|one| required_by(one).any(|other| other == name));
        if by_all && !required.contains(name) {
            required.push(name.clone());
        }
    }
    let closed = |branch: &&Keywords| branch.get("additionalProperties") == Some(&json!(false));
    if branches.iter().all(closed) {
        flat.insert("additionalProperties".to_owned(), false.into());
    }
    flat.insert("type".to_owned(), "object".into());
    flat.insert("properties".to_owned(), members.into());
    if !required.is_empty() {
        flat.insert("required".to_owned(), required.into());
    }
    let lines: Vec<String> = branches
        .iter()
        .map(|branch| describe_branch(branch))
        .collect();
    let how = if keyword == "oneOf" {
        "Exactly one"
    } else {
        "One"
    };
    note(
        &mut flat,
        &format!("{how} of these sets of members:\n{}", lines.join("\n")),
    );
    Some(flat)
}

/// Returns the branch if it only declares the members of an object.
fn plain_object(branch: &Value) -> Option<&Keywords> {
    let branch = branch.as_object()?;
    let plain = branch.iter().all(|(name, value)| match name.as_str() {
        "type" => value == "object",
        "additionalProperties" => value.is_boolean(),
        "properties" | "required" | "description" | "title" => true,
        _ => false,
    });
    plain.then_some(branch)
}

fn members_of(branch: &Keywords) -> impl Iterator<Item = (&String, &Value)> {
    let members = branch.get("properties").and_then(Value::as_object);
    members.into_iter().flatten()
}

fn required_by(branch: &Keywords) -> impl Iterator<Item = &Value> {
    let required = branch.get("required").and_then(Value::as_array);
    required.into_iter().flatten()
}

/// Returns a schema that accepts all values that any of the schemas accepts.
fn union_of(schemas: &[&Value]) -> Value {
    let [first, ..] = schemas else {
        return true.into();
    };
    if schemas.len() == 1 {
        return (*first).clone();
    }
    let mut options: Vec<Value> = Vec::new();
    for schema in schemas {
        let same_type = schema.get("type") == first.get("type");
        let is_list = schema.as_object().is_some_and(|keywords| {
            keywords
                .keys()
                .all(|name| matches!(name.as_str(), "type" | "enum" | "description" | "title"))
        });
        let Some(Value::Array(mine)) = schema.get("enum").filter(|_| same_type && is_list) else {
            return json!({ "anyOf": schemas });
        };
        for option in mine {
            if !options.contains(option) {
                options.push(option.clone());
            }
        }
    }
    let mut all = Keywords::from_iter([("enum".to_owned(), options.into())]);
    all.extend(
        first
            .get("type")
            .map(|kind| ("type".to_owned(), kind.clone())),
    );
    all.into()
}

/// Describes the members of a branch.
fn describe_branch(branch: &Keywords) -> String {
    let members = members_of(branch).map(|(name, schema)| {
        let only = match schema
            .get("enum")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
        {
            Some([only]) => format!(" = {only}"),
            _ => String::new(),
        };
        let needed = required_by(branch).any(|one| one.as_str() == Some(name));
        let may = if needed { "" } else { " (optional)" };
        format!("`{name}`{only}{may}")
    });
    let mut members: Vec<String> = members.collect();
    let named: Vec<&str> = members_of(branch).map(|(name, _)| name.as_str()).collect();
    for name in required_by(branch).filter_map(Value::as_str) {
        if !named.contains(&name) {
            members.push(format!("`{name}`"));
        }
    }
    if members.is_empty() {
        members.push("any".to_owned());
    }
    let description = branch.get("description").and_then(Value::as_str);
    let description = description
        .map(|description| format!(": {description}"))
        .unwrap_or_default();
    format!("- {}{description}", members.join(", "))
}
