//! The language of the projection: tables that name every field of a type and its rule, and the
//! code that follows from them.
//!
//! One table says both whether a value can be sent as it is and what becomes of it otherwise. Each
//! field has one of these rules, and is projected itself after that:
//!
//! | rule | meaning |
//! |---|---|
//! | (none) | Every revision has the field. |
//! | `since fact` | A revision without this fact of [`Features`](crate::revision::Features) lacks the field, and it is removed. |
//! | `cached` | As `since result_envelope`; the type is then a result that may be cached. |
//! | `by function` | `fn(&Field, &Features) -> Fate<Field>` decides. |
//!
//! A mark behind the rule changes nothing that is sent. The [`definitions`](crate::definitions) of a
//! revision read it:
//!
//! | mark | meaning |
//! |---|---|
//! | `+ listed fact` | The schema of a revision without this fact does not list the field, whatever becomes of it. |
//! | `+ optional fact` | A revision without this fact demands the field, which the type lets be absent. |
//! | `+ required` | As `+ optional` for every revision that has the field. |
//!
//! `Type [needed => apply]` goes before for fields that depend on each other: `needed(&Type, &Features)`
//! says whether `apply(&mut Type, &Features)` has something to do.
//!
//! In a union, `Variant since fact` is a variant that a revision without the fact lacks, and
//! `Type else apply` puts another in its place.
//!
//! `Type { … } + impl { … }` adds items of the trait that the table does not write.
//!
//! A table must name exactly the fields of its type (or the variants of its enum) in their order.
//! The compiler compares it with [`FIELDS`](turnbuckle_types::Tool::FIELDS) or
//! [`VARIANTS`](turnbuckle_types::ContentBlock::VARIANTS), so that a field that is added to the
//! vocabulary does not compile until somebody decided what older revisions see of it.

use turnbuckle_types::{
    CacheScope, ElicitAction, FieldValue, FormMode, IconTheme, IncludeContext, Json, LoggingLevel,
    Map, Meta, Number, NumberKind, RawObject, RequestId, Role, Schema, StringFormat, TaskStatus,
    TaskSupportLevel, ToolChoiceMode,
};

use super::Project;
use crate::revision::Features;

/// The decision about a value for a revision.
pub(super) enum Fate<T> {
    /// The revision knows the value as it is.
    Keep,
    /// The revision is sent this value instead.
    Replace(T),
}

impl<T> Fate<T> {
    pub(super) fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

/// A field that an object can be without.
pub(super) trait Removable {
    fn is_absent(&self) -> bool;
    fn remove(&mut self);
}

impl<T> Removable for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn remove(&mut self) {
        *self = None;
    }
}

impl<V> Removable for Map<V> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn remove(&mut self) {
        *self = Self::new();
    }
}

impl Removable for Meta {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn remove(&mut self) {
        *self = Self::new();
    }
}

/// Implements `Project` for values that all revisions have alike.
macro_rules! scalars {
    ($($Type:ty),+ $(,)?) => {$(
        impl Project for $Type {
            #[inline]
            fn fits(&self, _: &Features) -> bool {
                true
            }

            #[inline]
            fn project(&mut self, _: &Features) {}
        }
    )+};
}

// `_meta` of an item is the author's; that of a message has the rule `message_meta`.
scalars! {
    bool, u64, String, Number, RequestId, Json, RawObject, Schema, Meta, Role, CacheScope,
    ElicitAction, FieldValue, FormMode, IconTheme, IncludeContext, LoggingLevel, NumberKind,
    StringFormat, TaskStatus, TaskSupportLevel, ToolChoiceMode,
}

/// Returns whether both lists have the same names in the same order.
pub(super) const fn same_names(names: &[&str], others: &[&str]) -> bool {
    if names.len() != others.len() {
        return false;
    }
    let mut index = 0;
    while index < names.len() {
        let (name, other) = (names[index].as_bytes(), others[index].as_bytes());
        if name.len() != other.len() {
            return false;
        }
        let mut at = 0;
        while at < name.len() {
            if name[at] != other[at] {
                return false;
            }
            at += 1;
        }
        index += 1;
    }
    true
}

