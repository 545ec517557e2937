//! A server for one SQLite database file: queries, tables, and a memo of insights.
//!
//! A query can read only, whatever it says: SQLite asks for each of its actions. No statement attaches another
//! file, loads an extension, sets a pragma, or runs without end.

mod database;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use turnbuckle::prelude::*;
use turnbuckle::types::{CallToolResult, GetPromptResult, PromptMessage, Role, ToolAnnotations};
use turnbuckle::{Args, Cancellation, ServerBuilder};
use turnbuckle_types::base::setters;

use crate::Error;
use database::{Access, Database, Rows, describe};

/// The URI of the memo.
const MEMO: &str = "memo://insights";

/// The insights of the memo.
const MAX_INSIGHTS: usize = 1_000;

/// The bytes of an insight.
const MAX_INSIGHT_BYTES: usize = 10_000;

/// Options of the server.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    path: PathBuf,
    read_only: bool,
    max_rows: usize,
    max_result_bytes: usize,
    query_timeout: Duration,
}

impl Options {
    /// Creates options for a database file, which is created if there is none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            read_only: false,
            max_rows: 1_000,
            max_result_bytes: 1 << 20,
            query_timeout: Duration::from_secs(10),
        }
    }

    setters! {
        /// Leaves out the tools that change the database.
        read_only(read_only: bool) { read_only = read_only }

        /// Sets how many rows of a result are returned. Default: 1,000.
        max_rows(rows: usize) { max_rows = rows }

        /// Sets how many bytes of a result are returned. Default: 1 MiB.
        max_result_bytes(bytes: usize) { max_result_bytes = bytes }

        /// Sets the time for a statement. Default: 10 seconds.
        query_timeout(timeout: Duration) { query_timeout = timeout }
    }
}

/// Creates the server.
///
/// # Errors
/// When the database cannot be opened or created, or the path names no file: `:memory:`.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    create(&options)?;
    let read_only = options.read_only;
    let database = Arc::new(Database {
        path: options.path,
        max_rows: options.max_rows,
        max_result_bytes: options.max_result_bytes,
        query_timeout: options.query_timeout,
        permits: Database::permits(),
        query_access: match read_only {
            true => Access::Read,
            false => Access::Query,
        },
    });
    let memo = Arc::new(Memo::default());
    let read = memo.clone();
    let mut server = Server::new("sqlite", env!("CARGO_PKG_VERSION"))
        .title("SQLite")
        .tool(read_query(database.clone()))
        .tool(list_tables(database.clone()))
        .tool(describe_table(database.clone()))
        .tool(append_insight(memo))
        .resource(
            Resource::builder(MEMO, "Business Insights Memo")
                .description("The insights so far")
                .mime_type("text/plain")
                .handler(move || read.text()),
        )
        .prompt(demo_prompt());
    if !read_only {
        server = server
            .tool(write_query(database.clone()))
            .tool(create_table(database));
    }
    Ok(server)
}

/// Creates the database file and the folders above it, and looks whether it is a database.
fn create(options: &Options) -> Result<(), Error> {
    let shown = options.path.display();
    if ["", ":memory:"]
        .iter()
        .any(|name| options.path == Path::new(name))
    {
        return Err(Error::new(format!(
            "the database {shown:?} would be empty at each call: name a file, which is created if there is none"
        )));
    }
    let access = match options.read_only {
        true => Access::Read,
        false => Access::Write,
    };
    let open = || {
        if let (Access::Write, Some(folder)) = (access, options.path.parent()) {
            // A folder that cannot be made is the error of the database.
            let _ = std::fs::create_dir_all(folder);
        }
        rusqlite::Connection::open_with_flags(&options.path, access.open_flags())
    };
    let check = |connection: rusqlite::Connection| {
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))
    };
    open().and_then(check).map_err(|error| {
        let text = format!("cannot open the database {shown}: {}", describe(&error));
        Error::new(text).with_source(error)
    })
}

