//! The `authorization` scenarios of the official conformance suite. The test plays the browser.
//! `cargo xtask conformance` installs the suite and runs the test.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use turnbuckle_engines::ReservedPort;

use super::{RESOURCE, Script, builder};

/// The running suite. It is stopped when the test ends, however it ends.
struct Suite(Child);

impl Drop for Suite {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Opens the suite's callback. The suite prints its URL a moment before it listens, and may end before its
/// response has come: then its report tells how it went.
async fn open(script: &Script, url: &str, suite: &mut Suite) {
    for _ in 0..400 {
        let is_answered = script.http.get(url).send().await.is_ok();
        if is_answered || suite.0.try_wait().expect("it is a child").is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the suite does not listen");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the packages of tests/js; cargo xtask conformance runs it"]
async fn the_official_authorization_scenarios_pass() {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/js/node_modules");
    let node = std::env::var_os("NODE").expect("NODE names the program");
    for path in ["", "/tenant1"] {
        let reserved = ReservedPort::new().unwrap();
        let port = reserved.number().to_string();
        let redirect = format!("http://127.0.0.1:{port}/callback");
        let with_client = builder()
            .path(path)
            .public_client("conformance", [redirect]);
        let script = Script::start(with_client).await;
        let suite = Command::new(&node)
            .arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"))
            .args(["authorization", "--url", script.server.issuer()])
            .args([
                "--client-id",
                "conformance",
                "--resource",
                RESOURCE,
                "-p",
                &port,
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut suite = Suite(suite);
        let mut output = BufReader::new(suite.0.stdout.take().unwrap());
        let mut log = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(
                output.read_line(&mut line).unwrap(),
                0,
                "no URL for the browser: {log}"
            );
            log.push_str(&line);
            if line.starts_with(script.server.issuer()) {
                let answer = script.get(line.trim()).await;
                answer.redirect();
                open(&script, answer.header("location"), &mut suite).await;
                break;
            }
        }
        output.read_to_string(&mut log).unwrap();
        assert!(suite.0.wait().unwrap().success(), "{log}");
        // The metadata, its announcement of metadata documents, and the code grant.
        assert!(log.contains("Total: 3 passed, 0 failed"), "{log}");
        println!("{log}");
    }
}
