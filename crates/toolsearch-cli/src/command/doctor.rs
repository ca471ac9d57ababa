//! `toolsearch doctor`: everything that tools depend on here, each with its state and what to do. It
//! changes nothing and goes on after the first fault.
//!
//! Exit codes: 0 nothing fails (warnings may stand); 2 the configuration cannot be used; 4 a server or
//! a plugin fails; 1 anything else fails.

mod embedder;

use std::path::Path;

use serde_json::{Value, json};
use toolsearch::catalog::Source;
use toolsearch::invoke::{Listing, OutageKind};
use toolsearch::runtime::Session;
use toolsearch::sandbox::{Engine as _, Inspection, LayerState};
use toolsearch_config::EngineChoice;

use crate::assemble::sources::{Kind, Probe};
use crate::assemble::{Assembled, Purpose, logs, modes};
use crate::cli::Common;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

use super::catalog::trouble;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    Warn,
    Fail,
    Skip,
}

impl Status {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: String,
    status: Status,
    detail: String,
    fix: Option<String>,
    /// The exit code when it fails.
    exit: Exit,
}

impl Check {
    fn new(name: impl Into<String>, status: Status, detail: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            status,
            detail: detail.into(),
            fix: None,
            exit: Exit::Failed,
        }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    const fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    fn fault(name: &str, fault: Fault) -> Self {
        let check = Self::new(name, Status::Fail, fault.message).exit(fault.exit);
        match fault.next {
            Some(next) => check.fix(next),
            None => check,
        }
    }
}

/// Looks at everything.
pub(super) async fn run(common: &Common, output: &Output) -> Done {
    let mut checks = Vec::new();
    match Assembled::new(common, Purpose::Measuring, output) {
        Err(fault) => checks.push(Check::fault("configuration", fault)),
        Ok(assembled) => {
            look(&assembled, &mut checks).await;
            assembled.close(output).await;
        }
    }
    tell(&checks, output)
}

async fn look(assembled: &Assembled, checks: &mut Vec<Check>) {
    checks.push(configuration(assembled));
    checks.extend(engines(assembled));
    let probes = assembled.sources.probe().await;
    checks.extend(
        probes
            .iter()
            .map(|probe| source(probe, assembled.sources.kind)),
    );
    checks.extend(providers(assembled));
    let listings: Vec<Listing> = probes.into_iter().map(|probe| probe.listing).collect();
    checks.push(embedder::embedder(assembled, &listings).await);
    match assembled.open_listed(listings.clone()).await {
        Err(fault) => checks.push(Check::fault("policy", fault)),
        Ok(session) => {
            checks.push(policy(&session, &listings, assembled));
            checks.extend(names(&session));
        }
    }
    checks.extend(definitions(assembled).await);
    checks.push(logging(assembled));
}

/// MCP tools that are no longer what somebody agreed to.
async fn definitions(assembled: &Assembled) -> Option<Check> {
    let changed = assembled.changed().await;
    let (first, held) = changed.first()?;
    let what = if *held { "are held back" } else { "are in use" };
    let detail = format!(
        "{} tools changed their definition and {what}, such as {first}",
        changed.len()
    );
    let check = Check::new("definitions", Status::Warn, detail);
    Some(check.fix("look with `toolsearch pins diff`, agree with `toolsearch pins approve ID`"))
}

fn configuration(assembled: &Assembled) -> Check {
    let located = &assembled.configuration.located;
    match &located.path {
        Some(path) => Check::new("configuration", Status::Ok, path.display().to_string()),
        None => Check::new(
            "configuration",
            Status::Warn,
            "there is no file; defaults hold",
        )
        .fix("add a server with `toolsearch mcp add NAME -- COMMAND`"),
    }
}

