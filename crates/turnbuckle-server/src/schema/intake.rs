//! How arguments are read: decoded, checked where their type does not vouch for what their schema
//! says, and read leniently where they do not fit.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use turnbuckle_types::Error;

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
    pub(crate) fn read<T: DeserializeOwned>(&self, arguments: Option<&RawValue>) -> Result<T> {
        let arguments = arguments.unwrap_or_else(nothing);
        let Some(held) = &self.held else {
            return serde_json::from_str(arguments.get())
                .map_err(|error| Failure::arguments(explain(arguments.get(), &error)));
        };
        if let Ok(decoded) = decode(arguments)
            && self.vouches(held, arguments)?
        {
            return Ok(decoded);
        }
        self.read_again(held, arguments)
    }

    /// Arguments that nobody decodes; absent ones count as an empty object.
    pub(crate) fn checked<'a>(&self, arguments: Option<&'a RawValue>) -> Result<Cow<'a, RawValue>> {
        let arguments = arguments.unwrap_or_else(nothing);
        let Some(held) = &self.held else {
            return Ok(Cow::Borrowed(arguments));
        };
        let Err(violations) = held.check(arguments)? else {
            return Ok(Cow::Borrowed(arguments));
        };
        let repaired = self.repaired(held, arguments);
        match repaired.filter(|it| matches!(held.check(it), Ok(Ok(())))) {
            Some(repaired) => Ok(Cow::Owned(repaired)),
            None => Err(refused(arguments, violations)),
        }
    }

    /// Arguments that no parameter of the handler takes have to fit all the same.
    pub(crate) fn admit(&self, arguments: Option<&RawValue>) -> Result<()> {
        if self.unread {
            self.checked(arguments)?;
        }
        Ok(())
    }

    /// Whether arguments that decode fit.
    fn vouches(&self, held: &Held, arguments: &RawValue) -> Result<bool, Error> {
        Ok(!held.constrains()? || held.check(arguments)?.is_ok())
    }

    fn repaired(&self, held: &Held, arguments: &RawValue) -> Option<Box<RawValue>> {
        self.lenient.then(|| held.repair(arguments)).flatten()
    }

    #[cold]
    fn read_again<T: DeserializeOwned>(&self, held: &Held, arguments: &RawValue) -> Result<T> {
        let repaired = self.repaired(held, arguments);
        let meant = repaired.as_deref().unwrap_or(arguments);
        if repaired.is_some()
            && let Ok(decoded) = decode(meant)
            && self.vouches(held, meant)?
        {
            return Ok(decoded);
        }
        if let Err(violations) = held.check(meant)? {
            return Err(refused(meant, violations));
        }
        match decode(meant) {
            Ok(decoded) => Ok(decoded),
            Err(error) => Err(Failure::arguments(explain(meant.get(), &error))),
        }
    }
}

/// Absent arguments.
fn nothing<'a>() -> &'a RawValue {
    serde_json::from_str("{}").unwrap_or(RawValue::NULL)
}

fn decode<T: DeserializeOwned>(arguments: &RawValue) -> serde_json::Result<T> {
    serde_json::from_str(arguments.get())
}

fn refused(arguments: &RawValue, violations: turnbuckle_schema::Violations) -> Failure {
    Failure::arguments(match arguments.get().starts_with('{') {
        true => ArgumentError::from(violations),
        false => not_an_object(arguments.get()),
    })
}

#[cfg(test)]
mod tests;
