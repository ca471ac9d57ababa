//! `toolsearch catalog estimate`: what a model is sent at first in every mode.

use crate::assemble::{Assembled, Purpose};
use crate::cli::Common;
use crate::fault::{Done, Exit};
use crate::measure;
use crate::output::Output;

/// Measures all modes. These sessions show nothing to anyone, so they are not logged.
pub(crate) async fn run(common: &Common, output: &Output) -> Done {
    let assembled = Assembled::new(common, Purpose::Measuring, output)?;
    let listings = assembled.sources.list().await;
    let measured = measure::all(&assembled, &listings).await;
    assembled.close(output).await;
    let measured = measured?;
    if output.json {
        output.document(&measure::document(&measured))?;
    } else {
        output.table(&measure::table(&measured))?;
    }
    Ok(Exit::Fine)
}
