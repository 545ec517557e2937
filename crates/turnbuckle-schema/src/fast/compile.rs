//! The compiler from a checked schema to validation rules.

use std::collections::HashMap;

use regex_lite::RegexBuilder;
use serde_json::{Map, Number, Value};

use super::equal::values_equal;
use super::node::{
    ArrayRules, CompiledPattern, MemberRule, Node, NodeId, NumberRules, ObjectRules, StringRules,
    TypeSet,
};
use crate::check::{CheckedSchema, DepthGuard, Dialect, address};
use crate::error::SchemaError;
use crate::keywords::{Document, is_assertion};
use crate::pattern::count_states;
use turnbuckle_types::base::text::shorten;

/// The node that every value matches.
pub(super) const ANY_VALUE: NodeId = 0;

/// The node that no value matches.
pub(super) const NO_VALUE: NodeId = 1;

/// The compiled rules of a schema: nodes that refer to each other by [`NodeId`].
#[derive(Debug)]
pub(super) struct CompiledSchema {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
    /// The first keyword that can refuse a value and that these rules do not implement. With such a
    /// keyword, a value that the rules accept may still be invalid.
    pub(super) unsupported_keyword: Option<Box<str>>,
}

/// Compiles everything that is reachable from the root.
pub(super) fn compile(checked: &CheckedSchema) -> Result<CompiledSchema, SchemaError> {
    let mut compiler = Compiler {
        document: Document::new(&checked.schema),
        dialect: checked.dialect,
        size_of_pattern: checked.limits.compiled_pattern_bytes(checked.patterns),
        nodes: vec![
            Node::ANYTHING,
            Node {
                types: TypeSet::NONE,
                ..Node::ANYTHING
            },
        ],
        met: HashMap::new(),
        levels: DepthGuard::new(&checked.limits),
        unsupported_keyword: None,
    };
    let root = compiler.add_schema(&checked.schema, "")?;
    Ok(CompiledSchema {
        nodes: compiler.nodes,
        root,
        unsupported_keyword: compiler.unsupported_keyword,
    })
}

struct Compiler<'a> {
    document: Document<'a>,
    dialect: Dialect,
    /// The most bytes of one compiled pattern.
    size_of_pattern: usize,
    nodes: Vec<Node>,
    /// The nodes of known schemas, by the schema's address.
    met: HashMap<usize, NodeId>,
    levels: DepthGuard,
    unsupported_keyword: Option<Box<str>>,
}

type Keywords = Map<String, Value>;

impl<'a> Compiler<'a> {
    /// Compiles a schema and returns its node. `keyword` names the position in error messages.
    fn add_schema(&mut self, schema: &'a Value, keyword: &str) -> Result<NodeId, SchemaError> {
        let keywords = match schema {
            Value::Bool(true) => return Ok(ANY_VALUE),
            Value::Bool(false) => return Ok(NO_VALUE),
            Value::Object(keywords) => keywords,
            _ => return Err(invalid(keyword, "must be a schema")),
        };
        if let Some(known) = self.met.get(&address(schema)) {
            return Ok(*known);
        }
        self.levels.enter()?;
        let id = if let Some(reference) = keywords.get("$ref")
            && (self.dialect == Dialect::Draft07
                || !keywords.keys().any(|name| is_assertion_beside_ref(name)))
        {
            // A reference alone is replaced by its target. The check excluded endless references.
            self.add_reference(reference)?
        } else {
            let id = self.nodes.len();
            self.met.insert(address(schema), id);
            self.nodes.push(Node::ANYTHING);
            self.nodes[id] = self.compile_node(keywords)?;
            id
        };
        self.levels.leave();
        Ok(id)
    }

    fn add_reference(&mut self, reference: &'a Value) -> Result<NodeId, SchemaError> {
        let reference = as_text("$ref", reference)?;
        let target = self
            .document
            .resolve(reference)
            .ok_or_else(|| SchemaError::DanglingReference(shorten(reference)))?;
        self.add_schema(target, "$ref")
    }

