//! `toolsearch serve`: the MCP gateway on standard input and output, or over HTTP; and `serve token`,
//! which makes a token for it.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use data_encoding::HEXLOWER_PERMISSIVE;
use serde_json::json;
use tokio::time::interval;
use toolsearch_config::{Gateway as Written, Settings};
use toolsearch_gateway::http::{
    BindError, HttpControl, HttpGateway, HttpOptions, ProtectedResource, Tls, Token,
};
use toolsearch_gateway::proxy::Proxy;
use toolsearch_gateway::{Gateway, ServeError};

use crate::assemble::configuration::Configuration;
use crate::assemble::gateway::{Door, House};
use crate::assemble::proxy::{providers, proxy};
use crate::assemble::{Assembled, Purpose};
use crate::cli::{Common, ServeArgs, ServeCommand};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Serves clients until they, or the person, end it.
pub(crate) async fn run(args: &ServeArgs, common: &Common, output: &Output) -> Done {
    if let Some(ServeCommand::Token(token)) = &args.command {
        return make_token(&token.name, common.agent.as_deref(), output);
    }
    let assembled = Assembled::new(common, Purpose::Model, output)?;
    let house = House::new(common, assembled);
    let door = Door(Arc::clone(&house));
    let served = match &args.http {
        None => stdio(&door, common, output).await,
        Some(address) => http(&door, address.as_deref(), common, output).await,
    };
    if !house.close().await {
        output.warning("some sessions were not recorded: their logs cannot be written");
    }
    served
}

async fn stdio(door: &Door, common: &Common, output: &Output) -> Done {
    let gateway = Gateway::new(door.own());
    let served = tokio::select! {
        served = gateway.serve_stdio() => served,
        () = follow_file(door, None, common, output) => Ok(()),
        () = crate::interrupted() => return Ok(Exit::Interrupted),
    };
    match served {
        Ok(()) => Ok(Exit::Fine),
        Err(ServeError::Refused(reason)) => Err(Fault::configuration(reason)),
        Err(error) => Err(Fault::failed(error.to_string())),
    }
}

async fn http(door: &Door, address: Option<&str>, common: &Common, output: &Output) -> Done {
    let configuration = door.0.configuration();
    let written = &configuration.settings.gateway;
    let address = address.unwrap_or(&written.listen);
    let address: SocketAddr = address.parse().map_err(|_| {
        let message = format!("`{address}` is no address and port");
        Fault::usage(message).next("write it like 127.0.0.1:7332 or [::1]:7332")
    })?;
    let options = http_options(&configuration.settings);
    let bound = HttpGateway::bind(address, Arc::new(door.clone()), options).await;
    let mut gateway = bound.map_err(|error| unbound(&error))?;
    let tls = tls(written, &configuration)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    if let Some(tls) = tls {
        gateway = gateway.with_tls(tls);
    }
    let proxy =
        proxy(door, &configuration).map_err(|error| Fault::configuration(error.to_string()))?;
    gateway = gateway.mount(proxy.router());
    let address = gateway.address()?;
    output.note(&format!("serving MCP on {scheme}://{address}/mcp"));
    let control = gateway.control();
    let serving = gateway.serve(crate::interrupted());
    tokio::select! {
        served = serving => served.map_err(|error| Fault::failed(error.to_string()))?,
        () = follow_file(door, Some((&control, &proxy)), common, output) => {}
    }
    Ok(Exit::Fine)
}

fn unbound(error: &BindError) -> Fault {
    let reason = std::error::Error::source(error).map(|source| format!(" ({source})"));
    let fault = Fault::configuration(format!("{error}{}", reason.unwrap_or_default()));
    match error {
        BindError::Open(_) => {
            fault.next("make one with `toolsearch serve token NAME`, or listen on 127.0.0.1")
        }
        _ => fault.next("choose another address with --http or gateway.listen"),
    }
}

