//! The check that each constraint of a schema can refuse a value: a keyword about another type than
//! the schema allows never does.

use serde_json::{Map, Value};
use turnbuckle_types::Schema;
use turnbuckle_types::base::text::shorten;

use crate::error::SchemaError;
use crate::keywords::{AppliesTo, Document, references, subschemas};
use crate::violation::pointer_join;

/// The most references and alternatives that are followed from one schema to learn its types.
const MAX_STEPS: usize = 64;

/// A keyword that limits values, the types that it is about, and the keyword for others.
struct Constraint {
    name: &'static str,
    types: &'static [&'static str],
    /// The keywords for text, lists, objects and numbers.
    instead: [&'static str; 4],
}

const NUMBER: &[&str] = &["integer", "number"];
const TEXT: &[&str] = &["string"];
const LIST: &[&str] = &["array"];
const OBJECT: &[&str] = &["object"];

const LEAST: [&str; 4] = ["minLength", "minItems", "minProperties", "minimum"];
const MOST: [&str; 4] = ["maxLength", "maxItems", "maxProperties", "maximum"];
const NONE: [&str; 4] = [""; 4];

/// The keywords of a length, of which one is enough.
const LENGTHS: [[&str; 3]; 2] = [
    ["minLength", "minItems", "minProperties"],
    ["maxLength", "maxItems", "maxProperties"],
];

const fn constraint(
    name: &'static str,
    types: &'static [&'static str],
    instead: [&'static str; 4],
) -> Constraint {
    Constraint {
        name,
        types,
        instead,
    }
}

const CONSTRAINTS: [Constraint; 13] = [
    constraint("minimum", NUMBER, LEAST),
    constraint("exclusiveMinimum", NUMBER, LEAST),
    constraint("maximum", NUMBER, MOST),
    constraint("exclusiveMaximum", NUMBER, MOST),
    constraint("multipleOf", NUMBER, NONE),
    constraint("minLength", TEXT, LEAST),
    constraint("maxLength", TEXT, MOST),
    constraint("pattern", TEXT, NONE),
    constraint("minItems", LIST, LEAST),
    constraint("maxItems", LIST, MOST),
    constraint("uniqueItems", LIST, NONE),
    constraint("minProperties", OBJECT, LEAST),
    constraint("maxProperties", OBJECT, MOST),
];

/// Checks that each constraint of a schema is about a type that the schema allows: `minimum` beside
/// `"type": "string"` never refuses a value, so `minLength` was meant.
///
/// `minLength`, `minItems` and `minProperties` may stand together, as may the `max…`: one of them
/// has to be about a type that is allowed. Where the schema does not say its type, nothing is checked.
///
/// # Errors
/// [`SchemaError::KeywordOfOtherType`] for the first such keyword. Text that is not a JSON object is
/// [`SchemaError::NotAnObject`].
///
/// ```
/// use turnbuckle_schema::check_keyword_types;
/// use turnbuckle_types::Schema;
///
/// let schema: Schema = r#"{"type":"object","properties":{"name":{"type":"string","minimum":1}}}"#.parse()?;
/// assert_eq!(
///     check_keyword_types(&schema).unwrap_err().to_string(),
///     "`minimum` at \"/properties/name\" never refuses a value, since the type there is string: \
///      use `minLength`, or leave it out"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_keyword_types(schema: &Schema) -> Result<(), SchemaError> {
    let root: Value =
        serde_json::from_str(schema.as_str()).map_err(|_| SchemaError::NotAnObject)?;
    visit(&Document::new(&root), &root, "")
}

/// Checks a schema and its subschemas. The JSON parser bounds the recursion.
fn visit<'a>(document: &Document<'a>, schema: &'a Value, path: &str) -> Result<(), SchemaError> {
    let Some(keywords) = schema.as_object() else {
        return Ok(());
    };
    if CONSTRAINTS
        .iter()
        .any(|one| keywords.contains_key(one.name))
    {
        let mut types = Vec::new();
        let mut steps = 0;
        if collect_types(document, keywords, &mut types, &mut steps).is_some() {
            check_constraints(keywords, &types, path)?;
        }
    }
    for child in subschemas(keywords) {
        let mut inside = pointer_join(path, child.keyword);
        if let AppliesTo::Member(name) = child.reach {
            inside = pointer_join(&inside, name);
        }
        visit(document, child.schema, &inside)?;
    }
    Ok(())
}

