//! The loop that reads commands and runs them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use turnbuckle::Client;
use turnbuckle::types::{
    CallToolResult, ContentBlock, ProgressNotificationParams, ResourceContents,
};

use crate::command::{Arguments, Command, HELP};
use crate::console::Console;
use crate::servers::Servers;

/// The time limit of `wait`.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The command loop.
pub(crate) struct Repl {
    servers: Servers,
    console: Arc<Console>,
}

impl Repl {
    pub(crate) fn new(servers: Servers, console: Arc<Console>) -> Self {
        Self { servers, console }
    }

    /// Runs until the end of the input and returns whether every command succeeded.
    pub(crate) async fn run(&self) -> bool {
        let mut changes = self.servers.changes();
        let mut succeeded = true;
        while let Some(line) = self.console.read("> ").await {
            let done = match Command::parse(&line) {
                Ok(None) => continue,
                Ok(Some(Command::Quit)) => break,
                Ok(Some(command)) => self.execute(command, &mut changes).await,
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                self.console.print(format!("error: {error}"));
                succeeded = false;
            }
        }
        succeeded
    }

    /// Closes all connections.
    pub(crate) async fn close(&self) {
        self.servers.close().await;
    }

    /// Runs a command.
    async fn execute(
        &self,
        command: Command,
        changes: &mut watch::Receiver<u64>,
    ) -> Result<(), String> {
        match command {
            Command::Help => self.console.print(HELP),
            Command::Servers => self.show_servers(),
            Command::Tools => self.show_tools().await?,
            Command::Resources => self.show_resources().await?,
            Command::Prompts => self.show_prompts().await?,
            Command::Read { server, uri } => self.read(&server, &uri).await?,
            Command::Watch { server, uri } => self.servers.watch(&server, &uri).await?,
            Command::Prompt { name, arguments } => self.prompt(&name, arguments).await?,
            Command::Call { name, arguments } => self.call(&name, arguments).await?,
            Command::Wait => {
                let changed = tokio::time::timeout(WAIT_TIMEOUT, changes.changed()).await;
                if !matches!(changed, Ok(Ok(()))) {
                    return Err("no server reported a change".to_owned());
                }
            }
            Command::Quit => {}
        }
        Ok(())
    }

    fn show_servers(&self) {
        for (name, client) in self.servers.iter() {
            let Some(server) = client.server_info() else {
                continue;
            };
            let implementation = server.implementation.as_ref();
            let implementation = implementation
                .map_or_else(String::new, |it| format!("{} {}, ", it.name, it.version));
            self.console
                .print(format!("{name}: {implementation}{}", server.revision));
        }
    }

    async fn show_tools(&self) -> Result<(), String> {
        for (name, client) in self.with_capability(|can| can.tools.is_some()) {
            for tool in client.list_tools().fetch_all().await.map_err(error_text)? {
                self.print_item(name, ".", &tool.name, tool.description.as_deref());
            }
        }
        Ok(())
    }

    async fn show_resources(&self) -> Result<(), String> {
        for (name, client) in self.with_capability(|can| can.resources.is_some()) {
            for resource in client
                .list_resources()
                .fetch_all()
                .await
                .map_err(error_text)?
            {
                self.print_item(name, " ", &resource.uri, Some(&resource.name));
            }
            for template in client
                .list_resource_templates()
                .fetch_all()
                .await
                .map_err(error_text)?
            {
                self.print_item(
                    name,
                    " ",
                    &template.uri_template,
                    template.description.as_deref(),
                );
            }
        }
        Ok(())
    }

    async fn show_prompts(&self) -> Result<(), String> {
        for (name, client) in self.with_capability(|can| can.prompts.is_some()) {
            for prompt in client
                .list_prompts()
                .fetch_all()
                .await
                .map_err(error_text)?
            {
                self.print_item(name, ".", &prompt.name, prompt.description.as_deref());
            }
        }
        Ok(())
    }

