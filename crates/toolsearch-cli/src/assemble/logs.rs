//! Session logs: one file of JSON lines a session, for the user alone. Writing goes through
//! [`SessionLogs`]; reading gives the [`Summary`] of a session.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use toolsearch::telemetry::{Event, JsonlRecorder, LOG_VERSION, Recorder, Stamped, Summary};

use crate::fault::Fault;

use super::configuration::Configuration;
use super::folders;

/// Most bytes of one log.
const MAX_LOG_BYTES: u64 = 8 << 20;
/// Most logs that are kept; the oldest go.
const MAX_LOGS: usize = 1000;
/// Most logs that are open at once; the events of further sessions are dropped.
const MAX_OPEN: usize = 1024;
const SUFFIX: &str = ".jsonl";

/// The folder of the logs: `telemetry.dir`, else the user's state folder.
pub(crate) fn folder(configuration: &Configuration) -> Option<PathBuf> {
    if let Some(written) = &configuration.settings.telemetry.dir {
        return Some(configuration.path(written));
    }
    Some(folders::state()?.join("sessions"))
}

/// Writes the events of every session into a file of its own. A log that cannot be written costs no
/// session: the first failure is told through `tracing`.
#[derive(Debug)]
pub(crate) struct SessionLogs {
    folder: PathBuf,
    open: Mutex<BTreeMap<String, JsonlRecorder<File>>>,
    failed: AtomicBool,
}

impl SessionLogs {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            open: Mutex::default(),
            failed: AtomicBool::new(false),
        }
    }

    /// Whether a log could not be opened.
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn open(&self, session: &str) -> io::Result<JsonlRecorder<File>> {
        if !is_name(session) {
            return Err(io::Error::other("the session's name is no file name"));
        }
        create_private(&self.folder)?;
        prune(&self.folder);
        let path = self.folder.join(format!("{session}{SUFFIX}"));
        let file = private().append(true).create(true).open(path)?;
        let used = file.metadata()?.len();
        Ok(JsonlRecorder::new(file, MAX_LOG_BYTES.saturating_sub(used)))
    }
}

impl Recorder for SessionLogs {
    fn record(&self, event: &Stamped) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.contains_key(&event.session) {
            if self.failed() || open.len() >= MAX_OPEN {
                return;
            }
            match self.open(&event.session) {
                Ok(log) => {
                    open.insert(event.session.clone(), log);
                }
                Err(error) => {
                    self.failed.store(true, Ordering::Relaxed);
                    let folder = self.folder.display();
                    tracing::warn!(%folder, %error, "session logs cannot be written");
                    return;
                }
            }
        }
        if let Some(log) = open.get(&event.session) {
            log.record(event);
        }
        if matches!(event.event, Event::Closed) {
            open.remove(&event.session);
        }
    }
}

#[cfg(unix)]
fn private() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private() -> OpenOptions {
    OpenOptions::new()
}

fn create_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Makes room for one more log. What cannot be removed stays; the next session tries again.
fn prune(folder: &Path) {
    let names = names(folder);
    let surplus = (names.len() + 1).saturating_sub(MAX_LOGS);
    for name in &names[..surplus] {
        if let Err(error) = fs::remove_file(folder.join(format!("{name}{SUFFIX}"))) {
            tracing::debug!(%name, %error, "an old session log stays");
        }
    }
}

/// The sessions that have a log, oldest first: names start with the time.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let name = |entry: io::Result<fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_suffix(SUFFIX)
            .filter(|name| is_name(name))
            .map(str::to_owned)
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort_unstable();
    names
}

/// Reads the log of a session. A last line that a crash cut off is left out.
pub(crate) fn read(folder: &Path, session: &str) -> Result<Summary, Fault> {
    let events = events(&read_text(folder, session)?)?;
    Summary::of(session, &events).ok_or_else(|| missing(session))
}

/// The log of a session as it stands in its file, whole lines only.
pub(crate) fn read_text(folder: &Path, session: &str) -> Result<String, Fault> {
    if !is_name(session) {
        return Err(missing(session));
    }
    let path = folder.join(format!("{session}{SUFFIX}"));
    let mut text = read_bounded(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(session),
        _ => Fault::failed(format!("cannot read {}: {error}", path.display())),
    })?;
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    Ok(text)
}

