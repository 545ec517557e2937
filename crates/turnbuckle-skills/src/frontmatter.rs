//! Frontmatter: the YAML at the beginning of a `SKILL.md`, as a JSON object.
//!
//! Specification: Skills (stable), "Frontmatter"; YAML 1.2.2, "Core Schema".

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use turnbuckle_types::{Json, RawObject};
use turnbuckle_yaml::Rules;

use crate::error::InvalidSkill;
use crate::name::{check_description, check_name};

/// The longest frontmatter, in bytes, with the lines `---` around it; and the longest object of an entry, in JSON.
pub const MAX_FRONTMATTER_BYTES: usize = 64 * 1024;

/// The deepest nesting of arrays and objects, the frontmatter itself included.
const MAX_DEPTH: usize = 16;

/// The most keys, values, arrays and objects together.
const MAX_NODES: usize = 4096;

/// The rules of its YAML: one document that has one meaning for every reader.
const YAML_RULES: Rules = Rules {
    max_depth: MAX_DEPTH,
    max_values: MAX_NODES,
    strict: true,
};

/// The frontmatter of a skill: an object with a valid `name` and `description`, and whatever else its author wrote.
///
/// Two are equal if each field is: the order of fields does not matter, and `1` equals `1.0`.
///
/// Specification: Skills (stable), "Frontmatter".
#[derive(Debug, Clone)]
pub struct Frontmatter {
    name: String,
    description: String,
    fields: Map<String, Value>,
}

impl Frontmatter {
    /// Parses the frontmatter of a `SKILL.md`.
    ///
    /// It stands between two lines `---`, of which the first one begins the file. Lines may end with CR LF. The YAML is
    /// read by the core schema of YAML 1.2. Anchors, aliases, tags, merge keys (`<<`), duplicate keys, several documents,
    /// control characters, also as escapes, and numbers that JSON cannot express are refused, because readers would
    /// disagree about them.
    ///
    /// # Errors
    /// If there is no frontmatter, if it is longer than [`MAX_FRONTMATTER_BYTES`], nested deeper than 16 or of more than
    /// 4,096 nodes, is not such YAML or not an object, or if `name` or `description` is missing or breaks a rule.
    pub fn parse(skill_file: &[u8]) -> Result<Self, InvalidSkill> {
        let block = find_block(skill_file)?;
        let text = std::str::from_utf8(block)
            .map_err(|_| InvalidSkill::new("the frontmatter is not UTF-8"))?;
        check_characters(text)?;
        let root = turnbuckle_yaml::parse(text, &YAML_RULES);
        match root.map_err(|error| InvalidSkill::new(format_args!("the frontmatter: {error}")))? {
            Value::Object(fields) => Self::from_fields(fields),
            _ => Err(InvalidSkill::new("the frontmatter is not an object")),
        }
    }

    /// Creates frontmatter from its fields.
    ///
    /// # Errors
    /// If the fields are nested too deeply or too many, if a string has a control character other than a tab or a line
    /// break, or if `name` or `description` is missing or breaks a rule.
    pub(crate) fn from_fields(fields: Map<String, Value>) -> Result<Self, InvalidSkill> {
        let mut nodes = 0;
        for (key, value) in &fields {
            nodes += 1;
            check_string(key)?;
            check_value(value, 1, &mut nodes)?;
        }
        let text = |key: &str| match fields.get(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(InvalidSkill::new(format_args!(
                "the frontmatter's `{key}` is not a string: put it in quotes"
            ))),
            None => Err(InvalidSkill::new(format_args!(
                "the frontmatter has no `{key}`"
            ))),
        };
        let (name, description) = (text("name")?, text("description")?);
        check_name(&name)?;
        check_description(&description)?;
        Ok(Self {
            name,
            description,
            fields,
        })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns a field as JSON.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<Json> {
        Json::encode(self.fields.get(field)?).ok()
    }

    /// Returns all fields.
    #[cfg(any(test, feature = "server"))]
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Compares with other frontmatter field by field, and returns the path of the first field that differs, such as
    /// `metadata.version`.
    ///
    /// Specification: Skills (stable), "Frontmatter Verification".
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        let mut path = String::new();
        object_difference(&self.fields, &other.fields, &mut path).then_some(path)
    }
}

impl PartialEq for Frontmatter {
    fn eq(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }
}

impl Serialize for Frontmatter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Frontmatter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawObject::deserialize(deserializer)?;
        // Escapes make JSON longer than YAML.
        if raw.as_str().len() > 2 * MAX_FRONTMATTER_BYTES {
            return Err(D::Error::custom("the frontmatter is longer than 128 KiB"));
        }
        let fields = raw.decode::<Object>().map_err(D::Error::custom)?;
        Self::from_fields(fields.0).map_err(D::Error::custom)
    }
}

