//! The client's end of a binding, and the server task at its other end.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::task::JoinHandle;
use turnbuckle_server::Server;
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::{
    CloseReason, Dispatch, Frame, MemoryTransport, Transport, TransportContext, memory_pair, serve,
};
use turnbuckle_stdio::{StdioOptions, StreamTransport, serve_stream};

use super::http::Http;
use super::sse::Sse;
use super::{Bind, Case, ClientOptions};
use crate::wires::InPieces;

/// Bytes that a stream holds in one direction.
const STREAM_BYTES: usize = 1 << 20;

/// Bytes that a line to the server may have.
const MAX_LINE: usize = 1 << 20;

/// Frames out and in, and the server's task.
pub(super) struct Link {
    end: End,
    /// Asks the server to wind down, or to stop.
    pub(super) stop: Signal,
    server: Option<JoinHandle<CloseReason>>,
}

enum End {
    Pipe(MemoryTransport),
    Stream {
        writer: Option<DuplexStream>,
        lines: Lines<BufReader<DuplexStream>>,
    },
    Http(Box<Http>),
    Sse(Box<Sse>),
}

impl Link {
    pub(super) fn open(case: Case, server: &Server, options: &ClientOptions) -> Self {
        let dispatch: Arc<dyn Dispatch> = server.clone().into();
        let stop = Signal::new();
        let limits = options.limits.clone();
        let context = TransportContext {
            principal: options.principal.clone().map(Arc::new),
            shutdown: Some(stop.clone()),
            ..TransportContext::default()
        };
        let (end, server) = match case.binding {
            Bind::Pipe => {
                let (ours, theirs) = memory_pair();
                let serving = serve(dispatch, theirs, limits, context, stop.clone());
                (End::Pipe(ours), Some(tokio::spawn(serving)))
            }
            Bind::Stream => {
                let (writer, reading) = duplex(STREAM_BYTES);
                let (writing, reader) = duplex(STREAM_BYTES);
                let place = case.to_string();
                let reading = InPieces::new(reading, &place);
                let writing = InPieces::new(writing, &place);
                let end = End::Stream {
                    writer: Some(writer),
                    lines: BufReader::new(reader).lines(),
                };
                // Nobody is authenticated on a plain stream: who wants a principal there serves
                // the transport himself.
                let server = if context.principal.is_some() {
                    let transport = StreamTransport::new(reading, writing, MAX_LINE);
                    tokio::spawn(serve(dispatch, transport, limits, context, stop.clone()))
                } else {
                    let options = StdioOptions::new()
                        .max_message_bytes(MAX_LINE)
                        .limits(limits)
                        .stop(stop.clone());
                    tokio::spawn(serve_stream(dispatch, reading, writing, options))
                };
                (end, Some(server))
            }
            Bind::Http => {
                let http = Http::new(server, case.revision, options, stop.clone());
                (End::Http(Box::new(http)), None)
            }
            Bind::Sse => {
                let sse = Sse::new(server, options, stop.clone());
                (End::Sse(Box::new(sse)), None)
            }
        };
        Self { end, stop, server }
    }

    pub(super) async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        match &mut self.end {
            End::Pipe(transport) => {
                transport.queue(frame);
                poll_fn(|cx| transport.poll_flush(cx)).await
            }
            End::Stream { writer, .. } => {
                let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
                writer.write_all(frame).await?;
                writer.write_all(b"\n").await
            }
            End::Http(http) => {
                http.send(frame).await;
                Ok(())
            }
            End::Sse(sse) => {
                sse.send(frame).await;
                Ok(())
            }
        }
    }

    /// Returns the next frame; `None` at the end. Cancel safe: dropping the future loses no frame.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        match &mut self.end {
            End::Pipe(transport) => match poll_fn(|cx| transport.poll_frame(cx)).await? {
                Frame::Message(frame) => Some(frame.into()),
                Frame::TooLong { limit } => panic!("a frame of more than {limit} bytes"),
            },
            End::Stream { lines, .. } => {
                let line = lines.next_line().await.expect("the stream can be read");
                line.map(String::into_bytes)
            }
            End::Http(http) => http.next().await,
            End::Sse(sse) => sse.next().await,
        }
    }

    /// Gives a request up by what the binding has for that; `false` where that is a message.
    pub(super) fn give_up(&mut self, id: &str) -> bool {
        match &mut self.end {
            End::Http(http) => http.give_up(id),
            End::Pipe(_) | End::Stream { .. } | End::Sse(_) => false,
        }
    }

    /// Says that no more will be sent.
    pub(super) fn close(&mut self) {
        match &mut self.end {
            End::Pipe(transport) => transport.close_sending(),
            End::Stream { writer, .. } => drop(writer.take()),
            End::Http(_) | End::Sse(_) => panic!("an endpoint cannot be half closed"),
        }
    }

    /// Waits until the server has ended and returns the reason.
    pub(super) async fn closed(&mut self) -> CloseReason {
        let server = self.server.take().expect("a connection, asked once");
        server.await.expect("serving does not panic")
    }
}
