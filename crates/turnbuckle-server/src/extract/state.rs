//! State that handlers share.

use std::any::TypeId;
use std::ops::Deref;
use std::sync::Arc;

use super::{Extract, HandlerRequirements, Invocation};
use crate::error::failure::{Failure, Result};

/// State of type `T` that the server's builder or a group was given. Cheap to clone.
///
/// Building a server returns an error if a handler takes state that the server does not have.
#[derive(Debug)]
pub struct State<T>(pub Arc<T>);

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> Extract for State<T> {
    fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        let found = invocation.states.get::<T>().map(Self);
        found.ok_or_else(|| Failure::new("the server has no such state"))
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        requirements
            .states
            .push((TypeId::of::<T>(), std::any::type_name::<T>()));
    }
}
