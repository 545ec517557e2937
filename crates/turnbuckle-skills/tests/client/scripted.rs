//! A scripted server of skills, whose entries and files a test changes at will.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_client::{Client, ClientBuilder, EraPreference};
use turnbuckle_it::peer::{Peer, PeerConnectors, ReceivedMessage, Step};
use turnbuckle_skills::client::{SkillReader, SkillsClient as _};
use turnbuckle_skills::{Digest, EXTENSION_ID};
use turnbuckle_wire::revision::Revision;

/// The largest message that the client accepts.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The skill that most tests use.
pub(crate) const SKILL: &str = "skill://acme/pdf-processing/SKILL.md";
pub(crate) const SKILL_TEXT: &str = "---\nname: pdf-processing\ndescription: Work with PDF documents\nmetadata:\n  \
    version: 1.5\n---\n\nSee [the forms](references/FORMS.md).\n";
pub(crate) const FORMS: &str = "skill://acme/pdf-processing/references/FORMS.md";
pub(crate) const FORMS_TEXT: &str = "Forms are filled in.\n";
pub(crate) const LOGO: &str = "skill://acme/pdf-processing/assets/logo%20(1).png";
pub(crate) const LOGO_BYTES: &[u8] = b"\x89PNG\r\n\x1a\n\0\xff";

/// Entries and files that the server serves.
#[derive(Default)]
pub(crate) struct State {
    /// The settings of the extension; without them the server does not declare it.
    pub(crate) settings: Option<Value>,
    /// The pages of `skills/list`.
    pub(crate) pages: Vec<Vec<Value>>,
    /// The entries that only `skills/get` returns.
    pub(crate) unlisted: Vec<Value>,
    /// The contents of the files, by URI.
    pub(crate) files: BTreeMap<String, Value>,
    /// The pages of the directories, by URI.
    pub(crate) directories: BTreeMap<String, Vec<Vec<Value>>>,
}

/// A scripted server of skills.
#[derive(Clone)]
pub(crate) struct SkillServer {
    pub(crate) peer: Peer,
    state: Arc<Mutex<State>>,
}

impl SkillServer {
    /// Creates a server of [`SKILL`].
    pub(crate) fn new() -> Self {
        let server = Self::empty();
        server.change(|state| {
            state
                .files
                .insert(SKILL.to_owned(), text(SKILL, SKILL_TEXT));
            state
                .files
                .insert(FORMS.to_owned(), text(FORMS, FORMS_TEXT));
            state.files.insert(LOGO.to_owned(), blob(LOGO, LOGO_BYTES));
            state.pages = vec![vec![entry()]];
        });
        server
    }

    /// Creates a server without skills.
    pub(crate) fn empty() -> Self {
        let state = Arc::new(Mutex::new(State {
            settings: Some(json!({})),
            ..State::default()
        }));
        let served = state.clone();
        let peer = Peer::new(Revision::NEWEST, move |heard| {
            served.lock().unwrap().answer(heard).map(|step| vec![step])
        });
        Self { peer, state }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }

    /// Connects a client.
    pub(crate) async fn connect(&self) -> Client {
        self.connect_by(Client::builder("host", "1")).await
    }

    pub(crate) async fn connect_by(&self, builder: ClientBuilder) -> Client {
        let lines = self.peer.lines().max_message_bytes(MAX_MESSAGE_BYTES);
        let builder = builder.era(EraPreference::Only(Revision::NEWEST));
        builder.connect(lines).await.unwrap()
    }

    /// Connects a client, and returns its reader for a server called `docs`.
    pub(crate) async fn reader(&self) -> SkillReader {
        self.connect().await.skills("docs")
    }

    /// Returns the URIs that were read so far.
    pub(crate) fn reads(&self) -> Vec<String> {
        let reads = self.peer.messages_of("resources/read");
        let uris = reads.iter().map(|heard| &heard.message["params"]["uri"]);
        uris.map(|uri| uri.as_str().unwrap().to_owned()).collect()
    }
}

impl State {
    fn answer(&self, heard: &ReceivedMessage) -> Option<Step> {
        let params = &heard.message["params"];
        let uri = params["uri"].as_str().unwrap_or_default();
        let index = params["cursor"]
            .as_str()
            .unwrap_or("0")
            .parse()
            .unwrap_or(usize::MAX);
        Some(match heard.method() {
            "server/discover" => {
                let extensions = match &self.settings {
                    Some(settings) => json!({EXTENSION_ID: settings}),
                    None => json!({}),
                };
                heard.answer(json!({
                    "resultType": "complete", "supportedVersions": [Revision::NEWEST.as_str()],
                    "capabilities": {"extensions": extensions, "resources": {}},
                    "ttlMs": 0, "cacheScope": "private",
                }))
            }
            "skills/list" => {
                let page = self.pages.get(index).cloned().unwrap_or_default();
                page_answer(heard, "skills", &page, (index + 1 < self.pages.len()).then_some(index + 1))
            }
            "skills/get" => {
                let mut entries = self.pages.iter().flatten().chain(&self.unlisted);
                match entries.find(|entry| entry["uri"] == uri) {
                    Some(entry) => heard.answer(json!({
                        "resultType": "complete", "skill": entry, "ttlMs": 300_000, "cacheScope": "public",
                    })),
                    None => heard.refuse(-32602, "no such skill"),
                }
            }
            "resources/read" => match self.files.get(uri) {
                Some(contents) => heard.answer(json!({
                    "resultType": "complete", "contents": [contents], "ttlMs": 300_000, "cacheScope": "public",
                })),
                None => Step::Say(json!({"jsonrpc": "2.0", "id": heard.id(), "error": {
                    "code": -32602, "message": "no such resource", "data": {"uri": uri},
                }})),
            },
            "resources/directory/read" => match self.directories.get(uri) {
                Some(pages) => {
                    let page = pages.get(index).cloned().unwrap_or_default();
                    page_answer(heard, "resources", &page, (index + 1 < pages.len()).then_some(index + 1))
                }
                None => heard.refuse(-32602, "no such directory"),
            },
            _ => return None,
        })
    }
}

fn page_answer(heard: &ReceivedMessage, items: &str, page: &[Value], next: Option<usize>) -> Step {
    let mut result =
        json!({"resultType": "complete", items: page, "ttlMs": 300_000, "cacheScope": "public"});
    if let Some(next) = next {
        result["nextCursor"] = next.to_string().into();
    }
    heard.answer(result)
}

/// Returns contents as text.
pub(crate) fn text(uri: &str, text: &str) -> Value {
    json!({"uri": uri, "mimeType": "text/markdown", "text": text})
}

/// Returns contents as Base64.
pub(crate) fn blob(uri: &str, bytes: &[u8]) -> Value {
    let contents = turnbuckle_types::ResourceContents::blob(uri, bytes);
    serde_json::to_value(contents).unwrap()
}

/// Returns a file of an entry.
pub(crate) fn file_of(uri: &str, bytes: &[u8]) -> Value {
    json!({"uri": uri, "digest": Digest::compute(bytes), "size": bytes.len()})
}

/// Returns the entry of [`SKILL`].
pub(crate) fn entry() -> Value {
    json!({
        "uri": SKILL,
        "frontmatter": {
            "name": "pdf-processing", "description": "Work with PDF documents", "metadata": {"version": 1.5},
        },
        "resources": [
            file_of(SKILL, SKILL_TEXT.as_bytes()),
            file_of(FORMS, FORMS_TEXT.as_bytes()),
            file_of(LOGO, LOGO_BYTES),
        ],
    })
}