/// What the file says of HTTP, as the gateway takes it.
fn http_options(settings: &Settings) -> HttpOptions {
    let written = &settings.gateway;
    let small = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let mut options = HttpOptions::default();
    options.tokens = written.auth.tokens.iter().filter_map(token).collect();
    options.hosts.clone_from(&written.hosts);
    options.origins.clone_from(&written.origins);
    options.resource = written.auth.resource.as_ref().map(|resource| {
        ProtectedResource::new(resource, written.auth.authorization_servers.clone())
    });
    let limits = &written.limits;
    options.body_bytes = small(limits.body_bytes);
    options.sessions = small(limits.sessions);
    options.concurrent_per_token = small(limits.concurrent_per_token);
    options.requests_per_second = u32::try_from(limits.requests_per_second).unwrap_or(u32::MAX);
    options.idle = Duration::from_millis(limits.session_idle_ms);
    options
}

/// A hash that is none opens nothing; the reader of the file has refused it already.
fn token(written: &toolsearch_config::GatewayToken) -> Option<Token> {
    let hash = HEXLOWER_PERMISSIVE.decode(written.sha256.as_bytes()).ok()?;
    let hash = hash.try_into().ok()?;
    Some(Token::new(&written.name, hash, written.agent.clone()))
}

fn tls(written: &Written, configuration: &Configuration) -> Result<Option<Tls>, Fault> {
    let Some(tls) = &written.tls else {
        return Ok(None);
    };
    let (certificate, key) = (configuration.path(&tls.cert), configuration.path(&tls.key));
    let read = Tls::read(&certificate, &key);
    let read = read.map_err(|error| Fault::configuration(error.to_string()));
    read.map(Some)
}

/// Takes over the file whenever it changed, or when asked to by SIGHUP. Never ends.
async fn follow_file(
    door: &Door,
    control: Option<(&HttpControl, &Proxy)>,
    common: &Common,
    output: &Output,
) {
    let path = door.0.configuration().located.path;
    let Some(path) = path else {
        return std::future::pending().await;
    };
    let mut known = stamp(&path);
    let mut look = interval(LOOK);
    let mut asked = asked();
    loop {
        let at_once = tokio::select! {
            _ = look.tick() => false,
            () = asked.again() => true,
        };
        let now = stamp(&path);
        if !at_once && now == known {
            continue;
        }
        known = now;
        match renew(door, control, common, output) {
            Ok(()) => output.note("the changed configuration is in force"),
            Err(fault) => {
                let message = "the changed configuration cannot be used; the previous one stays";
                output.warning(&format!("{message}: {}", fault.message));
            }
        }
    }
}

fn renew(
    door: &Door,
    control: Option<(&HttpControl, &Proxy)>,
    common: &Common,
    output: &Output,
) -> Result<(), Fault> {
    let configuration = Configuration::read(common, output)?;
    let options = http_options(&configuration.settings);
    let models = providers(&configuration.settings);
    door.0.renew(configuration)?;
    if let Some((control, proxy)) = control {
        proxy
            .set_providers(models)
            .map_err(|error| Fault::configuration(error.to_string()))?;
        control.apply(options);
        control.retain(|entrance| door.0.knows(entrance.agent.as_deref()));
    }
    Ok(())
}

/// What changes when a file is written.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Being asked to look at the file at once.
struct Asked {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

fn asked() -> Asked {
    Asked {
        #[cfg(unix)]
        signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
    }
}

impl Asked {
    async fn again(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}

/// Makes a token; it is shown once and kept nowhere.
fn make_token(name: &str, agent: Option<&str>, output: &Output) -> Done {
    let made = toolsearch_gateway::http::new_token();
    let mut entry = json!({ "name": name, "sha256": made.sha256 });
    if let Some(agent) = agent {
        entry["agent"] = json!(agent);
    }
    if output.json {
        output.document(&json!({ "token": made.token, "entry": entry }))?;
        return Ok(Exit::Fine);
    }
    output.text(&made.token)?;
    output.note("give the token to the client; it is not kept anywhere");
    output.note(&format!("add this to gateway.auth.tokens: {entry}"));
    Ok(Exit::Fine)
}
