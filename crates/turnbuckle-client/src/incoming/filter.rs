//! The choice of changes that a subscription reports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use turnbuckle_session::handler::Change;
use turnbuckle_types::{Json, ServerCapabilities, SubscriptionFilter};

use crate::resource_uri::change_affects;

/// The kinds of changes that a subscription reports. A new filter has none.
///
/// ```
/// use turnbuckle_client::ChangeFilter;
///
/// let filter = ChangeFilter::new().tools().resource("file:///notes.md");
/// assert!(!filter.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct ChangeFilter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: BTreeSet<Arc<str>>,
    /// The members of extensions.
    extensions: BTreeMap<String, Json>,
}

impl ChangeFilter {
    /// Creates a filter without any changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds changes of the list of tools.
    pub fn tools(mut self) -> Self {
        self.tools = true;
        self
    }

    /// Adds changes of the list of prompts.
    pub fn prompts(mut self) -> Self {
        self.prompts = true;
        self
    }

    /// Adds changes of the lists of resources and of resource templates.
    pub fn resources(mut self) -> Self {
        self.resources = true;
        self
    }

    /// Adds updates of one resource. May be called for several resources.
    pub fn resource(mut self, uri: impl Into<Arc<str>>) -> Self {
        self.uris.insert(uri.into());
        self
    }

    /// Adds a member of an extension, which has notifications of its own: see
    /// [`ClientBuilder::on_notification`](crate::ClientBuilder::on_notification). Revisions before
    /// 2026-07-28 have none.
    pub fn extension(mut self, member: impl Into<String>, value: Json) -> Self {
        self.extensions.insert(member.into(), value);
        self
    }

    /// Returns the value of a member of an extension: in an acknowledged filter, the part that the server
    /// accepted.
    #[must_use]
    pub fn extension_member(&self, member: &str) -> Option<&Json> {
        self.extensions.get(member)
    }

    /// Returns whether the filter has no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns one change of every kind in the filter, without those of extensions.
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

    /// Returns the URIs of the resources in the filter.
    pub(crate) fn resource_uris(&self) -> impl Iterator<Item = &Arc<str>> {
        self.uris.iter()
    }

    /// Calls `visit` for each change in the filter that `change` amounts to. An update of a part of
    /// a resource is an update of that resource.
    pub(crate) fn for_each_match(&self, change: &Change, mut visit: impl FnMut(&Change)) {
        let wanted = match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(changed) => {
                let whole = self.uris.iter().filter(|uri| change_affects(changed, uri));
                for uri in whole {
                    visit(&Change::Resource(uri.clone()));
                }
                return;
            }
        };
        if wanted {
            visit(change);
        }
    }

    /// Returns the filter as the parameters of `subscriptions/listen` have it.
    pub(crate) fn to_subscription_filter(&self) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = self.tools.then_some(true);
        filter.prompts_list_changed = self.prompts.then_some(true);
        filter.resources_list_changed = self.resources.then_some(true);
        let uris: Vec<String> = self.uris.iter().map(|uri| (**uri).to_owned()).collect();
        filter.resource_subscriptions = (!uris.is_empty()).then_some(uris);
        for (member, value) in &self.extensions {
            filter.extra.insert(member.as_str(), value.clone());
        }
        filter
    }

    /// Returns the part of the filter that the server acknowledged.
    pub(crate) fn intersect(&self, agreed: &SubscriptionFilter) -> Self {
        let uris = agreed.resource_subscriptions.iter().flatten();
        Self {
            tools: self.tools && agreed.tools_list_changed == Some(true),
            prompts: self.prompts && agreed.prompts_list_changed == Some(true),
            resources: self.resources && agreed.resources_list_changed == Some(true),
            uris: uris
                .filter_map(|uri| self.uris.get(uri.as_str()).cloned())
                .collect(),
            extensions: agreed
                .extra
                .iter()
                .filter(|(member, _)| self.extensions.contains_key(*member))
                .map(|(member, value)| (member.to_owned(), value.clone()))
                .collect(),
        }
    }

    /// Returns the part of the filter that a legacy server's capabilities support.
    pub(crate) fn supported_by(&self, capabilities: &ServerCapabilities) -> Self {
        let tools = capabilities
            .tools
            .as_ref()
            .and_then(|tools| tools.list_changed);
        let prompts = capabilities
            .prompts
            .as_ref()
            .and_then(|prompts| prompts.list_changed);
        let resources = capabilities.resources.as_ref();
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
            extensions: BTreeMap::new(),
        }
    }
}
