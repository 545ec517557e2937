//! From a checked schema to nodes.

use std::collections::HashMap;

use regex_lite::RegexBuilder;
use serde_json::{Map, Number, Value};

use super::equal::equal;
use super::node::{Array, Id, Kinds, Member, Node, Object, Pattern, Range, Text};
use crate::check::{Checked, Dialect, Levels, address};
use crate::fault::SchemaFault;
use crate::keywords::{Document, is_assertion};
use crate::pattern::states;
use crate::shorten::shorten;

/// The node that anything fits.
pub(super) const ANYTHING: Id = 0;

/// The node that nothing fits.
pub(super) const NOTHING: Id = 1;

/// The nodes of a schema.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) nodes: Vec<Node>,
    pub(super) root: Id,
    /// The first keyword that can refuse a value and is in no node.
    pub(super) uncovered: Option<Box<str>>,
}

/// Compiles what is reachable from the root.
pub(super) fn compile(checked: &Checked) -> Result<Compiled, SchemaFault> {
    let mut compiler = Compiler {
        document: Document::new(&checked.schema),
        dialect: checked.dialect,
        size_of_pattern: checked.limits.size_of_pattern(checked.patterns),
        nodes: vec![
            Node::ANYTHING,
            Node {
                kinds: Kinds::NONE,
                ..Node::ANYTHING
            },
        ],
        met: HashMap::new(),
        levels: Levels::of(&checked.limits),
        uncovered: None,
    };
    let root = compiler.add(&checked.schema, "")?;
    Ok(Compiled {
        nodes: compiler.nodes,
        root,
        uncovered: compiler.uncovered,
    })
}

struct Compiler<'a> {
    document: Document<'a>,
    dialect: Dialect,
    size_of_pattern: usize,
    nodes: Vec<Node>,
    met: HashMap<usize, Id>,
    levels: Levels,
    uncovered: Option<Box<str>>,
}

type Keywords = Map<String, Value>;

impl<'a> Compiler<'a> {
    /// The node of a schema. `keyword` names where it stands, for messages.
    fn add(&mut self, schema: &'a Value, keyword: &str) -> Result<Id, SchemaFault> {
        let keywords = match schema {
            Value::Bool(true) => return Ok(ANYTHING),
            Value::Bool(false) => return Ok(NOTHING),
            Value::Object(keywords) => keywords,
            _ => return Err(invalid(keyword, "must be a schema")),
        };
        if let Some(known) = self.met.get(&address(schema)) {
            return Ok(*known);
        }
        self.levels.enter()?;
        let id = if let Some(reference) = keywords.get("$ref")
            && (self.dialect == Dialect::Draft07 || !keywords.keys().any(|name| decides(name)))
        {
            // A mere reference is its target; that it does not lead back to itself was checked.
            self.target(reference)?
        } else {
            let id = self.nodes.len();
            self.met.insert(address(schema), id);
            self.nodes.push(Node::ANYTHING);
            self.nodes[id] = self.node(keywords)?;
            id
        };
        self.levels.leave();
        Ok(id)
    }

    fn target(&mut self, reference: &'a Value) -> Result<Id, SchemaFault> {
        let reference = text("$ref", reference)?;
        let target = self
            .document
            .resolve(reference)
            .ok_or_else(|| SchemaFault::DanglingReference(shorten(reference)))?;
        self.add(target, "$ref")
    }

