//! A notes server on an SQLite database: clients write, search, read and summarize notes. It shows
//! state that handlers share, blocking handlers, structured output, a prompt, completion, and a
//! provider that lists notes from the database as resources.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin notes -- notes.db`.
//!
//! ```text
//! notes ~/notes.db                         serves the client that started it, on stdio
//! notes ~/notes.db --http 127.0.0.1:8080   serves http://127.0.0.1:8080/mcp
//! ```
//!
//! The database is created if it does not exist. This file has the handlers, and [`store`] the SQL.
//! SQLite waits for the disk, so the handlers that use it are `blocking`.

mod store;

use std::path::PathBuf;

use clap::Parser;
use turnbuckle::prelude::*;
use turnbuckle::types::{ContentBlock, PromptMessage, ProtocolError, TextResourceContents};
use turnbuckle::{CompletionRequest, NoHandler, RunArgs};

use store::{Change, Note, Page, SearchQuery, Store};

/// The maximum number of notes in a prompt.
const MAX_SUMMARIZED: usize = 50;

/// Serves notes from an SQLite database.
#[derive(Parser)]
struct Options {
    /// The file of the database, or `:memory:`.
    db: PathBuf,
    #[command(flatten)]
    run: RunArgs,
}

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = Options::parse();
    let store = Store::open(&options.db).map_err(|error| {
        let path = options.db.display();
        turnbuckle::Error::new(format!("cannot open {path}")).with_source(error)
    })?;
    Server::new("notes", env!("CARGO_PKG_VERSION"))
        .instructions("Call `search` before `add`: there may be a note to `edit`.")
        // Completers and providers are functions, which get the store as state.
        .state(store.clone())
        .provider(Provider::resources("notes").list(list_notes))
        .group(Notes(store))
        .run_with(options.run)
        .await
}

/// The server. All handlers share the store.
struct Notes(Store);

#[server]
impl Notes {
    /// Write a new note.
    #[tool(blocking, destructive = false, open_world = false)]
    fn add(
        &self,
        #[schema(min_len = 1, max_len = 200)] title: String,
        /** the text, as Markdown */
        #[schema(max_len = 100_000)]
        body: String,
        #[schema(default, max_len = 20)] tags: Vec<String>,
        server: Server,
    ) -> Result<Note> {
        let note = self.0.add(&title, &body, &tags)?;
        server.notify_resources_changed();
        Ok(note)
    }

    /// Change a note. Fields that are missing stay unchanged.
    #[tool(blocking, destructive, idempotent, open_world = false)]
    fn edit(
        &self,
        id: i64,
        #[schema(min_len = 1, max_len = 200)] title: Option<String>,
        #[schema(max_len = 100_000)] body: Option<String>,
        #[schema(max_len = 20)] tags: Option<Vec<String>>,
        server: Server,
    ) -> Result<Note> {
        let renamed = title.is_some();
        let change = Change { title, body, tags };
        let note = self.0.edit(id, &change)?.ok_or_else(|| no_such_note(id))?;
        if renamed {
            server.notify_resources_changed();
        }
        server.notify_resource_updated(&uri_of(id));
        Ok(note)
    }

    /// Delete a note permanently.
    #[tool(blocking, destructive, idempotent, open_world = false)]
    fn delete(&self, id: i64, server: Server) -> Result<String> {
        if !self.0.delete(id)? {
            return Err(no_such_note(id));
        }
        server.notify_resources_changed();
        server.notify_resource_updated(&uri_of(id));
        Ok(format!("note {id} is deleted"))
    }

    /// Search notes and return a page of them, the newest first.
    #[tool(blocking, read_only, open_world = false)]
    fn search(
        &self,
        /** words that a note must contain; the last may be a prefix; without words, all notes */
        #[schema(default, max_len = 500)]
        text: String,
        /** only notes with this tag */
        tag: Option<String>,
        /** `next_cursor` of the previous page */
        cursor: Option<String>,
        #[schema(default = 20, min = 1, max = 100)] limit: usize,
    ) -> Result<Page> {
        let before = match cursor.as_deref().map(str::parse) {
            None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => {
                return Err("the cursor is invalid; begin again without a cursor".into());
            }
        };
        let search_query = SearchQuery {
            text,
            tag,
            before,
            limit,
        };
        Ok(self.0.search(&search_query)?)
    }

    /// A note as Markdown.
    #[resource("notes://{id}", mime = "text/markdown", blocking)]
    fn note(&self, #[schema(complete = complete_ids)] id: i64) -> Result<String> {
        markdown(&self.0, id)
    }

    /// Summarize notes: all of them, or those with a tag.
    #[prompt(blocking)]
    fn summarize(
        &self,
        /** only notes with this tag */
        #[schema(complete = complete_tags)]
        tag: Option<String>,
    ) -> Result<Vec<PromptMessage>> {
        let tag_phrase = tag
            .as_ref()
            .map_or(String::new(), |tag| format!(" on {tag:?}"));
        let search_query = SearchQuery {
            tag,
            ..SearchQuery::default()
        }
        .with_limit(MAX_SUMMARIZED);
        let mut messages = Vec::new();
        for summary in self.0.search(&search_query)?.notes {
            let text = markdown(&self.0, summary.id)?;
            let text =
                TextResourceContents::new(uri_of(summary.id), text).mime_type("text/markdown");
            messages.push(PromptMessage::user(ContentBlock::resource(text)));
        }
        if messages.is_empty() {
            return Err(
                ProtocolError::invalid_params(format!("there are no notes{tag_phrase}")).into(),
            );
        }
        let instruction = format!(
            "These are my notes{tag_phrase}. Summarize them in a few sentences, \
             and list the open questions."
        );
        messages.push(PromptMessage::user(ContentBlock::text(instruction)));
        Ok(messages)
    }
}

/// Lists the notes, the newest first. [`Notes::note`] reads them. The query uses an index and is too
/// fast to need a blocking thread.
fn list_notes(request: ListRequest, store: State<Store>) -> Result<ListPage<Resource<NoHandler>>> {
    let page = store.search(&SearchQuery {
        before: request.cursor.as_deref().map(str::parse).transpose()?,
        limit: request.limit,
        ..SearchQuery::default()
    })?;
    let notes = page.notes.into_iter();
    let notes =
        notes.map(|note| Resource::builder(uri_of(note.id), note.title).mime_type("text/markdown"));
    Ok(ListPage::new(notes).next_cursor(page.next_cursor))
}

/// Returns a note as Markdown.
fn markdown(store: &Store, id: i64) -> Result<String> {
    let note = store.note(id)?;
    let note = note.ok_or_else(|| ProtocolError::resource_not_found(uri_of(id)))?;
    Ok(format!("# {}\n\n{}\n", note.title, note.body))
}

fn uri_of(id: i64) -> String {
    format!("notes://{id}")
}

fn no_such_note(id: i64) -> Failure {
    Failure::new(format!("there is no note {id}; `search` lists the notes"))
}

/// Completes ids. The query uses an index and is too fast to need a blocking thread.
fn complete_ids(request: CompletionRequest, store: State<Store>) -> Result<Vec<String>> {
    Ok(store.ids(&request.value)?)
}

/// Completes tags.
fn complete_tags(request: CompletionRequest, store: State<Store>) -> Result<Vec<String>> {
    Ok(store.tags(&request.value)?)
}
