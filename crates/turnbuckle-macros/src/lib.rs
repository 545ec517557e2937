//! Attributes that turn functions and methods into tools, prompts and resources.
//!
//! An attribute leaves the function as it is. Beside it, it makes the builder calls that one would
//! write by hand, and nothing else: the item is what `Tool::builder("…")…handler(…)` returns. The
//! facade's `tools![…]`, `prompts![…]` and `resources![…]` list the items of functions, `item!(…)` is
//! one of them. The attributes are used through the facade, `turnbuckle`, which exports everything
//! that the generated code needs. A crate that renames the facade sets `crate = "path::to::it"`.
//!
//! `#[schema(…)]` on parameters and fields has the same keys everywhere: see
//! [`tool`](macro@tool#parameters).
#![cfg_attr(docsrs, feature(doc_cfg))]

mod expand;
mod parse;

use proc_macro::TokenStream;

use parse::item::ItemKind;

/// Turns a function into a tool.
///
/// ```
/// use turnbuckle::{Server, tool, tools};
///
/// /// Add two numbers.
/// #[tool(read_only)]
/// fn add(/** first */ a: i64, /** second */ #[schema(min = 0, default = 1)] b: i64) -> i64 {
///     a + b
/// }
///
/// let server = Server::new("calc", "1.0.0").tools(tools![add]).build()?;
/// assert_eq!(add(1, 2), 3);
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// The function may be sync or async. A sync function runs in place, or on the blocking pool with
/// `blocking`. Its doc comment becomes the description of the tool. It stays a plain function: it can be
/// called, passed on and be recursive. `tools![add]` lists the tool, and `item!(add)` is the tool, to
/// which settings can be added. Both find it by a hidden type of the function's name, so a module and
/// its function cannot have the same name side by side, and `use` brings both.
///
/// The return type implements `ToolOutput`, or `serde::Serialize` and `schemars::JsonSchema` for
/// structured output, or is a `Result` of such a type with any error that implements `Display`.
///
/// # Attribute
///
/// | key | value | default |
/// |---|---|---|
/// | `name` | 1 to 128 of `A-Z a-z 0-9 _ - .` | the function's name |
/// | `title` | a name for people | |
/// | `description` | replaces the doc comment | the doc comment |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | a flag: alone, `= true` or `= false` | unset |
/// | `icon` | a URL; may be repeated | |
/// | `scope` | a scope that the principal needs; may be repeated | |
/// | `meta` | a `Meta` | |
/// | `blocking` | a flag: runs a sync function on the blocking pool | in place |
/// | `timeout`, `max_concurrent` | a `Duration`, a number: see the setters of `Tool` | none |
/// | `mask_error_details` | a flag: hides errors that were not made for clients | as the group or server |
/// | `input_schema`, `output_schema` | a hand-written `Schema` | derived from the types |
/// | `task` | alone, `= "required"`, or parts: `task(required, after = a Duration, resumable)`; see `TaskSupport` | a call is no task |
/// | `rename_all` | the case of argument names, as in serde: `"camelCase"` | the parameter names |
/// | `crate` | the path of the facade | `"::turnbuckle"` |
///
/// Text values may be any expression, except for `name`, `rename_all` and `crate`, which are literals.
///
/// # Parameters
///
/// `Args<T>`, `State<T>`, `Progress`, `Log`, `Cancellation`, `ClientInfo`, `Principal`,
/// `Claims<T>`, `Meta`, `Ask`, `HttpRequest`, `HandlerContext`, `ReadRequest`, `CompletionRequest`,
/// `RawArguments`, `()` and parameters marked `#[extract]` are extractors: up to seven, in any position. Every other parameter
/// is an argument: an owned type that implements `serde::Deserialize` and `schemars::JsonSchema`, in an
/// `Option` if it is optional. Its doc comment becomes its description. `#[schema(…)]` on an argument
/// has these keys:
///
/// | key | value |
/// |---|---|
/// | `default` | an expression, or alone for the type's `Default`; makes the argument optional |
/// | `min`, `max`, `exclusive_min`, `exclusive_max`, `multiple_of` | a number |
/// | `min_len`, `max_len` | the length of a string, or the number of items or members |
/// | `pattern` | a regular expression, in a literal |
/// | `format` | a format of JSON Schema, in a literal; clients see it, and it is not enforced |
/// | `title` | a name for people |
/// | `description` | replaces the doc comment |
/// | `example` | an expression; may be repeated |
/// | `rename` | the name that clients use |
/// | `header` | the header in which HTTP clients repeat the argument: `"Region"` is `Mcp-Param-Region` |
/// | `complete` | prompts and resources: the function that suggests values, or in an `impl` block with `#[server]` the method: `self.suggest` |
///
/// A limit on values that does not fit the type is a compile error, for types of the standard library and
/// those with [`data`](macro@data); for others it is an error when the server is built.
///
/// A parameter with `#[flatten]` is no argument itself: the fields of its type are, beside the other
/// parameters.
///
/// Specification: server/tools (2026-07-28).
#[proc_macro_attribute]
pub fn tool(inside: TokenStream, item: TokenStream) -> TokenStream {
    expand::function::expand_function(ItemKind::Tool, inside.into(), item.into()).into()
}

