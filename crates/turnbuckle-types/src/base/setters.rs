//! Setters of builders as rows of a table.

/// Writes the setters of a builder inside of its `impl` block: methods that take the builder, change
/// one place of it and return it.
///
/// A row is the name of a setter, its arguments, and the change, which begins with a field of `self`.
///
/// ```
/// use turnbuckle_types::base::setters;
///
/// #[derive(Default)]
/// #[must_use]
/// pub struct Pool {
///     max_idle: usize,
///     names: Vec<String>,
/// }
///
/// impl Pool {
///     setters! {
///         /// Sets how many connections stay open.
///         max_idle(connections: usize) { max_idle = connections }
///
///         /// Adds a name.
///         name(name: impl Into<String>) { names.push(name.into()) }
///     }
/// }
///
/// let pool = Pool::default().max_idle(4).name("a");
/// assert_eq!((pool.max_idle, pool.names.len()), (4, 1));
/// ```
#[macro_export]
macro_rules! setters {
    ($(
        $(#[$attribute:meta])*
        $name:ident($($argument:ident: $Type:ty),* $(,)?) { $($change:tt)+ }
    )+) => {$(
        $(#[$attribute])*
        pub fn $name(mut self, $($argument: $Type),*) -> Self {
            self.$($change)+;
            self
        }
    )+};
}
