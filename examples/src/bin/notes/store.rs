//! The database of notes.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, Result, Row, Transaction, params};
use turnbuckle::prelude::data;

const SCHEMA: &str = "
    PRAGMA foreign_keys = ON;
    CREATE TABLE IF NOT EXISTS notes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS tags (
        tag TEXT NOT NULL, note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE,
        PRIMARY KEY (tag, note)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS tags_of_notes ON tags (note);
    CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5
        (title, body, content = 'notes', content_rowid = 'id');
    CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON notes BEGIN
        INSERT INTO texts (rowid, title, body) VALUES (new.id, new.title, new.body);
    END;
    CREATE TRIGGER IF NOT EXISTS deleted AFTER DELETE ON notes BEGIN
        INSERT INTO texts (texts, rowid, title, body)
            VALUES ('delete', old.id, old.title, old.body);
    END;
    CREATE TRIGGER IF NOT EXISTS edited AFTER UPDATE ON notes BEGIN
        INSERT INTO texts (texts, rowid, title, body)
            VALUES ('delete', old.id, old.title, old.body);
        INSERT INTO texts (rowid, title, body) VALUES (new.id, new.title, new.body);
    END;";

/// The maximum number of completions in a reply (100), plus one so that the server sees that there
/// are more.
const MAX_SUGGESTIONS: usize = 101;

/// The notes. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Store(Arc<Mutex<Connection>>);

/// A note.
#[data]
pub(crate) struct Note {
    pub(crate) id: i64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) tags: Vec<String>,
}

/// A search result.
#[data]
pub(crate) struct Summary {
    pub(crate) id: i64,
    pub(crate) title: String,
    /// The first characters of the text.
    beginning: String,
}

/// A page of notes.
#[data]
pub(crate) struct Page {
    pub(crate) notes: Vec<Summary>,
    /// The cursor of the next page, if there is one.
    pub(crate) next_cursor: Option<String>,
}

/// A search for notes.
#[derive(Default)]
pub(crate) struct SearchQuery {
    /// Words that the notes contain.
    pub(crate) text: String,
    /// A tag that the notes have.
    pub(crate) tag: Option<String>,
    /// The id below which the results begin.
    pub(crate) before: Option<i64>,
    /// The maximum number of results.
    pub(crate) limit: usize,
}

/// A change of a note. `None` leaves a field unchanged.
pub(crate) struct Change {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
}

impl SearchQuery {
    pub(crate) fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

impl Store {
    /// Opens the database and creates missing tables.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Locks the connection. A poisoned lock is harmless: the transaction of a handler that
    /// panicked was rolled back.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a note and returns it.
    pub(crate) fn add(&self, title: &str, body: &str, tags: &[String]) -> Result<Note> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        transaction.execute(
            "INSERT INTO notes (title, body) VALUES (?, ?)",
            [title, body],
        )?;
        let id = transaction.last_insert_rowid();
        insert_tags(&transaction, id, tags)?;
        let note = load_note(&transaction, id)?;
        transaction.commit()?;
        Ok(note)
    }

    /// Updates a note and returns it, or `None` if there is no such note.
    pub(crate) fn edit(&self, id: i64, change: &Change) -> Result<Option<Note>> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        let changed = transaction.execute(
            "UPDATE notes SET title = ifnull(?, title), body = ifnull(?, body) WHERE id = ?",
            params![change.title, change.body, id],
        )?;
        if changed == 0 {
            return Ok(None);
        }
        if let Some(tags) = &change.tags {
            transaction.execute("DELETE FROM tags WHERE note = ?", [id])?;
            insert_tags(&transaction, id, tags)?;
        }
        let note = load_note(&transaction, id)?;
        transaction.commit()?;
        Ok(Some(note))
    }

    /// Deletes a note and returns whether there was one.
    pub(crate) fn delete(&self, id: i64) -> Result<bool> {
        let deleted = self
            .connection()
            .execute("DELETE FROM notes WHERE id = ?", [id])?;
        Ok(deleted > 0)
    }

    /// Returns a note, if there is one with this id.
    pub(crate) fn note(&self, id: i64) -> Result<Option<Note>> {
        load_note(&self.connection(), id).optional()
    }

    /// Returns a page of matching notes, the newest first.
    pub(crate) fn search(&self, search_query: &SearchQuery) -> Result<Page> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT id, title, substr(body, 1, 120) FROM notes
             WHERE (?1 = '' OR id IN (SELECT rowid FROM texts WHERE texts MATCH ?1))
               AND (?2 IS NULL OR id IN (SELECT note FROM tags WHERE tag = ?2))
               AND (?3 IS NULL OR id < ?3)
             ORDER BY id DESC LIMIT ?4",
        )?;
        // One result more than asked for shows that another page follows.
        let limit = search_query.limit as i64 + 1;
        let found = query.query_map(
            params![
                full_text_query(&search_query.text),
                search_query.tag,
                search_query.before,
                limit
            ],
            read_summary,
        )?;
        let mut notes = found.collect::<Result<Vec<_>>>()?;
        let more = notes.len() > search_query.limit;
        notes.truncate(search_query.limit);
        let last = notes.last().filter(|_| more);
        Ok(Page {
            next_cursor: last.map(|note| note.id.to_string()),
            notes,
        })
    }

    /// Returns the ids with this prefix, the newest first.
    pub(crate) fn ids(&self, prefix: &str) -> Result<Vec<String>> {
        self.query_texts(
            "SELECT id FROM notes WHERE id GLOB ?1 || '*' ORDER BY id DESC LIMIT ?2",
            prefix,
        )
    }

    /// Returns the tags with this prefix.
    pub(crate) fn tags(&self, prefix: &str) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT tag FROM tags WHERE substr(tag, 1, length(?1)) = ?1
                   ORDER BY tag LIMIT ?2";
        self.query_texts(sql, prefix)
    }

    fn query_texts(&self, sql: &str, prefix: &str) -> Result<Vec<String>> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(sql)?;
        let found = query.query_map(params![prefix, MAX_SUGGESTIONS as i64], |row| {
            Ok(match row.get_ref(0)? {
                rusqlite::types::ValueRef::Integer(id) => id.to_string(),
                text => text.as_str()?.to_owned(),
            })
        })?;
        found.collect()
    }
}

fn load_note(connection: &Connection, id: i64) -> Result<Note> {
    let mut query =
        connection.prepare_cached("SELECT tag FROM tags WHERE note = ? ORDER BY tag")?;
    let tags = query
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_>>()?;
    connection.query_row("SELECT title, body FROM notes WHERE id = ?", [id], |row| {
        Ok(Note {
            id,
            title: row.get(0)?,
            body: row.get(1)?,
            tags,
        })
    })
}

fn read_summary(row: &Row<'_>) -> Result<Summary> {
    Ok(Summary {
        id: row.get(0)?,
        title: row.get(1)?,
        beginning: row.get(2)?,
    })
}

fn insert_tags(transaction: &Transaction<'_>, id: i64, tags: &[String]) -> Result<()> {
    let mut insert =
        transaction.prepare_cached("INSERT OR IGNORE INTO tags (note, tag) VALUES (?, ?)")?;
    for tag in tags {
        insert.execute(params![id, tag.trim()])?;
    }
    Ok(())
}

/// Returns a query for all words. No word is an operator, and the last one may be a prefix.
fn full_text_query(text: &str) -> String {
    let words = text.split_whitespace();
    let quoted: Vec<String> = words
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect();
    match quoted.is_empty() {
        true => String::new(),
        false => format!("{}*", quoted.join(" ")),
    }
}