/// Turns a function into a prompt.
///
/// ```
/// use turnbuckle::{CompletionRequest, Server, prompt, prompts};
///
/// /// Review code.
/// #[prompt(title = "Review")]
/// fn review(#[schema(complete = languages)] language: String, code: Option<String>) -> String {
///     format!("Review this {language}: {}", code.unwrap_or_default())
/// }
///
/// fn languages(request: CompletionRequest) -> Vec<&'static str> {
///     let known = ["rust", "ruby", "c"];
///     known.into_iter().filter(|name| name.starts_with(&request.value)).collect()
/// }
///
/// let server = Server::new("reviews", "1.0.0").prompts(prompts![review]).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// | key | value | default |
/// |---|---|---|
/// | `name` | its name | the function's name |
/// | `title`, `description`, `icon`, `scope`, `meta`, `blocking`, `timeout`, `max_concurrent`, `mask_error_details`, `rename_all`, `crate` | as in [`tool`](macro@tool) | |
///
/// Parameters are as in [`tool`](macro@tool#parameters). Clients send the arguments of prompts as text.
/// The return type implements `PromptOutput`.
///
/// Specification: server/prompts (2026-07-28).
#[proc_macro_attribute]
pub fn prompt(inside: TokenStream, item: TokenStream) -> TokenStream {
    expand::function::expand_function(ItemKind::Prompt, inside.into(), item.into()).into()
}

/// Turns a function into a resource or a resource template.
///
/// ```
/// use turnbuckle::prelude::{Result, Server, resource, resources};
///
/// /// A note
/// #[resource("notes://{user}/{id}", mime = "text/plain", cache(ttl = 60_000))]
/// async fn note(user: String, id: String) -> Result<String> {
///     Ok(format!("note {id} of {user}"))
/// }
///
/// let server = Server::new("notes", "1.0.0").resources(resources![note]).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// | key | value | default |
/// |---|---|---|
/// | first | the URI or RFC 6570 template, in a literal | |
/// | `name` | its name | the function's name |
/// | `mime` | its media type | |
/// | `size` | the size in bytes; not for templates | |
/// | `cache(ttl = …, public)` | the time in milliseconds for which clients may cache it, for all users (`public`) or each user (`private`) | not cached, `private` |
/// | `title`, `description`, `icon`, `scope`, `meta`, `blocking`, `timeout`, `max_concurrent`, `mask_error_details`, `rename_all`, `crate` | as in [`tool`](macro@tool) | |
///
/// Each variable of the template is an argument of the function, unless the function takes a
/// `ReadRequest` or `Args<T>`. Extractors and `#[schema(…)]` are as in [`tool`](macro@tool#parameters).
/// The return type implements `ResourceOutput`.
///
/// Specification: server/resources (2026-07-28).
#[proc_macro_attribute]
pub fn resource(inside: TokenStream, item: TokenStream) -> TokenStream {
    expand::function::expand_function(ItemKind::Resource, inside.into(), item.into()).into()
}

