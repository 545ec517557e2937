//! The operations of a store as SQL. Times are those of the database's clock, which is read after a statement has
//! waited for its locks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

use crate::connection::{Connection, STATEMENTS};

/// The time for which a message waits in its table for those who were notified of it.
const MESSAGE_TTL: Duration = Duration::from_secs(10);

/// The reason that an operation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Database(Error),
    /// Rows do not fit to each other.
    Changed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// A statement of an operation.
#[derive(Clone, Copy)]
enum Query {
    Get,
    Put,
    PutAbsent,
    PutVersion,
    Remove,
    Touch,
    Append,
    Read,
    Notify,
    NotifyRow,
    Message,
    Push,
    Claim,
    Extend,
    Complete,
    CleanUp,
}

const _: () = assert!(Query::CleanUp as usize + 1 == STATEMENTS);

impl Query {
    fn sql(self) -> &'static str {
        match self {
            Self::Get => {
                "SELECT version, bytes FROM {schema}.value
                WHERE key = $1 AND expires > clock_timestamp()"
            }
            Self::Put => {
                "INSERT INTO {schema}.value (key, version, bytes, expires)
                VALUES ($1, nextval('{schema}.version'), $2, clock_timestamp() + make_interval(secs => $3))
                ON CONFLICT (key) DO UPDATE SET version = excluded.version, bytes = excluded.bytes,
                    expires = excluded.expires
                RETURNING version"
            }
            Self::PutAbsent => {
                "INSERT INTO {schema}.value AS old (key, version, bytes, expires)
                VALUES ($1, nextval('{schema}.version'), $2, clock_timestamp() + make_interval(secs => $3))
                ON CONFLICT (key) DO UPDATE SET version = excluded.version, bytes = excluded.bytes,
                    expires = excluded.expires
                WHERE old.expires <= clock_timestamp()
                RETURNING version"
            }
            Self::PutVersion => {
                "UPDATE {schema}.value SET version = nextval('{schema}.version'), bytes = $2,
                    expires = clock_timestamp() + make_interval(secs => $3)
                WHERE key = $1 AND version = $4 AND expires > clock_timestamp()
                RETURNING version"
            }
            Self::Remove => {
                "DELETE FROM {schema}.value
                WHERE key = $1 AND expires > clock_timestamp() AND ($2::bigint IS NULL OR version = $2)"
            }
            // In the order of the keys, so that two of them do not wait for each other.
            Self::Touch => {
                "WITH found AS (
                    SELECT key FROM {schema}.value WHERE key = ANY($1) AND expires > clock_timestamp()
                    ORDER BY key FOR NO KEY UPDATE)
                UPDATE {schema}.value AS v SET expires = clock_timestamp() + make_interval(secs => $2)
                FROM found WHERE v.key = found.key"
            }
            Self::Append => "SELECT {schema}.append($1, $2, $3, $4, $5)",
            // Sizes are summed before bytes are read.
            Self::Read => {
                "SELECT l.first - l.base, l.last - l.base, e.position - l.base, e.bytes
                FROM {schema}.log AS l LEFT JOIN LATERAL (
                    SELECT position, bytes, row_number() OVER (ORDER BY position) AS number,
                        sum(octet_length(bytes)) OVER (ORDER BY position) AS total
                    FROM (
                        SELECT position, bytes FROM {schema}.entry
                        WHERE log = l.id AND position >= greatest(l.first, l.base + $2 + 1)
                        ORDER BY position LIMIT $3) AS next) AS e
                    ON e.number = 1 OR e.total <= $4
                WHERE l.name = $1 AND l.expires > clock_timestamp()
                ORDER BY e.position"
            }
            Self::Notify => "SELECT pg_notify($1, $2)",
            Self::NotifyRow => {
                "WITH added AS (
                    INSERT INTO {schema}.message (bytes, expires)
                    VALUES ($2, clock_timestamp() + make_interval(secs => $3)) RETURNING id)
                SELECT pg_notify($1, $4 || id) FROM added"
            }
            Self::Message => "SELECT bytes FROM {schema}.message WHERE id = $1",
            Self::Push => {
                "INSERT INTO {schema}.job (queue, bytes, expires)
                VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))"
            }
            Self::Claim => {
                "UPDATE {schema}.job SET hidden_until = clock_timestamp() + make_interval(secs => $2),
                    token = token + 1, attempt = attempt + 1
                WHERE id = (
                    SELECT id FROM {schema}.job WHERE queue = $1
                        AND expires > clock_timestamp() AND hidden_until <= clock_timestamp()
                    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
                RETURNING id, token, attempt, bytes"
            }
            Self::Extend => {
                "UPDATE {schema}.job SET hidden_until = clock_timestamp() + make_interval(secs => $4)
                WHERE id = $1 AND queue = $2 AND token = $3 AND expires > clock_timestamp()"
            }
            Self::Complete => {
                "DELETE FROM {schema}.job
                WHERE id = $1 AND queue = $2 AND token = $3 AND expires > clock_timestamp()"
            }
            Self::CleanUp => "SELECT deleted, next_in FROM {schema}.clean_up($1)",
        }
    }
}