    fn compile_node(&mut self, keywords: &'a Keywords) -> Result<Node, SchemaError> {
        let mut node = Node::ANYTHING;
        let mut array = ArrayRules::default();
        let mut object = ObjectRules::default();
        let mut range = NumberRules::default();
        let mut string = StringRules::default();
        for (name, value) in keywords {
            let keyword = name.as_str();
            match keyword {
                "type" => node.types = node.types.and(parse_types(value)?),
                "enum" => intersect_options(&mut node.options, as_list(keyword, value)?),
                "const" => intersect_options(&mut node.options, std::slice::from_ref(value)),
                "minimum" => range.minimum = Some(as_number(keyword, value)?),
                "maximum" => range.maximum = Some(as_number(keyword, value)?),
                "exclusiveMinimum" => range.exclusive_minimum = Some(as_number(keyword, value)?),
                "exclusiveMaximum" => range.exclusive_maximum = Some(as_number(keyword, value)?),
                "multipleOf" => {
                    let unit = as_number(keyword, value)?;
                    if unit.as_f64().is_none_or(|unit| unit <= 0.0) {
                        return Err(invalid(keyword, "must be more than 0"));
                    }
                    range.multiple_of = Some(unit);
                }
                "minLength" => string.length.min = Some(as_count(keyword, value)?),
                "maxLength" => string.length.max = Some(as_count(keyword, value)?),
                "pattern" => string.pattern = Some(self.compile_pattern(as_text(keyword, value)?)?),
                "minItems" => array.length.min = Some(as_count(keyword, value)?),
                "maxItems" => array.length.max = Some(as_count(keyword, value)?),
                "uniqueItems" => array.unique = as_flag(keyword, value)?,
                "minProperties" => object.length.min = Some(as_count(keyword, value)?),
                "maxProperties" => object.length.max = Some(as_count(keyword, value)?),
                "allOf" => node.all_of.extend(self.add_all(keyword, value)?),
                "anyOf" => node.any_of = Some(self.add_all(keyword, value)?),
                "oneOf" => node.one_of = Some(self.add_all(keyword, value)?),
                "$ref" => node.all_of.push(self.add_reference(value)?),
                "prefixItems" if self.dialect == Dialect::Draft202012 => {
                    array.prefix = self.add_all(keyword, value)?;
                }
                "items" if self.dialect == Dialect::Draft07 && value.is_array() => {
                    array.prefix = self.add_all(keyword, value)?;
                    let rest = keywords.get("additionalItems");
                    array.rest = rest
                        .map(|rest| self.add_schema(rest, "additionalItems"))
                        .transpose()?;
                }
                "items" => array.rest = Some(self.add_schema(value, keyword)?),
                "additionalItems" => {}
                "patternProperties" => {
                    for (pattern, schema) in as_members(keyword, value)? {
                        let pattern = self.compile_pattern(pattern)?;
                        object
                            .patterns
                            .push((pattern, self.add_schema(schema, keyword)?));
                    }
                }
                "additionalProperties" => {
                    let rest = self.add_schema(value, keyword)?;
                    object.is_closed = rest == NO_VALUE;
                    object.rest = Some(rest).filter(|rest| *rest != ANY_VALUE);
                }
                _ if is_assertion(keyword) => {
                    self.unsupported_keyword
                        .get_or_insert_with(|| keyword.into());
                }
                _ => {}
            }
        }
        object.members = self.collect_members(keywords)?;
        if let Some(options) = &node.options {
            let kinds = options.iter().fold(TypeSet::NONE, |kinds, option| {
                kinds.or(TypeSet::of_value(option))
            });
            node.types = node.types.and(kinds);
        }
        node.number = has_range(&range).then(|| Box::new(range));
        node.text =
            (!string.length.is_unbounded() || string.pattern.is_some()).then(|| Box::new(string));
        array.rest = array.rest.filter(|rest| *rest != ANY_VALUE);
        let plain = array.prefix.is_empty() && array.rest.is_none() && !array.unique;
        node.array = (!plain || !array.length.is_unbounded()).then(|| Box::new(array));
        let plain =
            object.members.is_empty() && object.patterns.is_empty() && object.rest.is_none();
        node.object = (!plain || !object.length.is_unbounded()).then(|| Box::new(object));
        Ok(node)
    }

