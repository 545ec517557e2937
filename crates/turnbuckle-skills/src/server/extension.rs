//! The extension: its methods, and the files as resources.
//!
//! Specification: Skills (stable), "Listing Skills", "Getting a Skill", "Reading Skill Content", "Reading Directories".

use std::sync::{Arc, PoisonError, RwLock};

use serde::{Serialize, Serializer};
use turnbuckle_server::{
    Extension, Group, HandlerContext, ItemName, ListPage, ListRequest, NoHandler, Provider,
    Resource, Result, UndeclaredPolicy,
};
use turnbuckle_types::{
    CacheScope, ExtensionRequest, Json, ListResourcesResult, PaginatedRequestParams, ProtocolError,
    RawObject, Request,
};

use super::fault::SkillFault;
use super::skills::{Skills, SkillsOptions};
use super::snapshot::{FileResource, Page, Snapshot};
use super::watch;
use crate::method::{
    GetSkill, GetSkillParams, ListSkills, ReadDirectory, ReadDirectoryParams, SkillsSettings,
};
use crate::uri::MAX_URI_BYTES;
use crate::{EXTENSION_ID, SkillUri};

/// The newest snapshot, from which requests are answered, and the settings.
pub(super) struct State {
    snapshot: RwLock<Arc<Snapshot>>,
    pub(super) options: SkillsOptions,
}

impl State {
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces the snapshot, and returns the older one.
    pub(super) fn replace(&self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        let mut current = self
            .snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, snapshot)
    }

    fn ttl_ms(&self) -> u64 {
        u64::try_from(self.options.ttl.as_millis()).unwrap_or(u64::MAX)
    }
}

impl From<Skills> for Extension {
    fn from(skills: Skills) -> Self {
        let (roots, made, options, snapshot) = skills.into_parts();
        log_faults(snapshot.faults());
        let has_directories = options.has_directories;
        let is_watching = options.is_watching && !roots.is_empty();
        let state = Arc::new(State {
            snapshot: RwLock::new(Arc::new(snapshot)),
            options,
        });
        let settings = SkillsSettings {
            directory_read: has_directories,
        };
        let shared = || state.clone();
        let (for_list, for_get, for_directories) = (shared(), shared(), shared());
        let mut extension = Self::new(EXTENSION_ID)
            .settings(RawObject::encode(&settings).unwrap_or_default())
            .undeclared_policy(UndeclaredPolicy::Served)
            .items(Group::new().provider(resources(&state)))
            .method::<ListEncoded, _, _>(move |params, _: HandlerContext| {
                std::future::ready(list_skills(&for_list, params.cursor.as_deref()))
            })
            .method::<GetEncoded, _, _>(move |params, _: HandlerContext| {
                std::future::ready(get_skill(&for_get, &params.uri))
            });
        if has_directories {
            extension =
                extension.method::<ReadDirectory, _, _>(move |params, _: HandlerContext| {
                    std::future::ready(read_directory(&for_directories, &params))
                });
        }
        if is_watching {
            extension =
                extension.background(move |background| watch::run(background, state, roots, made));
        }
        extension
    }
}

/// Logs what was left out, and what hosts may decline.
pub(super) fn log_faults<'f>(faults: impl IntoIterator<Item = &'f SkillFault>) {
    for SkillFault {
        place,
        reason,
        is_served,
    } in faults
    {
        match is_served {
            true => tracing::warn!(place, reason, "hosts may decline a skill"),
            false => tracing::warn!(place, reason, "a skill is left out"),
        }
    }
}

/// [`ListSkills`] with a result that is encoded already.
struct ListEncoded;

impl Request for ListEncoded {
    const METHOD: &'static str = ListSkills::METHOD;
    type Params = PaginatedRequestParams;
    type Result = EncodedPage;
}

impl ExtensionRequest for ListEncoded {
    const EXTENSION: &'static str = EXTENSION_ID;
}

/// [`GetSkill`] with a result that is encoded already.
struct GetEncoded;

impl Request for GetEncoded {
    const METHOD: &'static str = GetSkill::METHOD;
    type Params = GetSkillParams;
    type Result = EncodedEntry;
}

impl ExtensionRequest for GetEncoded {
    const EXTENSION: &'static str = EXTENSION_ID;
}

/// A page of `skills/list`, written from the array of the snapshot.
struct EncodedPage {
    page: Arc<Page>,
    ttl_ms: u64,
    scope: CacheScope,
}

impl Serialize for EncodedPage {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Members<'a> {
            skills: &'a Json,
            #[serde(skip_serializing_if = "Option::is_none")]
            next_cursor: Option<&'a str>,
            ttl_ms: u64,
            cache_scope: &'a CacheScope,
        }

        Members {
            skills: &self.page.skills,
            next_cursor: self.page.next_cursor.as_deref(),
            ttl_ms: self.ttl_ms,
            cache_scope: &self.scope,
        }
        .serialize(serializer)
    }
}