    fn node(&mut self, keywords: &'a Keywords) -> Result<Node, SchemaFault> {
        let mut node = Node::ANYTHING;
        let mut array = Array::default();
        let mut object = Object::default();
        let mut range = Range::default();
        let mut string = Text::default();
        for (name, value) in keywords {
            let keyword = name.as_str();
            match keyword {
                "type" => node.kinds = node.kinds.and(kinds(value)?),
                "enum" => limit(&mut node.options, list(keyword, value)?),
                "const" => limit(&mut node.options, std::slice::from_ref(value)),
                "minimum" => range.minimum = Some(number(keyword, value)?),
                "maximum" => range.maximum = Some(number(keyword, value)?),
                "exclusiveMinimum" => range.above = Some(number(keyword, value)?),
                "exclusiveMaximum" => range.below = Some(number(keyword, value)?),
                "multipleOf" => {
                    let unit = number(keyword, value)?;
                    if unit.as_f64().is_none_or(|unit| unit <= 0.0) {
                        return Err(invalid(keyword, "must be more than 0"));
                    }
                    range.multiple_of = Some(unit);
                }
                "minLength" => string.length.least = Some(count(keyword, value)?),
                "maxLength" => string.length.most = Some(count(keyword, value)?),
                "pattern" => string.pattern = Some(self.pattern(text(keyword, value)?)?),
                "minItems" => array.length.least = Some(count(keyword, value)?),
                "maxItems" => array.length.most = Some(count(keyword, value)?),
                "uniqueItems" => array.unique = flag(keyword, value)?,
                "minProperties" => object.length.least = Some(count(keyword, value)?),
                "maxProperties" => object.length.most = Some(count(keyword, value)?),
                "allOf" => node.all.extend(self.every(keyword, value)?),
                "anyOf" => node.any = Some(self.every(keyword, value)?),
                "oneOf" => node.one = Some(self.every(keyword, value)?),
                "$ref" => node.all.push(self.target(value)?),
                "prefixItems" if self.dialect == Dialect::Draft202012 => {
                    array.first = self.every(keyword, value)?;
                }
                "items" if self.dialect == Dialect::Draft07 && value.is_array() => {
                    array.first = self.every(keyword, value)?;
                    let rest = keywords.get("additionalItems");
                    array.rest = rest
                        .map(|rest| self.add(rest, "additionalItems"))
                        .transpose()?;
                }
                "items" => array.rest = Some(self.add(value, keyword)?),
                "additionalItems" => {}
                "patternProperties" => {
                    for (pattern, schema) in members(keyword, value)? {
                        let pattern = self.pattern(pattern)?;
                        object.patterns.push((pattern, self.add(schema, keyword)?));
                    }
                }
                "additionalProperties" => {
                    let rest = self.add(value, keyword)?;
                    object.closed = rest == NOTHING;
                    object.rest = Some(rest).filter(|rest| *rest != ANYTHING);
                }
                _ if is_assertion(keyword) => {
                    self.uncovered.get_or_insert_with(|| keyword.into());
                }
                _ => {}
            }
        }
        object.members = self.members(keywords)?;
        if let Some(options) = &node.options {
            let kinds = options
                .iter()
                .fold(Kinds::NONE, |kinds, option| kinds.or(Kinds::of(option)));
            node.kinds = node.kinds.and(kinds);
        }
        node.number = has_range(&range).then(|| Box::new(range));
        node.text =
            (!string.length.is_open() || string.pattern.is_some()).then(|| Box::new(string));
        array.rest = array.rest.filter(|rest| *rest != ANYTHING);
        let plain = array.first.is_empty() && array.rest.is_none() && !array.unique;
        node.array = (!plain || !array.length.is_open()).then(|| Box::new(array));
        let plain =
            object.members.is_empty() && object.patterns.is_empty() && object.rest.is_none();
        node.object = (!plain || !object.length.is_open()).then(|| Box::new(object));
        Ok(node)
    }

    /// What `properties` and `required` name, sorted.
    fn members(&mut self, keywords: &'a Keywords) -> Result<Vec<Member>, SchemaFault> {
        let mut named: Vec<Member> = Vec::new();
        if let Some(properties) = keywords.get("properties") {
            for (name, schema) in members("properties", properties)? {
                named.push(Member {
                    name: name.as_str().into(),
                    node: Some(self.add(schema, name)?),
                    required: false,
                });
            }
        }
        named.sort_by(|one, other| one.name.cmp(&other.name));
        let declared = named.len();
        if let Some(required) = keywords.get("required") {
            for name in list("required", required)? {
                let name = text("required", name)?;
                let known = named[..declared].binary_search_by(|member| (*member.name).cmp(name));
                match known {
                    Ok(at) => named[at].required = true,
                    Err(_) => named.push(Member {
                        name: name.into(),
                        node: None,
                        required: true,
                    }),
                }
            }
        }
        named.sort_by(|one, other| one.name.cmp(&other.name));
        named.dedup_by(|one, other| one.name == other.name);
        Ok(named)
    }

