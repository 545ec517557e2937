//! The settings that the items of a group share.

use crate::items::access::AccessRules;
use crate::request::extract::States;
use crate::service::policy::CallPolicy;

/// The settings that apply to everything in a group.
#[derive(Debug, Default)]
pub(crate) struct GroupSettings {
    pub(crate) states: States,
    /// A type of which more than one state was given.
    pub(crate) duplicate_state: Option<&'static str>,
    pub(crate) policy: CallPolicy,
    pub(crate) access: AccessRules,
}

impl GroupSettings {
    /// Adds state; a second one of its type is noted as an error of the build.
    pub(crate) fn add_state<T: Send + Sync + 'static>(&mut self, state: T) {
        if !self.states.insert(state) {
            self.duplicate_state = Some(std::any::type_name::<T>());
        }
    }
}
