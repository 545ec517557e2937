//! Servers for a client that is measured: they answer when it sleeps.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use turnbuckle::http::{HttpServer, HttpServerOptions};

use crate::asleep::wait_until_asleep;
use crate::ours::offers::server;
use crate::process::{Ended, on_one_thread, tell_port, word};

/// Runs, for `paced-stdio OFFER`, our server on stdio, for the process that started this one.
pub(crate) fn stdio(words: &[String]) -> Ended {
    let client = std::os::unix::process::parent_id();
    let mut server = Command::new(std::env::current_exe()?)
        .args(["stdio", word(words, 0)?])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (input, output) = (server.stdin.take(), server.stdout.take());
    let (Some(mut input), Some(output)) = (input, output) else {
        return Err("the server was started without pipes".into());
    };
    let asked = thread::spawn(move || io::copy(&mut io::stdin(), &mut input));
    pace(output, io::stdout(), client)?;
    let _ = asked.join();
    server.wait()?;
    Ok(())
}

/// Runs, for `paced-http OFFER`, our server on HTTP, for the process whose number is the first line of the
/// input. Ends with the input.
pub(crate) fn http(words: &[String]) -> Ended {
    let server = server(word(words, 0)?)?;
    on_one_thread(async {
        let http = HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new()).await?;
        let behind = http.local_addr().ok_or("no address")?;
        let before = TcpListener::bind(("127.0.0.1", 0))?;
        tell_port(before.local_addr()?.port())?;
        let shutdown = http.shutdown();
        thread::spawn(move || {
            let mut number = String::new();
            let _ = io::stdin().lock().read_line(&mut number);
            if let Ok(client) = number.trim().parse() {
                thread::spawn(move || {
                    for stream in before.incoming().map_while(Result::ok) {
                        let server = TcpStream::connect(behind);
                        let _ = server.and_then(|server| relay(stream, server, client));
                    }
                });
            }
            let _ = io::stdin().read_to_end(&mut Vec::new());
            shutdown.close();
        });
        Ok(http.serve().await?)
    })?
}

/// Passes on what is said on one connection, both ways.
fn relay(client: TcpStream, server: TcpStream, process: u32) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut asking, mut asked) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut asking, &mut asked);
        let _ = asked.shutdown(Shutdown::Write);
    });
    thread::spawn(move || pace(server, client, process));
    Ok(())
}

/// Passes on what comes, each piece when `process` sleeps.
fn pace(mut from: impl Read, mut to: impl Write, process: u32) -> io::Result<()> {
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        wait_until_asleep(process)?;
        to.write_all(&piece[..length])?;
        to.flush()?;
    }
}
