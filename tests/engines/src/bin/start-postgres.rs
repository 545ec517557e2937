//! Starts a PostgreSQL for programs in other languages: prints its URL, and stops it when its own input ends.
#![allow(
    clippy::print_stdout,
    reason = "the URL is for the program that started this one"
)]

#[cfg(unix)]
fn main() {
    let server = turnbuckle_engines::PostgresServer::start_on_port();
    let port = server.port();
    println!("postgres://turnbuckle@127.0.0.1:{port}/postgres");
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
}

#[cfg(not(unix))]
fn main() {}
