//! Servers made of parts: groups, mounts, layers, limits, and changes while they run.

mod batch;
mod blocking;
mod grouping;
mod layers;
mod middleware;
mod policy;
mod ready_middleware;
