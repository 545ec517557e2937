//! The attributes of turnbuckle: functions and methods as tools, prompts and resources.
//!
//! They write the builder calls that a person would write, and nothing else: what they make is what
//! `Tool::builder("…")…handler(…)` makes. They are used through the facade, `turnbuckle`, which
//! brings all that the written code needs; a crate that has it under another name says so with
//! `crate = "path::to::it"`.
//!
//! What is said of a parameter or a field beside its type is the same everywhere: see
//! [`tool`](macro@tool#parameters).

mod expand;
mod parse;

use proc_macro::TokenStream;

use parse::item::Kind;

/// Makes a function a tool.
///
/// ```
/// use turnbuckle::{Server, tool};
///
/// /// Add two numbers.
/// #[tool(read_only)]
/// fn add(/** first */ a: i64, /** second */ #[schema(min = 0, default = 1)] b: i64) -> i64 {
///     a + b
/// }
///
/// let server = Server::new("calc", "1.0.0").tool(add).build()?;
/// assert_eq!(add(1, 2), 3);
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// The function is sync or async; a sync one runs in place, or on the blocking pool with
/// `blocking`. Its doc comment is the tool's description. Its name stays callable, and becomes a
/// unit struct: another function of the same module cannot have a variable or a parameter of that
/// name, and the types of its parameters have to be as visible as it is. (A function that is
/// generic over lifetimes, borrows, or returns an `impl` is not callable by its name.)
///
/// It returns what a tool can return (`ToolOutput`), or anything that implements
/// `serde::Serialize` and `schemars::JsonSchema`, which is structured output; or a `Result` of one
/// with any error that can be displayed.
///
/// # Attribute
///
/// | key | value | default |
/// |---|---|---|
/// | `name` | 1 to 128 of `A-Z a-z 0-9 _ - .` | the function's name |
/// | `title` | a name for people | |
/// | `description` | instead of the doc comment | the doc comment |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | alone, or `= true`, `= false` | not said |
/// | `icon` | a URL; may come again | |
/// | `scope` | what a principal needs to call it; may come again | |
/// | `meta` | a `Meta` | |
/// | `blocking` | alone: runs a sync function on the blocking pool | in place |
/// | `deadline`, `max_concurrent` | a `Duration`, a number: see the setters of `Tool` | none of its own |
/// | `input_schema`, `output_schema` | a `Schema` that is written by hand | from the types |
/// | `rename_all` | how arguments are spelled, in serde's words: `"camelCase"` | as the parameters |
/// | `crate` | where the facade is | `"::turnbuckle"` |
///
/// Texts are any expression, but for `name`, `rename_all` and `crate`, which are literals.
///
/// # Parameters
///
/// `Args<T>`, `State<T>`, `Progress`, `Log`, `Cancel`, `Client`, `Meta`, `Ask`, `Http`, `Context`,
/// `Reading`, `Typing`, `RawArguments` and `()` are extractors, and so is what is marked
/// `#[extract]`; up to seven, anywhere. Everything else is an argument: an owned type that
/// implements `serde::Deserialize` and `schemars::JsonSchema`, in an `Option` if it may be left
/// out. Its doc comment is its description. In `#[schema(…)]` stands:
///
/// | key | value |
/// |---|---|
/// | `default` | an expression: it may be left out; alone: the type's `Default` |
/// | `min`, `max`, `exclusive_min`, `exclusive_max`, `multiple_of` | a number |
/// | `min_len`, `max_len` | the length of a string, or how many items |
/// | `pattern` | a regular expression, in a literal |
/// | `format` | a format of JSON Schema, in a literal |
/// | `title` | a name for people |
/// | `description` | instead of the doc comment |
/// | `example` | an expression; may come again |
/// | `rename` | the name that clients use |
/// | `header` | the header in which HTTP clients repeat it: `"Region"` is `Mcp-Param-Region` |
/// | `complete` | prompts and resources: the function that suggests values |
///
/// Specification: server/tools (2026-07-28).
#[proc_macro_attribute]
pub fn tool(inside: TokenStream, item: TokenStream) -> TokenStream {
    told(expand::function::expand(
        Kind::Tool,
        inside.into(),
        item.into(),
    ))
}

