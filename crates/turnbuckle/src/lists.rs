//! Lists of functions with an attribute.

/// The tools of functions with `#[tool]`, as an array for
/// [`ServerBuilder::tools`](crate::ServerBuilder::tools).
///
/// ```
/// use turnbuckle::prelude::*;
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// mod weather {
///     use turnbuckle::prelude::*;
///
///     /// The weather of today.
///     #[tool]
///     pub fn today(city: String) -> String {
///         format!("{city}: rain")
///     }
/// }
///
/// let server = Server::new("various", "1.0.0").tools(tools![add, weather::today]).build()?;
/// assert_eq!(add(1, 2), 3);
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
///
/// For settings that the attribute does not have, see [`item!`](crate::item).
#[macro_export]
macro_rules! tools {
    ($($function:tt)*) => { $crate::__private::items!(($crate) Tool $($function)*) };
}

/// The prompts of functions with `#[prompt]`, as an array for
/// [`ServerBuilder::prompts`](crate::ServerBuilder::prompts).
///
/// ```
/// use turnbuckle::prelude::*;
///
/// /// Review code.
/// #[prompt]
/// fn review(language: String) -> String {
///     format!("Review this {language}")
/// }
///
/// let server = Server::new("reviews", "1.0.0").prompts(prompts![review]).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
#[macro_export]
macro_rules! prompts {
    ($($function:tt)*) => { $crate::__private::items!(($crate) Prompt $($function)*) };
}

/// The resources and resource templates of functions with `#[resource("…")]`, as an array for
/// [`ServerBuilder::resources`](crate::ServerBuilder::resources).
///
/// ```
/// use turnbuckle::prelude::*;
///
/// /// A note
/// #[resource("notes://{id}")]
/// fn note(id: String) -> String {
///     format!("note {id}")
/// }
///
/// let server = Server::new("notes", "1.0.0").resources(resources![note]).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
#[macro_export]
macro_rules! resources {
    ($($function:tt)*) => { $crate::__private::items!(($crate) Resource $($function)*) };
}

/// The item of one function with an attribute: a [`Tool`](crate::Tool),
/// [`Prompt`](crate::Prompt) or [`Resource`](crate::Resource), whose setters can then be called.
///
/// ```
/// use turnbuckle::prelude::*;
///
/// /// Look at the logs.
/// #[tool]
/// fn logs() -> String {
///     String::new()
/// }
///
/// let logs = item!(logs).visible_to(|principal| principal.is_some());
/// let server = Server::new("operations", "1.0.0").tool(logs).build()?;
/// # Ok::<(), turnbuckle::BuildError>(())
/// ```
#[macro_export]
macro_rules! item {
    ($($function:tt)*) => { $crate::__private::item!(($crate) $($function)*) };
}
