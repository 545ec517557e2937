//! The restricted JSON Schema of a form: named fields of primitive types.

use serde::de::{Deserializer, Error as _, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::object::object;
use crate::tagged::variants;
use crate::words::words;
use crate::{Json, Map, Number};

object! {
    /// A form: an ordered list of fields.
    ///
    /// ```
    /// use turnbuckle_types::{ElicitationSchema, NumberSchema, SingleSelectEnumSchema, StringSchema};
    ///
    /// let form = ElicitationSchema::new()
    ///     .required("name", StringSchema::new().title("Your name").min_length(1))
    ///     .required("email", StringSchema::email())
    ///     .optional("age", NumberSchema::integer().minimum(18))
    ///     .optional("plan", SingleSelectEnumSchema::untitled(["free", "paid"]).default("free"));
    /// assert_eq!(form.required.as_deref(), Some(&["name".to_owned(), "email".to_owned()][..]));
    /// ```
    ///
    /// Specification: client/elicitation, Requested Schema (2026-07-28).
    pub struct ElicitationSchema tagged "type" = "object" {
        /// The schema's dialect, if it is said.
        opt dialect: String = "$schema",
        /// The fields by name, in the order to show them.
        always properties: Map<PrimitiveSchemaDefinition> = "properties",
        /// The names of the fields that must be filled in.
        bare required: Vec<String> = "required",
    }
}

impl ElicitationSchema {
    /// Adds a field that must be filled in.
    #[must_use]
    pub fn required(
        mut self,
        name: impl Into<String>,
        field: impl Into<PrimitiveSchemaDefinition>,
    ) -> Self {
        let name = name.into();
        let required = self.required.get_or_insert_default();
        if !required.contains(&name) {
            required.push(name.clone());
        }
        self.properties.insert(name, field);
        self
    }

    /// Adds a field that may be left out.
    #[must_use]
    pub fn optional(
        mut self,
        name: impl Into<String>,
        field: impl Into<PrimitiveSchemaDefinition>,
    ) -> Self {
        let name = name.into();
        if let Some(required) = &mut self.required {
            required.retain(|other| *other != name);
        }
        self.properties.insert(name, field);
        self
    }

    /// Returns whether the field `name` must be filled in.
    #[must_use]
    pub fn is_required(&self, name: &str) -> bool {
        self.required
            .iter()
            .flatten()
            .any(|required| required == name)
    }
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PrimitiveSchemaDefinition {
    /// Text.
    String(StringSchema),
    /// A number or an integer.
    Number(NumberSchema),
    /// Yes or no.
    Boolean(BooleanSchema),
    /// One of several choices.
    SingleSelect(SingleSelectEnumSchema),
    /// Any of several choices.
    MultiSelect(MultiSelectEnumSchema),
    /// One of several choices, with its titles in a list of their own.
    LegacyEnum(LegacyTitledEnumSchema),
    /// A schema of another type, as it arrived.
    Unknown(Json),
}

variants! {
    PrimitiveSchemaDefinition {
        String(StringSchema),
        Number(NumberSchema),
        Boolean(BooleanSchema),
        SingleSelect(SingleSelectEnumSchema),
        MultiSelect(MultiSelectEnumSchema),
        LegacyEnum(LegacyTitledEnumSchema),
    } Unknown
}

words! {
    /// The formats that a text field can ask for.
    pub open enum StringFormat {
        /// A mail address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A day, as in `2020-02-29`.
        Date = "date",
        /// A day and time with its offset, as RFC 3339 writes it.
        DateTime = "date-time",
    }
}

object! {
    /// A field for text.
    pub struct StringSchema tagged "type" = "string" {
        /// The field's title.
        opt title: String = "title",
        /// The description of the field.
        opt description: String = "description",
        /// The fewest characters.
        opt min_length: Number = "minLength" is integer,
        /// The most characters.
        opt max_length: Number = "maxLength" is integer,
        /// The text's format.
        opt format: StringFormat = "format",
        /// The value to start with.
        opt default: String = "default",
    }
}

impl StringSchema {
    /// Creates a field for a mail address.
    #[must_use]
    pub fn email() -> Self {
        Self::new().format(StringFormat::Email)
    }

    /// Creates a field for a URI.
    #[must_use]
    pub fn uri() -> Self {
        Self::new().format(StringFormat::Uri)
    }

    /// Creates a field for a day.
    #[must_use]
    pub fn date() -> Self {
        Self::new().format(StringFormat::Date)
    }

    /// Creates a field for a day and time.
    #[must_use]
    pub fn date_time() -> Self {
        Self::new().format(StringFormat::DateTime)
    }
}

words! {
    /// The numbers that a field takes: all, or integers only.
    pub enum NumberKind {
        /// A number with or without a fraction.
        Number = "number",
        /// A number without a fraction.
        Integer = "integer",
    }
}

object! {
    /// A field for a number.
    pub struct NumberSchema as pub(crate) of_kind {
        /// The kind of number.
        req kind: NumberKind = "type",
        /// The field's title.
        opt title: String = "title",
        /// The description of the field.
        opt description: String = "description",
        /// The least value.
        opt minimum: Number = "minimum",
        /// The greatest value.
        opt maximum: Number = "maximum",
        /// The value to start with.
        opt default: Number = "default",
    }
}

impl NumberSchema {
    /// Creates a field for a number, with or without a fraction.
    #[must_use]
    pub fn number() -> Self {
        Self::of_kind(NumberKind::Number)
    }

    /// Creates a field for a number without a fraction.
    #[must_use]
    pub fn integer() -> Self {
        Self::of_kind(NumberKind::Integer)
    }
}

object! {
    /// A field for yes or no.
    pub struct BooleanSchema tagged "type" = "boolean" {
        /// The field's title.
        opt title: String = "title",
        /// The description of the field.
        opt description: String = "description",
        /// The answer to start with.
        opt default: bool = "default",
    }

    /// A choice with a title of its own.
    pub struct TitledChoice {
        /// The choice.
        req value: String = "const",
        /// The title to show.
        req title: String = "title",
    }

    /// A field for one of several choices: plain (`values`) or titled (`one_of`).
    pub struct SingleSelectEnumSchema as pub untyped tagged "type" = "string" {
        /// The field's title.
        opt title: String = "title",
        /// The description of the field.
        opt description: String = "description",
        /// The choices, shown as they are.
        opt values: Vec<String> = "enum",
        /// The choices with their titles.
        opt one_of: Vec<TitledChoice> = "oneOf",
        /// The choice to start with.
        opt default: String = "default",
    }
}

impl SingleSelectEnumSchema {
    /// Creates a choice of one of these, shown as they are.
    #[must_use]
    pub fn untitled<S: Into<String>>(choices: impl IntoIterator<Item = S>) -> Self {
        Self::untyped().values(strings(choices))
    }

    /// Creates a choice of one of these, each a value and its title.
    #[must_use]
    pub fn titled<S: Into<String>, T: Into<String>>(
        choices: impl IntoIterator<Item = (S, T)>,
    ) -> Self {
        Self::untyped().one_of(titled_choices(choices))
    }

    /// Returns the values of the choices.
    pub fn choices(&self) -> impl Iterator<Item = &str> {
        choices(self.values.as_deref(), self.one_of.as_deref())
    }
}

object! {
    /// A field for any of several choices.
    pub struct MultiSelectEnumSchema as pub from_items tagged "type" = "array" {
        /// The choices.
        req items: MultiSelectItems = "items",
        /// The field's title.
        opt title: String = "title",
        /// The description of the field.
        opt description: String = "description",
        /// The fewest choices.
        opt min_items: Number = "minItems" is integer,
        /// The most choices.
        opt max_items: Number = "maxItems" is integer,
        /// The choices to start with.
        opt default: Vec<String> = "default",
    }

    /// The choices of a field that takes several: plain (`values`) or titled (`any_of`).
    pub struct MultiSelectItems {
        /// The type of the choices: `string`, said where they are plain.
        opt kind: String = "type",
        /// The choices, shown as they are.
        opt values: Vec<String> = "enum",
        /// The choices with their titles.
        opt any_of: Vec<TitledChoice> = "anyOf",
    }
}

impl MultiSelectEnumSchema {
    /// Creates a choice of any of these, shown as they are.
    #[must_use]
    pub fn untitled<S: Into<String>>(choices: impl IntoIterator<Item = S>) -> Self {
        Self::from_items(
            MultiSelectItems::new()
                .kind("string")
                .values(strings(choices)),
        )
    }

    /// Creates a choice of any of these, each a value and its title.
    #[must_use]
    pub fn titled<S: Into<String>, T: Into<String>>(
        choices: impl IntoIterator<Item = (S, T)>,
    ) -> Self {
        Self::from_items(MultiSelectItems::new().any_of(titled_choices(choices)))
    }

    /// Returns the values of the choices.
    pub fn choices(&self) -> impl Iterator<Item = &str> {
        choices(self.items.values.as_deref(), self.items.any_of.as_deref())
    }
}

object! {
    /// A field for one of several choices, with the titles in a list of their own: for clients from
    /// before titled choices.
    pub struct LegacyTitledEnumSchema as pub(crate) untitled tagged "type" = "string" {
        /// The choices.
        req values: Vec<String> = "enum",
        /// The titles to show, in the same order.
        opt names: Vec<String> = "enumNames",
        /// The field's title.
        opt title: String = "title",
        /// The description of the field.
        opt description: String = "description",
        /// The choice to start with.
        opt default: String = "default",
    }
}

impl LegacyTitledEnumSchema {
    /// Creates a choice of one of these, each a value and its title.
    #[must_use]
    pub fn titled<S: Into<String>, T: Into<String>>(
        choices: impl IntoIterator<Item = (S, T)>,
    ) -> Self {
        let (values, names): (Vec<_>, Vec<_>) = choices
            .into_iter()
            .map(|(value, name)| (value.into(), name.into()))
            .unzip();
        Self::untitled(values).names(names)
    }
}

fn strings<S: Into<String>>(choices: impl IntoIterator<Item = S>) -> Vec<String> {
    choices.into_iter().map(Into::into).collect()
}

fn titled_choices<S: Into<String>, T: Into<String>>(
    choices: impl IntoIterator<Item = (S, T)>,
) -> Vec<TitledChoice> {
    choices
        .into_iter()
        .map(|(value, title)| TitledChoice::new(value, title))
        .collect()
}

fn choices<'a>(
    plain: Option<&'a [String]>,
    titled: Option<&'a [TitledChoice]>,
) -> impl Iterator<Item = &'a str> {
    let plain = plain.unwrap_or_default().iter().map(String::as_str);
    plain.chain(
        titled
            .unwrap_or_default()
            .iter()
            .map(|choice| &*choice.value),
    )
}

