//! Programs as models send them, through a session in mode `code` and the built program as the worker.

mod habits;
mod limits;
mod results;
mod run;
mod walls;
mod world;
