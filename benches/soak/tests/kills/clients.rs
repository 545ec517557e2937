//! A client with a server of its own is ended: the server goes, too.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::point::points;
use super::process::{PROGRAM, children, ends, servers, signal, turn};

#[test]
fn a_server_does_not_outlive_its_client() {
    let _turn = turn();
    for mut point in points() {
        let mut client = Command::new(PROGRAM)
            .arg("client")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut connected = String::new();
        let mut output = BufReader::new(client.stdout.take().unwrap());
        output.read_line(&mut connected).unwrap();
        assert_eq!(connected, "connected\n");
        let servers = servers(client.id());
        assert_eq!(servers.len(), 1, "{point:?} {servers:?}");
        let children = children(client.id());
        // Any point of what it does: there is nobody to tell it which.
        std::thread::sleep(Duration::from_micros(point.below(40_000)));
        signal(client.id(), point.signal());
        client.wait().unwrap();
        // The server ends with its input, and the helper that watches it too.
        children.into_iter().for_each(ends);
    }
}
