//! `raw`: any request at all, and its result as it comes.

use turnbuckle::types::RawObject;

use super::Asked;
use crate::args::Format;
use crate::failure::Failure;
use crate::output::pretty;
use crate::session::with_server;
use crate::values::source;

pub(crate) async fn run(mut asked: Asked) -> Result<(), Failure> {
    let (target, mut words) = asked.target()?;
    let method = words.need("the method")?;
    let params = words.next().map(|word| params(&word)).transpose()?;
    words.end()?;
    let timeout = asked.common.speak.timeout;
    with_server(&asked.common, target, async |session| {
        session.want_log().await?;
        let result = session.client.raw(&method, params, timeout).await?;
        let screen = &session.screen;
        match screen.look.output {
            Format::Text => screen.print(&pretty(result.as_str())),
            _ => screen.print_json(result.as_str()),
        }
    })
    .await
}

/// Parameters as they stand, from a file, or from standard input.
fn params(word: &str) -> Result<RawObject, Failure> {
    let text = source(word)?;
    text.trim()
        .parse()
        .map_err(|error| Failure::usage(format!("the parameters are no JSON object: {error}")))
}
