//! What a subscriber wants to hear of.

use std::collections::BTreeSet;
use std::sync::Arc;

use turnbuckle_session::Change;
use turnbuckle_types::{ServerCapabilities, SubscriptionFilter};

use crate::listening::concerns;

/// Which changes a subscription tells of. Begins with none.
///
/// ```
/// use turnbuckle_client::Interest;
///
/// let interest = Interest::new().tools().resource("file:///notes.md");
/// assert!(!interest.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Interest {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: BTreeSet<Arc<str>>,
}

impl Interest {
    /// No interest yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// In the list of tools.
    pub fn tools(mut self) -> Self {
        self.tools = true;
        self
    }

    /// In the list of prompts.
    pub fn prompts(mut self) -> Self {
        self.prompts = true;
        self
    }

    /// In the lists of resources and of resource templates.
    pub fn resources(mut self) -> Self {
        self.resources = true;
        self
    }

    /// In what one resource says. Can be said of many.
    pub fn resource(mut self, uri: impl Into<Arc<str>>) -> Self {
        self.uris.insert(uri.into());
        self
    }

    /// Whether nothing is of interest.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Everything that may change, as changes.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let lists = [
            (self.tools, Change::Tools),
            (self.prompts, Change::Prompts),
            (self.resources, Change::Resources),
        ];
        let lists = lists.into_iter().filter(|(wanted, _)| *wanted);
        let lists = lists.map(|(_, change)| change);
        lists
            .chain(self.uris.iter().cloned().map(Change::Resource))
            .collect()
    }

    pub(super) fn uris(&self) -> impl Iterator<Item = &Arc<str>> {
        self.uris.iter()
    }

    /// Has `tell` told what of interest a change is: nothing else is ever told, whatever a server
    /// says.
    pub(super) fn meant_by(&self, change: &Change, mut tell: impl FnMut(&Change)) {
        let wanted = match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(changed) => {
                let whole = self.uris.iter().filter(|uri| concerns(changed, uri));
                for uri in whole {
                    tell(&Change::Resource(uri.clone()));
                }
                return;
            }
        };
        if wanted {
            tell(change);
        }
    }

    pub(super) fn filter(&self) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = self.tools.then_some(true);
        filter.prompts_list_changed = self.prompts.then_some(true);
        filter.resources_list_changed = self.resources.then_some(true);
        let uris: Vec<String> = self.uris.iter().map(|uri| (**uri).to_owned()).collect();
        filter.resource_subscriptions = (!uris.is_empty()).then_some(uris);
        filter
    }

    /// What of it a server agreed to.
    pub(super) fn within(&self, agreed: &SubscriptionFilter) -> Self {
        let uris = agreed.resource_subscriptions.iter().flatten();
        Self {
            tools: self.tools && agreed.tools_list_changed == Some(true),
            prompts: self.prompts && agreed.prompts_list_changed == Some(true),
            resources: self.resources && agreed.resources_list_changed == Some(true),
            uris: uris
                .filter_map(|uri| self.uris.get(uri.as_str()).cloned())
                .collect(),
        }
    }

    /// What of it a legacy server declares that it tells of.
    pub(super) fn declared(&self, by: &ServerCapabilities) -> Self {
        let tools = by.tools.as_ref().and_then(|tools| tools.list_changed);
        let prompts = by.prompts.as_ref().and_then(|prompts| prompts.list_changed);
        let resources = by.resources.as_ref();
        let listed = resources.and_then(|resources| resources.list_changed);
        let single = resources.and_then(|resources| resources.subscribe);
        Self {
            tools: self.tools && tools == Some(true),
            prompts: self.prompts && prompts == Some(true),
            resources: self.resources && listed == Some(true),
            uris: match single {
                Some(true) => self.uris.clone(),
                _ => BTreeSet::new(),
            },
        }
    }
}
