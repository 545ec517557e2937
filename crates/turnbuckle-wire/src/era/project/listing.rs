//! The tables of the projection as data: the fields of a type and the variants of a union that the
//! schema of each revision lists.

use crate::revision::Features;

/// The fields of one type.
pub(crate) struct ObjectListing {
    /// The name of the type.
    pub(crate) name: &'static str,
    /// The fields in the order of the type.
    pub(crate) fields: &'static [FieldListing],
}

/// One field in the revisions.
pub(crate) struct FieldListing {
    /// The name of the field in its type.
    pub(crate) field: &'static str,
    /// Returns whether the schema of a revision lists the field.
    pub(crate) is_listed: fn(&Features) -> bool,
    /// Returns whether a schema that lists the field demands it, although the type does not.
    pub(crate) is_demanded: fn(&Features) -> bool,
    /// The rule as the table writes it.
    pub(crate) rule: &'static str,
}

/// The variants of one union.
pub(crate) struct UnionListing {
    /// The name of the type.
    pub(crate) name: &'static str,
    /// The variants in the order of the type.
    pub(crate) variants: &'static [VariantListing],
}

/// One variant in the revisions.
pub(crate) struct VariantListing {
    /// The name of the variant in its type.
    pub(crate) variant: &'static str,
    /// Returns whether the schema of a revision lists the variant.
    pub(crate) is_listed: fn(&Features) -> bool,
}

impl ObjectListing {
    /// Returns the field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static FieldListing> {
        self.fields.iter().find(|field| field.field == name)
    }
}

impl UnionListing {
    /// Returns whether the schema of a revision lists the variant with this name.
    pub(crate) fn lists(&self, name: &str, features: &Features) -> bool {
        let mut variants = self.variants.iter();
        let facts = variants.find(|facts| facts.variant == name);
        facts.is_none_or(|facts| (facts.is_listed)(features))
    }
}

/// Returns the fields of the type with this name.
pub(crate) fn object_listing(name: &str) -> Option<&'static ObjectListing> {
    const FILES: [&[ObjectListing]; 10] = [
        super::capability::OBJECTS,
        super::content::OBJECTS,
        super::elicitation::OBJECTS,
        super::list::OBJECTS,
        super::message::OBJECTS,
        super::prompt::OBJECTS,
        super::resource::OBJECTS,
        super::sampling::OBJECTS,
        super::task::OBJECTS,
        super::tool::OBJECTS,
    ];
    let mut objects = FILES.into_iter().flatten();
    objects.find(|object| object.name == name)
}

/// Returns the variants of the union with this name.
pub(crate) fn union_listing(name: &str) -> Option<&'static UnionListing> {
    const FILES: [&[UnionListing]; 5] = [
        super::content::UNIONS,
        super::elicitation::UNIONS,
        super::message::UNIONS,
        super::resource::UNIONS,
        super::sampling::UNIONS,
    ];
    FILES.into_iter().flatten().find(|union| union.name == name)
}