/// Both engines, with their walls, and whether the mode in force has the one that it needs.
fn engines(assembled: &Assembled) -> Vec<Check> {
    let sandbox = &assembled.configuration.settings.sandbox;
    let both = modes::engine(EngineChoice::Auto, sandbox).inspect();
    let mut checks: Vec<Check> = both.iter().map(walls).collect();
    let effective = &assembled.configuration.effective;
    let mode = modes::mode(effective);
    let needs = mode.needs_engine();
    let chosen = modes::engine(effective.engine.value, sandbox);
    checks.push(match chosen.check() {
        _ if !needs => Check::new(
            "mode",
            Status::Ok,
            format!("{}, which runs no programs", mode.name()),
        ),
        Ok(_) => Check::new("mode", Status::Ok, mode.name()),
        Err(why) => Check::new(
            "mode",
            Status::Fail,
            format!("tools instead of {}: {why}", mode.name()),
        )
        .fix("put the engine right, or set `tools.toolSearch.mode` to \"tools\""),
    });
    checks
}

fn walls(engine: &Inspection) -> Check {
    let name = format!("engine {}", engine.engine);
    let layers = &engine.layers;
    if let (Some(why), true) = (&engine.refused, layers.list.is_empty()) {
        return Check::new(name, Status::Skip, why.to_string());
    }
    let word = |state: LayerState| match state {
        LayerState::Enforced => "",
        LayerState::Partial => " (in part)",
        LayerState::Missing => " (missing)",
    };
    let weak = layers
        .list
        .iter()
        .any(|layer| layer.state != LayerState::Enforced);
    let listed: Vec<String> = layers
        .list
        .iter()
        .map(|layer| format!("{}{}", layer.name, word(layer.state)))
        .collect();
    let listed = listed.join(", ");
    let check = match &engine.refused {
        Some(why) => Check::new(name, Status::Skip, format!("{why}; walls: {listed}")),
        None if weak => Check::new(name, Status::Warn, listed),
        None => Check::new(name, Status::Ok, listed),
    };
    let missing: Vec<String> = layers
        .list
        .iter()
        .filter(|layer| layer.state != LayerState::Enforced)
        .map(|layer| format!("{}: {}", layer.name, layer.detail))
        .collect();
    match missing.is_empty() {
        true => check,
        false => check.fix(missing.join("; ")),
    }
}

fn source(probe: &Probe, kind: Kind) -> Check {
    let listing = &probe.listing;
    let what = match listing.source {
        Source::Mcp => "server",
        Source::Plugin => "plugin",
        _ => "source",
    };
    let name = format!("{what} {}", listing.owner);
    if let (Some(outage), Some(reason)) = (&listing.outage, trouble(listing)) {
        let closer = format!("look closer with `toolsearch mcp test {}`", listing.owner);
        return match outage.kind {
            OutageKind::Disabled => Check::new(name, Status::Skip, reason),
            OutageKind::NeedsConfiguration => Check::new(name, Status::Fail, reason)
                .fix("set the variable, or give it a default with ${NAME:-default}")
                .exit(Exit::Unavailable),
            _ if listing.source == Source::Mcp => Check::new(name, Status::Fail, reason)
                .fix(closer)
                .exit(Exit::Unavailable),
            _ => Check::new(name, Status::Fail, reason).exit(Exit::Unavailable),
        };
    }
    let mut detail = format!("{} tools", listing.tools.len());
    if kind == Kind::Offline {
        detail.push_str(", from a file");
    }
    let Some(status) = &probe.status else {
        return aside(Check::new(name, Status::Ok, detail), listing);
    };
    for said in [&status.software, &status.protocol].into_iter().flatten() {
        detail.push_str(&format!(", {said}"));
    }
    let mut check = Check::new(name, Status::Ok, detail);
    if status.junk_lines > 0 || !status.warnings.is_empty() {
        check.status = Status::Warn;
        let mut odd = status.warnings.clone();
        if status.junk_lines > 0 {
            odd.push(format!(
                "{} lines on its standard output are no messages; its log belongs on standard error",
                status.junk_lines
            ));
        }
        check.fix = Some(odd.join("; "));
    }
    aside(check, listing)
}

/// Tools that were set aside, and why.
fn aside(mut check: Check, listing: &Listing) -> Check {
    if listing.rejected.is_empty() {
        return check;
    }
    check.status = Status::Warn;
    let named = listing.rejected.iter().take(5);
    let named: Vec<String> = named
        .map(|one| format!("{}: {}", one.name, one.reason))
        .collect();
    check.detail.push_str(&format!(
        "; {} set aside: {}",
        listing.rejected.len(),
        named.join("; ")
    ));
    check
}

