//! Questions of the server: sampling, elicitation and roots, in the way of each era.
//!
//! Specification: client/sampling, client/elicitation, client/roots; basic/patterns/mrtr (2026-07-28).

mod answers;
mod inputs;
mod requests;

use crate::check::Check;

pub(super) use inputs::{STATE, accepted, required};
pub(super) use requests::{all_capabilities, ask_often, asking_call};

pub(super) const CHECKS: [&[Check]; 3] = [requests::CHECKS, inputs::CHECKS, answers::CHECKS];
