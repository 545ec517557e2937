//! How arguments are read: decoded, checked where their type does not vouch for what their schema
//! says, and read leniently where they do not fit.

use serde::de::DeserializeOwned;
use turnbuckle_types::{Error, Json, RawJson};

use super::arguments::{ArgumentError, explain, not_an_object};
use super::held::Held;
use crate::failure::{Failure, Result};

/// How the arguments of one handler are read.
#[derive(Debug)]
pub(crate) struct Intake {
    held: Option<Held>,
    /// Whether what does not fit may be read as what was meant.
    lenient: bool,
    /// Whether no parameter of the handler takes the arguments.
    unread: bool,
}

impl Intake {
    /// Arguments are held against a schema.
    pub(crate) fn new(held: Held, lenient: bool, unread: bool) -> Self {
        Self {
            held: Some(held),
            lenient,
            unread,
        }
    }

    /// There are no arguments to be read.
    pub(crate) fn of_nothing() -> Self {
        Self {
            held: None,
            lenient: true,
            unread: false,
        }
    }

    /// Reads arguments as `T`; absent ones count as an empty object.
    ///
    /// They are decoded once, straight into `T`; only when that fails are they looked at again.
    pub(crate) fn read<T: DeserializeOwned>(&self, arguments: Option<RawJson<'_>>) -> Result<T> {
        let arguments = arguments.unwrap_or(NOTHING);
        let Some(held) = &self.held else {
            return arguments
                .decode()
                .map_err(|error| Failure::arguments(explain(arguments.as_str(), &error)));
        };
        if let Ok(decoded) = arguments.decode()
            && self.vouches(held, arguments)?
        {
            return Ok(decoded);
        }
        self.read_again(held, arguments)
    }

    /// Checks arguments that nobody decodes; absent ones count as an empty object. The ones that were
    /// meant, if these are others.
    pub(crate) fn checked(&self, arguments: Option<RawJson<'_>>) -> Result<Option<Json>> {
        let arguments = arguments.unwrap_or(NOTHING);
        let Some(held) = &self.held else {
            return Ok(None);
        };
        let Err(violations) = held.check(arguments)? else {
            return Ok(None);
        };
        let repaired = self.repaired(held, arguments);
        match repaired.filter(|it| matches!(held.check(it.into()), Ok(Ok(())))) {
            Some(repaired) => Ok(Some(repaired)),
            None => Err(refused(arguments, violations)),
        }
    }

    /// Arguments that no parameter of the handler takes have to fit all the same.
    pub(crate) fn admit(&self, arguments: Option<RawJson<'_>>) -> Result<()> {
        if self.unread {
            self.checked(arguments)?;
        }
        Ok(())
    }

    /// Whether arguments that decode fit.
    fn vouches(&self, held: &Held, arguments: RawJson<'_>) -> Result<bool, Error> {
        Ok(!held.constrains()? || held.check(arguments)?.is_ok())
    }

    fn repaired(&self, held: &Held, arguments: RawJson<'_>) -> Option<Json> {
        self.lenient.then(|| held.repair(arguments)).flatten()
    }

    #[cold]
    fn read_again<T: DeserializeOwned>(&self, held: &Held, arguments: RawJson<'_>) -> Result<T> {
        let repaired = self.repaired(held, arguments);
        let meant = repaired.as_ref().map_or(arguments, RawJson::from);
        if repaired.is_some()
            && let Ok(decoded) = meant.decode()
            && self.vouches(held, meant)?
        {
            return Ok(decoded);
        }
        if let Err(violations) = held.check(meant)? {
            return Err(refused(meant, violations));
        }
        match meant.decode() {
            Ok(decoded) => Ok(decoded),
            Err(error) => Err(Failure::arguments(explain(meant.as_str(), &error))),
        }
    }
}

/// Absent arguments.
const NOTHING: RawJson<'_> = RawJson::passed_over("{}");

fn refused(arguments: RawJson<'_>, violations: turnbuckle_schema::Violations) -> Failure {
    Failure::arguments(match arguments.is_object() {
        true => ArgumentError::from(violations),
        false => not_an_object(arguments.as_str()),
    })
}

#[cfg(test)]
mod tests;