    /// Returns the members that `properties` and `required` name, sorted.
    fn collect_members(&mut self, keywords: &'a Keywords) -> Result<Vec<MemberRule>, SchemaError> {
        let mut named: Vec<MemberRule> = Vec::new();
        if let Some(properties) = keywords.get("properties") {
            for (name, schema) in as_members("properties", properties)? {
                named.push(MemberRule {
                    name: name.as_str().into(),
                    node: Some(self.add_schema(schema, name)?),
                    required: false,
                });
            }
        }
        named.sort_by(|one, other| one.name.cmp(&other.name));
        let declared = named.len();
        if let Some(required) = keywords.get("required") {
            for name in as_list("required", required)? {
                let name = as_text("required", name)?;
                let known = named[..declared].binary_search_by(|member| (*member.name).cmp(name));
                match known {
                    Ok(at) => named[at].required = true,
                    Err(_) => named.push(MemberRule {
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

    fn add_all(&mut self, keyword: &str, value: &'a Value) -> Result<Vec<NodeId>, SchemaError> {
        let schemas = as_list(keyword, value)?;
        if schemas.is_empty() {
            return Err(invalid(keyword, "must not be empty"));
        }
        schemas
            .iter()
            .map(|schema| self.add_schema(schema, keyword))
            .collect()
    }

    fn compile_pattern(&self, pattern: &str) -> Result<CompiledPattern, SchemaError> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(self.size_of_pattern)
            .build()
            .map_err(|error| SchemaError::Pattern {
                pattern: shorten(pattern),
                message: shorten(&error.to_string()),
            })?;
        Ok(CompiledPattern {
            regex,
            states: count_states(pattern),
        })
    }
}

/// Returns whether a keyword beside a `$ref` can refuse values.
fn is_assertion_beside_ref(name: &str) -> bool {
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

fn has_range(range: &NumberRules) -> bool {
    let bounds = [
        &range.minimum,
        &range.maximum,
        &range.exclusive_minimum,
        &range.exclusive_maximum,
    ];
    range.multiple_of.is_some() || bounds.iter().any(|bound| bound.is_some())
}

/// Keeps only the options that are also in `only`.
fn intersect_options(options: &mut Option<Vec<Value>>, only: &[Value]) {
    match options {
        Some(options) => options.retain(|option| only.iter().any(|one| values_equal(one, option))),
        None => *options = Some(only.to_vec()),
    }
}

fn parse_types(value: &Value) -> Result<TypeSet, SchemaError> {
    let one = |name: &Value| {
        name.as_str()
            .and_then(TypeSet::from_name)
            .ok_or_else(|| invalid("type", "must name types of JSON"))
    };
    match value {
        Value::Array(names) => names
            .iter()
            .try_fold(TypeSet::NONE, |kinds, name| Ok(kinds.or(one(name)?))),
        name => one(name),
    }
}

fn invalid(keyword: &str, message: &str) -> SchemaError {
    SchemaError::Invalid {
        path: shorten(keyword),
        message: message.to_owned(),
    }
}

fn as_list<'a>(keyword: &str, value: &'a Value) -> Result<&'a [Value], SchemaError> {
    let list = value.as_array().map(Vec::as_slice);
    list.ok_or_else(|| invalid(keyword, "must be an array"))
}

fn as_members<'a>(keyword: &str, value: &'a Value) -> Result<&'a Keywords, SchemaError> {
    let members = value.as_object();
    members.ok_or_else(|| invalid(keyword, "must be an object"))
}

fn as_text<'a>(keyword: &str, value: &'a Value) -> Result<&'a str, SchemaError> {
    let text = value.as_str();
    text.ok_or_else(|| invalid(keyword, "must hold text"))
}

fn as_number(keyword: &str, value: &Value) -> Result<Number, SchemaError> {
    let number = value.as_number().cloned();
    number.ok_or_else(|| invalid(keyword, "must be a number"))
}

fn as_flag(keyword: &str, value: &Value) -> Result<bool, SchemaError> {
    let flag = value.as_bool();
    flag.ok_or_else(|| invalid(keyword, "must be true or false"))
}

/// Returns a count, which may be written as `3.0`.
fn as_count(keyword: &str, value: &Value) -> Result<u64, SchemaError> {
    let float = value
        .as_f64()
        .filter(|float| *float >= 0.0 && float.fract() == 0.0);
    value
        .as_u64()
        .or(float.map(|float| float as u64))
        .ok_or_else(|| invalid(keyword, "must be an integer of at least 0"))
}