fn providers(assembled: &Assembled) -> Vec<Check> {
    let check = |(name, provider): (&String, &toolsearch_config::Provider)| {
        let name = format!("provider {name}");
        match &provider.needs {
            Some(needs) => Check::new(name, Status::Warn, needs.to_string())
                .fix("set the variable before this provider is used"),
            None => Check::new(name, Status::Ok, provider.base_url.written().to_owned()),
        }
    };
    assembled
        .configuration
        .settings
        .providers
        .iter()
        .map(check)
        .collect()
}

fn policy(session: &Session, listings: &[Listing], assembled: &Assembled) -> Check {
    let listed: usize = listings.iter().map(|listing| listing.tools.len()).sum();
    let hidden = |tool: &&std::sync::Arc<toolsearch::catalog::ToolDescriptor>| {
        session.catalog().get(&tool.id).is_none()
    };
    let own = session
        .catalog()
        .entries()
        .iter()
        .filter(|tool| toolsearch::mode::is_own(tool));
    let usable =
        session.catalog().len() - own.count() + session.direct().iter().filter(hidden).count();
    let whom = assembled.subject.agent.as_deref().unwrap_or("anyone");
    let detail = format!("{usable} of {listed} listed tools may be used by {whom}");
    match usable {
        0 if listed > 0 => Check::new("policy", Status::Warn, detail)
            .fix("see why with `toolsearch policy explain ID`"),
        _ => Check::new("policy", Status::Ok, detail),
    }
}

/// Tools whose name or schema is declared to models in another form.
fn names(session: &Session) -> Option<Check> {
    let renamed = session.surface().renamed.len();
    let mended = session.surface().mended.len();
    if renamed + mended == 0 {
        return None;
    }
    let detail =
        format!("{renamed} tools are declared under another name, {mended} with a mended schema");
    Some(
        Check::new("names", Status::Warn, detail)
            .fix("see them with `toolsearch catalog list --json`"),
    )
}

/// Whether sessions can be recorded.
fn logging(assembled: &Assembled) -> Check {
    let Some(folder) = logs::folder(&assembled.configuration) else {
        return Check::new(
            "session logs",
            Status::Warn,
            "there is no folder for them: HOME is not set",
        )
        .fix("set `telemetry.dir`");
    };
    match writable(&folder) {
        Ok(()) => Check::new("session logs", Status::Ok, folder.display().to_string()),
        Err(error) => {
            let detail = format!("{} cannot be written: {error}", folder.display());
            Check::new("session logs", Status::Warn, detail)
                .fix("set `telemetry.dir` to a folder of yours")
        }
    }
}

/// Whether files can be made in the nearest part of this path that exists.
fn writable(folder: &Path) -> std::io::Result<()> {
    let there = folder.ancestors().find(|part| part.exists());
    let there = there.ok_or(std::io::ErrorKind::NotFound)?;
    if there.metadata()?.permissions().readonly() || !there.is_dir() {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

fn tell(checks: &[Check], output: &Output) -> Done {
    if output.json {
        let line = |check: &Check| {
            let mut line = json!({
                "name": check.name, "status": check.status.as_str(), "detail": check.detail,
            });
            if let Some(fix) = &check.fix {
                line["fix"] = json!(fix);
            }
            line
        };
        let lines: Vec<Value> = checks.iter().map(line).collect();
        output.document(&json!({ "checks": lines }))?;
    } else {
        let mut table = Table::new(["status", "check", "detail"]);
        for check in checks {
            let status = check.status.as_str().to_owned();
            table.row([status, check.name.clone(), check.detail.clone()]);
        }
        output.table(&table)?;
        for check in checks {
            if let (Status::Warn | Status::Fail, Some(fix)) = (check.status, &check.fix) {
                output.step(&format!("{}: {fix}", check.name));
            }
        }
    }
    let failed = || checks.iter().filter(|check| check.status == Status::Fail);
    let worst = [Exit::Usage, Exit::Unavailable, Exit::Denied, Exit::Failed]
        .into_iter()
        .find(|exit| failed().any(|check| check.exit == *exit));
    Ok(worst.unwrap_or(Exit::Fine))
}
