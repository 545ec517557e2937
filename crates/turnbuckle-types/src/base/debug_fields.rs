//! `Debug` for types of which some fields are not shown.

/// Implements `Debug` with the named fields, and `..` for the others. A field is shown as it is, or
/// as the value of a function of the whole.
///
/// ```
/// use turnbuckle_types::base::debug_fields;
///
/// struct Pool<T> {
///     name: String,
///     idle: Vec<T>,
/// }
/// debug_fields!([T] Pool<T> { name, idle = |pool| pool.idle.len() });
///
/// let pool = Pool { name: "p".to_owned(), idle: vec![1, 2] };
/// assert_eq!(format!("{pool:?}"), r#"Pool { name: "p", idle: 2, .. }"#);
/// ```
#[macro_export]
macro_rules! debug_fields {
    ([$($generics:tt)*] $Type:ident<$($parameter:tt),*> { $($field:ident $(= $show:expr)?),* $(,)? }) => {
        $crate::debug_fields!(@impl [$($generics)*] [$Type<$($parameter),*>] $Type $($field $(= $show)?),*);
    };
    ($Type:ident $(<$lifetime:lifetime>)? { $($field:ident $(= $show:expr)?),* $(,)? }) => {
        $crate::debug_fields!(@impl [$($lifetime)?] [$Type $(<$lifetime>)?] $Type $($field $(= $show)?),*);
    };
    (@impl [$($generics:tt)*] [$Self:ty] $Type:ident $($field:ident $(= $show:expr)?),*) => {
        impl<$($generics)*> ::std::fmt::Debug for $Self {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($Type))
                    $(.field(stringify!($field), $crate::debug_fields!(@value self $field $($show)?)))*
                    .finish_non_exhaustive()
            }
        }
    };
    (@value $self:ident $field:ident) => { &$self.$field };
    (@value $self:ident $field:ident $show:expr) => {
        &(|show: fn(&Self) -> _| show($self))($show)
    };
}

#[cfg(test)]
mod tests {
    struct Plain {
        shown: u8,
        #[expect(dead_code, reason = "not shown")]
        secret: &'static str,
    }
    debug_fields!(Plain { shown });

    struct Borrowed<'a>(&'a str);
    debug_fields!(Borrowed<'a> { bytes = |it| it.0.len() });

    struct Nothing<T>(T);
    debug_fields!([T: Copy] Nothing<T> {});

    #[test]
    fn only_the_named_fields_are_shown() {
        let plain = Plain {
            shown: 1,
            secret: "s",
        };
        assert_eq!(format!("{plain:?}"), "Plain { shown: 1, .. }");
        assert_eq!(
            format!("{:?}", Borrowed("abc")),
            "Borrowed { bytes: 3, .. }"
        );
        assert_eq!(format!("{:?}", Nothing(1)), "Nothing { .. }");
    }
}
