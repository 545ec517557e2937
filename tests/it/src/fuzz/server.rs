//! The small server that inputs are sent to, the same for every target.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use turnbuckle_server::{
    Context, Failure, Key, KeyRing, NeedsInput, Reading, Server, Typing, prompt, resource,
    resource_template, tool,
};
use turnbuckle_types::{ElicitFormParams, ElicitationSchema, StringSchema};

/// How many items a page of a list holds.
pub(super) const PAGE: usize = 2;

/// How long a sealed state is accepted: longer than a corpus is kept, in seconds.
const LIFETIME: u64 = 1_000_000_000;

/// The tool that asks before it answers.
pub(super) const ASKING: &str = "ask";

#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// The first summand.
    a: i64,
    /// The second summand.
    b: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    name: String,
    style: Option<String>,
}

/// The server. Its key is written down here, so that sealed states can be kept as inputs.
pub(super) fn server() -> &'static Server {
    static SERVER: LazyLock<Server> = LazyLock::new(|| {
        let greet = async |greeting: Greeting, _: Context| {
            format!("{} {}", greeting.style.unwrap_or_default(), greeting.name)
        };
        let read = async |reading: Reading, _: Context| reading.uri;
        let complete = async |typing: Typing, _: Context| vec![typing.value];
        Server::builder("small", "1")
            .state_keys(KeyRing::new(Key::from_bytes([7; 32])))
            .input_lifetime(LIFETIME)
            .page_size(NonZeroUsize::new(PAGE).expect("not zero"))
            .logging()
            .tool(tool("add", async |sum: Sum, _: Context| {
                sum.a.saturating_add(sum.b.unwrap_or_default()).to_string()
            }))
            .tool(tool(ASKING, async |(), context: Context| ask(&context)))
            .tool(tool("none", async |(), _: Context| String::new()))
            .prompt(prompt("greet", greet).complete("style", complete))
            .prompt(prompt("one", async |(), _: Context| "1".to_owned()))
            .prompt(prompt("two", async |(), _: Context| "2".to_owned()))
            .resource(resource("file:///a", "a", read))
            .resource(resource("file:///b", "b", read))
            .resource(resource("file:///c", "c", read))
            .resource_template(
                resource_template("note://{owner}/{+path}{?rev}", "notes", read)
                    .complete("owner", complete),
            )
            .resource_template(resource_template("log://{day}", "log", read))
            .resource_template(resource_template("x:{a,b}{/c*}{#d}", "x", read))
            .build()
            .expect("a valid server")
    });
    &SERVER
}

/// Two rounds: a name, then a city, with a count kept in between.
fn ask(context: &Context) -> Result<String, Failure> {
    let count: u32 = context.state()?.unwrap_or_default();
    let form = |field| {
        let schema = ElicitationSchema::new().required(field, StringSchema::new());
        ElicitFormParams::new("Say it.", schema)
    };
    for field in ["name", "city"] {
        if context.answer(field, &form(field))?.is_none() {
            return Err(NeedsInput::new()
                .ask(field, form(field))
                .state(&(count + 1))?
                .into());
        }
    }
    Ok(count.to_string())
}