/// Returns the frontmatter with its first line `---` and without its last.
fn find_block(file: &[u8]) -> Result<&[u8], InvalidSkill> {
    let mut end = 0;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        let is_marker = line
            .strip_prefix(b"---")
            .is_some_and(|rest| rest.trim_ascii().is_empty());
        match (end, is_marker) {
            (0, false) if file.starts_with(b"\xef\xbb\xbf") => {
                return Err(InvalidSkill::new(
                    "the file begins with a byte order mark, not with `---`",
                ));
            }
            (0, false) => {
                return Err(InvalidSkill::new(
                    "the first line is not `---`, so there is no frontmatter",
                ));
            }
            (1.., true) => return Ok(file.get(..end).unwrap_or_default()),
            _ => end += line.len(),
        }
        if end > MAX_FRONTMATTER_BYTES {
            return Err(InvalidSkill::new("the frontmatter is longer than 64 KiB"));
        }
    }
    Err(InvalidSkill::new(match file.is_empty() {
        true => "the file is empty",
        false => "no line `---` ends the frontmatter",
    }))
}

/// Refuses characters that YAML does not allow, and CR without LF, which only some readers take for the end of a line.
fn check_characters(text: &str) -> Result<(), InvalidSkill> {
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let allowed = match char {
            '\r' => chars.peek() == Some(&'\n'),
            '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
            _ => !is_refused(char),
        };
        if !allowed {
            return Err(InvalidSkill::new(format_args!(
                "the frontmatter has the character U+{:04X}",
                u32::from(char)
            )));
        }
    }
    Ok(())
}

/// Returns whether a character is a control character, and neither a tab nor a line break.
fn is_refused(char: char) -> bool {
    matches!(char, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}')
        && !matches!(char, '\t' | '\n' | '\r' | '\u{85}')
}

/// Refuses control characters in a string, which escapes of YAML and JSON can stand for.
fn check_string(text: &str) -> Result<(), InvalidSkill> {
    match text.chars().find(|char| is_refused(*char)) {
        Some(char) => Err(InvalidSkill::new(format_args!(
            "a string of the frontmatter has the character U+{:04X}",
            u32::from(char)
        ))),
        None => Ok(()),
    }
}

/// Counts a value and what is in it, and checks the strings. The recursion is as deep as [`MAX_DEPTH`].
fn check_value(value: &Value, depth: usize, nodes: &mut usize) -> Result<(), InvalidSkill> {
    let deeper = depth + 1;
    let is_nested = matches!(value, Value::Array(_) | Value::Object(_));
    if is_nested && deeper > MAX_DEPTH {
        return Err(too_deep());
    }
    *nodes += 1;
    if *nodes > MAX_NODES {
        return Err(too_many());
    }
    match value {
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| check_value(item, deeper, nodes)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            *nodes += 1;
            check_string(key)?;
            check_value(value, deeper, nodes)
        }),
        Value::String(text) => check_string(text),
        _ => Ok(()),
    }
}

fn too_deep() -> InvalidSkill {
    InvalidSkill::new(format_args!(
        "the frontmatter is nested deeper than {MAX_DEPTH}"
    ))
}

fn too_many() -> InvalidSkill {
    InvalidSkill::new(format_args!(
        "the frontmatter has more than {MAX_NODES} keys and values"
    ))
}

/// Returns whether two objects differ, with `path` at the first difference. Frontmatter is at most [`MAX_DEPTH`] deep.
fn object_difference(
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    path: &mut String,
) -> bool {
    let keys = left
        .keys()
        .chain(right.keys().filter(|key| !left.contains_key(*key)));
    for key in keys {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(key);
        let differs = match (left.get(key), right.get(key)) {
            (Some(left), Some(right)) => value_difference(left, right, path),
            _ => true,
        };
        if differs {
            return true;
        }
        path.truncate(length);
    }
    false
}

fn value_difference(left: &Value, right: &Value, path: &mut String) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => object_difference(left, right, path),
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return true;
            }
            let length = path.len();
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                path.push_str(&format!("[{index}]"));
                if value_difference(left, right, path) {
                    return true;
                }
                path.truncate(length);
            }
            false
        }
        // Writers of JSON that know one kind of number only write 1.0 as 1.
        (Value::Number(left), Value::Number(right)) => {
            left != right
                && match (left.is_f64(), right.is_f64()) {
                    (false, false) => true,
                    _ => left.as_f64() != right.as_f64(),
                }
        }
        _ => left != right,
    }
}

/// An object of JSON in which no key stands twice, at any depth.
struct Object(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Unique::deserialize(deserializer)?.0 {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(D::Error::custom("the frontmatter is not an object")),
        }
    }
}

/// A value of JSON in which no key of an object stands twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> serde::de::Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unique(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((key, Unique(value))) = map.next_entry::<String, _>()? {
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} stands twice"
                )));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests;
