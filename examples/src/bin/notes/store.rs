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

/// The most suggestions, plus one to detect that there are more.
const SUGGESTIONS: usize = 101;

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
    /// The beginning of the text.
    beginning: String,
}

/// A page of notes.
#[data]
pub(crate) struct Page {
    pub(crate) notes: Vec<Summary>,
    /// The start of the next page, if there is one.
    next_cursor: Option<String>,
}

/// A search for notes.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Words that the notes contain.
    pub(crate) text: String,
    /// A tag that the notes have.
    pub(crate) tag: Option<String>,
    /// Only notes before this one.
    pub(crate) before: Option<i64>,
    /// The most results.
    pub(crate) limit: usize,
}

/// A change of a note.
pub(crate) struct Change {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
}

impl Wanted {
    pub(crate) fn at_most(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

impl Store {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// A handler that panicked has not left a transaction open: it was rolled back.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, title: &str, body: &str, tags: &[String]) -> Result<Note> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        transaction.execute(
            "INSERT INTO notes (title, body) VALUES (?, ?)",
            [title, body],
        )?;
        let id = transaction.last_insert_rowid();
        tag(&transaction, id, tags)?;
        let note = note(&transaction, id)?;
        transaction.commit()?;
        Ok(note)
    }

    /// Changes a note and returns it, or `None` if there is no such note.
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
            tag(&transaction, id, tags)?;
        }
        let note = note(&transaction, id)?;
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

    pub(crate) fn note(&self, id: i64) -> Result<Option<Note>> {
        note(&self.connection(), id).optional()
    }

    /// Returns a page of matching notes, the newest first.
    pub(crate) fn search(&self, wanted: &Wanted) -> Result<Page> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(
            "SELECT id, title, substr(body, 1, 120) FROM notes
             WHERE (?1 = '' OR id IN (SELECT rowid FROM texts WHERE texts MATCH ?1))
               AND (?2 IS NULL OR id IN (SELECT note FROM tags WHERE tag = ?2))
               AND (?3 IS NULL OR id < ?3)
             ORDER BY id DESC LIMIT ?4",
        )?;
        // One more tells whether another page follows.
        let limit = wanted.limit as i64 + 1;
        let found = query.query_map(
            params![phrase(&wanted.text), wanted.tag, wanted.before, limit],
            summary,
        )?;
        let mut notes = found.collect::<Result<Vec<_>>>()?;
        let more = notes.len() > wanted.limit;
        notes.truncate(wanted.limit);
        let last = notes.last().filter(|_| more);
        Ok(Page {
            next_cursor: last.map(|note| note.id.to_string()),
            notes,
        })
    }

    /// Returns the id of the note with this many newer notes.
    pub(crate) fn nth_newest(&self, n: usize) -> Result<Option<i64>> {
        let sql = "SELECT id FROM notes ORDER BY id DESC LIMIT 1 OFFSET ?";
        let found = self
            .connection()
            .query_row(sql, [n as i64], |row| row.get(0));
        found.optional()
    }

    /// Returns the ids with this prefix, the newest first.
    pub(crate) fn ids(&self, begin: &str) -> Result<Vec<String>> {
        self.texts(
            "SELECT id FROM notes WHERE id GLOB ?1 || '*' ORDER BY id DESC LIMIT ?2",
            begin,
        )
    }

    /// Returns the tags with this prefix.
    pub(crate) fn tags(&self, begin: &str) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT tag FROM tags WHERE substr(tag, 1, length(?1)) = ?1
                   ORDER BY tag LIMIT ?2";
        self.texts(sql, begin)
    }

    fn texts(&self, sql: &str, begin: &str) -> Result<Vec<String>> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(sql)?;
        let found = query.query_map(params![begin, SUGGESTIONS as i64], |row| {
            Ok(match row.get_ref(0)? {
                rusqlite::types::ValueRef::Integer(id) => id.to_string(),
                text => text.as_str()?.to_owned(),
            })
        })?;
        found.collect()
    }
}

fn note(connection: &Connection, id: i64) -> Result<Note> {
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

fn summary(row: &Row<'_>) -> Result<Summary> {
    Ok(Summary {
        id: row.get(0)?,
        title: row.get(1)?,
        beginning: row.get(2)?,
    })
}

fn tag(transaction: &Transaction<'_>, id: i64, tags: &[String]) -> Result<()> {
    let mut insert =
        transaction.prepare_cached("INSERT OR IGNORE INTO tags (note, tag) VALUES (?, ?)")?;
    for tag in tags {
        insert.execute(params![id, tag.trim()])?;
    }
    Ok(())
}

/// Returns a query for all words. No word is an operator, and the last one may be a prefix.
fn phrase(text: &str) -> String {
    let words = text.split_whitespace();
    let quoted: Vec<String> = words
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect();
    match quoted.is_empty() {
        true => String::new(),
        false => format!("{}*", quoted.join(" ")),
    }
}