impl Connection {
    /// Runs a statement. Returns its only row, if there is one.
    async fn row(&self, query: Query, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        let statement = self.statement(query as usize, query.sql()).await?;
        Ok(self.client().query_opt(&statement, values).await?)
    }

    /// Runs a statement. Returns the number of rows that it changed.
    async fn change(&self, query: Query, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let statement = self.statement(query as usize, query.sql()).await?;
        Ok(self.client().execute(&statement, values).await?)
    }

    pub(crate) async fn get(self: Arc<Self>, key: StoreKey) -> Result<Option<Versioned>> {
        let row = self.row(Query::Get, &[&name(&key)]).await?;
        let read = |row: Row| {
            Ok(Versioned {
                version: version(&row)?,
                value: bytes(&row, 1)?,
            })
        };
        row.map(read).transpose()
    }

    pub(crate) async fn put(
        self: Arc<Self>,
        key: StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> Result<Option<Version>> {
        let (key, value, ttl) = (name(&key), &*value, ttl.as_secs_f64());
        let row = match when {
            Condition::Always => self.row(Query::Put, &[&key, &value, &ttl]).await?,
            Condition::Absent => self.row(Query::PutAbsent, &[&key, &value, &ttl]).await?,
            Condition::Version(version) => {
                let version = to_i64(version.0);
                self.row(Query::PutVersion, &[&key, &value, &ttl, &version])
                    .await?
            }
        };
        row.map(|row| version(&row)).transpose()
    }

    pub(crate) async fn remove(self: Arc<Self>, key: StoreKey, when: Condition) -> Result<bool> {
        let version = match when {
            Condition::Absent => return Ok(false),
            Condition::Always => None,
            Condition::Version(version) => Some(to_i64(version.0)),
        };
        let removed = self.change(Query::Remove, &[&name(&key), &version]).await?;
        Ok(removed > 0)
    }

    pub(crate) async fn touch(self: Arc<Self>, keys: Arc<[StoreKey]>, ttl: Duration) -> Result<()> {
        let keys: Vec<_> = keys.iter().map(name).collect();
        self.change(Query::Touch, &[&keys, &ttl.as_secs_f64()])
            .await?;
        Ok(())
    }

    pub(crate) async fn append(
        self: Arc<Self>,
        log: StoreKey,
        at: AppendAt,
        entries: Arc<[Bytes]>,
        keep: Keep,
    ) -> Result<Option<Position>> {
        let expected = match at {
            AppendAt::End => None,
            AppendAt::Exactly(position) => Some(to_i64(position.0)),
        };
        let entries: Vec<&[u8]> = entries.iter().map(|entry| &**entry).collect();
        let (log, kept, ttl) = (name(&log), to_i64(keep.entries), keep.ttl.as_secs_f64());
        let row = self
            .row(Query::Append, &[&log, &expected, &entries, &kept, &ttl])
            .await?;
        let last: Option<i64> = row.map(|row| row.try_get(0)).transpose()?.flatten();
        Ok(last.map(|it| Position(it.unsigned_abs())))
    }

    pub(crate) async fn read(
        self: Arc<Self>,
        log: StoreKey,
        after: Position,
        limit: ReadLimit,
    ) -> Result<LogSlice> {
        // Behind the end of each log that there can be, and far from the largest number.
        let after = to_i64(after.0).min(i64::MAX / 4);
        let (entries, most) = (to_i64(limit.entries as u64), to_i64(limit.bytes as u64));
        let statement = self
            .statement(Query::Read as usize, Query::Read.sql())
            .await?;
        let rows = self
            .client()
            .query(&statement, &[&name(&log), &after, &entries, &most])
            .await?;
        slice(&rows)
    }

    /// Notifies those who listen to a channel.
    pub(crate) async fn notify(self: Arc<Self>, channel: String, payload: Arc<str>) -> Result<()> {
        self.change(Query::Notify, &[&channel, &&*payload]).await?;
        Ok(())
    }

    /// Keeps a message for a while, and notifies those who listen to a channel of its id behind a mark.
    pub(crate) async fn notify_row(
        self: Arc<Self>,
        channel: String,
        mark: &'static str,
        message: Bytes,
    ) -> Result<()> {
        let ttl = MESSAGE_TTL.as_secs_f64();
        self.change(Query::NotifyRow, &[&channel, &&*message, &ttl, &mark])
            .await?;
        Ok(())
    }

    /// Returns a message that was kept.
    pub(crate) async fn message(self: Arc<Self>, id: i64) -> Result<Option<Bytes>> {
        let row = self.row(Query::Message, &[&id]).await?;
        row.map(|row| bytes(&row, 0)).transpose()
    }

    pub(crate) async fn push(
        self: Arc<Self>,
        queue: StoreKey,
        job: Bytes,
        ttl: Duration,
    ) -> Result<()> {
        let ttl = ttl.as_secs_f64();
        self.change(Query::Push, &[&name(&queue), &&*job, &ttl])
            .await?;
        Ok(())
    }

    pub(crate) async fn claim(
        self: Arc<Self>,
        queue: StoreKey,
        hidden_for: Duration,
    ) -> Result<Option<Claim>> {
        let hidden = hidden_for.as_secs_f64();
        let row = self.row(Query::Claim, &[&name(&queue), &hidden]).await?;
        let Some(row) = row else {
            return Ok(None);
        };
        Ok(Some(Claim {
            queue,
            id: row.try_get::<_, i64>(0)?.unsigned_abs().into(),
            token: row.try_get::<_, i64>(1)?.unsigned_abs(),
            attempt: row.try_get::<_, i32>(2)?.unsigned_abs(),
            job: bytes(&row, 3)?,
        }))
    }

    pub(crate) async fn extend(
        self: Arc<Self>,
        claim: Arc<Claim>,
        hidden_for: Duration,
    ) -> Result<bool> {
        let (id, token) = claim_numbers(&claim);
        let (queue, hidden) = (name(&claim.queue), hidden_for.as_secs_f64());
        let extended = self
            .change(Query::Extend, &[&id, &queue, &token, &hidden])
            .await?;
        Ok(extended > 0)
    }

    pub(crate) async fn complete(self: Arc<Self>, claim: Arc<Claim>) -> Result<bool> {
        let (id, token) = claim_numbers(&claim);
        let completed = self
            .change(Query::Complete, &[&id, &name(&claim.queue), &token])
            .await?;
        Ok(completed > 0)
    }

    /// Removes up to `most` rows of each table that have expired. Returns the largest number that was removed
    /// of one table, and the time until the next row expires.
    pub(crate) async fn clean_up(self: Arc<Self>, most: i64) -> Result<(i64, Option<Duration>)> {
        let row = self.row(Query::CleanUp, &[&most]).await?;
        let row = row.ok_or(Failure::Changed)?;
        let next: Option<f64> = row.try_get(1)?;
        let next = next.map(|next| Duration::try_from_secs_f64(next).unwrap_or_default());
        Ok((row.try_get(0)?, next))
    }
}

/// Returns the part of a log that rows hold.
fn slice(rows: &[Row]) -> Result<LogSlice> {
    let Some(first_row) = rows.first() else {
        return Ok(LogSlice::default());
    };
    let (first, last): (i64, i64) = (first_row.try_get(0)?, first_row.try_get(1)?);
    if first < 1 || last < first {
        return Err(Failure::Changed);
    }
    let position = |number: i64| Position(number.unsigned_abs());
    let mut slice = LogSlice {
        first: position(first),
        last: position(last),
        ..LogSlice::default()
    };
    let Some(start) = first_row.try_get::<_, Option<i64>>(2)? else {
        return Ok(slice);
    };
    slice.start = position(start);
    for (expected, row) in (start..).zip(rows) {
        if row.try_get::<_, i64>(2)? != expected {
            return Err(Failure::Changed);
        }
        slice.entries.push(bytes(row, 3)?);
    }
    Ok(slice)
}

fn name(key: &StoreKey) -> &[u8] {
    key.as_str().as_bytes()
}

fn version(row: &Row) -> Result<Version> {
    Ok(Version(row.try_get::<_, i64>(0)?.unsigned_abs()))
}

fn bytes(row: &Row, column: usize) -> Result<Bytes> {
    Ok(Bytes::copy_from_slice(row.try_get(column)?))
}

fn claim_numbers(claim: &Claim) -> (i64, i64) {
    (i64::try_from(claim.id).unwrap_or(-1), to_i64(claim.token))
}

/// Returns a number for PostgreSQL. Those that are too large for it stand behind all others.
fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
