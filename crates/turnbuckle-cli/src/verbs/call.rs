//! `call`: a tool, with arguments as its schema wants them.

use serde_json::Value;
use turnbuckle::types::{CallToolResult, Tool};

use super::Asked;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Ink, blocks, pretty};
use crate::session::{Session, with_server};
use crate::suggest::did_you_mean;
use crate::values::arguments;

pub(crate) async fn run(mut asked: Asked) -> Result<(), Failure> {
    let (target, mut words) = asked.target()?;
    let name = words.need("the name of the tool")?;
    let words = words.rest();
    with_server(&asked.common, target, async |session| {
        let tool = find(session, &name).await?;
        let schema: Value = serde_json::from_str(tool.input_schema.as_str()).unwrap_or_default();
        let arguments = arguments(&words, &schema)?;
        session.want_log().await?;
        let call = session.client.call(&*name, &arguments);
        let (result, text) = session.verbatim(call).await?;
        match session.screen.is_text() {
            true => show(session, &result)?,
            false => {
                if session.screen.look.out.is_some() {
                    blocks(&session.screen, &result.content)?;
                }
                session.screen.print_json(&text)?;
            }
        }
        match result.is_error {
            Some(true) => {
                Err(Failure::new(format!("the tool {name:?} failed")).exit(Exit::Refused))
            }
            _ => Ok(()),
        }
    })
    .await
}

/// The tool of that name, as the server lists it.
async fn find(session: &Session, name: &str) -> Result<Tool, Failure> {
    let mut names = Vec::new();
    let mut tools = session.client.list_tools();
    while let Some(tool) = tools.next().await {
        let tool = tool?;
        if tool.name == name {
            return Ok(tool);
        }
        names.push(tool.name);
    }
    let server = session.server_name();
    let failure = Failure::new(format!("{server} has no tool {name:?}")).exit(Exit::Refused);
    let names = names.iter().map(String::as_str);
    Err(failure.hint(match did_you_mean(name, names) {
        Some(hint) => hint,
        None => "`list tools` shows those that there are".to_owned(),
    }))
}

fn show(session: &Session, result: &CallToolResult) -> Result<(), Failure> {
    let screen = &session.screen;
    let content = blocks(screen, &result.content)?;
    if result.is_error == Some(true) {
        screen.print(&screen.ink(Ink::Bad, &content))?;
    } else if !content.is_empty() {
        screen.print(&content)?;
    }
    // The text beside a structured result repeats it, if there is one.
    let has_text = result.content.iter().any(|block| block.as_text().is_some());
    if let Some(structured) = &result.structured_content
        && (!has_text || screen.look.verbose)
    {
        screen.print(&pretty(structured.as_str()))?;
    } else if result.content.is_empty() && result.structured_content.is_none() {
        screen.note("done: the tool returned nothing");
    }
    Ok(())
}
