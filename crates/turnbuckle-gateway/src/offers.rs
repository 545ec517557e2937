//! Offers of the upstreams of a gateway: their items, and who can use them.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnbuckle::servers::{ServerItem, ServerStatus, Servers};

use crate::policy::{RuleFault, Subject};
use crate::routes::Policies;

/// The offer of one upstream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamOffer {
    /// The state of the upstream, with its name.
    pub status: ServerStatus,
    /// The tools that are offered.
    pub tools: Vec<OfferedItem>,
    /// The prompts that are offered.
    pub prompts: Vec<OfferedItem>,
    /// The resources that are offered.
    pub resources: Vec<OfferedItem>,
    /// The resource templates that are offered.
    pub resource_templates: Vec<OfferedItem>,
    /// Rules of an upstream that is connected without an effect: those that match none of its items, and new names
    /// that its items could not get. Perhaps they are misspelt.
    pub unused_rules: Vec<String>,
    /// Operations of an OpenAPI document that become no tools, with the reasons: a line for each of the first 20.
    pub left_out: Vec<String>,
}

/// The operations that are left out of each upstream by an OpenAPI document, as lines.
pub(crate) type LeftOut = BTreeMap<String, Vec<String>>;

/// An item that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfferedItem {
    /// The name or URI that clients see.
    pub name: String,
    /// The name or URI at the upstream.
    pub own_name: Arc<str>,
    /// The scopes that a client needs.
    pub scopes: Vec<String>,
}

/// Returns what each upstream offers.
pub(crate) fn offers(
    servers: &Servers,
    policies: &Policies,
    left_out: &LeftOut,
) -> Vec<UpstreamOffer> {
    let (tools, prompts) = (servers.tools(), servers.prompts());
    let (resources, templates) = (servers.resources(), servers.resource_templates());
    let offers = servers.status().into_iter().map(|status| {
        let of = Offered {
            server: &status.server,
            policies,
        };
        let tools = of.items(&tools, |it| &it.name, Subject::Name);
        let prompts = of.items(&prompts, |it| &it.name, Subject::Name);
        let policy = policies.get(&*status.server).filter(|_| status.is_ready());
        // A tool and a prompt may have the same name, and one of them be left out.
        let is_offered = |name: &str| {
            let mut items = tools.iter().chain(&prompts);
            items.any(|it| *it.own_name == *name) && refusal(&status, name).is_none()
        };
        let faults = policy.map_or_else(Vec::new, |it| it.faults(is_offered));
        let faults = faults.iter().map(|fault| explain(fault, &status));
        UpstreamOffer {
            unused_rules: faults.collect(),
            left_out: left_out.get(&*status.server).cloned().unwrap_or_default(),
            resources: of.items(&resources, |it| &it.uri, Subject::Uri),
            resource_templates: of.items(&templates, |it| &it.uri_template, Subject::Template),
            tools,
            prompts,
            status,
        }
    });
    offers.collect()
}

/// Returns the text of a fault, with the reason that the status of the upstream has.
fn explain(fault: &RuleFault<'_>, status: &ServerStatus) -> String {
    match fault {
        RuleFault::RefusedName(name, _) => {
            refusal(status, name).map(|it| format!("`rename`: {it}"))
        }
        _ => None,
    }
    .unwrap_or_else(|| fault.to_string())
}

/// Returns the reason why an item of this name at the upstream is left out, as its status has it.
fn refusal<'a>(status: &'a ServerStatus, name: &str) -> Option<&'a str> {
    let start = format!("{name:?} is left out");
    let mut problems = status.problems.iter().flat_map(|it| it.split("; "));
    problems.find(|it| it.starts_with(&start))
}

/// The items of one upstream.
struct Offered<'a> {
    server: &'a Arc<str>,
    policies: &'a Policies,
}

impl Offered<'_> {
    fn items<'i, T>(
        &self,
        all: &'i [ServerItem<T>],
        name: impl Fn(&T) -> &String,
        subject: fn(&'i str) -> Subject<'i>,
    ) -> Vec<OfferedItem> {
        let own = all.iter().filter(|item| item.server == *self.server);
        let policy = self.policies.get(&**self.server);
        let offered = own.map(|item| OfferedItem {
            name: name(&item.item).clone(),
            own_name: item.own_name.clone(),
            scopes: policy
                .and_then(|policy| policy.scopes(subject(&item.own_name)))
                .unwrap_or_default()
                .into_iter()
                .map(ToOwned::to_owned)
                .collect(),
        });
        offered.collect()
    }
}
