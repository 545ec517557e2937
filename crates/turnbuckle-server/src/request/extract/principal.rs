//! Extractors of the caller whom the transport authenticated.

use serde::de::DeserializeOwned;
use turnbuckle_types::Principal;

use super::{Extract, Invocation};
use crate::error::failure::{Failure, Result};

/// Extracts the authenticated caller. Without one, the handler fails before it runs.
///
/// Specification: basic/authorization (2026-07-28).
impl Extract for Principal {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(principal(invocation)?.clone())
    }
}

/// Extracts the authenticated caller, if there is one.
impl Extract for Option<Principal> {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(invocation.context().principal().cloned())
    }
}

/// The claims of the caller's token, as a type of your own. Without a caller or claims of this type,
/// the handler fails before it runs.
///
/// ```
/// use turnbuckle_server::{Claims, Tool};
///
/// #[derive(serde::Deserialize)]
/// struct Employee {
///     department: String,
/// }
///
/// let whose = Tool::builder("department").handler(|Claims(who): Claims<Employee>| who.department);
/// # let _ = whose;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> Extract for Claims<T> {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        let claims = principal(invocation)?.claims.as_ref();
        let claims = claims.ok_or_else(|| Failure::new("the caller's token has no claims"))?;
        // The error may repeat a claim, which may be personal.
        let claims = serde_json::from_str(claims.as_str())
            .map_err(|_| Failure::new("the caller's token lacks claims that this needs"))?;
        Ok(Self(claims))
    }
}

fn principal<'a>(invocation: &'a Invocation<'_>) -> Result<&'a Principal> {
    let principal = invocation.context().principal();
    principal.ok_or_else(|| Failure::new("this needs an authenticated caller: log in first"))
}
