//! State that handlers share.

use std::any::TypeId;
use std::ops::Deref;
use std::sync::Arc;

use super::{Extract, HandlerRequirements, Invocation};
use crate::error::failure::{Failure, Result};

/// State that the server's builder or a group was given, as a `T` or as an `Arc<T>`. Cheap to clone.
///
/// Dereferences to `T`, so that the fields and methods of `T` are reached directly. The pattern
/// `State { arc }` takes the `Arc`.
///
/// ```
/// use std::sync::Arc;
/// use turnbuckle_server::{Server, State, Tool};
///
/// struct Greeting(String);
///
/// let greeting = Arc::new(Greeting("Hello".to_owned()));
/// let greet = Tool::builder("greet").handler(|greeting: State<Greeting>| greeting.0.clone());
/// let server = Server::new("greeter", "1.0.0").state(greeting).tool(greet).build()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
///
/// Building a server returns an error if a handler takes state that the server does not have.
#[derive(Debug)]
pub struct State<T: ?Sized> {
    /// The state. The field has no common name, since it hides a field of `T` with the same name.
    pub arc: Arc<T>,
}

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Self {
            arc: self.arc.clone(),
        }
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.arc
    }
}

impl<T: ?Sized + Send + Sync + 'static> Extract for State<T> {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        let found = invocation.states.get::<T>();
        let found = found.map(|arc| Self { arc });
        found.ok_or_else(|| Failure::new("the server has no such state"))
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        requirements
            .states
            .push((TypeId::of::<Arc<T>>(), std::any::type_name::<T>()));
    }
}
