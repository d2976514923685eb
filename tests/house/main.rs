//! The rules of the source tree, the documentation, the library, and the real pi as judge.

mod architecture;
mod circles;
#[path = "../common/mod.rs"]
mod common;
mod docs;
mod format_tables;
mod library;
#[cfg(unix)]
mod machine;
mod manual;
mod oracle;
#[cfg(unix)]
mod picture;
mod words;
