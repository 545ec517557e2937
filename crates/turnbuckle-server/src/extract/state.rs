//! What handlers share.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Extract, Incoming, Needs};
use crate::failure::{Failure, Result};

/// What the server's builder was given as state of this type. Cheap to clone.
///
/// A server that has a handler with such a parameter, and no state for it, is not built.
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
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let found = incoming.states.get::<T>().map(Self);
        found.ok_or_else(|| Failure::new("the server has no such state"))
    }

    fn needs(needs: &mut Needs) {
        needs
            .states
            .push((TypeId::of::<T>(), std::any::type_name::<T>()));
    }
}

/// State by its type.
#[derive(Clone, Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    /// Adds state; `false` if there is some of the same type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, state: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Arc::new(state)).is_none()
    }

    /// These, and of types that are not among them those from further out.
    pub(crate) fn inside(mut self, outer: &Self) -> Self {
        for (id, state) in &outer.0 {
            self.0.entry(*id).or_insert_with(|| state.clone());
        }
        self
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }

    /// The type of state that is needed and not there.
    pub(crate) fn missing(&self, needs: &Needs) -> Option<&'static str> {
        let absent = needs.states.iter().find(|(id, _)| !self.0.contains_key(id));
        absent.map(|(_, name)| *name)
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("States")
            .field("types", &self.0.len())
            .finish_non_exhaustive()
    }
}
