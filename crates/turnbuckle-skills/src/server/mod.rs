//! The server's side: skills of a folder, and skills that are made in code.