    /// Returns the servers whose capabilities satisfy a condition.
    fn with_capability(
        &self,
        can: impl Fn(&turnbuckle::types::ServerCapabilities) -> bool,
    ) -> impl Iterator<Item = (&str, &Client)> {
        let has_capability =
            move |client: &Client| client.server_info().is_some_and(|it| can(&it.capabilities));
        self.servers
            .iter()
            .filter(move |(_, client)| has_capability(client))
    }

    /// Prints an item of a list with the first paragraph of the description.
    fn print_item(&self, server: &str, between: &str, name: &str, about: Option<&str>) {
        let about = about.unwrap_or_default().lines();
        let about: Vec<&str> = about.take_while(|line| !line.is_empty()).collect();
        let about = about.join(" ");
        self.console
            .print(format!("{server}{between}{name}  {about}"));
    }

    async fn read(&self, server: &str, uri: &str) -> Result<(), String> {
        let result = self
            .servers
            .get(server)?
            .read_resource(uri)
            .await
            .map_err(error_text)?;
        for contents in &result.contents {
            self.print_contents(contents);
        }
        Ok(())
    }

    async fn prompt(&self, name: &str, arguments: Arguments) -> Result<(), String> {
        let (_, client, prompt) = self.servers.split_name(name)?;
        let result = client
            .get_prompt(prompt, arguments.into_texts())
            .await
            .map_err(error_text)?;
        for message in &result.messages {
            self.print_content(&message.content);
        }
        Ok(())
    }

    async fn call(&self, name: &str, arguments: Arguments) -> Result<(), String> {
        let (server, client, tool) = self.servers.split_name(name)?;
        let tools = client.list_tools().fetch_all().await.map_err(error_text)?;
        let Some(known_tool) = tools.iter().find(|candidate| candidate.name == tool) else {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let names = names.join(", ");
            return Err(format!("{server} has no tool {tool:?}; it has: {names}"));
        };
        let schema: Value =
            serde_json::from_str(known_tool.input_schema.as_str()).unwrap_or_default();
        let arguments = arguments.into_object(&schema);
        let console = self.console.clone();
        let call = client.call_tool(tool, &arguments);
        let call = call.on_progress(move |progress| console.print(format_progress(&progress)));
        let result = call.await.map_err(error_text)?;
        self.print_result(&result);
        match result.is_error {
            Some(true) => Err(format!("{name} failed")),
            _ => Ok(()),
        }
    }

    fn print_result(&self, result: &CallToolResult) {
        for content in &result.content {
            self.print_content(content);
        }
    }

    fn print_content(&self, content: &ContentBlock) {
        match content {
            ContentBlock::Text(text) => self.console.print(&text.text),
            ContentBlock::Image(image) => {
                self.print_blob("an image", &image.mime_type, &image.data)
            }
            ContentBlock::Audio(audio) => {
                self.print_blob("an audio clip", &audio.mime_type, &audio.data)
            }
            ContentBlock::ResourceLink(link) => self.console.print(format!("-> {}", link.uri)),
            ContentBlock::Resource(embedded) => self.print_contents(&embedded.resource),
            _ => self.console.print("(content of an unknown kind)"),
        }
    }

    fn print_contents(&self, contents: &ResourceContents) {
        match contents {
            ResourceContents::Text(text) => self.console.print(&text.text),
            ResourceContents::Blob(blob) => {
                let mime_type = blob
                    .mime_type
                    .as_deref()
                    .unwrap_or("application/octet-stream");
                self.print_blob(&blob.uri, mime_type, &blob.blob);
            }
            _ => self.console.print("(contents of an unknown kind)"),
        }
    }

    /// Prints the media type and size of binary data.
    fn print_blob(&self, what: &str, mime_type: &str, base64: &str) {
        let bytes = base64.trim_end_matches('=').len() * 3 / 4;
        self.console
            .print(format!("({what}: {mime_type}, {bytes} bytes)"));
    }
}

fn format_progress(progress: &ProgressNotificationParams) -> String {
    let total = progress.total.as_ref();
    let total = total.map_or_else(String::new, |total| format!("/{total}"));
    let message = progress.message.as_deref().unwrap_or_default();
    format!("   {}{total} {message}", progress.progress)
}

fn error_text(error: turnbuckle::client::Error) -> String {
    error.to_string()
}