impl<'de> Deserialize<'de> for PrimitiveSchemaDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Json::deserialize(deserializer)?;
        let shape: Shape = raw.decode().map_err(D::Error::custom)?;
        let has_choices = shape.values.is_some() || shape.one_of.is_some();
        // A list of types is legal JSON Schema, but no field of a form.
        let kind: Option<String> = shape.kind.and_then(|kind| kind.decode().ok());
        match kind.as_deref() {
            Some("string") if shape.enum_names.is_some() => raw.decode().map(Self::LegacyEnum),
            Some("string") if has_choices => raw.decode().map(Self::SingleSelect),
            Some("string") => raw.decode().map(Self::String),
            Some("number" | "integer") => raw.decode().map(Self::Number),
            Some("boolean") => raw.decode().map(Self::Boolean),
            Some("array") => raw.decode().map(Self::MultiSelect),
            _ => return Ok(Self::Unknown(raw)),
        }
        .map_err(D::Error::custom)
    }
}

/// The members that tell the fields apart: the type and the choices. A `null` is absent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    #[serde(rename = "type")]
    kind: Option<Json>,
    #[serde(rename = "enum")]
    values: Option<IgnoredAny>,
    one_of: Option<IgnoredAny>,
    enum_names: Option<IgnoredAny>,
}