    fn every(&mut self, keyword: &str, value: &'a Value) -> Result<Vec<Id>, SchemaFault> {
        let schemas = list(keyword, value)?;
        if schemas.is_empty() {
            return Err(invalid(keyword, "must not be empty"));
        }
        schemas
            .iter()
            .map(|schema| self.add(schema, keyword))
            .collect()
    }

    fn pattern(&self, pattern: &str) -> Result<Pattern, SchemaFault> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(self.size_of_pattern)
            .build()
            .map_err(|error| SchemaFault::Pattern {
                pattern: shorten(pattern),
                message: shorten(&error.to_string()),
            })?;
        Ok(Pattern {
            regex,
            states: states(pattern),
        })
    }
}

/// Whether a keyword beside a `$ref` has a say in what fits.
fn decides(name: &str) -> bool {
    matches!(
        name,
        "type"
            | "enum"
            | "const"
            | "minimum"
            | "maximum"
            | "minItems"
            | "maxItems"
            | "properties"
            | "required"
            | "anyOf"
            | "oneOf"
            | "items"
            | "prefixItems"
            | "additionalProperties"
    ) || is_assertion(name)
}

fn has_range(range: &Range) -> bool {
    let bounds = [&range.minimum, &range.maximum, &range.above, &range.below];
    range.multiple_of.is_some() || bounds.iter().any(|bound| bound.is_some())
}

/// The options that are left when only these are.
fn limit(options: &mut Option<Vec<Value>>, only: &[Value]) {
    match options {
        Some(options) => options.retain(|option| only.iter().any(|one| equal(one, option))),
        None => *options = Some(only.to_vec()),
    }
}

fn kinds(value: &Value) -> Result<Kinds, SchemaFault> {
    let one = |name: &Value| {
        name.as_str()
            .and_then(Kinds::named)
            .ok_or_else(|| invalid("type", "must name types of JSON"))
    };
    match value {
        Value::Array(names) => names
            .iter()
            .try_fold(Kinds::NONE, |kinds, name| Ok(kinds.or(one(name)?))),
        name => one(name),
    }
}

fn invalid(keyword: &str, message: &str) -> SchemaFault {
    SchemaFault::Invalid {
        path: shorten(keyword),
        message: message.to_owned(),
    }
}

fn list<'a>(keyword: &str, value: &'a Value) -> Result<&'a [Value], SchemaFault> {
    let list = value.as_array().map(Vec::as_slice);
    list.ok_or_else(|| invalid(keyword, "must be an array"))
}

fn members<'a>(keyword: &str, value: &'a Value) -> Result<&'a Keywords, SchemaFault> {
    let members = value.as_object();
    members.ok_or_else(|| invalid(keyword, "must be an object"))
}

fn text<'a>(keyword: &str, value: &'a Value) -> Result<&'a str, SchemaFault> {
    let text = value.as_str();
    text.ok_or_else(|| invalid(keyword, "must hold text"))
}

fn number(keyword: &str, value: &Value) -> Result<Number, SchemaFault> {
    let number = value.as_number().cloned();
    number.ok_or_else(|| invalid(keyword, "must be a number"))
}

fn flag(keyword: &str, value: &Value) -> Result<bool, SchemaFault> {
    let flag = value.as_bool();
    flag.ok_or_else(|| invalid(keyword, "must be true or false"))
}

/// A number of things, which may be written as `3.0`.
fn count(keyword: &str, value: &Value) -> Result<u64, SchemaFault> {
    let float = value
        .as_f64()
        .filter(|float| *float >= 0.0 && float.fract() == 0.0);
    value
        .as_u64()
        .or(float.map(|float| float as u64))
        .ok_or_else(|| invalid(keyword, "must be an integer of at least 0"))
}
