//! Compiles the guest's world into bytecode, so that no worker has to parse it.
//!
//! The compiler is the engine of this very build, and the bytecode becomes a part of the binary: a worker
//! reads none from anywhere else.

use std::{env, error::Error, fs, path::PathBuf};

use rquickjs::{
    Context, Module, Runtime,
    module::{WriteOptions, WriteOptionsEndianness},
};
use toolsearch_sandbox::javascript::PRELUDE;

fn main() -> Result<(), Box<dyn Error>> {
    let endianness = match env::var("CARGO_CFG_TARGET_ENDIAN")?.as_str() {
        "big" => WriteOptionsEndianness::Big,
        _ => WriteOptionsEndianness::Little,
    };
    let options = WriteOptions {
        endianness,
        // Stack traces show lines of the program, never of this.
        strip_source: true,
        strip_debug: true,
        ..WriteOptions::default()
    };
    let context = Context::full(&Runtime::new()?)?;
    let bytecode = context.with(|ctx| {
        let text = format!("export default {PRELUDE}");
        Module::declare(ctx, "prelude", text)?.write(options)
    })?;
    let folder = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(folder.join("prelude.bytecode"), bytecode)?;
    Ok(())
}