/// The answer to `skills/get`, written from the entry of the snapshot.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EncodedEntry {
    skill: Json,
    ttl_ms: u64,
    cache_scope: CacheScope,
}

macro_rules! only_encoded {
    ($($Type:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(_: D) -> std::result::Result<Self, D::Error> {
                Err(serde::de::Error::custom("an encoded result is never decoded"))
            }
        }
    )*};
}
only_encoded!(EncodedPage, EncodedEntry);

fn list_skills(state: &State, cursor: Option<&str>) -> Result<EncodedPage> {
    if cursor.is_some_and(|cursor| SkillUri::parse(cursor).is_err()) {
        return Err(ProtocolError::invalid_params("the cursor is not one of skills/list").into());
    }
    Ok(EncodedPage {
        page: state
            .snapshot()
            .page(cursor.unwrap_or_default(), &state.options.limits),
        ttl_ms: state.ttl_ms(),
        scope: state.options.scope.clone(),
    })
}

fn get_skill(state: &State, uri: &str) -> Result<EncodedEntry> {
    let snapshot = state.snapshot();
    let Some(skill) = snapshot.entry(uri) else {
        let shown = shorten(uri);
        return Err(ProtocolError::invalid_params(format!("No skill is served at {shown}")).into());
    };
    Ok(EncodedEntry {
        skill: skill.clone(),
        ttl_ms: state.ttl_ms(),
        cache_scope: state.options.scope.clone(),
    })
}

fn read_directory(state: &State, params: &ReadDirectoryParams) -> Result<ListResourcesResult> {
    let snapshot = state.snapshot();
    let cursor = params.cursor.as_deref().unwrap_or_default();
    let is_child = cursor
        .strip_prefix(&*params.uri)
        .is_some_and(|rest| rest.starts_with('/'));
    if params.cursor.is_some() && !(is_child && cursor.len() <= MAX_URI_BYTES) {
        return Err(
            ProtocolError::invalid_params("the cursor is not one of this directory").into(),
        );
    }
    let Some(mut children) = snapshot.children_after(&params.uri, cursor) else {
        let shown = shorten(&params.uri);
        return Err(
            ProtocolError::invalid_params(match snapshot.is_file(&params.uri) {
                true => format!("{shown} is not a directory resource"),
                false => format!("No directory is served at {shown}"),
            })
            .into(),
        );
    };
    let page: Vec<_> = children
        .by_ref()
        .take(state.options.limits.page_size.get())
        .collect();
    let next = children
        .next()
        .and_then(|_| page.last().map(|last| last.uri.clone()));
    let mut result = ListResourcesResult::new(page);
    result.next_cursor = next;
    Ok(result)
}

fn shorten(uri: &str) -> String {
    turnbuckle_types::base::text::shorten_to(uri, 200)
}

/// Creates the provider of all files.
fn resources(state: &Arc<State>) -> Provider<Resource> {
    let (for_list, for_find) = (state.clone(), state.clone());
    Provider::resources("skills")
        .list(move |request: ListRequest| list_files(&for_list, &request))
        .find(move |ItemName(uri): ItemName| find_file(&for_find, uri))
}

fn list_files(state: &State, request: &ListRequest) -> ListPage<Resource<NoHandler>> {
    let snapshot = state.snapshot();
    let mut files = snapshot.files_after(request.cursor.as_deref().unwrap_or_default());
    let mut last = None;
    let page = files.by_ref().take(request.limit).map(|(uri, file)| {
        last = Some(uri.clone());
        describe(state, uri.clone(), file)
    });
    let page = ListPage::new(page.collect::<Vec<_>>());
    let next = files.next().and(last);
    page.next_cursor(next)
}

fn find_file(state: &State, uri: String) -> Option<Resource> {
    let snapshot = state.snapshot();
    let file = snapshot.file(&uri)?;
    let (content, mime_type) = (file.file.content.clone(), file.file.mime_type);
    Some(
        describe(state, uri.clone(), file)
            .handler(move || content.clone().read(uri.clone(), mime_type)),
    )
}

fn describe(state: &State, uri: String, file: &FileResource) -> Resource<NoHandler> {
    let mut resource = Resource::builder(uri, file.name.clone())
        .mime_type(file.file.mime_type)
        .cache(state.options.ttl, state.options.scope.clone());
    if let Some(description) = &file.description {
        resource = resource.description(description.clone());
    }
    match file.file.content.as_stored() {
        Some(stored) => resource.size(stored.size()),
        None => resource,
    }
}
