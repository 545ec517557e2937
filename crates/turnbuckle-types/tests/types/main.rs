//! The vocabulary against the specification's schemas and examples, and against itself: nothing
//! lost, nothing rounded, nothing guessed.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::unwrap_used, clippy::panic)]

mod canonical;
mod capabilities;
mod elicitation;
mod errors;
mod examples;
mod hostile;
mod icons_and_roots;
mod ids_and_numbers;
mod maps_and_meta;
mod methods;
mod objects;
mod sampling;
mod schemas;
mod spec;
mod tasks;
mod unions;
