//! Conversations: the session behind each, found again by its name, and what its model is shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolsearch_dialect::Dialect;
use toolsearch_runtime::Session;

use super::tools::{Shown, Tools, ToolsKey};
use crate::entrance::Entrance;

/// A conversation with a session.
#[derive(Debug, Clone)]
pub(crate) struct Talk {
    pub(crate) session: Session,
    pub(crate) tools: Arc<Tools>,
    pub(crate) shown: Arc<Shown>,
}

/// What decides whether a session can go on as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ground {
    pub(crate) dialect: Dialect,
    pub(crate) entrance: Entrance,
    pub(crate) provider: String,
    pub(crate) tools: ToolsKey,
    pub(crate) generation: u64,
}

impl Ground {
    /// Whether a model may be shown what it was shown before: only the gateway's own sources changed.
    fn shows_alike(&self, other: &Self) -> bool {
        let mut same = other.clone();
        same.generation = self.generation;
        *self == same
    }
}

#[derive(Debug)]
struct Entry {
    talk: Talk,
    ground: Ground,
    owner: String,
    used: Instant,
}

/// What is found under the name of a session.
#[derive(Debug)]
pub(crate) enum Found {
    /// Everything is as before.
    Same(Talk),
    /// The session has to be planned anew; the model goes on seeing what it saw, where that is given.
    Other {
        previous: Session,
        shown: Option<Arc<Shown>>,
    },
    /// This process does not have it.
    Nothing,
}

/// How often conversations are looked through for idle ones.
const SWEEP: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct State {
    swept: Option<Instant>,
    talks: HashMap<String, Entry>,
    /// Names that clients gave, by owner.
    names: HashMap<(String, String), String>,
}

/// All conversations of a process.
#[derive(Debug)]
pub(crate) struct Talks {
    state: Mutex<State>,
    most: usize,
    idle: Duration,
}

impl Talks {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self {
            state: Mutex::default(),
            most: most.max(1),
            idle,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session that a client means by a name of its own.
    pub(crate) fn named(&self, owner: &str, name: &str) -> Option<String> {
        let state = self.lock();
        let key = (owner.to_owned(), name.to_owned());
        let own = state.talks.get(name).filter(|entry| entry.owner == owner);
        let given = || state.names.get(&key).cloned();
        own.map(|_| name.to_owned()).or_else(given)
    }

    pub(crate) fn name(&self, owner: &str, name: &str, session: &str) {
        let mut state = self.lock();
        if state.names.len() >= self.most * 2 {
            let State { talks, names, .. } = &mut *state;
            names.retain(|_, session| talks.contains_key(&*session));
            if names.len() >= self.most * 2 {
                names.clear();
            }
        }
        let key = (owner.to_owned(), name.to_owned());
        state.names.insert(key, session.to_owned());
    }

    pub(crate) fn find(&self, session: &str, owner: &str, ground: &Ground) -> Found {
        let mut state = self.lock();
        let Some(entry) = state
            .talks
            .get_mut(session)
            .filter(|entry| entry.owner == owner)
        else {
            return Found::Nothing;
        };
        entry.used = Instant::now();
        if entry.ground == *ground {
            return Found::Same(entry.talk.clone());
        }
        let alike = entry.ground.shows_alike(ground);
        Found::Other {
            previous: entry.talk.session.clone(),
            shown: alike.then(|| Arc::clone(&entry.talk.shown)),
        }
    }

    pub(crate) fn keep(&self, talk: &Talk, owner: &str, ground: Ground) {
        let mut state = self.lock();
        let now = Instant::now();
        if state.swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
            state.swept = Some(now);
            state.sweep(self.idle);
        }
        if state.talks.len() >= self.most {
            make_room(&mut state.talks, self.most);
        }
        let entry = Entry {
            talk: talk.clone(),
            ground,
            owner: owner.to_owned(),
            used: now,
        };
        state.talks.insert(talk.session.id().to_owned(), entry);
    }
}

impl State {
    /// Lets go of conversations that nobody goes on with.
    fn sweep(&mut self, idle: Duration) {
        self.talks.retain(|_, entry| entry.used.elapsed() < idle);
        let Self { talks, names, .. } = self;
        names.retain(|_, session| talks.contains_key(&*session));
    }
}

/// The eighth goes that was longest not used.
fn make_room(talks: &mut HashMap<String, Entry>, most: usize) {
    if talks.len() < most {
        return;
    }
    let mut ages: Vec<Instant> = talks.values().map(|entry| entry.used).collect();
    let place = ages.len() / 8;
    let (_, limit, _) = ages.select_nth_unstable(place);
    let limit = *limit;
    talks.retain(|_, entry| entry.used > limit);
}
