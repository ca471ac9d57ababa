//! Where the configuration file is: `--config`, `$TOOLSEARCH_CONFIG`, `./toolsearch.json5`, then
//! the user's config folder.

use std::path::{Path, PathBuf};

use crate::expand::Lookup;

/// The file's name.
pub const FILE_NAME: &str = "toolsearch.json5";
/// The variable that names a file.
pub const FILE_VARIABLE: &str = "TOOLSEARCH_CONFIG";

/// The file to read, if there is one, and where it was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Located {
    /// The file. One named by flag or variable may not exist; that is for the reader to tell.
    pub path: Option<PathBuf>,
    /// Who named it.
    pub by: LocatedBy,
    /// The places that were looked at, in order.
    pub looked_at: Vec<PathBuf>,
    /// The file that an edit should write: the one found, else the one in the user's folder.
    pub write_to: PathBuf,
}

/// Who named the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocatedBy {
    /// `--config`.
    CommandLine,
    /// `$TOOLSEARCH_CONFIG`.
    Environment,
    /// It lies in the working folder.
    WorkingFolder,
    /// It lies in the user's config folder.
    UserFolder,
    /// There is none.
    Nothing,
}

/// Finds the file. Only the last two places need the file to exist; an empty variable is none.
pub fn locate(cli: Option<&Path>, lookup: Lookup<'_>, cwd: &Path, home: Option<&Path>) -> Located {
    let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
    let named = |path: PathBuf, by| Located {
        path: Some(path.clone()),
        by,
        looked_at: vec![path.clone()],
        write_to: path,
    };
    if let Some(path) = cli {
        return named(cwd.join(path), LocatedBy::CommandLine);
    }
    if let Some(path) = set(FILE_VARIABLE) {
        return named(cwd.join(path), LocatedBy::Environment);
    }
    let here = cwd.join(FILE_NAME);
    // The standard says to ignore a relative folder in this variable.
    let folder = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| home.map(|home| home.join(".config")));
    let user = folder.map(|folder| folder.join("toolsearch").join(FILE_NAME));
    let looked_at: Vec<PathBuf> = [Some(here.clone()), user.clone()]
        .into_iter()
        .flatten()
        .collect();
    let (path, by) = if here.is_file() {
        (Some(here.clone()), LocatedBy::WorkingFolder)
    } else {
        match user.clone().filter(|user| user.is_file()) {
            Some(user) => (Some(user), LocatedBy::UserFolder),
            None => (None, LocatedBy::Nothing),
        }
    };
    let write_to = path.clone().or(user).unwrap_or(here);
    Located {
        path,
        by,
        looked_at,
        write_to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_place_wins() {
        let root = tempfile::tempdir().expect("a folder");
        let (cwd, home) = (root.path().join("work"), root.path().join("home"));
        let user = home.join(".config/toolsearch/toolsearch.json5");
        let here = cwd.join("toolsearch.json5");
        std::fs::create_dir_all(&cwd).expect("cwd");
        std::fs::create_dir_all(user.parent().expect("parent")).expect("home");
        let unset = |_: &str| None;

        let none = locate(None, &unset, &cwd, Some(&home));
        assert_eq!((none.path, none.by), (None, LocatedBy::Nothing));
        assert_eq!(none.looked_at, [here.clone(), user.clone()]);
        assert_eq!(none.write_to, user);

        std::fs::write(&user, "{}").expect("write");
        let found = locate(None, &unset, &cwd, Some(&home));
        assert_eq!(
            (found.path, found.by),
            (Some(user.clone()), LocatedBy::UserFolder)
        );

        std::fs::write(&here, "{}").expect("write");
        let found = locate(None, &unset, &cwd, Some(&home));
        assert_eq!(
            (found.path, found.by),
            (Some(here), LocatedBy::WorkingFolder)
        );

        let variable = |name: &str| (name == FILE_VARIABLE).then(|| "/x/missing.json5".to_owned());
        let found = locate(None, &variable, &cwd, Some(&home));
        let expected = (
            Some(PathBuf::from("/x/missing.json5")),
            LocatedBy::Environment,
        );
        assert_eq!((found.path, found.by), expected);

        let found = locate(Some(Path::new("my.json5")), &variable, &cwd, Some(&home));
        assert_eq!(
            (found.path, found.by),
            (Some(cwd.join("my.json5")), LocatedBy::CommandLine)
        );
    }

    #[test]
    fn the_config_folder_may_be_moved() {
        let root = tempfile::tempdir().expect("a folder");
        let moved = root.path().to_string_lossy().into_owned();
        let variable = |name: &str| (name == "XDG_CONFIG_HOME").then(|| moved.clone());
        let file = root.path().join("toolsearch/toolsearch.json5");
        std::fs::create_dir_all(root.path().join("toolsearch")).expect("folder");
        std::fs::write(&file, "{}").expect("write");
        let found = locate(None, &variable, Path::new("/nowhere"), None);
        assert_eq!(found.path, Some(file));
        let relative = |name: &str| (name == "XDG_CONFIG_HOME").then(|| "rel".to_owned());
        let found = locate(None, &relative, Path::new("/nowhere"), None);
        assert_eq!(found.write_to, Path::new("/nowhere/toolsearch.json5"));
    }
}
