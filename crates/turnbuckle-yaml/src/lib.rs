#![doc = include_str!("../README.md")]

mod builder;
mod error;
mod scalar;

use saphyr_parser::Parser;
use serde_json::Value;

use builder::Builder;
pub use error::Error;

/// The rules by which a document is read.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The most levels of arrays and objects.
    pub max_depth: usize,
    /// The most keys, values, arrays and objects together, with those that aliases repeat.
    pub max_values: usize,
    /// Refuses what readers disagree about: anchors, aliases, tags, and integers beyond 64 bits.
    pub strict: bool,
}

/// Parses the one document of a text.
///
/// Specification: YAML 1.2.2, "Core Schema".
///
/// # Errors
/// When the text is not YAML, cannot be expressed in JSON, has several documents or none, or breaks a rule.
pub fn parse(text: &str, rules: &Rules) -> Result<Value, Error> {
    let mut builder = Builder::new(rules);
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| Error::syntax(&error))?;
        builder
            .accept(event)
            .map_err(|reason| Error::new(span.start.line(), reason))?;
    }
    builder.finish().ok_or_else(Error::empty)
}

#[cfg(test)]
mod tests;