/// Turns the methods of an `impl` block into a group of tools, prompts and resources.
///
/// ```
/// use turnbuckle::{Server, server};
///
/// struct App {
///     greeting: String,
/// }
///
/// #[server]
/// impl App {
///     /// Greet somebody.
///     #[tool]
///     fn greet(&self, name: String) -> String {
///         self.with(&name)
///     }
///
///     fn with(&self, name: &str) -> String {
///         format!("{} {name}", self.greeting)
///     }
/// }
///
/// let app = App { greeting: "Hello".to_owned() };
/// let server = Server::new("app", "1.0.0").group(app).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// Methods with `#[tool]`, `#[prompt]` or `#[resource("…")]` take `&self` or no receiver. All share one
/// value behind an `Arc`. Other methods are unchanged.
///
/// | key | value |
/// |---|---|
/// | `block` | the name of a further block of the type, in any module: `block = search` |
/// | `blocks` | the names of the further blocks, at the block without a name: `blocks(search, admin)` |
/// | `crate` | the path of the facade, for the whole block |
///
/// ```
/// # use turnbuckle::{Server, server};
/// struct App;
///
/// #[server(blocks(admin))]
/// impl App {
///     #[tool]
///     fn version(&self) -> &'static str {
///         "1.0.0"
///     }
/// }
///
/// mod admin {
///     use super::{App, server};
///
///     #[server(block = admin)]
///     impl App {
///         #[tool]
///         fn restart(&self) {}
///     }
/// }
///
/// # fn main() -> Result<(), turnbuckle::BuildError> {
/// let server = Server::new("app", "1.0.0").group(App).build()?;
/// # Ok(())
/// # }
/// ```
#[proc_macro_attribute]
pub fn server(inside: TokenStream, block: TokenStream) -> TokenStream {
    expand::server::expand_server(inside.into(), block.into()).into()
}

/// Derives `serde::Serialize`, `serde::Deserialize` and `schemars::JsonSchema` for a struct or enum,
/// through the facade's own serde and schemars, where the type does not derive them itself.
///
/// ```
/// use turnbuckle::data;
///
/// #[data(rename_all = "camelCase")]
/// struct Place {
///     /// The name of the city
///     #[schema(min_len = 1)]
///     city_name: String,
///     #[schema(default = Kind::Town)]
///     kind: Kind,
/// }
///
/// #[data(rename_all = "lowercase")]
/// enum Kind {
///     Town,
///     Village,
/// }
/// ```
///
/// | key | value |
/// |---|---|
/// | `rename_all` | the case of fields or variants, as in serde |
/// | `derive` | the traits to derive: `derive(JsonSchema)` for a type that implements serde's. Default: those of the three that the `#[derive(…)]` below lack |
/// | `crate` | the path of the facade |
///
/// Derives that the type has stand below `#[data]`: those above are not seen.
///
/// Fields have the `#[schema(…)]` of [parameters](macro@tool#parameters) except `complete`; variants have
/// its `rename`, `title` and `description`. Attributes of serde and schemars may be added.
#[proc_macro_attribute]
pub fn data(inside: TokenStream, item: TokenStream) -> TokenStream {
    expand::data::expand_data(inside.into(), item.into()).into()
}

/// Defines the text that clients read for each variant of an error type, so that handlers can return it.
///
/// ```
/// use std::fmt;
/// use turnbuckle::IntoFailure;
///
/// #[derive(Debug, IntoFailure)]
/// enum ShopError {
///     #[failure(model)]
///     NoArticle(String),
///     #[failure(protocol = invalid_params)]
///     NoPage,
///     #[failure(hidden)]
///     Database(std::io::Error),
/// }
/// # impl fmt::Display for ShopError {
/// #     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("failed") }
/// # }
/// # impl std::error::Error for ShopError {}
/// ```
///
/// | key | the client reads |
/// |---|---|
/// | `model` | the text of the error |
/// | `protocol = kind` | a protocol error with the text: `invalid_params`, `invalid_request`, `method_not_found`, `resource_not_found`, `internal`, or a number of your own |
/// | `hidden` | a neutral sentence with a reference |
/// | `forward` | what the error inside says, as `?` converts it; for a variant with one field |
///
/// A key on the type holds for all variants without one; a struct has it there. The type implements
/// `std::error::Error + Send + Sync`. The log has the error with its sources.
#[proc_macro_derive(IntoFailure, attributes(failure))]
pub fn into_failure(input: TokenStream) -> TokenStream {
    expand::failure::expand_failure(input.into()).into()
}

/// Removes a copy of a type that only derives read. `#[data]` makes and marks it.
#[proc_macro_attribute]
pub fn read_by_derives(_: TokenStream, _: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// Makes the attributes known that the derives of `#[data]` have read, and derives nothing.
#[proc_macro_derive(DerivedAttributes, attributes(serde, schemars))]
pub fn derived_attributes(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// Makes an array of the items of functions with an attribute. The facade's `tools![…]`,
/// `prompts![…]` and `resources![…]` call it.
#[proc_macro]
pub fn items(input: TokenStream) -> TokenStream {
    into_tokens(expand::list::expand_list(input.into()))
}

/// Makes the item of one function with an attribute. The facade's `item!(…)` calls it.
#[proc_macro]
pub fn item(input: TokenStream) -> TokenStream {
    into_tokens(expand::list::expand_item(input.into()))
}

/// Returns the tokens, or the errors as `compile_error!` calls.
fn into_tokens(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