/// Checks the constraints of a schema of these types.
fn check_constraints(
    keywords: &Map<String, Value>,
    types: &[&str],
    path: &str,
) -> Result<(), SchemaError> {
    let fits = |one: &Constraint| one.types.iter().any(|name| types.contains(name));
    let present = || {
        CONSTRAINTS
            .iter()
            .filter(|one| keywords.contains_key(one.name))
    };
    for one in present().filter(|one| !fits(one)) {
        let is_one_of_several = LENGTHS.iter().any(|names| {
            names.contains(&one.name)
                && present().any(|other| names.contains(&other.name) && fits(other))
        });
        if is_one_of_several {
            continue;
        }
        let instead = CONSTRAINTS.iter().filter(|other| fits(other));
        let instead = instead
            .map(|other| other.name)
            .find(|name| one.instead.contains(name));
        return Err(SchemaError::KeywordOfOtherType {
            keyword: one.name,
            path: shorten(path),
            types: types.join(" or "),
            instead,
        });
    }
    Ok(())
}

/// Collects the types that a schema allows; `None` if it does not say all of them.
fn collect_types<'a>(
    document: &Document<'a>,
    keywords: &'a Map<String, Value>,
    types: &mut Vec<&'a str>,
    steps: &mut usize,
) -> Option<()> {
    *steps += 1;
    if *steps > MAX_STEPS {
        return None;
    }
    match keywords.get("type") {
        Some(Value::String(one)) => {
            types.push(one);
            return Some(());
        }
        Some(Value::Array(several)) => {
            types.extend(several.iter().filter_map(Value::as_str));
            return Some(());
        }
        _ => {}
    }
    if let Some(reference) = references(keywords).next() {
        let target = document.resolve(reference)?.as_object()?;
        return collect_types(document, target, types, steps);
    }
    let alternatives = keywords.get("anyOf").or_else(|| keywords.get("oneOf"))?;
    for one in alternatives.as_array()? {
        collect_types(document, one.as_object()?, types, steps)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(schema: &Value) -> Option<String> {
        let schema = json!({"type": "object", "properties": {"a": schema},
            "$defs": {"Name": {"type": "string"}, "Age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "Loop": {"$ref": "#/$defs/Loop"}}});
        let checked = check_keyword_types(&Schema::encode(&schema).unwrap());
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn a_constraint_of_another_type_is_refused_with_the_keyword_that_was_meant() {
        for (schema, keyword, instead) in [
            (
                json!({"type": "string", "minimum": 1}),
                "minimum",
                Some("minLength"),
            ),
            (
                json!({"type": ["string", "null"], "maximum": 1}),
                "maximum",
                Some("maxLength"),
            ),
            (
                json!({"type": "array", "exclusiveMinimum": 1}),
                "exclusiveMinimum",
                Some("minItems"),
            ),
            (
                json!({"type": "object", "maximum": 1}),
                "maximum",
                Some("maxProperties"),
            ),
            (
                json!({"type": "integer", "minLength": 1}),
                "minLength",
                Some("minimum"),
            ),
            (
                json!({"type": "number", "maxItems": 1}),
                "maxItems",
                Some("maximum"),
            ),
            (
                json!({"type": "array", "items": {"type": "boolean", "maxLength": 2}}),
                "maxLength",
                None,
            ),
            (json!({"type": "integer", "pattern": "a"}), "pattern", None),
            (
                json!({"$ref": "#/$defs/Name", "minimum": 1}),
                "minimum",
                Some("minLength"),
            ),
            (
                json!({"$ref": "#/$defs/Age", "maxLength": 1}),
                "maxLength",
                Some("maximum"),
            ),
            (
                json!({"anyOf": [{"$ref": "#/$defs/Age"}, {"type": "boolean"}], "minLength": 1}),
                "minLength",
                Some("minimum"),
            ),
        ] {
            let error = error(&schema).unwrap_or_else(|| panic!("{schema} is accepted"));
            assert!(
                error.contains(&format!("`{keyword}` at \"/properties/a")),
                "{error}"
            );
            let tip = instead.map_or("leave it out".to_owned(), |name| format!("use `{name}`"));
            assert!(error.contains(&tip), "{error}");
        }
    }

    #[test]
    fn a_constraint_is_accepted_where_a_value_may_be_of_its_type_or_of_an_unknown_one() {
        for schema in [
            json!({"type": "string", "minLength": 1, "pattern": "a"}),
            json!({"type": ["string", "integer"], "minimum": 1, "minLength": 1}),
            json!({"minimum": 1}),
            json!({"$ref": "#/$defs/Age", "minimum": 1}),
            json!({"$ref": "#/$defs/Name", "minLength": 1, "minItems": 1, "minProperties": 1}),
            json!({"anyOf": [{"type": "string"}, {}], "minimum": 1}),
            json!({"$ref": "#/$defs/Loop", "minimum": 1}),
            json!({"$ref": "#/$defs/None", "minimum": 1}),
        ] {
            assert_eq!(error(&schema), None, "{schema}");
        }
    }
}
