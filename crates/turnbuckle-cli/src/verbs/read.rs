//! `read`: a resource's contents.

use turnbuckle::client::Error;

use super::Asked;
use crate::failure::Failure;
use crate::output::contents;
use crate::session::{Session, with_server};
use crate::suggest::did_you_mean;

pub(crate) async fn run(mut asked: Asked) -> Result<(), Failure> {
    let (target, mut words) = asked.target()?;
    let uri = words.need("the URI of the resource")?;
    words.end()?;
    with_server(&asked.common, target, async |session| {
        session.want_log().await?;
        let read = session.verbatim(session.client.read(&*uri)).await;
        let (result, text) = match read {
            Ok(read) => read,
            Err(Error::Refused(refusal)) => {
                return Err(not_there(session, &uri, Error::Refused(refusal)).await);
            }
            Err(error) => return Err(error.into()),
        };
        let screen = &session.screen;
        if screen.is_text() {
            return screen.print(&contents(screen, &result.contents)?);
        }
        if screen.look.out.is_some() {
            contents(screen, &result.contents)?;
        }
        screen.print_json(&text)
    })
    .await
}

/// A refusal, with what was probably meant.
async fn not_there(session: &Session, uri: &str, error: Error) -> Failure {
    let failure = Failure::from(error);
    let Ok(resources) = session.client.list_resources().all().await else {
        return failure;
    };
    if resources.iter().any(|resource| resource.uri == uri) {
        return failure;
    }
    match did_you_mean(uri, resources.iter().map(|resource| &*resource.uri)) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
