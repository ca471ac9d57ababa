//! Aliases that every provider accepts, and the table that leads from an alias back to its key.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// Longest name that providers accept.
pub const MAX_PROVIDER_NAME: usize = 64;

/// Hexadecimal digits of the hash suffix, by how many times an alias had to be made more distinct.
const SUFFIX_DIGITS: [usize; 3] = [8, 16, 32];

/// Whether `name` matches `^[A-Za-z0-9_-]{1,64}$`.
pub fn is_provider_name(name: &str) -> bool {
    (1..=MAX_PROVIDER_NAME).contains(&name.len()) && name.bytes().all(is_provider_byte)
}

/// The alias of a tool: `owner__name` where that is legal and can be read in one way only,
/// otherwise a cleaned and shortened form that ends in a hash of the two originals.
///
/// The result always matches `^[A-Za-z0-9_-]{1,64}$` and depends on nothing but the arguments. An
/// empty `owner` gives an alias without a prefix.
pub fn provider_name(owner: &str, name: &str) -> String {
    let plain = joined(owner, name);
    if is_provider_name(&plain) && reads_one_way(owner, name) {
        return plain;
    }
    suffixed(&plain, &[owner, name], SUFFIX_DIGITS[0])
}

/// Unique aliases for a set of tools, with the way back.
///
/// The table is the same whatever order the entries are given in: where aliases clash, every one of
/// the clashing entries gets a suffix, so none depends on who came first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameMap {
    alias_by_key: BTreeMap<String, String>,
    key_by_alias: BTreeMap<String, String>,
}

impl NameMap {
    /// Builds the table from `(key, owner, name)` entries. A key given twice counts once.
    pub fn new<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Self {
        Self::with_reserved(entries, &[])
    }

    /// As [`NameMap::new`], and no alias is one of `reserved`.
    pub fn with_reserved<'a>(
        entries: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
        reserved: &[&str],
    ) -> Self {
        let mut originals: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        for (key, owner, name) in entries {
            let pair = originals.entry(key).or_insert((owner, name));
            *pair = (*pair).min((owner, name));
        }
        let mut map = Self::default();
        for (key, alias) in distinct(&originals, reserved) {
            map.key_by_alias.insert(alias.clone(), key.to_owned());
            map.alias_by_key.insert(key.to_owned(), alias);
        }
        map
    }

    /// The alias of `key`.
    pub fn alias(&self, key: &str) -> Option<&str> {
        self.alias_by_key.get(key).map(String::as_str)
    }

    /// The key that `alias` stands for.
    pub fn key(&self, alias: &str) -> Option<&str> {
        self.key_by_alias.get(alias).map(String::as_str)
    }

    /// `(key, alias)` pairs in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.alias_by_key
            .iter()
            .map(|(key, alias)| (key.as_str(), alias.as_str()))
    }

    /// How many aliases there are.
    pub fn len(&self) -> usize {
        self.alias_by_key.len()
    }

    /// Whether there is no alias.
    pub fn is_empty(&self) -> bool {
        self.alias_by_key.is_empty()
    }
}

fn distinct<'a>(
    originals: &BTreeMap<&'a str, (&'a str, &'a str)>,
    reserved: &[&str],
) -> BTreeMap<&'a str, String> {
    let mut aliases: BTreeMap<&str, String> = originals
        .iter()
        .map(|(key, (owner, name))| (*key, provider_name(owner, name)))
        .collect();
    for digits in SUFFIX_DIGITS {
        let clashing = clashes(&aliases, reserved);
        if clashing.is_empty() {
            return aliases;
        }
        for key in clashing {
            let (owner, name) = originals[key];
            aliases.insert(
                key,
                suffixed(&joined(owner, name), &[key, owner, name], digits),
            );
        }
    }
    // A clash of 128-bit suffixes needs an attack on the hash; numbering in key order still keeps
    // every entry reachable.
    let mut taken: BTreeSet<String> = reserved.iter().map(|name| (*name).to_owned()).collect();
    for (index, (key, alias)) in aliases.iter_mut().enumerate() {
        if !taken.insert(alias.clone()) {
            let (owner, name) = originals[key];
            *alias = suffixed(&index.to_string(), &[key, owner, name], SUFFIX_DIGITS[2]);
            taken.insert(alias.clone());
        }
    }
    aliases
}

fn clashes<'a>(aliases: &BTreeMap<&'a str, String>, reserved: &[&str]) -> Vec<&'a str> {
    let mut keys_by_alias: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
    for (key, alias) in aliases {
        keys_by_alias.entry(alias).or_default().push(key);
    }
    keys_by_alias
        .into_iter()
        .filter(|(alias, keys)| keys.len() > 1 || reserved.contains(alias))
        .flat_map(|(_, keys)| keys)
        .collect()
}

fn joined(owner: &str, name: &str) -> String {
    if owner.is_empty() {
        name.to_owned()
    } else {
        format!("{owner}__{name}")
    }
}

/// Whether the double underscore between owner and name is the only one, so that no other pair of
/// owner and name gives the same alias.
fn reads_one_way(owner: &str, name: &str) -> bool {
    !name.is_empty()
        && !owner.contains("__")
        && !owner.ends_with('_')
        && !name.contains("__")
        && !name.starts_with('_')
}

fn suffixed(plain: &str, parts: &[&str], digits: usize) -> String {
    let room = MAX_PROVIDER_NAME - digits - 1;
    let mut alias = String::with_capacity(MAX_PROVIDER_NAME);
    for character in plain.chars().take(room) {
        let legal = u8::try_from(character).is_ok_and(is_provider_byte);
        alias.push(if legal { character } else { '_' });
    }
    while alias.ends_with('_') {
        alias.pop();
    }
    if alias.is_empty() {
        alias.push_str("tool");
    }
    alias.push('_');
    alias.push_str(&hash(parts)[..digits]);
    alias
}

fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    HEXLOWER.encode(&hasher.finalize())
}

fn is_provider_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
