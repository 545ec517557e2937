//! The capabilities of a proxy: those of its servers.

use std::collections::BTreeMap;

use turnbuckle_server::{Extension, ServerBuilder, Tasks};
use turnbuckle_types::{Json, RawObject, ServerCapabilities, TASKS_EXTENSION};

use crate::servers::Servers;

/// The most bytes of one server's instructions, where those of several are joined.
const MAX_JOINED_BYTES: usize = 16 << 10;

/// The parts of what a proxy declares that decide how it serves items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Declared {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) completions: bool,
    pub(super) tasks: bool,
}

/// Declares what the servers declare. Capabilities are fixed from then on, so that a proxy in front of a
/// server that is not connected yet declares everything that such a server may have.
pub(super) fn declare(mut server: ServerBuilder, servers: &Servers) -> (ServerBuilder, Declared) {
    let status = servers.status();
    let is_complete = status.iter().all(|it| it.is_ready());
    let infos: Vec<_> = status.iter().filter_map(|it| it.info.as_ref()).collect();
    let has = |has: fn(&ServerCapabilities) -> bool| {
        !is_complete || infos.iter().any(|info| has(&info.capabilities))
    };
    let declared = Declared {
        tools: has(|it| it.tools.is_some()),
        prompts: has(|it| it.prompts.is_some()),
        resources: has(|it| it.resources.is_some()),
        completions: has(|it| it.completions.is_some()),
        tasks: has(|it| it.tasks.is_some() || it.extensions.contains_key(TASKS_EXTENSION)),
    };
    if declared.tools {
        server = server.dynamic_tools();
    }
    if declared.prompts {
        server = server.dynamic_prompts();
    }
    if has(|it| {
        it.resources
            .as_ref()
            .is_some_and(|it| it.subscribe == Some(true))
    }) {
        server = server.dynamic_resources();
    } else if declared.resources {
        server = server.dynamic_unsubscribable_resources();
    }
    if declared.completions {
        server = server.dynamic_completions();
    }
    if has(|it| it.logging.is_some()) {
        server = server.logging();
    }
    if declared.tasks {
        server = server.default_extension(Tasks::new());
    }
    for (id, settings) in common(infos.iter().map(|info| info.capabilities.extensions.iter())) {
        if id != TASKS_EXTENSION
            && let Ok(settings) = settings.decode::<RawObject>()
        {
            server = server.default_extension(Extension::new(id).settings(settings));
        }
    }
    for (name, settings) in common(
        infos
            .iter()
            .map(|info| info.capabilities.experimental.iter()),
    ) {
        if settings.is_object() {
            server = server.experimental(name, settings.clone());
        }
    }
    let texts = status.iter().filter_map(|it| {
        let text = it.info.as_ref()?.instructions.as_deref()?;
        Some((&*it.server, text))
    });
    let texts: Vec<_> = texts.collect();
    match &*texts {
        [] => {}
        [(_, text)] if status.len() == 1 => server = server.default_instructions(*text),
        several => {
            let blocks = several.iter().map(|(name, text)| {
                let mut ends = (0..=text.len().min(MAX_JOINED_BYTES)).rev();
                let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                format!("Instructions of the server {name:?}:\n{}", &text[..end])
            });
            server = server.default_instructions(blocks.collect::<Vec<_>>().join("\n\n"));
        }
    }
    (server, declared)
}

/// Returns the members that no two servers declare differently.
fn common<'a>(
    declared: impl Iterator<Item = impl Iterator<Item = (&'a str, &'a Json)>>,
) -> impl Iterator<Item = (&'a str, &'a Json)> {
    let mut members: BTreeMap<&str, Option<&Json>> = BTreeMap::new();
    for (id, settings) in declared.flatten() {
        let known = members.entry(id).or_insert(Some(settings));
        if *known != Some(settings) {
            *known = None;
        }
    }
    members
        .into_iter()
        .filter_map(|(id, settings)| Some((id, settings?)))
}
