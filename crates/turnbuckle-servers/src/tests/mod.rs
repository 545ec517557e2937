//! Tests of many servers, which are servers in memory under a paused clock.

mod bad_input;
mod capabilities;
mod config;
mod connections;
mod fidelity;
mod items;
mod open_questions;
mod own_lists;
mod own_updates;
mod pass_on;
mod personal;
mod proxy;
mod questions;
mod reconnect;
mod rules;
mod scripted;
mod separation;
mod subscriptions;
mod support;
mod tasks;