#[derive(Deserialize, JsonSchema)]
struct ReadQuery {
    /// The query, as SQL that reads
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct WriteQuery {
    /// The statement, as SQL
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct CreateTable {
    /// The statement, which begins with CREATE TABLE
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct DescribeTable {
    /// The table to describe
    table_name: String,
}

#[derive(Deserialize, JsonSchema)]
struct AppendInsight {
    /// The insight, in a sentence
    insight: String,
}

#[derive(Deserialize, JsonSchema)]
struct Demo {
    /// A subject for the data
    topic: String,
}

fn reads() -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only_hint(true)
        .open_world_hint(false)
}

fn changes(is_destructive: bool) -> ToolAnnotations {
    ToolAnnotations::new()
        .destructive_hint(is_destructive)
        .open_world_hint(false)
}

fn read_query(database: Arc<Database>) -> Tool {
    Tool::builder("read_query")
        .description("Runs a query that reads, and returns its rows as JSON")
        .annotations(reads())
        .handler(
            move |Args(ReadQuery { query }): Args<ReadQuery>, cancellation: Cancellation| {
                let database = database.clone();
                async move {
                    let read = database.run(cancellation, move |call| call.read(&query));
                    read.await?.into_result()
                }
            },
        )
}

fn write_query(database: Arc<Database>) -> Tool {
    Tool::builder("write_query")
        .description("Runs a statement that changes data, and returns the number of rows")
        .annotations(changes(true))
        .handler(
            move |Args(WriteQuery { query }): Args<WriteQuery>, cancellation: Cancellation| {
                let database = database.clone();
                async move {
                    let written = database.run(cancellation, move |call| call.write(&query));
                    let affected = written.await?;
                    Ok::<_, Failure>(format!("[{{\"affected_rows\":{affected}}}]"))
                }
            },
        )
}

fn create_table(database: Arc<Database>) -> Tool {
    Tool::builder("create_table")
        .description("Creates a table")
        .annotations(changes(false))
        .handler(
            move |Args(CreateTable { query }): Args<CreateTable>, cancellation: Cancellation| {
                let database = database.clone();
                async move {
                    let mut words = query.split_ascii_whitespace();
                    let mut is_word = |word: &str| {
                        words
                            .next()
                            .is_some_and(|next| next.eq_ignore_ascii_case(word))
                    };
                    if !is_word("CREATE") || !is_word("TABLE") {
                        return Err(Failure::new("Only CREATE TABLE statements are allowed"));
                    }
                    let written = database.run(cancellation, move |call| call.write(&query));
                    written.await.map(|_| "Table created successfully")
                }
            },
        )
}

fn list_tables(database: Arc<Database>) -> Tool {
    Tool::builder("list_tables")
        .description("Lists the tables")
        .annotations(reads())
        .handler(move |cancellation: Cancellation| {
            let database = database.clone();
            async move {
                let sql = "SELECT name FROM sqlite_master WHERE type = 'table'";
                let read = database.run(cancellation, |call| call.describe(sql, None));
                read.await?.into_result()
            }
        })
}

fn describe_table(database: Arc<Database>) -> Tool {
    Tool::builder("describe_table")
        .description("Returns the columns of a table")
        .annotations(reads())
        .handler(
            move |Args(DescribeTable { table_name }): Args<DescribeTable>,
                  cancellation: Cancellation| {
                let database = database.clone();
                async move {
                    let sql = "SELECT * FROM pragma_table_info(?1)";
                    let read = database.run(cancellation, move |call| {
                        call.describe(sql, Some(&table_name))
                    });
                    read.await?.into_result()
                }
            },
        )
}

fn append_insight(memo: Arc<Memo>) -> Tool {
    Tool::builder("append_insight")
        .description("Adds an insight to the memo")
        .annotations(changes(false))
        .handler(
            move |Args(AppendInsight { insight }): Args<AppendInsight>,
                  server: Server|
                  -> Result<&'static str> {
                memo.add(insight)?;
                server.notify_resource_updated(MEMO);
                Ok("Insight added to memo")
            },
        )
}

impl Rows {
    /// Returns the rows as a JSON array of objects, and says whether there are more.
    fn into_result(self) -> Result<CallToolResult> {
        let text = serde_json::to_string(&self.rows)?;
        let mut content = vec![text.into()];
        if self.is_cut {
            let note = format!("[Cut: only the first {} rows are shown.]", self.rows.len());
            content.push(note.into());
        }
        Ok(CallToolResult::new().content(content))
    }
}

/// The insights, of all callers.
#[derive(Default)]
struct Memo {
    insights: Mutex<Vec<String>>,
}

impl Memo {
    fn add(&self, insight: String) -> Result<()> {
        if insight.len() > MAX_INSIGHT_BYTES {
            let text = format!("an insight may have {MAX_INSIGHT_BYTES} bytes");
            return Err(Failure::new(text));
        }
        let mut insights = self.insights.lock().unwrap_or_else(PoisonError::into_inner);
        if insights.len() == MAX_INSIGHTS {
            return Err(Failure::new(format!(
                "the memo has {MAX_INSIGHTS} insights already"
            )));
        }
        insights.push(insight);
        Ok(())
    }

    fn text(&self) -> String {
        let insights = self.insights.lock().unwrap_or_else(PoisonError::into_inner);
        if insights.is_empty() {
            return "There are no insights yet.".to_owned();
        }
        let list: Vec<String> = insights
            .iter()
            .map(|insight| format!("- {insight}"))
            .collect();
        format!("Insights:\n\n{}", list.join("\n"))
    }
}

fn demo_prompt() -> Prompt {
    Prompt::builder("mcp-demo")
        .description("Shows what the tools can do, with data on a topic")
        .handler(|Args(Demo { topic }): Args<Demo>| {
            let text = include_str!("demo.md").trim().replace("{topic}", &topic);
            let message = PromptMessage::new(Role::User, text);
            GetPromptResult::new([message]).description(format!("Demo template for {topic}"))
        })
}
