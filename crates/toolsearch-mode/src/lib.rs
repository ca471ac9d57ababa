//! What a model sees of a catalog, and how its control calls are read and answered.
//!
//! A [`Mode`] is a pure renderer: from a [`View`] it makes a byte-stable [`Surface`]; it turns a
//! control call into a [`Request`] and a [`Response`] into what the model reads. It holds nothing
//! and can run nothing. The pieces that modes share are here: the controls and their names, reading
//! of arguments ([`read`]), the compact [`Card`] of a tool, and the JSON of answers ([`render`]).
//! [`bridge`] is the same for programs. Not here: finding, deciding and running.

pub mod bridge;
mod card;
mod contract;
mod control;
mod direct;
mod failure;
mod provenance;
pub mod read;
pub mod render;
mod request;
mod response;
pub mod structured;
mod surface;

pub use card::{Card, MAX_DESCRIPTION_CHARS, MAX_SIGNATURE_CHARS};
pub use contract::{ControlCall, Decoding, Mode, Rendered};
pub use control::{Control, ControlNames, NameClash, SearchLimits};
pub use direct::Direct;
pub use failure::{Failure, FailureCode};
pub use request::{CallRequest, MAX_DESCRIBE_IDS, Query, Request};
pub use response::{
    CallNote, CallReply, FoundTool, Group, LeftOutNote, OutageNote, Response, RunError, RunReply,
    SearchReply,
};
pub use surface::{OWN_TOOLS, OwnerNote, Role, Surface, SurfaceTool, View, is_own, owner_hint};

#[cfg(test)]
mod tests;
