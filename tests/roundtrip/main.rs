//! Sessions that go to another format and come back, edited there or not.

mod answers;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod context_edits;
mod continued;
mod continued_corpus;
mod damaged;
mod earlier;
mod edited;
mod held;
mod hostile;
mod imported;
mod imported_context;
mod judged;
mod new_compactions;
mod origin;
mod parts;
mod real_agents;
mod respelled;
mod resumed;
mod returned;
mod rewound;
mod streams;
mod torn;
mod turns;
mod unusual;
