//! The table macro of settings.

/// Defines a struct of settings as one table. Each row is a doc comment, a name, a type and a default.
///
/// The struct has public fields, `Default`, `new`, and a setter for each row:
///
/// ```
/// use std::time::Duration;
///
/// turnbuckle_types::settings! {
///     /// The limits of a cache.
///     #[derive(Debug, Clone)]
///     pub struct CacheLimits {
///         /// Entries that are kept. A further entry replaces the oldest.
///         max_entries: usize = 1024,
///         /// Age at which an entry is dropped, or `None` for no limit.
///         entry_ttl: Option<Duration> [from impl Into<Option<Duration>>] = None,
///     }
/// }
///
/// let limits = CacheLimits::new().entry_ttl(Duration::from_secs(60));
/// assert_eq!(limits.max_entries, 1024);
/// ```
///
/// `[from T]` makes a setter that takes a `T` and converts it, `[by hand]` makes none. A row may be
/// behind one `#[cfg]`. The documentation of a field ends with its default.
///
/// The comments after the documentation of a row are for the page `docs/security-tests.md`, whose
/// tables `cargo xtask settings` writes: `// Beyond: …` says what happens beyond the limit and quotes the
/// error, `// Tests: …` lists the paths of the tests that hold it. A row without tests is on no page.
/// Metrics of servers count what is beyond a limit; `// Uncounted: …` says why they do not.
#[macro_export]
macro_rules! settings {
    (@setter $(#[$attribute:meta])* $name:ident: $Type:ty) => {
        $(#[$attribute])*
        #[must_use]
        pub fn $name(mut self, $name: $Type) -> Self {
            self.$name = $name;
            self
        }
    };
    (@setter $(#[$attribute:meta])* $name:ident: $Type:ty, from $Argument:ty) => {
        $(#[$attribute])*
        #[must_use]
        pub fn $name(mut self, $name: $Argument) -> Self {
            self.$name = $name.into();
            self
        }
    };
    (@setter $(#[$attribute:meta])* $name:ident: $Type:ty, by hand) => {};
    (
        $(#[$attribute:meta])*
        pub struct $Name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[cfg($($condition:tt)+)])?
                $name:ident: $Type:ty $([$($setter:tt)+])? = $default:expr,
            )+
        }
    ) => {
        $(#[$attribute])*
        #[non_exhaustive]
        pub struct $Name {
            $(
                $(#[doc = $doc])*
                #[doc = ""]
                #[doc = concat!("Default: `", stringify!($default), "`.")]
                $(
                    #[cfg($($condition)+)]
                    #[cfg_attr(docsrs, doc(cfg($($condition)+)))]
                )?
                pub $name: $Type,
            )+
        }

        impl Default for $Name {
            fn default() -> Self {
                Self {
                    $(
                        $(#[cfg($($condition)+)])?
                        $name: $default,
                    )+
                }
            }
        }

        impl $Name {
            /// Returns the default settings.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            $($crate::settings! {
                @setter
                #[doc = concat!("Sets [`", stringify!($name), "`](#structfield.", stringify!($name), ").")]
                $(
                    #[cfg($($condition)+)]
                    #[cfg_attr(docsrs, doc(cfg($($condition)+)))]
                )?
                $name: $Type $(, $($setter)+)?
            })+
        }
    };
}
