//! The attributes, used as their users do.

mod arguments;
mod constraints;
mod data;
mod flatten;
mod foreign;
mod functions;
mod group;
mod names;
mod results;
mod same;
mod task;
