//! The path of the value that a walk is at.

use crate::violation::pointer_join;

/// The path of a value, linked to its parent.
#[derive(Clone, Copy)]
pub(super) struct ValuePath<'p> {
    parent: Option<&'p ValuePath<'p>>,
    segment: PathSegment<'p>,
    /// The number of enclosing arrays and objects.
    pub(super) depth: usize,
}

/// A member name or an item index.
#[derive(Clone, Copy)]
pub(super) enum PathSegment<'p> {
    Name(&'p str),
    Index(usize),
}

impl ValuePath<'_> {
    /// The path of the whole value.
    pub(super) const ROOT: ValuePath<'static> = ValuePath {
        parent: None,
        segment: PathSegment::Index(0),
        depth: 0,
    };

    /// Returns the path as a JSON Pointer.
    pub(super) fn pointer(&self) -> String {
        let Some(above) = self.parent else {
            return String::new();
        };
        match self.segment {
            PathSegment::Name(name) => pointer_join(&above.pointer(), name),
            PathSegment::Index(index) => pointer_join(&above.pointer(), &index.to_string()),
        }
    }

    pub(super) fn child<'p>(&'p self, step: PathSegment<'p>) -> ValuePath<'p> {
        ValuePath {
            parent: Some(self),
            segment: step,
            depth: self.depth + 1,
        }
    }
}