/// Makes a function a prompt.
///
/// ```
/// use turnbuckle::{Server, Typing, prompt};
///
/// /// Review code.
/// #[prompt(title = "Review")]
/// fn review(#[schema(complete = languages)] language: String, code: Option<String>) -> String {
///     format!("Review this {language}: {}", code.unwrap_or_default())
/// }
///
/// fn languages(typing: Typing) -> Vec<&'static str> {
///     let known = ["rust", "ruby", "c"];
///     known.into_iter().filter(|name| name.starts_with(&typing.value)).collect()
/// }
///
/// let server = Server::new("reviews", "1.0.0").prompt(review).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// | key | value | default |
/// |---|---|---|
/// | `name` | its name | the function's name |
/// | `title`, `description`, `icon`, `scope`, `meta`, `blocking`, `deadline`, `max_concurrent`, `rename_all`, `crate` | as in [`tool`](macro@tool) | |
///
/// Parameters are as in [`tool`](macro@tool#parameters); a client fills arguments in as text. It
/// returns what a prompt can return (`PromptOutput`).
///
/// Specification: server/prompts (2026-07-28).
#[proc_macro_attribute]
pub fn prompt(inside: TokenStream, item: TokenStream) -> TokenStream {
    told(expand::function::expand(
        Kind::Prompt,
        inside.into(),
        item.into(),
    ))
}

/// Makes a function a resource, or those of a URI template.
///
/// ```
/// use turnbuckle::{Server, resource};
///
/// /// A note
/// #[resource("notes://{user}/{id}", mime = "text/plain", cache(ttl = 60_000))]
/// async fn note(user: String, id: String) -> turnbuckle::Result<String> {
///     Ok(format!("note {id} of {user}"))
/// }
///
/// let server = Server::new("notes", "1.0.0").resource(note).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// | key | value | default |
/// |---|---|---|
/// | first | its URI, or an RFC 6570 template, in a literal | |
/// | `name` | its name | the function's name |
/// | `mime` | its media type | |
/// | `size` | in bytes; a template has none | |
/// | `cache(ttl = …, public)` | how long a client may keep it, in milliseconds, and whether for all (`public`) or each user (`private`) | not to be kept, `private` |
/// | `title`, `description`, `icon`, `scope`, `meta`, `blocking`, `deadline`, `max_concurrent`, `rename_all`, `crate` | as in [`tool`](macro@tool) | |
///
/// Each variable of the template is a parameter, and each argument a variable; a function that
/// takes a `Reading`, or `Args<T>`, takes them from there. Extractors and `#[schema(…)]` are as in
/// [`tool`](macro@tool#parameters). It returns what a resource can be read as (`ResourceOutput`).
///
/// Specification: server/resources (2026-07-28).
#[proc_macro_attribute]
pub fn resource(inside: TokenStream, item: TokenStream) -> TokenStream {
    told(expand::function::expand(
        Kind::Resource,
        inside.into(),
        item.into(),
    ))
}

/// Makes a value a group of the tools, prompts and resources that its methods are.
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
///     /// Greets somebody.
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
/// Methods with `#[tool]`, `#[prompt]` or `#[resource("…")]` take `&self`, or nothing of the value;
/// all of them share one, behind an `Arc`. Other methods stay what they are. The attribute itself
/// has one key, `crate`, which holds for the whole block.
#[proc_macro_attribute]
pub fn server(inside: TokenStream, block: TokenStream) -> TokenStream {
    told(expand::server::expand(inside.into(), block.into()))
}

/// Makes a struct or an enum data that is sent and received: derives `serde::Serialize`,
/// `serde::Deserialize` and `schemars::JsonSchema`, by the facade's own serde and schemars.
///
/// ```
/// use turnbuckle::data;
///
/// #[data(rename_all = "camelCase")]
/// struct Place {
///     /// Where it is
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
/// | `rename_all` | how fields or variants are spelled, in serde's words |
/// | `crate` | where the facade is |
///
/// Fields have the `#[schema(…)]` of [parameters](macro@tool#parameters), but for `complete`;
/// variants have its `rename`, `title` and `description`. Attributes of serde and schemars may stand
/// beside it.
#[proc_macro_attribute]
pub fn data(inside: TokenStream, item: TokenStream) -> TokenStream {
    told(expand::data::expand(inside.into(), item.into()))
}

fn told(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