/// Implements `Project` for objects from a table of their fields.
macro_rules! project_objects {
    ($(
        $Type:ident $([$needed:ident => $apply:ident])? {
            $($field:ident $($rule:ident $($argument:ident)?)? $(+ $mark:ident $($mark_fact:ident)?)?),* $(,)?
        } $(+ impl { $($item:item)* })?
    )+) => {
        /// The types of this file, and in which revisions they have each of their fields.
        #[cfg(feature = "definitions")]
        pub(super) const OBJECTS: &[$crate::era::project::listing::ObjectListing] = &[$(
            $crate::era::project::listing::ObjectListing {
                name: stringify!($Type),
                fields: &[$($crate::era::project::listing::FieldListing {
                    field: stringify!($field),
                    is_listed: |_features| {
                        project_objects!(@has _features $($rule $($argument)?)?)
                            && project_objects!(@has _features $(+ $mark $($mark_fact)?)?)
                    },
                    is_demanded: |_features| {
                        project_objects!(@demands _features $($rule)? $(+ $mark $($mark_fact)?)?)
                    },
                    rule: stringify!($($rule $($argument)?)?),
                }),*],
            },
        )+];
    $(
        const _: () = assert!(
            $crate::era::project::rules::same_names(
                $Type::FIELDS,
                &[$(stringify!($field)),*],
            ),
            concat!(
                "the table of the projection must name exactly the fields of `",
                stringify!($Type),
                "` in their order: decide what older revisions see of a new field"
            ),
        );

        impl $crate::era::Project for $Type {
            const CACHEABLE: bool = false $(|| project_objects!(@cacheable $($rule)?))*;

            #[inline]
            fn fits(&self, features: &$crate::revision::Features) -> bool {
                true $(&& !$needed(self, features))?
                    $(&& project_objects!(@fits self.$field, features $(, $rule $($argument)?)?))*
            }

            fn project(&mut self, features: &$crate::revision::Features) {
                $(if $needed(self, features) {
                    $apply(self, features);
                })?
                $(project_objects!(@project self.$field, features $(, $rule $($argument)?)?);)*
            }

            $($($item)*)?
        }
    )+};
    (@has $features:ident since $fact:ident) => { $features.$fact };
    (@has $features:ident cached) => { $features.result_envelope };
    (@has $features:ident + listed $fact:ident) => { $features.$fact };
    (@has $features:ident $(by $fate:ident)? $(+ $mark:ident $($fact:ident)?)?) => { true };
    (@demands $features:ident cached) => { true };
    (@demands $features:ident $($rule:ident)? + required) => { true };
    (@demands $features:ident $($rule:ident)? + optional $fact:ident) => { !$features.$fact };
    (@demands $features:ident $($rule:ident)? $(+ $mark:ident $fact:ident)?) => { false };
    (@cacheable cached) => { true };
    (@cacheable $($rule:ident)?) => { false };
    (@fits $field:expr, $features:ident) => {
        $crate::era::Project::fits(&$field, $features)
    };
    (@fits $field:expr, $features:ident, since $fact:ident) => {
        (($features.$fact || $crate::era::project::rules::Removable::is_absent(&$field))
            && $crate::era::Project::fits(&$field, $features))
    };
    (@fits $field:expr, $features:ident, cached) => {
        project_objects!(@fits $field, $features, since result_envelope)
    };
    (@fits $field:expr, $features:ident, by $fate:ident) => {
        ($fate(&$field, $features).is_keep()
            && $crate::era::Project::fits(&$field, $features))
    };
    (@project $field:expr, $features:ident) => {
        $crate::era::Project::project(&mut $field, $features)
    };
    (@project $field:expr, $features:ident, since $fact:ident) => {
        if $features.$fact {
            $crate::era::Project::project(&mut $field, $features);
        } else {
            $crate::era::project::rules::Removable::remove(&mut $field);
        }
    };
    (@project $field:expr, $features:ident, cached) => {
        project_objects!(@project $field, $features, since result_envelope)
    };
    (@project $field:expr, $features:ident, by $fate:ident) => {
        if let $crate::era::project::rules::Fate::Replace(value) = $fate(&$field, $features) {
            $field = value;
        }
        $crate::era::Project::project(&mut $field, $features);
    };
}
pub(super) use project_objects;

/// Implements `Project` for unions from a table of their variants, each of which is projected
/// itself. A variant that the vocabulary does not know stays as it arrived.
macro_rules! project_unions {
    ($(
        $Type:ident $([$needed:ident => $apply:ident])? $(else $older:ident)? {
            $($Variant:ident $(since $fact:ident)? $(+ listed $listed:ident)?),+ $(,)?
        } $(+ impl { $($item:item)* })?
    )+) => {
        /// The unions of this file, and which revisions lack some of their variants.
        #[cfg(feature = "definitions")]
        pub(super) const UNIONS: &[$crate::era::project::listing::UnionListing] = &[$(
            $crate::era::project::listing::UnionListing {
                name: stringify!($Type),
                variants: &[$($crate::era::project::listing::VariantListing {
                    variant: stringify!($Variant),
                    is_listed: |_features| {
                        true $(&& _features.$fact)? $(&& _features.$listed)?
                    },
                }),+],
            },
        )+];
    $(
        const _: () = assert!(
            $crate::era::project::rules::same_names(
                $Type::VARIANTS,
                &[$(stringify!($Variant)),*],
            ),
            concat!(
                "the table of the projection must name exactly the variants of `",
                stringify!($Type),
                "` in their order: decide what older revisions see of a new variant"
            ),
        );

        impl $crate::era::Project for $Type {
            fn fits(&self, features: &$crate::revision::Features) -> bool {
                true $(&& !$needed(self, features))? && match self {
                    $(Self::$Variant(value) => {
                        true $(&& features.$fact)? && $crate::era::Project::fits(value, features)
                    })+
                    _ => true,
                }
            }

            fn project(&mut self, features: &$crate::revision::Features) {
                $(if $needed(self, features) {
                    $apply(self, features);
                })?
                let exists = match self {
                    $(Self::$Variant(_) => true $(&& features.$fact)?,)+
                    _ => true,
                };
                if !exists {
                    $($older(self);)?
                }
                match self {
                    $(Self::$Variant(value) => {
                        $crate::era::Project::project(value, features);
                    })+
                    _ => {}
                }
            }

            $($($item)*)?
        }
    )+};
}
pub(super) use project_unions;

#[cfg(test)]
mod tests {
    use super::same_names;

    #[test]
    fn names_are_compared_in_number_order_and_spelling() {
        assert!(same_names(&["a", "bc"], &["a", "bc"]));
        for others in [
            &["a"][..],
            &["bc", "a"],
            &["a", "bd"],
            &["a", "b"],
            &["a", "bc", "d"],
        ] {
            assert!(!same_names(&["a", "bc"], others), "{others:?}");
        }
    }
}
