//! A server whose handlers break rules that the library holds for them: a check finds nothing as long as
//! it does. Where checks know the tools of the official conformance suite, the names are those.

use std::io::Write as _;
use std::time::Duration;

use tokio::time::sleep;
use turnbuckle::prelude::*;
use turnbuckle::session::handler::Limits;
use turnbuckle::skills::server::Skills;
use turnbuckle::types::{
    CallToolResult, ContentBlock, Icon, Json, Meta, ProtocolError, ResourceLink,
};
use turnbuckle::{NeedsInput, ServerBuilder, Tasks};

/// The time after which a task that a handler leaves behind goes on.
const LATER: Duration = Duration::from_millis(5);

/// A folder with a skill whose name is another than that of its folder.
const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");

/// The time that a client has for an answer: less than a check waits.
const PATIENCE: Duration = Duration::from_millis(300);

/// An error that JSON-RPC reserves, and no revision of the protocol defines.
const RESERVED_CODE: i64 = -32_050;

/// A name with a character that names of tools must not have.
const BAD_NAME: &str = "bad name";

/// Returns limits with a time for answers that checks exceed.
pub(crate) fn limits() -> Limits {
    Limits::new().request_timeout(PATIENCE)
}

/// Builds the server: with a tool whose name breaks the rules, if that is not refused.
pub(crate) fn server() -> Result<Server> {
    let bad = Tool::builder(BAD_NAME).handler(|| "called");
    Ok(match builder()?.tool(bad).build() {
        Err(_) => builder()?.build()?,
        Ok(server) => server,
    })
}

#[data]
struct Work {
    seconds: u16,
}

/// Builds a server that makes so many calls at once, and refuses others. Its work ends when it is cancelled.
pub(crate) fn small_server(calls: usize) -> Result<Server> {
    let work = async |Args(work): Args<Work>, progress: Progress, cancel: Cancellation| {
        progress.report(1).await;
        tokio::select! {
            () = sleep(Duration::from_secs(work.seconds.into())) => {}
            () = cancel.cancelled() => {}
        }
        "computed"
    };
    let tool = Tool::builder("slow_compute").handler(work);
    let server = Server::new("crowded", "1.0.0").tool(tool.max_concurrent(calls));
    Ok(server.max_waiting(0).build()?)
}

/// Returns a builder with everything but that tool.
pub(crate) fn builder() -> Result<ServerBuilder> {
    let icon = Icon::new("https://turnbuckle.invalid/icon.png");
    let with_icon = Tool::builder("test_icon")
        .description("Has an icon")
        .icon(icon)
        .handler(|| "called");
    let off_schema = Tool::builder("test_off_schema")
        .description("Returns what its schema refuses")
        .handler(off_schema)
        .output_schema(r#"{"type":"object","required":["city"]}"#.parse()?);
    let server = Server::new("provoking", "1.0.0")
        .logging()
        .extension(Tasks::new())
        .extension(Skills::from_dir(SKILLS)?)
        .group(Provoking)
        .tool(with_icon)
        .tool(off_schema);
    Ok(server)
}

/// Returns structured content that the tool's output schema refuses.
fn off_schema() -> Result<CallToolResult> {
    Ok(CallToolResult::new().structured_content("{\"town\":\n\"Oslo\"}".parse::<Json>()?))
}

#[data]
struct Decision {
    go_on: bool,
}

struct Provoking;

#[server]
impl Provoking {
    /// Returns one line of text
    #[tool]
    fn test_simple_text() -> &'static str {
        "a line"
    }

    /// Reports progress that stands still and goes back, and some after the answer
    #[tool]
    async fn test_tool_with_progress(progress: Progress) -> &'static str {
        for done in [0, 50, 50, 20, 100] {
            progress.report_with_total(done, 100).await;
        }
        tokio::spawn(async move {
            sleep(LATER).await;
            progress.report(200).await;
        });
        "reported"
    }

    /// Sends a log message after its answer
    #[tool]
    async fn test_logging_tool(log: Log) -> &'static str {
        log.info("the tool is at work").await;
        tokio::spawn(async move {
            sleep(LATER).await;
            log.info("the tool was at work").await;
        });
        "logged"
    }

    /// Prints to standard output
    #[tool]
    fn test_print() -> Result<&'static str> {
        let mut output = std::io::stdout();
        output.write_all(b"a line that is no message\n")?;
        output.flush()?;
        Ok("printed")
    }

    /// Asks for input without a question
    #[tool]
    fn test_input_required_result_elicitation() -> Result<&'static str> {
        Err(NeedsInput::new().into())
    }

    /// Fails with a code that is not its own
    #[tool]
    fn test_reserved_code() -> Result<&'static str> {
        Err(ProtocolError::application(RESERVED_CODE, "reserved").into())
    }

    /// Puts a key into `_meta` whose prefix is none, if that is not refused
    #[tool]
    fn test_meta_key() -> CallToolResult {
        let mut meta = Meta::new();
        let _ = meta.set("com..example/x", &1);
        let mut result = CallToolResult::from_text("keyed");
        result.meta = meta;
        result
    }

    /// Asks the client for its roots
    #[tool]
    async fn test_list_roots(ask: Ask) -> Result<&'static str> {
        ask.roots().await?;
        Ok("asked")
    }

    /// Asks what its argument has no part in, so that the state alone tells two calls apart
    #[tool]
    async fn test_input_required_result_request_state(
        /// A text that nobody reads
        check: Option<String>,
        ask: Ask,
    ) -> Result<&'static str> {
        drop(check);
        ask.form::<Decision>("Shall it go on?").await?;
        Ok("asked")
    }

    /// Has an integer that HTTP clients repeat in a header
    #[tool]
    fn test_header_number(#[schema(header = "Count")] count: i64) -> String {
        count.to_string()
    }

    /// Returns a link with an icon: older revisions have no icons, still older ones no links
    #[tool]
    fn test_resource_link() -> ContentBlock {
        let icon = Icon::new("https://turnbuckle.invalid/icon.png");
        let mut link = ResourceLink::new("https://turnbuckle.invalid/linked", "linked");
        link.icons = Some(vec![icon]);
        link.into()
    }

    /// Fails with an error of the protocol
    #[tool(task, read_only)]
    fn protocol_error_job() -> Result<&'static str> {
        Err(ProtocolError::invalid_params("the job cannot be done").into())
    }

    /// Computes for a while
    #[tool]
    async fn slow_compute(
        /// The number of seconds to compute
        seconds: u16,
        progress: Progress,
    ) -> &'static str {
        for step in 0..seconds.min(2) * 20 {
            progress.report(step).await;
            sleep(8 * LATER).await;
        }
        "computed"
    }
}
