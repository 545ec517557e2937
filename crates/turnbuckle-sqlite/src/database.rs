//! The operations of a store as SQL. Times are milliseconds since the Unix epoch.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use turnbuckle_store::{
    AppendAt, Claim, Condition, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

/// The most rows of each table that one clean-up removes, and the most entries beyond those that it
/// appends that one append removes.
const CLEANUP_ROWS: i64 = 512;

/// The most messages that are read at once.
const MAX_MESSAGES: i64 = 64;

/// A message that was published, by this store or another one.
pub(crate) struct Message {
    pub(crate) id: i64,
    pub(crate) topic: StoreKey,
    pub(crate) sender: i64,
    pub(crate) bytes: Bytes,
}

/// The tables of a store.
pub(crate) struct Database(Connection);

type Result<T> = rusqlite::Result<T>;

impl Database {
    pub(crate) fn new(connection: Connection) -> Self {
        Self(connection)
    }

    /// Begins a transaction that holds the lock of writers from its start.
    fn write(&mut self) -> Result<Transaction<'_>> {
        self.0
            .transaction_with_behavior(TransactionBehavior::Immediate)
    }

    pub(crate) fn get(&self, key: &StoreKey, now: i64) -> Result<Option<Versioned>> {
        let sql = "SELECT version, bytes FROM value WHERE key = ?1 AND expires > ?2";
        let mut statement = self.0.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Versioned {
                version: Version(row.get::<_, i64>(0)?.unsigned_abs()),
                value: row.get::<_, Vec<u8>>(1)?.into(),
            })
        };
        statement
            .query_row(params![key.as_str(), now], read)
            .optional()
    }

    pub(crate) fn put(
        &mut self,
        key: &StoreKey,
        value: &[u8],
        when: Condition,
        now: i64,
        expires: i64,
    ) -> Result<Option<Version>> {
        let transaction = self.write()?;
        if when != Condition::Always {
            let sql = "SELECT version FROM value WHERE key = ?1 AND expires > ?2";
            let mut statement = transaction.prepare_cached(sql)?;
            let current =
                statement.query_row(params![key.as_str(), now], |row| row.get::<_, i64>(0));
            let current = current.optional()?.map(|it| Version(it.unsigned_abs()));
            if !when.holds(current) {
                return Ok(None);
            }
        }
        // A row of its own for each version, whose number is never given again.
        let sql = "INSERT OR REPLACE INTO value (key, bytes, expires) VALUES (?1, ?2, ?3)";
        let put = params![key.as_str(), value, expires];
        transaction.prepare_cached(sql)?.execute(put)?;
        let version = Version(transaction.last_insert_rowid().unsigned_abs());
        transaction.commit()?;
        Ok(Some(version))
    }

    pub(crate) fn remove(&self, key: &StoreKey, when: Condition, now: i64) -> Result<bool> {
        let version = match when {
            Condition::Absent => return Ok(false),
            Condition::Always => None,
            Condition::Version(version) => Some(to_i64(version.0)),
        };
        let sql = "DELETE FROM value
            WHERE key = ?1 AND expires > ?2 AND (?3 IS NULL OR version = ?3)";
        let mut statement = self.0.prepare_cached(sql)?;
        Ok(statement.execute(params![key.as_str(), now, version])? > 0)
    }

    pub(crate) fn touch(&mut self, keys: &[StoreKey], now: i64, expires: i64) -> Result<()> {
        let transaction = self.write()?;
        {
            let sql = "UPDATE value SET expires = ?3 WHERE key = ?1 AND expires > ?2";
            let mut statement = transaction.prepare_cached(sql)?;
            for key in keys {
                statement.execute(params![key.as_str(), now, expires])?;
            }
        }
        transaction.commit()
    }

    pub(crate) fn append(
        &mut self,
        name: &StoreKey,
        at: AppendAt,
        entries: &[Bytes],
        keep: u64,
        now: i64,
        expires: i64,
    ) -> Result<Option<Position>> {
        let transaction = self.write()?;
        let log = find_or_create_log(&transaction, name, now)?;
        if !at.follows(Position(log.last.unsigned_abs())) {
            // Without a commit nothing has changed.
            return Ok(None);
        }
        let mut last = log.last;
        {
            let sql = "INSERT INTO entry (log, position, bytes) VALUES (?1, ?2, ?3)";
            let mut statement = transaction.prepare_cached(sql)?;
            for entry in entries {
                last += 1;
                statement.execute(params![log.id, last, &**entry])?;
            }
        }
        let first = log
            .first
            .max(last.saturating_sub(to_i64(keep)).saturating_add(1));
        transaction
            .prepare_cached("UPDATE log SET first = ?2, last = ?3, expires = ?4 WHERE id = ?1")?
            .execute(params![log.id, first, last, expires])?;
        if first > log.first {
            let sql = "DELETE FROM entry WHERE log = ?1 AND position < ?2
                AND position < (SELECT min(position) FROM entry WHERE log = ?1) + ?3";
            let most = CLEANUP_ROWS + entries.len() as i64;
            transaction
                .prepare_cached(sql)?
                .execute(params![log.id, first, most])?;
        }
        transaction.commit()?;
        Ok(Some(Position(last.unsigned_abs())))
    }

    pub(crate) fn read(
        &mut self,
        name: &StoreKey,
        after: Position,
        limit: ReadLimit,
        now: i64,
    ) -> Result<LogSlice> {
        // One view of both tables.
        let transaction = self.0.transaction()?;
        let sql = "SELECT id, first, last FROM log WHERE name = ?1 AND expires > ?2";
        let log = transaction
            .prepare_cached(sql)?
            .query_row(params![name.as_str(), now], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, i64>(2)?,
                ))
            })
            .optional()?;
        let Some((id, first, last)) = log else {
            return Ok(LogSlice::default());
        };
        let start = first.max(to_i64(after.0).saturating_add(1));
        let mut entries = Vec::new();
        if start <= last {
            let sql = "SELECT bytes FROM entry WHERE log = ?1 AND position >= ?2
                ORDER BY position LIMIT ?3";
            let mut statement = transaction.prepare_cached(sql)?;
            let mut rows = statement.query(params![id, start, to_i64(limit.entries as u64)])?;
            let mut bytes = 0;
            while let Some(row) = rows.next()? {
                let entry = row.get_ref(0)?.as_blob()?;
                bytes += entry.len();
                if bytes > limit.bytes && !entries.is_empty() {
                    break;
                }
                entries.push(Bytes::copy_from_slice(entry));
            }
        }
        let position = |number: i64| Position(number.unsigned_abs());
        Ok(LogSlice {
            start: position(if entries.is_empty() { 0 } else { start }),
            entries,
            first: position(first),
            last: position(last),
        })
    }

    pub(crate) fn publish(
        &self,
        topic: &StoreKey,
        message: &[u8],
        sender: i64,
        expires: i64,
    ) -> Result<()> {
        let sql = "INSERT INTO message (topic, sender, bytes, expires) VALUES (?1, ?2, ?3, ?4)";
        let row = params![topic.as_str(), sender, message, expires];
        self.0.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Returns a number that differs from the one before once another connection has written.
    pub(crate) fn data_version(&self) -> Result<i64> {
        let mut statement = self.0.prepare_cached("PRAGMA data_version")?;
        statement.query_row([], |row| row.get(0))
    }

    /// Returns the id of the newest message that was ever published; 0 if there was none.
    pub(crate) fn last_message(&self) -> Result<i64> {
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'message'";
        let mut statement = self.0.prepare_cached(sql)?;
        let last = statement.query_row([], |row| row.get(0)).optional()?;
        Ok(last.unwrap_or(0))
    }

    /// Returns the oldest messages behind one, in the order in which they were published.
    pub(crate) fn messages(&self, after: i64) -> Result<Vec<Message>> {
        let sql = "SELECT id, topic, sender, bytes FROM message WHERE id > ?1 ORDER BY id LIMIT ?2";
        let mut statement = self.0.prepare_cached(sql)?;
        let rows = statement.query_map(params![after, MAX_MESSAGES], |row| {
            let topic: String = row.get(1)?;
            let invalid = |_| rusqlite::Error::InvalidColumnName("topic".to_owned());
            Ok(Message {
                id: row.get(0)?,
                topic: StoreKey::new(topic).map_err(invalid)?,
                sender: row.get(2)?,
                bytes: row.get::<_, Vec<u8>>(3)?.into(),
            })
        })?;
        rows.collect()
    }

    pub(crate) fn push(&self, queue: &StoreKey, job: &[u8], expires: i64) -> Result<()> {
        let sql = "INSERT INTO job (queue, bytes, expires) VALUES (?1, ?2, ?3)";
        let row = params![queue.as_str(), job, expires];
        self.0.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    pub(crate) fn claim(
        &mut self,
        queue: &StoreKey,
        now: i64,
        hidden_until: i64,
    ) -> Result<Option<Claim>> {
        let find = "SELECT id FROM job WHERE queue = ?1 AND expires > ?2 AND hidden_until <= ?2
            ORDER BY id LIMIT 1";
        let find_job = |connection: &Connection| {
            let mut statement = connection.prepare_cached(find)?;
            let found =
                statement.query_row(params![queue.as_str(), now], |row| row.get::<_, i64>(0));
            found.optional()
        };
        // Without a lock first: most queues are empty most of the time.
        if find_job(&self.0)?.is_none() {
            return Ok(None);
        }
        let transaction = self.write()?;
        let Some(id) = find_job(&transaction)? else {
            return Ok(None);
        };
        let sql = "UPDATE job SET hidden_until = ?2, token = token + 1, attempt = attempt + 1
            WHERE id = ?1 RETURNING token, attempt, bytes";
        let claim =
            transaction
                .prepare_cached(sql)?
                .query_row(params![id, hidden_until], |row| {
                    Ok(Claim {
                        queue: queue.clone(),
                        id: id.unsigned_abs().into(),
                        token: row.get::<_, i64>(0)?.unsigned_abs(),
                        attempt: row.get(1)?,
                        job: row.get::<_, Vec<u8>>(2)?.into(),
                    })
                })?;
        transaction.commit()?;
        Ok(Some(claim))
    }

    pub(crate) fn extend(&self, claim: &Claim, now: i64, hidden_until: i64) -> Result<bool> {
        let sql = "UPDATE job SET hidden_until = ?5
            WHERE id = ?1 AND queue = ?2 AND token = ?3 AND expires > ?4";
        let (id, token) = claim_numbers(claim);
        let row = params![id, claim.queue.as_str(), token, now, hidden_until];
        Ok(self.0.prepare_cached(sql)?.execute(row)? > 0)
    }

    pub(crate) fn complete(&self, claim: &Claim, now: i64) -> Result<bool> {
        let sql = "DELETE FROM job WHERE id = ?1 AND queue = ?2 AND token = ?3 AND expires > ?4";
        let (id, token) = claim_numbers(claim);
        let row = params![id, claim.queue.as_str(), token, now];
        Ok(self.0.prepare_cached(sql)?.execute(row)? > 0)
    }

    /// Removes rows that have expired, a bounded number. Returns the number of removed rows.
    pub(crate) fn remove_expired(&mut self, now: i64) -> Result<usize> {
        let transaction = self.write()?;
        let mut removed = 0;
        for sql in [
            "DELETE FROM value WHERE version IN
                (SELECT version FROM value WHERE expires <= ?1 LIMIT ?2)",
            "DELETE FROM message WHERE id IN (SELECT id FROM message WHERE expires <= ?1 LIMIT ?2)",
            "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE expires <= ?1 LIMIT ?2)",
            "DELETE FROM entry WHERE (log, position) IN
                (SELECT entry.log, entry.position FROM log JOIN entry ON entry.log = log.id
                WHERE log.expires <= ?1 LIMIT ?2)",
            "DELETE FROM log WHERE id IN
                (SELECT id FROM log WHERE expires <= ?1
                AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.log = log.id) LIMIT ?2)",
        ] {
            let mut statement = transaction.prepare_cached(sql)?;
            removed += statement.execute(params![now, CLEANUP_ROWS])?;
        }
        transaction.commit()?;
        Ok(removed)
    }

    /// Returns the time at which the next row expires.
    pub(crate) fn next_expiry(&self) -> Result<Option<i64>> {
        let sql = "SELECT min(expires) FROM (
            SELECT min(expires) AS expires FROM value
            UNION ALL SELECT min(expires) FROM log
            UNION ALL SELECT min(expires) FROM message
            UNION ALL SELECT min(expires) FROM job)";
        self.0.prepare_cached(sql)?.query_row([], |row| row.get(0))
    }

    /// Returns the number of values, entries of logs, and jobs, for tests.
    #[cfg(test)]
    pub(crate) fn count(&self) -> Result<u64> {
        let sql = "SELECT (SELECT count(*) FROM value) + (SELECT count(*) FROM entry)
            + (SELECT count(*) FROM job)";
        let count = self.0.query_row(sql, [], |row| row.get::<_, i64>(0))?;
        Ok(count.unsigned_abs())
    }
}

