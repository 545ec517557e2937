//! A notes server on an SQLite database: notes to write, find by full text, read and summarize.
//!
//! ```text
//! notes ~/notes.db                         serves the client that started it
//! notes ~/notes.db --http 127.0.0.1:8080   serves http://127.0.0.1:8080/mcp
//! ```
//!
//! The database is made where there is none. [`store`] holds all that knows SQL; what is here is what
//! clients see. SQLite waits for the disk, so every handler that uses it is `blocking`.

mod store;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;
use turnbuckle::CompletionRequest;
use turnbuckle::prelude::*;
use turnbuckle::types::{ContentBlock, Error, PromptMessage, TextResourceContents};

use store::{Change, Note, Page, Store, Wanted};

/// The number of notes on a page of the list.
const PAGE: NonZeroUsize = NonZeroUsize::new(50).unwrap();

/// The number of notes in the list of resources. Older notes can still be found and read.
const LISTED: usize = 500;

/// The most notes in a prompt.
const SUMMARIZED: usize = 50;

/// Serves notes from an SQLite database.
#[derive(Parser)]
struct Options {
    /// The database.
    db: PathBuf,
    /// Serves HTTP at this address instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
}

#[tokio::main]
async fn main() -> Result {
    let options = Options::parse();
    let store = Store::open(&options.db)?;
    let mut server = Server::new("notes", env!("CARGO_PKG_VERSION"))
        .instructions("Look with `search` before you `add`: a note may be there to `edit`.")
        .page_size(PAGE)
        .dynamic_resources()
        // Completers are no methods, and find the notes here.
        .state(store.clone())
        .group(Notes(store.clone()));
    let newest = Wanted::default().at_most(LISTED);
    for note in store.search(&newest)?.notes {
        server = server.resource(listed(note.id, &note.title));
    }
    match options.http {
        Some(address) => server.serve_http(&address).await,
        None => server.serve_stdio().await,
    }
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
        context: HandlerContext,
    ) -> Result<Note> {
        let note = self.0.add(&title, &body, &tags)?;
        self.list(&note, &context.server())?;
        Ok(note)
    }

    /// Change a note. What is left out stays as it is.
    #[tool(blocking, destructive, idempotent, open_world = false)]
    fn edit(
        &self,
        id: i64,
        #[schema(min_len = 1, max_len = 200)] title: Option<String>,
        #[schema(max_len = 100_000)] body: Option<String>,
        #[schema(max_len = 20)] tags: Option<Vec<String>>,
        context: HandlerContext,
    ) -> Result<Note> {
        let renamed = title.is_some();
        let change = Change { title, body, tags };
        let note = self.0.edit(id, &change)?.ok_or_else(|| missing(id))?;
        if renamed {
            self.list(&note, &context.server())?;
        }
        context.server().notify_resource_updated(&uri_of(id));
        Ok(note)
    }

    /// Delete a note for good.
    #[tool(blocking, destructive, idempotent, open_world = false)]
    fn delete(&self, id: i64, context: HandlerContext) -> Result<String> {
        if !self.0.delete(id)? {
            return Err(missing(id));
        }
        context.server().remove_resource(&uri_of(id));
        context.server().notify_resource_updated(&uri_of(id));
        Ok(format!("note {id} is deleted"))
    }

    /// Find notes, the newest first, a page at a time.
    #[tool(blocking, read_only, open_world = false)]
    fn search(
        &self,
        /** words that all have to be there, the last perhaps not whole; without any, all notes */
        #[schema(default, max_len = 500)]
        text: String,
        /** only notes with this tag */
        tag: Option<String>,
        /** `next_cursor` of the page before */
        cursor: Option<String>,
        #[schema(default = 20, min = 1, max = 100)] limit: usize,
    ) -> Result<Page> {
        let before = match cursor.as_deref().map(str::parse) {
            None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => return Err("no such cursor: begin again without one".into()),
        };
        let wanted = Wanted {
            text,
            tag,
            before,
            limit,
        };
        Ok(self.0.search(&wanted)?)
    }

    /// A note, as Markdown.
    #[resource("notes://{id}", mime = "text/markdown", blocking)]
    fn note(&self, #[schema(complete = ids)] id: i64) -> Result<String> {
        markdown(&self.0, id)
    }

    /// Summarize notes: all of them, or those with a tag.
    #[prompt(blocking)]
    fn summarize(
        &self,
        /** only notes with this tag */
        #[schema(complete = tags)]
        tag: Option<String>,
    ) -> Result<Vec<PromptMessage>> {
        let about = tag
            .as_ref()
            .map_or(String::new(), |tag| format!(" on {tag:?}"));
        let wanted = Wanted {
            tag,
            ..Wanted::default()
        }
        .at_most(SUMMARIZED);
        let mut messages = Vec::new();
        for found in self.0.search(&wanted)?.notes {
            let text = markdown(&self.0, found.id)?;
            let text = TextResourceContents::new(uri_of(found.id), text).mime_type("text/markdown");
            messages.push(PromptMessage::user(ContentBlock::resource(text)));
        }
        if messages.is_empty() {
            return Err(Error::invalid_params(format!("there are no notes{about}")).into());
        }
        let order = format!(
            "These are my notes{about}. Summarize them in a few sentences, and name the open ends."
        );
        messages.push(PromptMessage::user(ContentBlock::text(order)));
        Ok(messages)
    }
}

impl Notes {
    /// Has a note stand in the list of resources under its title, if it is among the newest; the one
    /// that is so no more makes room.
    fn list(&self, note: &Note, server: &Server) -> Result {
        let first_left_out = self.0.nth_newest(LISTED)?;
        if first_left_out.is_none_or(|left_out| note.id > left_out) {
            server.add_resource(listed(note.id, &note.title))?;
        }
        if let Some(left_out) = first_left_out {
            server.remove_resource(&uri_of(left_out));
        }
        Ok(())
    }
}

/// A note in the list of resources.
fn listed(id: i64, title: &str) -> Resource {
    Resource::builder(uri_of(id), title.to_owned())
        .mime_type("text/markdown")
        .blocking(move |store: State<Store>| markdown(&store, id))
}

fn markdown(store: &Store, id: i64) -> Result<String> {
    let note = store.note(id)?;
    let note = note.ok_or_else(|| Error::resource_not_found(uri_of(id)))?;
    Ok(format!("# {}\n\n{}\n", note.title, note.body))
}

fn uri_of(id: i64) -> String {
    format!("notes://{id}")
}

fn missing(id: i64) -> Failure {
    Failure::new(format!(
        "there is no note {id}; `search` tells which there are"
    ))
}

/// Completes ids. The query uses an index and is too short to need a thread.
fn ids(typing: CompletionRequest, store: State<Store>) -> Result<Vec<String>> {
    Ok(store.ids(&typing.value)?)
}

/// Completes tags.
fn tags(typing: CompletionRequest, store: State<Store>) -> Result<Vec<String>> {
    Ok(store.tags(&typing.value)?)
}
