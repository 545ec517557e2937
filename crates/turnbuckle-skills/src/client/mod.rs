//! The client's side: lists the skills of a server, reads their files and verifies them.
