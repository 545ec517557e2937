//! The tables of a store, in a schema of their own.

use tokio_postgres::{Client, GenericClient, SimpleQueryMessage};
use turnbuckle_store::{StoreError, StoreErrorKind};

use crate::error::operation_error;

/// The version of the tables. A store with a higher one was written by a newer release.
pub(crate) const SCHEMA_VERSION: i64 = 1;

const TABLES: &str = include_str!("schema.sql");

/// Returns SQL for a schema, whose name stands for `{schema}` in the text.
pub(crate) fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("{schema}", schema)
}

/// Checks the version of the tables, and creates them if there are none. One instance at a time does so.
pub(crate) async fn prepare(client: &mut Client, schema: &str) -> Result<(), StoreError> {
    let failed = |error| operation_error(&error);
    if let Some(version) = read_version(client, schema).await? {
        return check_version(schema, version);
    }
    let transaction = client.transaction().await.map_err(failed)?;
    let lock = in_schema(
        "SELECT pg_advisory_xact_lock(hashtextextended('turnbuckle: create {schema}', 0))",
        schema,
    );
    transaction.batch_execute(&lock).await.map_err(failed)?;
    if read_version(&transaction, schema).await?.is_none() {
        let exists = in_schema(
            "SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'",
            schema,
        );
        if read_text(&transaction, &exists).await?.is_none() {
            let create = in_schema("CREATE SCHEMA {schema}", schema);
            transaction.batch_execute(&create).await.map_err(failed)?;
        }
        let tables = in_schema(TABLES, schema);
        transaction.batch_execute(&tables).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)?;
    let version = read_version(client, schema).await?;
    check_version(schema, version.unwrap_or_default())
}

/// Returns the version of the tables: `None` if there are none, 0 if it cannot be read.
async fn read_version(
    client: &impl GenericClient,
    schema: &str,
) -> Result<Option<i64>, StoreError> {
    // Not `to_regclass`, which may miss what another instance has created just now.
    let exists = in_schema(
        "SELECT 1 FROM pg_tables WHERE schemaname = '{schema}' AND tablename = 'format'",
        schema,
    );
    if read_text(client, &exists).await?.is_none() {
        return Ok(None);
    }
    let version = in_schema("SELECT max(version) FROM {schema}.format", schema);
    let version = read_text(client, &version).await?;
    Ok(Some(version.and_then(|it| it.parse().ok()).unwrap_or(0)))
}

/// Returns the first column of the first row of a query.
async fn read_text(client: &impl GenericClient, sql: &str) -> Result<Option<String>, StoreError> {
    let messages = client.simple_query(sql).await;
    let messages = messages.map_err(|error| operation_error(&error))?;
    Ok(messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten().map(str::to_owned),
        _ => None,
    }))
}

fn check_version(schema: &str, version: i64) -> Result<(), StoreError> {
    if version > SCHEMA_VERSION {
        let text = format!(
            "the schema {schema} has version {version} of the tables, and this release knows version \
             {SCHEMA_VERSION}: use the release that wrote it, or set another PostgresStoreOptions::schema"
        );
        return Err(StoreError::new(StoreErrorKind::NewerVersion, text));
    }
    if version < 1 {
        let text = format!(
            "the schema {schema} has no version of the tables in its table `format`: drop the schema, or set \
             another PostgresStoreOptions::schema"
        );
        return Err(StoreError::new(StoreErrorKind::Corrupt, text));
    }
    Ok(())
}
