//! Where in a value a walk is.

use crate::violation::join;

/// A place in the value, from there upwards.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    above: Option<&'p Place<'p>>,
    step: Step<'p>,
    /// How many arrays and objects it is inside of.
    pub(super) depth: usize,
}

/// A step inwards.
#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    Name(&'p str),
    Index(usize),
}

impl Place<'_> {
    /// The value itself.
    pub(super) const ROOT: Place<'static> = Place {
        above: None,
        step: Step::Index(0),
        depth: 0,
    };

    /// The place as a JSON Pointer.
    pub(super) fn pointer(&self) -> String {
        let Some(above) = self.above else {
            return String::new();
        };
        match self.step {
            Step::Name(name) => join(&above.pointer(), name),
            Step::Index(index) => join(&above.pointer(), &index.to_string()),
        }
    }

    pub(super) fn inside<'p>(&'p self, step: Step<'p>) -> Place<'p> {
        Place {
            above: Some(self),
            step,
            depth: self.depth + 1,
        }
    }
}