/// A row of the table of logs.
struct Log {
    id: i64,
    first: i64,
    last: i64,
}

/// Returns the log of a name. One that has expired makes room for a new one.
fn find_or_create_log(transaction: &Connection, name: &StoreKey, now: i64) -> Result<Log> {
    let sql = "SELECT id, first, last, expires FROM log WHERE name = ?1";
    let found = transaction
        .prepare_cached(sql)?
        .query_row(params![name.as_str()], |row| {
            let log = Log {
                id: row.get(0)?,
                first: row.get(1)?,
                last: row.get(2)?,
            };
            Ok((log, row.get::<_, i64>(3)?))
        })
        .optional()?;
    match found {
        Some((log, expires)) if expires > now => return Ok(log),
        Some((log, _)) => {
            let sql = "UPDATE log SET name = NULL WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute(params![log.id])?;
        }
        None => {}
    }
    let sql = "INSERT INTO log (name, first, last, expires) VALUES (?1, 1, 0, ?2)";
    transaction
        .prepare_cached(sql)?
        .execute(params![name.as_str(), now])?;
    Ok(Log {
        id: transaction.last_insert_rowid(),
        first: 1,
        last: 0,
    })
}

fn claim_numbers(claim: &Claim) -> (i64, i64) {
    (i64::try_from(claim.id).unwrap_or(-1), to_i64(claim.token))
}

/// Returns a number for SQLite. Those that are too large for it stand behind all others.
fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
