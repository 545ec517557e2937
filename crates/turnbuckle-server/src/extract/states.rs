//! The state that handlers share, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::requirements::HandlerRequirements;

/// Shared state by type.
#[derive(Clone, Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    /// Adds state; returns false if there is state of the same type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, state: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Arc::new(state)).is_none()
    }

    /// Adds the state of enclosing groups, for types that have none here.
    pub(crate) fn merge_outer(mut self, outer: &Self) -> Self {
        for (id, state) in &outer.0 {
            self.0.entry(*id).or_insert_with(|| state.clone());
        }
        self
    }

    /// Returns the state of this type.
    pub(super) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }

    /// Returns the name of a required type of state that is not there.
    pub(crate) fn missing(&self, needs: &HandlerRequirements) -> Option<&'static str> {
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
