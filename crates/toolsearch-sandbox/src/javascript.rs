//! What engines of the same language share: the guest's world as a program (`prelude.js`), the reading of
//! what models write around a program, and errors that name the model's line and the way out.
//!
//! Pure text work. No interpreter lives here; whether a text is a program, the interpreter says.

mod diagnose;
mod mask;
mod source;

pub use diagnose::{FILE, Thrown, Why, is_about_return, read};
pub use source::{BODY_END, BODY_START, Normalized, normalize};

/// Most brackets that are open at once in the code of a text. What a recursive parser may be given depends on
/// it.
#[must_use]
pub fn nesting(text: &str) -> u32 {
    mask::Mask::new(text).deepest()
}

/// The guest's world: a function of one object of native functions and numbers, which puts `tools`,
/// `openclaw`, `servers`, `console`, `setTimeout` and a repeatable clock and chance into the global object and
/// answers the object through which a driver runs a program.
///
/// | native | called |
/// |---|---|
/// | `call(id, method, args)` | a call was made; `args` is JSON text |
/// | `sleep(id, ms)` | a timer was started |
/// | `log(level, text)` | a line was logged; 0 is debug, 3 is error |
/// | `tooManyCalls()` | the program made more than `callsMax` calls and must not run on |
/// | `bytes(text)` | answers the length of a text in bytes |
///
/// The numbers are `callsMax`, `flyingMax`, `timersMax`, `frameMax`, `lineMax` and `textMax`; a driver may set
/// them after the prelude ran.
pub const PRELUDE: &str = include_str!("javascript/prelude.js");
