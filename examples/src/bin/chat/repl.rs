//! The command loop.

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
const WAIT: Duration = Duration::from_secs(30);

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
        let mut went_well = true;
        while let Some(line) = self.console.read("> ").await {
            let done = match Command::parse(&line) {
                Ok(None) => continue,
                Ok(Some(Command::Quit)) => break,
                Ok(Some(command)) => self.execute(command, &mut changes).await,
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                self.console.say(format!("error: {error}"));
                went_well = false;
            }
        }
        went_well
    }

    pub(crate) async fn close(&self) {
        self.servers.close().await;
    }

    async fn execute(
        &self,
        command: Command,
        changes: &mut watch::Receiver<u64>,
    ) -> Result<(), String> {
        match command {
            Command::Help => self.console.say(HELP),
            Command::Servers => self.show_servers(),
            Command::Tools => self.show_tools().await?,
            Command::Resources => self.show_resources().await?,
            Command::Prompts => self.show_prompts().await?,
            Command::Read { server, uri } => self.read(&server, &uri).await?,
            Command::Watch { server, uri } => self.servers.watch(&server, &uri).await?,
            Command::Prompt { name, arguments } => self.prompt(&name, arguments).await?,
            Command::Call { name, arguments } => self.call(&name, arguments).await?,
            Command::Wait => {
                let changed = tokio::time::timeout(WAIT, changes.changed()).await;
                if !matches!(changed, Ok(Ok(()))) {
                    return Err("nothing changed".to_owned());
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
            let said = server.implementation.as_ref();
            let said = said.map_or_else(String::new, |it| format!("{} {}, ", it.name, it.version));
            self.console
                .say(format!("{name}: {said}{}", server.revision));
        }
    }

    async fn show_tools(&self) -> Result<(), String> {
        for (name, client) in self.with(|can| can.tools.is_some()) {
            for tool in client.list_tools().fetch_all().await.map_err(told)? {
                self.item(name, ".", &tool.name, tool.description.as_deref());
            }
        }
        Ok(())
    }

    async fn show_resources(&self) -> Result<(), String> {
        for (name, client) in self.with(|can| can.resources.is_some()) {
            for resource in client.list_resources().fetch_all().await.map_err(told)? {
                self.item(name, " ", &resource.uri, Some(&resource.name));
            }
            for template in client
                .list_resource_templates()
                .fetch_all()
                .await
                .map_err(told)?
            {
                self.item(
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
        for (name, client) in self.with(|can| can.prompts.is_some()) {
            for prompt in client.list_prompts().fetch_all().await.map_err(told)? {
                self.item(name, ".", &prompt.name, prompt.description.as_deref());
            }
        }
        Ok(())
    }

    /// Returns the servers with a capability.
    fn with(
        &self,
        can: impl Fn(&turnbuckle::types::ServerCapabilities) -> bool,
    ) -> impl Iterator<Item = (&str, &Client)> {
        let able =
            move |client: &Client| client.server_info().is_some_and(|it| can(&it.capabilities));
        self.servers.iter().filter(move |(_, client)| able(client))
    }

    fn item(&self, server: &str, between: &str, name: &str, about: Option<&str>) {
        let about = about.unwrap_or_default().lines();
        let about: Vec<&str> = about.take_while(|line| !line.is_empty()).collect();
        let about = about.join(" ");
        self.console
            .say(format!("{server}{between}{name}  {about}"));
    }

    async fn read(&self, server: &str, uri: &str) -> Result<(), String> {
        let result = self
            .servers
            .get(server)?
            .read_resource(uri)
            .await
            .map_err(told)?;
        for contents in &result.contents {
            self.contents(contents);
        }
        Ok(())
    }

    async fn prompt(&self, name: &str, arguments: Arguments) -> Result<(), String> {
        let (_, client, prompt) = self.servers.split(name)?;
        let result = client
            .get_prompt(prompt, arguments.texts())
            .await
            .map_err(told)?;
        for message in &result.messages {
            self.content(&message.content);
        }
        Ok(())
    }

    async fn call(&self, name: &str, arguments: Arguments) -> Result<(), String> {
        let (server, client, tool) = self.servers.split(name)?;
        let tools = client.list_tools().fetch_all().await.map_err(told)?;
        let Some(known) = tools.iter().find(|there| there.name == tool) else {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let names = names.join(", ");
            return Err(format!("{server} has no tool {tool:?}; it has: {names}"));
        };
        let schema: Value = serde_json::from_str(known.input_schema.as_str()).unwrap_or_default();
        let arguments = arguments.for_schema(&schema);
        let console = self.console.clone();
        let call = client.call_tool(tool, &arguments);
        let call = call.on_progress(move |progress| console.say(shown(&progress)));
        let result = call.await.map_err(told)?;
        self.result(&result);
        match result.is_error {
            Some(true) => Err(format!("{name} failed")),
            _ => Ok(()),
        }
    }

    fn result(&self, result: &CallToolResult) {
        for content in &result.content {
            self.content(content);
        }
    }

    fn content(&self, content: &ContentBlock) {
        match content {
            ContentBlock::Text(text) => self.console.say(&text.text),
            ContentBlock::Image(image) => self.blob("an image", &image.mime_type, &image.data),
            ContentBlock::Audio(audio) => self.blob("a sound", &audio.mime_type, &audio.data),
            ContentBlock::ResourceLink(link) => self.console.say(format!("-> {}", link.uri)),
            ContentBlock::Resource(embedded) => self.contents(&embedded.resource),
            _ => self
                .console
                .say("(content of a kind that is not known here)"),
        }
    }

    fn contents(&self, contents: &ResourceContents) {
        match contents {
            ResourceContents::Text(text) => self.console.say(&text.text),
            ResourceContents::Blob(blob) => {
                let mime_type = blob
                    .mime_type
                    .as_deref()
                    .unwrap_or("application/octet-stream");
                self.blob(&blob.uri, mime_type, &blob.blob);
            }
            _ => self
                .console
                .say("(contents of a kind that is not known here)"),
        }
    }

    fn blob(&self, what: &str, mime_type: &str, base64: &str) {
        let bytes = base64.trim_end_matches('=').len() * 3 / 4;
        self.console
            .say(format!("({what}: {mime_type}, {bytes} bytes)"));
    }
}

fn shown(progress: &ProgressNotificationParams) -> String {
    let total = progress.total.as_ref();
    let total = total.map_or_else(String::new, |total| format!("/{total}"));
    let message = progress.message.as_deref().unwrap_or_default();
    format!("   {}{total} {message}", progress.progress)
}

fn told(error: turnbuckle::client::Error) -> String {
    error.to_string()
}
