//! Reading arguments: decoding, validation where the type does not guarantee its schema,
//! and lenient repair.

use serde::de::DeserializeOwned;
use turnbuckle_types::{Json, ProtocolError, RawJson};

use super::enforced::EnforcedSchema;
use super::mismatch::{explain_mismatch, not_an_object};
use crate::error::ArgumentError;
use crate::error::failure::{Failure, Result};

/// Reads the arguments of one handler.
#[derive(Debug)]
pub(crate) struct ArgumentReader {
    /// The schema that arguments are validated against; `None` if the handler has no arguments.
    schema: Option<EnforcedSchema>,
    /// True if values that do not match may be repaired.
    lenient: bool,
    /// True if no parameter of the handler takes the arguments.
    unread: bool,
}

impl ArgumentReader {
    /// Creates a reader with a schema.
    pub(crate) fn new(schema: EnforcedSchema, lenient: bool, unread: bool) -> Self {
        Self {
            schema: Some(schema),
            lenient,
            unread,
        }
    }

    /// Creates a reader for a handler without arguments.
    pub(crate) fn without_arguments() -> Self {
        Self {
            schema: None,
            lenient: true,
            unread: false,
        }
    }

    /// Reads arguments as `T`; absent ones count as an empty object.
    ///
    /// They are decoded once, directly into `T`, and looked at again only if that fails.
    pub(crate) fn read<T: DeserializeOwned>(&self, arguments: Option<RawJson<'_>>) -> Result<T> {
        let arguments = arguments.unwrap_or(EMPTY_OBJECT);
        let Some(schema) = &self.schema else {
            return arguments.decode().map_err(|error| {
                Failure::arguments(explain_mismatch(arguments.as_str(), &error, |_| None))
            });
        };
        if let Ok(decoded) = arguments.decode()
            && self.fits(schema, arguments)?
        {
            return Ok(decoded);
        }
        self.read_repaired(schema, arguments)
    }

    /// Checks arguments that are not decoded; absent ones count as an empty object. Returns
    /// repaired arguments if they were repaired.
    pub(crate) fn check(&self, arguments: Option<RawJson<'_>>) -> Result<Option<Json>> {
        let arguments = arguments.unwrap_or(EMPTY_OBJECT);
        let Some(schema) = &self.schema else {
            return Ok(None);
        };
        let Err(violations) = schema.validate(arguments)? else {
            return Ok(None);
        };
        let repaired = self.repair(schema, arguments);
        match repaired.filter(|it| matches!(schema.validate(it.into()), Ok(Ok(())))) {
            Some(repaired) => Ok(Some(repaired)),
            None => Err(violation_failure(arguments, violations)),
        }
    }

    /// Checks arguments that no parameter of the handler takes.
    pub(crate) fn check_unread(&self, arguments: Option<RawJson<'_>>) -> Result<()> {
        if self.unread {
            self.check(arguments)?;
        }
        Ok(())
    }

    /// Returns whether arguments that can be decoded match the schema.
    fn fits(&self, schema: &EnforcedSchema, arguments: RawJson<'_>) -> Result<bool, ProtocolError> {
        Ok(!schema.has_constraints()? || schema.validate(arguments)?.is_ok())
    }

    /// Returns repaired arguments, if repair is allowed and changes something.
    fn repair(&self, schema: &EnforcedSchema, arguments: RawJson<'_>) -> Option<Json> {
        self.lenient.then(|| schema.repair(arguments)).flatten()
    }

    /// Reads arguments that failed: repairs them, or returns an error that lists the violations.
    #[cold]
    fn read_repaired<T: DeserializeOwned>(
        &self,
        schema: &EnforcedSchema,
        arguments: RawJson<'_>,
    ) -> Result<T> {
        let repaired = self.repair(schema, arguments);
        let meant = repaired.as_ref().map_or(arguments, RawJson::from);
        let decoded = meant.decode();
        let is_read = repaired.is_some() && decoded.is_ok() && self.fits(schema, meant)?;
        if !is_read {
            check_meant(schema, meant)?;
        }
        decoded.map_err(|error| mismatch_failure(schema, meant, &error))
    }
}

/// Checks arguments that are not repaired any further.
fn check_meant(schema: &EnforcedSchema, meant: RawJson<'_>) -> Result<()> {
    match schema.validate(meant)? {
        Ok(()) => Ok(()),
        Err(violations) => Err(violation_failure(meant, violations)),
    }
}

/// Returns the failure for arguments that match the schema and cannot be decoded.
fn mismatch_failure(
    schema: &EnforcedSchema,
    arguments: RawJson<'_>,
    error: &serde_json::Error,
) -> Failure {
    let format_at = |path: &[String]| schema.format_at(path);
    Failure::arguments(explain_mismatch(arguments.as_str(), error, format_at))
}

/// The value of absent arguments.
const EMPTY_OBJECT: RawJson<'_> = RawJson::from_valid_text("{}");

/// Returns the failure for arguments that violate the schema.
fn violation_failure(arguments: RawJson<'_>, violations: turnbuckle_schema::Violations) -> Failure {
    let error = if arguments.is_object() {
        ArgumentError::from(violations)
    } else {
        not_an_object(arguments.as_str())
    };
    Failure::arguments(error)
}

#[cfg(test)]
mod tests;
