//! Reading the lists of one server.

use std::sync::Arc;

use turnbuckle_client::{Client, Error, List, ListMethod};

use crate::member::shared::Shared;
use crate::member::state::Member;
use crate::rules::DroppedNames;
use crate::view::items::{Listed, Renamed, ServerItems, rename};

/// The lists that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListsToRead {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
}

impl ListsToRead {
    pub(crate) const ALL: Self = Self {
        tools: true,
        resources: true,
        prompts: true,
    };
    pub(crate) const NONE: Self = Self {
        tools: false,
        resources: false,
        prompts: false,
    };
}

/// The faults of lists, by list, so that a list that is read again replaces its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListProblems([Option<String>; 4]);

impl ListProblems {
    /// Returns the texts.
    pub(crate) fn to_texts(&self) -> Vec<String> {
        self.0.iter().flatten().cloned().collect()
    }
}

/// Returns whether an error means that the connection is lost, and not that one request failed.
pub(crate) fn is_loss(error: &Error) -> bool {
    !matches!(
        error,
        Error::ErrorResponse(_)
            | Error::InvalidResult { .. }
            | Error::EndlessList { .. }
            | Error::ListTooLarge { .. }
            | Error::TooManyBytes { .. }
            | Error::ResultTooLarge { .. }
            | Error::Unsupported { .. }
            | Error::TooManyRequests { .. }
            | Error::TooManyInputRounds { .. }
            | Error::InputUnanswered { .. }
    )
}

/// Reads lists of a server and returns all its items; lists that are not to be read stay as they were
/// `before`. A list that the server refuses is empty, and a problem.
///
/// # Errors
/// Returns the error of a lost connection.
pub(crate) async fn read_lists(
    client: &Client,
    (member, shared): (&Member, &Shared),
    before: &ServerItems,
    which: ListsToRead,
    problems: &mut ListProblems,
) -> Result<ServerItems, Error> {
    let mut items = before.clone();
    let [tools, resources, templates, prompts] = &mut problems.0;
    if which.tools {
        items.tools = Arc::new([]);
        let listing = client.list_tools();
        let listed = read(listing, member, shared, &items, tools).await?;
        items.tools = listed.items;
        add_dropped_names(&mut items.dropped_names, member, listed.dropped);
    }
    if which.resources {
        items.resources = Arc::new([]);
        items.templates = Arc::new([]);
        let listing = client.list_resources();
        let listed = read(listing, member, shared, &items, resources).await?;
        items.resources = listed.items;
        items.dropped_uris = Arc::new(listed.dropped.into_iter().collect());
        let listing = client.list_resource_templates();
        items.templates = read(listing, member, shared, &items, templates)
            .await?
            .items;
    }
    if which.prompts {
        items.prompts = Arc::new([]);
        let listing = client.list_prompts();
        let listed = read(listing, member, shared, &items, prompts).await?;
        items.prompts = listed.items;
        add_dropped_names(&mut items.dropped_names, member, listed.dropped);
    }
    Ok(items)
}

/// The most dropped names of one server that are remembered.
const MAX_DROPPED_NAMES: usize = 10_000;

/// Adds names that rules have dropped, where their names in the merged view are shortened. An old list counts too:
/// a name always stands for the same item.
fn add_dropped_names(names: &mut DroppedNames, member: &Member, dropped: Vec<Arc<str>>) {
    let shortened = dropped.into_iter().filter_map(|own| {
        let merged = member.prefix.name(&own);
        (member.prefix.own_name(&merged) != Some(&*own)).then_some((merged, own))
    });
    let mut shortened = shortened
        .take(MAX_DROPPED_NAMES.saturating_sub(names.len()))
        .peekable();
    if shortened.peek().is_some() {
        Arc::make_mut(names).extend(shortened);
    }
}

/// Reads one list.
async fn read<M>(
    list: List<M>,
    member: &Member,
    shared: &Shared,
    others: &ServerItems,
    problem: &mut Option<String>,
) -> Result<Renamed<M::Item>, Error>
where
    M: ListMethod,
    M::Item: Listed,
{
    *problem = None;
    let listed = match list.bypass_cache().fetch_all().await {
        Ok(listed) => listed,
        // The server does not have this kind of item.
        Err(Error::Unsupported { .. }) => Vec::new(),
        Err(error) if is_loss(&error) => return Err(error),
        Err(error) => {
            *problem = Some(format!("{}: {error}", M::METHOD));
            Vec::new()
        }
    };
    let settings = (&shared.limits, &shared.rules);
    let renamed = rename(
        &member.name,
        &member.prefix,
        listed,
        settings,
        others.bytes(),
    );
    if renamed.problem.is_some() {
        problem.clone_from(&renamed.problem);
    }
    Ok(renamed)
}
