//! `toolsearch mcp login|logout`: tokens for servers over HTTP. The person logs in with a browser; what
//! comes back is kept in a file for this user alone.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use toolsearch_mcp::oauth::{LoginError, LoginOptions, TokenStore, login};
use toolsearch_mcp::{Endpoint, HttpAddress, Secret};

use crate::assemble::configuration::variable;
use crate::assemble::sources::token_store;
use crate::assemble::{Assembled, Purpose};
use crate::cli::{Common, LoginArgs};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

use super::look::unknown;

/// Logs in to one server.
pub(super) async fn run(args: &LoginArgs, common: &Common, output: &Output) -> Done {
    let address = address(&args.name, common, output)?;
    let login = login(&address, &store()?, options(args)?)
        .await
        .map_err(|error| fault(&args.name, &error))?;
    output.remark(&format!(
        "open this address to log in at {}:",
        login.issuer()
    ));
    output.remark(login.url());
    if !args.no_browser {
        open(login.url());
    }
    let tokens = login
        .finish(Duration::from_secs(args.timeout))
        .await
        .map_err(|error| fault(&args.name, &error))?;
    if output.json {
        output.document(&json!({
            "server": args.name, "issuer": tokens.issuer, "scope": tokens.scope,
            "expiresAtMs": tokens.expires_at_ms,
        }))?;
    } else {
        output.text(&format!("logged in to {} at {}", args.name, tokens.issuer))?;
    }
    Ok(Exit::Fine)
}

/// Forgets the tokens of one server.
pub(super) fn out(name: &str, common: &Common, output: &Output) -> Done {
    let address = address(name, common, output)?;
    let removed = store()?.remove(&address.url).map_err(|error| {
        Fault::failed(format!("the tokens of {name} cannot be removed: {error}"))
    })?;
    if output.json {
        output.document(&json!({ "server": name, "removed": removed }))?;
    } else {
        output.text(&match removed {
            true => format!("the tokens of {name} are removed"),
            false => format!("there are no tokens of {name}"),
        })?;
    }
    Ok(Exit::Fine)
}

/// Where the server stands; nothing is started.
fn address(name: &str, common: &Common, output: &Output) -> Result<HttpAddress, Fault> {
    let assembled = Assembled::new(common, Purpose::Measuring, output)?;
    let mut servers = assembled.sources.servers.iter();
    let Some(server) = servers.find(|server| server.spec().name == name) else {
        return Err(unknown(name, &assembled));
    };
    match &server.spec().endpoint {
        Endpoint::Http(address) => Ok(address.clone()),
        _ => Err(Fault::usage(format!(
            "server `{name}` is a command, which needs no login"
        ))
        .next("give it what it needs in `env`")),
    }
}

fn store() -> Result<TokenStore, Fault> {
    token_store().ok_or_else(|| Fault::failed("there is no folder for tokens: HOME is not set"))
}

fn options(args: &LoginArgs) -> Result<LoginOptions, Fault> {
    let mut options = LoginOptions::default();
    options.client_id.clone_from(&args.client_id);
    options.client_metadata.clone_from(&args.client_metadata);
    if let Some(name) = &args.client_secret_env {
        let secret = variable(name)
            .ok_or_else(|| Fault::usage(format!("the variable {name} is not set")))?;
        options.client_secret = Some(Secret::from(secret));
    }
    if !args.scope.is_empty() {
        options.scopes = Some(args.scope.clone());
    }
    Ok(options)
}

fn fault(name: &str, error: &LoginError) -> Fault {
    let message = format!("{name}: {error}");
    match error {
        LoginError::Registration(_) => {
            Fault::usage(message).next("give the client with --client-id")
        }
        LoginError::Refused(_) => Fault::new(Exit::Denied, "login_refused", message),
        LoginError::TimedOut(_) => Fault::failed(message),
        _ => Fault::new(Exit::Unavailable, "login_failed", message),
    }
}

/// Opens the address where a browser can be had. Whether it worked is seen by its coming back; the
/// address stands on the screen in any case.
fn open(url: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = Command::new(program);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tracing::debug!(%error, "no browser was opened");
    }
}
