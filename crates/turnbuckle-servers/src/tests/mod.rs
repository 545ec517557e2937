//! Tests of many servers, which are servers in memory under a paused clock.

mod config;
mod items;
mod questions;
mod reconnect;
mod support;
