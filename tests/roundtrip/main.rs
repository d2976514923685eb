//! Sessions that go to another format and come back, edited there or not.

mod abroad;
mod amended;
mod answers;
#[path = "../common/mod.rs"]
mod common;
mod edited;
mod homeward;
mod imported;
mod judged;
mod origin;
mod parts;
mod respelled;
mod resumed;
mod streams;
mod torn;
mod unusual;