fn missing(session: &str) -> Fault {
    Fault::usage(format!("there is no log of a session `{session}`"))
        .next("list the sessions with `toolsearch sessions list`")
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_LOG_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn events(text: &str) -> Result<Vec<Stamped>, Fault> {
    let mut events = Vec::new();
    for line in text.lines() {
        match serde_json::from_str::<Stamped>(line) {
            Ok(event) => events.push(event),
            Err(_) => refuse_newer(line)?,
        }
    }
    Ok(events)
}

/// A line of a later version is refused, not misread; any other odd line is left out.
fn refuse_newer(line: &str) -> Result<(), Fault> {
    let version = serde_json::from_str::<serde_json::Value>(line)
        .ok()
        .and_then(|line| line.get("v")?.as_u64());
    match version {
        Some(version) if version > u64::from(LOG_VERSION) => Err(Fault::failed(format!(
            "the log has version {version}, this program reads up to {LOG_VERSION}"
        ))
        .next("update toolsearch")),
        _ => Ok(()),
    }
}

/// Letters, digits, `-`, `_` and `.`, not starting with a dot.
fn is_name(session: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=120).contains(&session.len()) && !session.starts_with('.') && session.bytes().all(legal)
}

/// A name for a new session: its time in UTC, the process, and a number within the process.
pub(crate) fn new_name(now_ms: u64) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let (date, time) = stamp(now_ms);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!(
        "{}-{}{:03}-{:x}-{number}",
        date.replace('-', ""),
        time.replace(':', ""),
        now_ms % 1000,
        std::process::id(),
    )
}

/// A time for people, in UTC.
pub(crate) fn time(now_ms: u64) -> String {
    let (date, time) = stamp(now_ms);
    format!("{date} {time}")
}

/// Date and time of day in UTC. The date is worked out in eras of 400 years from the first of March
/// of year 0, as all calendars of computers do.
fn stamp(now_ms: u64) -> (String, String) {
    let seconds = now_ms / 1000;
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    (
        format!("{year:04}-{month:02}-{day:02}"),
        format!("{hour:02}:{minute:02}:{second:02}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_right() {
        for (ms, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399_000, "2000-02-28 23:59:59"),
            (951_782_400_000, "2000-02-29 00:00:00"),
            (1_735_689_599_999, "2024-12-31 23:59:59"),
            (4_102_444_800_000, "2100-01-01 00:00:00"),
        ] {
            assert_eq!(time(ms), expected);
        }
    }

    #[test]
    fn names_sort_by_time_and_are_file_names() {
        let (older, newer) = (new_name(1_700_000_000_000), new_name(1_700_000_000_001));
        assert!(older < newer);
        assert!(is_name(&older), "{older}");
        for bad in ["", "../x", ".x", "a/b", "a\0b", "ü"] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_torn_last_line_loses_only_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = SessionLogs::new(folder.path().join("logs"));
        logs.record(&Stamped::new(1, "s1", Event::Searched(searched())));
        let path = folder.path().join("logs/s1.jsonl");
        let mut text = fs::read_to_string(&path).expect("a log");
        text.push_str("{\"v\":1,\"at\":2,\"ses");
        fs::write(&path, text).expect("write");
        let summary = read(&folder.path().join("logs"), "s1").expect("a summary");
        assert_eq!(summary.searches, 1);
    }

    #[test]
    fn a_newer_log_is_refused() {
        let line = "{\"v\":99,\"at\":2,\"session\":\"s\",\"event\":\"dreamt\"}\n";
        let fault = events(line).expect_err("newer");
        assert!(fault.message.contains("version 99"));
        assert!(
            events("{\"v\":1,\"event\":\"dreamt\"}\n")
                .expect("skipped")
                .is_empty()
        );
    }

    #[cfg(unix)]
    #[test]
    fn logs_are_for_the_user_alone_and_old_ones_go() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let logs = folder.path().join("logs");
        fs::create_dir(&logs).expect("a folder");
        for number in 0..MAX_LOGS {
            fs::write(logs.join(format!("a{number:05}.jsonl")), "").expect("write");
        }
        let recorder = SessionLogs::new(logs.clone());
        recorder.record(&Stamped::new(1, "b1", Event::Searched(searched())));
        let names = names(&logs);
        assert_eq!(names.len(), MAX_LOGS);
        assert_eq!(names[0], "a00001");
        let mode = fs::metadata(logs.join("b1.jsonl"))
            .expect("a log")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }

    fn searched() -> toolsearch::telemetry::Searched {
        toolsearch::telemetry::Searched::new(1, 0)
    }
}
