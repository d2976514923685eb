//! Sessions that go to another format and come back, edited there or not.

mod amended;
mod answers;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod continued;
mod edited;
mod held;
mod hostile;
mod imported;
mod judged;
mod origin;
mod other_programs;
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
