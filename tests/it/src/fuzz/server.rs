//! The small server that inputs are sent to, the same for every target.

use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use turnbuckle_server::{
    Args, Ask, CompletionRequest, Failure, HandlerContext, KeyRing, NeedsInput, Prompt,
    ReadRequest, Resource, SecretKey, Server, Tool,
};
use turnbuckle_types::{ElicitRequestFormParams, ElicitationSchema, StringSchema};

/// Number of items on a page of a list.
pub(super) const PAGE: usize = 2;

/// Lifetime of a sealed state: longer than a corpus is kept.
const LIFETIME: Duration = Duration::from_secs(1_000_000_000);

/// The tool that asks before it answers.
pub(super) const ASKING: &str = "ask";

/// The tool that awaits what it asks.
pub(super) const AWAITING: &str = "await";

/// The tool that awaits everything that can be asked.
pub(super) const GATHERING: &str = "gather";

#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// The first summand.
    a: i64,
    /// The second summand.
    b: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
    nights: u8,
}

/// A form with a field of each kind.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    /// The city to travel to.
    #[schemars(length(min = 1, max = 20))]
    city: String,
    #[schemars(range(min = 0.5, max = 9.5))]
    rooms: Option<f64>,
    #[serde(default)]
    quiet: bool,
    board: Board,
    extras: Option<Vec<Board>>,
    #[schemars(email)]
    mail: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
enum Board {
    /// No meals
    None,
    /// Breakfast
    Half,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    name: String,
    style: Option<String>,
}

/// Returns the server. Its key is a constant, so that sealed states can be kept as inputs.
pub(super) fn server() -> &'static Server {
    static SERVER: LazyLock<Server> = LazyLock::new(|| {
        let greet = async |Args(greeting): Args<Greeting>, _: HandlerContext| {
            format!("{} {}", greeting.style.unwrap_or_default(), greeting.name)
        };
        let read = async |reading: ReadRequest, _: HandlerContext| reading.uri;
        let complete = async |typing: CompletionRequest, _: HandlerContext| vec![typing.value];
        Server::new("small", "1")
            .keys(KeyRing::new(SecretKey::from_bytes([7; 32])))
            .request_state_ttl(LIFETIME)
            .page_size(NonZeroUsize::new(PAGE).expect("not zero"))
            .logging()
            .tool(
                Tool::builder("add").handler(async |Args(sum): Args<Sum>, _: HandlerContext| {
                    sum.a.saturating_add(sum.b.unwrap_or_default()).to_string()
                }),
            )
            .tool(Tool::builder(ASKING).handler(async |(), context: HandlerContext| ask(&context)))
            .tool(Tool::builder(AWAITING).handler(wait))
            .tool(Tool::builder(GATHERING).handler(gather))
            .tool(Tool::builder("none").handler(async |(), _: HandlerContext| String::new()))
            .prompt(
                Prompt::builder("greet")
                    .handler(greet)
                    .complete("style", complete),
            )
            .prompt(Prompt::builder("one").handler(async |(), _: HandlerContext| "1".to_owned()))
            .prompt(Prompt::builder("two").handler(async |(), _: HandlerContext| "2".to_owned()))
            .resource(Resource::builder("file:///a", "a").handler(read))
            .resource(Resource::builder("file:///b", "b").handler(read))
            .resource(Resource::builder("file:///c", "c").handler(read))
            .resource(
                Resource::builder("note://{owner}/{+path}{?rev}", "notes")
                    .handler(read)
                    .complete("owner", complete),
            )
            .resource(Resource::builder("log://{day}", "log").handler(read))
            .resource(Resource::builder("x:{a,b}{/c*}{#d}", "x").handler(read))
            .build()
            .expect("a valid server")
    });
    &SERVER
}

/// Runs a handler of two rounds: it asks for a name, then for a city, and keeps a count in between.
fn ask(context: &HandlerContext) -> Result<String, Failure> {
    let count: u32 = context.request_state()?.unwrap_or_default();
    let form = |field| {
        let schema = ElicitationSchema::new().required(field, StringSchema::new());
        ElicitRequestFormParams::new("Say it.", schema)
    };
    for field in ["name", "city"] {
        if context.answer(field, &form(field))?.is_none() {
            return Err(NeedsInput::new()
                .ask(field, form(field))
                .request_state(&(count + 1))?
                .into());
        }
    }
    Ok(count.to_string())
}

/// Asks two forms and performs one side effect between them.
async fn wait(ask: Ask) -> Result<String, Failure> {
    let first = ask.form::<Named>("Who?").await?;
    let length = first.name.chars().count();
    let once = ask.once("length", async { Ok(length) }).await?;
    let second = ask.form::<Named>("And who?").await?;
    Ok(format!(
        "{once} {}",
        u16::from(first.nights) + u16::from(second.nights)
    ))
}

/// Asks a form, then everything else at once, then a form built by hand.
async fn gather(ask: Ask) -> Result<String, Failure> {
    let booking = ask.form::<Booking>("Where to?").await?;
    let extras = booking.extras.unwrap_or_default();
    let full = extras.iter().chain([&booking.board]);
    let full = full.filter(|it| matches!(it, Board::Half)).count();
    let price = booking.rooms.unwrap_or(1.0) * if booking.quiet { 2.0 } else { 1.0 };
    let (roots, sample, seen) = tokio::join!(
        ask.roots().into_future(),
        ask.sample("Is it nice there?").into_future(),
        ask.url("Pay there.", "https://pay.example/1").into_future(),
    );
    let (roots, sample) = (roots?, sample?);
    seen?;
    let schema = ElicitationSchema::new().optional("sure", StringSchema::new());
    let sure = ask.raw_form(ElicitRequestFormParams::new("Sure?", schema));
    let sure = sure.key("yes").await?;
    Ok(format!(
        "{} {:?} {full} {price} {} {} {}",
        booking.city,
        booking.mail,
        roots.len(),
        sample.model,
        sure.content.is_some()
    ))
}
