//! A server for a PostgreSQL database: read-only queries, and the columns of its tables as resources.
//!
//! Each query runs alone in a read-only transaction with a time limit. What functions may do beyond that is for
//! the role to decide: use one that may only read.

mod connections;
mod database;
mod statement;

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_postgres::types::Type;
use turnbuckle::prelude::*;
use turnbuckle::types::{CallToolResult, ToolAnnotations};
use turnbuckle::{Args, ItemName, ListPage, ListRequest, Provider, Resource, ServerBuilder};
use turnbuckle_postgres::{DatabaseAddress, PostgresStoreOptions};
use turnbuckle_types::base::{debug_fields, setters};
use url::Url;

use crate::Error;
use connections::{Connections, SessionSettings};
use database::{Database, Rows};

/// The tables of the database, a page of them.
const TABLES: &str = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' \
                      AND table_name::text > $1 ORDER BY table_name::text LIMIT $2";

/// The columns of a table, as one JSON text.
const COLUMNS: &str = "SELECT json_agg(json_build_object('column_name', column_name, 'data_type', data_type) \
                       ORDER BY ordinal_position)::text FROM information_schema.columns \
                       WHERE table_schema = 'public' AND table_name::text = $1 HAVING count(*) > 0";

/// The characters of a table's name that are escaped in its URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

/// Options of the server. `Debug` does not show the address, which can hold a password.
#[derive(Clone)]
#[must_use]
pub struct Options {
    address: String,
    max_rows: usize,
    max_result_bytes: usize,
    query_timeout: Duration,
    max_connections: usize,
}

debug_fields!(Options {
    max_rows,
    max_result_bytes,
    query_timeout,
    max_connections
});

impl Options {
    /// Creates options for the database at an address: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, or keys and
    /// values such as `host=/run/postgresql dbname=shop`.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            max_rows: 1_000,
            max_result_bytes: 1 << 20,
            query_timeout: Duration::from_secs(10),
            max_connections: 8,
        }
    }

    setters! {
        /// Sets how many rows of a result are returned. Default: 1,000.
        max_rows(rows: usize) { max_rows = rows }

        /// Sets how many bytes of a result are returned. Default: 1 MiB.
        max_result_bytes(bytes: usize) { max_result_bytes = bytes }

        /// Sets the time for a query. Default: 10 seconds.
        query_timeout(timeout: Duration) { query_timeout = timeout }

        /// Sets how many queries run at once, and how many connections are kept for a minute; further queries wait. Default: 8.
        max_connections(connections: usize) { max_connections = connections }
    }
}

/// Creates the server. It connects when it is called.
///
/// # Errors
/// When the address cannot be read.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    let address = DatabaseAddress::new(&options.address, PostgresStoreOptions::new())
        .map_err(|error| Error::new(error.to_string()).with_source(error))?;
    let base: Arc<str> = base_url(&options.address).into();
    let max_connections = options.max_connections;
    let settings = SessionSettings::new(options.query_timeout);
    let database = Arc::new(Database {
        connections: Connections::new(max_connections, settings),
        address,
        max_rows: options.max_rows,
        max_result_bytes: options.max_result_bytes,
        query_timeout: options.query_timeout,
    });
    Ok(
        Server::new("example-servers/postgres", env!("CARGO_PKG_VERSION"))
            .title("PostgreSQL")
            .max_concurrent(max_connections)
            .tool(query(database.clone()))
            .provider(tables(database, base)),
    )
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    sql: String,
}

fn query(database: Arc<Database>) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only_hint(true)
        .open_world_hint(false);
    Tool::builder("query")
        .description("Runs a query that reads, and returns its rows as JSON")
        .annotations(hints)
        .handler(move |Args(Query { sql }): Args<Query>| {
            let database = database.clone();
            async move { database.query(&sql).await?.into_result() }
        })
}

impl Rows {
    /// Returns the rows as a JSON array of objects, and says whether there are more.
    fn into_result(self) -> Result<CallToolResult> {
        let mut content = vec![serde_json::to_string_pretty(&self.rows)?.into()];
        if self.is_cut {
            let note = format!("[Cut: only the first {} rows are shown.]", self.rows.len());
            content.push(note.into());
        }
        Ok(CallToolResult::new().content(content))
    }
}

/// Returns the tables of the schema `public` as resources.
fn tables(database: Arc<Database>, base: Arc<str>) -> Provider<Resource> {
    let (listed, list_base) = (database.clone(), base.clone());
    Provider::resources("tables")
        .list(move |request: ListRequest| {
            let (database, base) = (listed.clone(), list_base.clone());
            async move {
                let after = request.cursor.unwrap_or_default();
                let limit = i64::try_from(request.limit).unwrap_or(i64::MAX);
                let names = database
                    .texts(TABLES, &[(&after, Type::TEXT), (&limit, Type::INT8)])
                    .await?;
                let next = (names.len() == request.limit)
                    .then(|| names.last().cloned())
                    .flatten();
                let tables = names.iter().map(|name| table(&database, &base, name));
                Ok::<_, Failure>(ListPage::new(tables).next_cursor(next))
            }
        })
        .find(move |ItemName(uri): ItemName| {
            let (database, base) = (database.clone(), base.clone());
            async move {
                let name = uri.strip_prefix(&*base)?.strip_suffix("/schema")?;
                let name = percent_decode_str(name).decode_utf8().ok()?;
                Some(table(&database, &base, &name))
            }
        })
}

fn table(database: &Arc<Database>, base: &str, name: &str) -> Resource {
    let escaped = utf8_percent_encode(name, ESCAPED);
    let uri = format!("{base}{escaped}/schema");
    let (database, name, missing) = (database.clone(), name.to_owned(), uri.clone());
    Resource::builder(uri, format!("\"{name}\" database schema"))
        .mime_type("application/json")
        .handler(move || {
            let (database, name, missing) = (database.clone(), name.clone(), missing.clone());
            async move {
                let columns = database.texts(COLUMNS, &[(&name, Type::TEXT)]).await?;
                let Some(columns) = columns.first() else {
                    return Err(ProtocolError::resource_not_found(missing).into());
                };
                let columns: serde_json::Value = serde_json::from_str(columns)?;
                Ok::<_, Failure>(serde_json::to_string_pretty(&columns)?)
            }
        })
}

/// Returns the URL that resources are below: the address without its password and its database.
fn base_url(address: &str) -> String {
    let base = "postgres://localhost/";
    let Ok(mut url) = Url::parse(address) else {
        return base.to_owned();
    };
    // These fail for URLs without a host, which have no password.
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.set_path("/");
    match url.has_host() && url.set_scheme("postgres").is_ok() {
        true => url.into(),
        false => base.to_owned(),
    }
}
