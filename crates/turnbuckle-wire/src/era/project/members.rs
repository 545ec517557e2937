//! The rows of the projection's table that only remove members, as code.

use turnbuckle_types::{Map, Meta};

/// A member that an object may be without.
pub(super) trait Member {
    fn is_unsaid(&self) -> bool;
    fn unsay(&mut self);
}

impl<T> Member for Option<T> {
    fn is_unsaid(&self) -> bool {
        self.is_none()
    }

    fn unsay(&mut self) {
        *self = None;
    }
}

impl<V> Member for Map<V> {
    fn is_unsaid(&self) -> bool {
        self.is_empty()
    }

    fn unsay(&mut self) {
        *self = Self::new();
    }
}

impl Member for Meta {
    fn is_unsaid(&self) -> bool {
        self.is_empty()
    }

    fn unsay(&mut self) {
        *self = Self::new();
    }
}

/// Implements `Project` for objects, member by member: `since` a fact holds, `within` itself, or
/// as the hints on how long a result may be `cached`. Members that every revision has are not named.
macro_rules! members {
    ($($Type:ty { $($field:ident $how:ident $($fact:ident)?),* $(,)? })+) => {$(
        impl $crate::era::Project for $Type {
            const CACHEABLE: bool = false $(|| members!(@cacheable $how))*;

            fn fits(&self, features: &$crate::revision::Features) -> bool {
                let _ = features;
                true $(&& members!(@fits self.$field, features, $how $($fact)?))*
            }

            fn project(&mut self, features: &$crate::revision::Features) {
                let _ = features;
                $(members!(@project self.$field, features, $how $($fact)?);)*
            }
        }
    )+};
    (@cacheable cached) => { true };
    (@cacheable $how:ident) => { false };
    (@fits $member:expr, $features:ident, since $fact:ident) => {
        ($features.$fact || $crate::era::project::members::Member::is_unsaid(&$member))
    };
    (@fits $member:expr, $features:ident, cached) => {
        members!(@fits $member, $features, since result_envelope)
    };
    (@fits $member:expr, $features:ident, within) => {
        $crate::era::Project::fits(&$member, $features)
    };
    (@project $member:expr, $features:ident, since $fact:ident) => {
        if !$features.$fact {
            $crate::era::project::members::Member::unsay(&mut $member);
        }
    };
    (@project $member:expr, $features:ident, cached) => {
        members!(@project $member, $features, since result_envelope)
    };
    (@project $member:expr, $features:ident, within) => {
        $crate::era::Project::project(&mut $member, $features)
    };
}
pub(super) use members;
