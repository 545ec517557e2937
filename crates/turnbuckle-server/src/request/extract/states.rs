//! The state that handlers share, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use turnbuckle_types::base::debug_fields;

use super::requirements::HandlerRequirements;

/// Shared state by type: under the `TypeId` of each type `Arc<T>`, a value of that type.
#[derive(Clone, Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    /// Adds state, which is found as `T` and, if it is an `Arc<U>`, also as `U`. Returns false if
    /// there is state of the same type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, state: T) -> bool {
        let state = Arc::new(state);
        let is_new = self.0.insert(TypeId::of::<T>(), state.clone()).is_none();
        let shared = self.0.insert(TypeId::of::<Arc<T>>(), Arc::new(state));
        is_new && shared.is_none()
    }

    /// Adds the state of enclosing groups, for types that have none here.
    pub(crate) fn merge_outer(mut self, outer: &Self) -> Self {
        for (id, state) in &outer.0 {
            self.0.entry(*id).or_insert_with(|| state.clone());
        }
        self
    }

    /// Returns the state of this type.
    pub(crate) fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<Arc<T>>())?.downcast_ref().cloned()
    }

    /// Returns the name of a required type of state that is not there.
    pub(crate) fn missing(&self, needs: &HandlerRequirements) -> Option<&'static str> {
        let absent = needs.states.iter().find(|(id, _)| !self.0.contains_key(id));
        absent.map(|(_, name)| *name)
    }
}

debug_fields!(States { count = |states| states.0.len() });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_in_an_arc_is_found_as_its_value_and_as_the_arc() {
        let mut states = States::default();
        let words: Arc<str> = "words".into();
        assert!(states.insert(words.clone()));
        assert!(states.insert(Arc::new(7_u8)));
        assert!(states.insert("plain".to_owned()));
        assert!(Arc::ptr_eq(&states.get::<str>().unwrap(), &words));
        assert_eq!(states.get::<u8>().as_deref(), Some(&7));
        assert_eq!(states.get::<Arc<u8>>().as_deref(), Some(&Arc::new(7)));
        assert_eq!(states.get::<String>().unwrap().as_str(), "plain");
        assert!(states.get::<u16>().is_none());
    }

    #[test]
    fn two_states_of_one_type_are_told_apart_from_two_types() {
        let mut states = States::default();
        assert!(states.insert(7_u8));
        assert!(!states.insert(Arc::new(8_u8)), "both are taken as u8");
        assert!(states.insert(9_u16));
    }
}
