//! Tests of the resource server as a whole: a layer, an issuer on a loopback address, and a clock.

mod attacks;
mod audiences;
mod challenges;
mod dpop;
mod keys;
mod kinds;
mod metadata;
mod opaque;
mod privacy;
mod scopes;
mod settings;
mod stores;
mod streams;
mod support;
