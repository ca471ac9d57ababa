//! The null objects, the fakes and the parts of the contract crates keep the rules (`kept`); a part
//! that breaks one is found out (`broken`).

mod broken;
mod kept;
