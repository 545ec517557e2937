//! Providers: items that async functions list and find, next to registered ones.

mod faults;
mod items;
mod lists;
mod subscriptions;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_it::harness::Client;
use turnbuckle_server::{
    Args, HandlerContext, ItemName, ListPage, ListRequest, Prompt, Provider, ReadRequest, Resource,
    Result, Server, ServerBuilder, State, Tool,
};
use turnbuckle_types::Principal;

use crate::support::{list_values, result, schema};

/// The lists: their method, where their items are, and the name of an item.
pub(crate) const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "name"),
    ("resources/templates/list", "resourceTemplates", "name"),
];

/// A table of a database: the names of its items, and the requests that it got.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) rows: Mutex<Vec<String>>,
    pub(crate) requests: Mutex<Vec<ListRequest>>,
}

impl Table {
    pub(crate) fn with(names: &[&str]) -> Arc<Self> {
        let table = Self::default();
        *table.rows.lock().unwrap() = names.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(table)
    }

    /// Returns a page of the names that come after the cursor.
    async fn page(&self, request: ListRequest) -> ListPage<String> {
        tokio::task::yield_now().await;
        self.requests.lock().unwrap().push(request.clone());
        let rows = self.rows.lock().unwrap();
        let after = request.cursor.unwrap_or_default();
        let rest = rows.iter().filter(|row| **row > after);
        let rows: Vec<String> = rest.take(request.limit).cloned().collect();
        let full = rows.len() == request.limit;
        let next = rows.last().cloned().filter(|_| full);
        ListPage::new(rows).next_cursor(next)
    }

    async fn has(&self, name: &str) -> bool {
        tokio::task::yield_now().await;
        self.rows.lock().unwrap().iter().any(|row| row == name)
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    /// The words.
    words: String,
}

pub(crate) fn tool(name: &str) -> Tool {
    let text = name.to_owned();
    Tool::builder(name.to_owned())
        .input_schema(schema(json!({
            "type": "object", "properties": {"n": {"type": "integer", "minimum": 1}},
            "required": ["n"],
        })))
        .handler(move |turnbuckle_server::RawArguments(arguments)| {
            format!("{text} {}", arguments.as_str())
        })
}

pub(crate) fn prompt(name: &str) -> Prompt {
    Prompt::builder(name.to_owned())
        .complete("words", |it: turnbuckle_server::CompletionRequest| {
            vec![format!("{}!", it.value)]
        })
        .handler(|Args(words): Args<Words>| words.words)
}

pub(crate) fn resource(name: &str) -> Resource {
    Resource::builder(format!("row:{name}"), name.to_owned())
        .handler(|request: ReadRequest| request.uri)
}

pub(crate) fn template(name: &str) -> Resource {
    Resource::builder(format!("row-{name}:{{column}}"), name.to_owned())
        .complete("column", |it: turnbuckle_server::CompletionRequest| {
            vec![format!("{}?", it.value)]
        })
        .handler(|request: ReadRequest| format!("{:?}", request.variables.get("column")))
}

fn map_page<T>(page: ListPage<String>, item: fn(&str) -> T) -> ListPage<T> {
    ListPage::new(page.items.iter().map(|name| item(name))).next_cursor(page.next_cursor)
}

/// The functions of a provider that reads the table of the state.
macro_rules! table_functions {
    ($($list:ident, $find:ident: $Item:ty = $item:ident, $prefix:literal;)*) => {$(
        pub(crate) async fn $list(request: ListRequest, table: State<Table>) -> Result<ListPage<$Item>> {
            Ok(map_page(table.page(request).await, $item))
        }

        pub(crate) async fn $find(name: ItemName, table: State<Table>) -> Result<Option<$Item>> {
            let Some(name) = name.0.strip_prefix($prefix) else {
                return Ok(None);
            };
            Ok(table.has(name).await.then(|| $item(name)))
        }
    )*};
}

table_functions! {
    list_tools, find_tool: Tool = tool, "";
    list_prompts, find_prompt: Prompt = prompt, "";
    list_resources, find_resource: Resource = resource, "row:";
    list_templates, _find_template: Resource = template, "";
}

/// Finds a resource, or the template of a resource.
pub(crate) async fn find_resource_or_template(
    name: ItemName,
    table: State<Table>,
) -> Result<Option<Resource>> {
    let of_template = name.0.strip_prefix("row-");
    match of_template.and_then(|rest| rest.split_once(':')) {
        Some((name, _)) => Ok(table.has(name).await.then(|| template(name))),
        None => find_resource(name, table).await,
    }
}

/// Returns a server with providers of every kind of item on a table.
pub(crate) fn provider_server(table: &Arc<Table>, page: usize) -> ServerBuilder {
    Server::new("provided", "1.0.0")
        .page_size(NonZeroUsize::new(page).unwrap())
        .dynamic_completions()
        .state(table.clone())
        .provider(Provider::tools("rows").list(list_tools).find(find_tool))
        .provider(
            Provider::prompts("rows")
                .list(list_prompts)
                .find(find_prompt),
        )
        .provider(
            Provider::resources("rows")
                .list(list_resources)
                .list_templates(list_templates)
                .find(find_resource_or_template),
        )
}

/// Adds registered items of every kind.
pub(crate) fn register(builder: ServerBuilder, names: &[&str]) -> ServerBuilder {
    names.iter().fold(builder, |builder, name| {
        builder
            .tool(tool(name))
            .prompt(prompt(name))
            .resource(resource(name))
            .resource(template(name))
    })
}

/// Returns the pages of a list, as names.
pub(crate) async fn pages(client: &mut Client, list: (&str, &str, &str)) -> Vec<Vec<String>> {
    let (method, items, name) = list;
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.request(method, params).await;
        pages.push(list_values(&page, items, name));
        match next_cursor(&page) {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return pages,
        }
    }
}

/// Returns the cursor of the next page.
pub(crate) fn next_cursor(page: &Value) -> Option<String> {
    let cursor = result(page).get("nextCursor")?;
    Some(cursor.as_str().unwrap().to_owned())
}

/// Returns the subject of the caller, or nothing.
pub(crate) fn subject(context: &HandlerContext) -> String {
    let principal: Option<&Principal> = context.principal();
    principal.map_or_else(String::new, |it| it.subject.clone())
}
