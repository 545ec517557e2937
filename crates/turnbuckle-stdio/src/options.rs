//! The settings of a server on a byte stream.

use std::time::Duration;

use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_types::settings;

settings! {
    /// Settings of [`run`](crate::run) and [`serve_stream`](crate::serve_stream).
    ///
    /// ```
    /// use turnbuckle_stdio::StdioOptions;
    ///
    /// let options = StdioOptions::new().max_message_bytes(1 << 20);
    /// assert_eq!(options.max_message_bytes, 1 << 20);
    /// ```
    #[derive(Debug, Clone)]
    pub struct StdioOptions {
        /// The largest size of one message in bytes, without its newline. A longer line is skipped
        /// and answered with an error.
        // Beyond: `a message may be at most … bytes long (StdioOptions::max_message_bytes); this
        // one was skipped`
        // Tests: turnbuckle_stdio::stream::a_line_has_so_many_bytes
        max_message_bytes: usize = 16 << 20,
        /// The time for which the client may read nothing of what is written to it, before the
        /// connection is closed. Each byte that it takes starts the time anew.
        // Beyond: the connection ends: `the peer read nothing for … (…)`
        // Tests: turnbuckle_stdio::stream::a_client_that_reads_nothing_is_cut_off
        //   turnbuckle_session::shared::write_timeout::tests::a_slow_reader_is_waited_for_however_long_the_whole_takes
        write_timeout: Duration = Duration::from_secs(60),
        /// The bounds of the client: requests, rates and timeouts. Among them is
        /// [`drain_timeout`](Limits::drain_timeout), the time for responses after the end of the
        /// input.
        limits: Limits = Limits::default(),
        /// Ends the server when it is cancelled: requests in flight are cancelled, and nothing more
        /// is read.
        stop: Signal = Signal::new(),
    }
}
