//! The program `toolsearch`: reads the command line, runs one command, and ends with its exit code.
//! What the commands do stands in `command/`, how their parts are put together in `assemble/`.

mod assemble;
mod cli;
mod command;
mod fault;
mod measure;
mod output;
mod table;
mod tokens;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::runtime::{Builder, Runtime};
use tracing::Level;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::cli::{Cli, Command};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

/// How long an ending process waits for threads that still do something.
const LINGER: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    toolsearch::work_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Whether help or complaint: there is nobody to tell when it cannot be printed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let output = Output::new(&cli.common);
    let exit = match perform(&cli, &output) {
        Ok(exit) => exit,
        Err(fault) if fault.silent => fault.exit,
        Err(fault) => {
            output.fault(&fault);
            fault.exit
        }
    };
    ExitCode::from(exit.code())
}

fn perform(cli: &Cli, output: &Output) -> Done {
    start_logging(cli);
    let runtime = runtime(&cli.command)
        .map_err(|error| Fault::failed(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(async {
        // Serving ends in its own way: running calls first, then the servers.
        if matches!(cli.command, Command::Serve(_)) {
            return command::execute(cli, output).await;
        }
        tokio::select! {
            done = command::execute(cli, output) => done,
            () = interrupted() => Ok(Exit::Interrupted),
        }
    });
    // A read of standard input may hang for ever; nothing waits for it.
    runtime.shutdown_timeout(LINGER);
    done
}

/// Serving has many things to do at once; everything else starts quicker on one thread. Over standard
/// input and output there is one client, whose messages would only be handed from thread to thread:
/// one thread passes half as many calls again. What takes long runs beside it.
fn runtime(command: &Command) -> std::io::Result<Runtime> {
    let mut builder = match command {
        Command::Serve(_) => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    };
    if matches!(command, Command::Serve(args) if args.http.is_none()) {
        builder.worker_threads(1);
    }
    builder.enable_all().build()
}

/// Standard error gets what happens: warnings while serving, more with `-v`, or what `RUST_LOG` says. What
/// calls are given and give back stays out of it.
fn start_logging(cli: &Cli) {
    let serving = matches!(cli.command, Command::Serve(_));
    let level = match cli.common.verbose {
        0 if !serving => return,
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // Whatever is more talkative in there quotes whole messages: arguments and results.
    let unquoted =
        filter_fn(|what| *what.level() <= Level::INFO || !what.target().starts_with("rmcp"));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(output::colours_stderr())
        .with_filter(filter.and(unquoted));
    tracing_subscriber::registry().with(lines).init();
}

/// Ends when the person or the system asks the process to end.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
