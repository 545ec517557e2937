//! Whole messages on their way.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use turnbuckle_session::transport::{Frame, MemoryTransport, Transport, memory_pair};

use super::stream::Stalls;
use super::{Harm, Toward, Wires};

impl Wires {
    /// Creates a pair of queues: the client's end and the server's.
    pub(super) fn frames(&self) -> (MemoryTransport, MemoryTransport) {
        let wire = self.trace.open();
        let ((client, near), (far, server)) = (memory_pair(), memory_pair());
        let between = Between {
            stalls: Stalls::new(self, wire, Toward::Server),
            wires: self.clone(),
            wire,
            ends: [End::new(near), End::new(far)],
        };
        tokio::spawn(between.run());
        (client, server)
    }
}

/// One of the two that talk.
struct End {
    transport: MemoryTransport,
    /// Number of messages that this side sent.
    sent: usize,
    /// True once this side sends no more.
    ended: bool,
}

impl End {
    fn new(transport: MemoryTransport) -> Self {
        Self {
            transport,
            sent: 0,
            ended: false,
        }
    }
}

struct Between {
    wires: Wires,
    wire: usize,
    stalls: Stalls,
    /// The client, and the server.
    ends: [End; 2],
}

impl Between {
    async fn run(mut self) {
        let wires = self.wires.clone();
        while let Some((toward, frame)) = poll_fn(|cx| self.poll(cx)).await {
            self.stalls.pass(&wires).await;
            wires.trace.pass(self.wire, toward, &[]);
            let [client, server] = &mut self.ends;
            let (from, to) = match toward {
                Toward::Server => (client, server),
                Toward::Client => (server, client),
            };
            let cut = |at| Harm::Cut(self.wire, toward, at);
            if from.sent == 0 && wires.script.harms.contains(&cut(0)) {
                return;
            }
            let (lost, twice) = wires.script.of_frame((self.wire, toward, from.sent));
            let times = usize::from(!lost) + usize::from(twice);
            (0..times).for_each(|_| to.transport.queue(&frame));
            from.sent += 1;
            if wires.script.harms.contains(&cut(from.sent)) {
                let _ = poll_fn(|cx| to.transport.poll_flush(cx)).await;
                return;
            }
        }
    }

    /// Returns the next message and its direction; `None` once neither side sends any more.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Toward, Bytes)>> {
        for end in &mut self.ends {
            // Whoever left hears no more.
            let _ = end.transport.poll_flush(cx);
        }
        for from in 0..self.ends.len() {
            if self.ends[from].ended {
                continue;
            }
            match self.ends[from].transport.poll_frame(cx) {
                Poll::Ready(Some(Frame::Message(frame))) => {
                    let toward = [Toward::Server, Toward::Client][from];
                    return Poll::Ready(Some((toward, frame)));
                }
                Poll::Ready(_) => {
                    self.ends[from].ended = true;
                    self.ends[1 - from].transport.close_sending();
                }
                Poll::Pending => {}
            }
        }
        match self.ends.iter().all(|end| end.ended) {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }
}
