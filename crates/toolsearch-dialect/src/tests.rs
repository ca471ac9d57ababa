//! Tests over the public interface: what is passed, what is put in, streams against whole answers.

mod history;
mod passing;
mod shapes;
mod streams;
mod world;
