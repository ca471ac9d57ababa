//! `cargo xtask dist`: what a release consists of, gathered in `target/dist`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::args::Args;
use crate::context::Context;
use crate::{product, shell};

const SHELLS: [(&str, &str); 3] = [
    ("bash", "toolsearch.bash"),
    ("zsh", "_toolsearch"),
    ("fish", "toolsearch.fish"),
];
const PAPERS: [&str; 4] = ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"];

/// Builds the release binary and copies it with licences, completions and checksums.
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    Args::new("dist", args).finish()?;
    product::release_binary(context)?;
    let binary = context.built("release", "toolsearch");
    let dist = context.target.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).context("could not clear target/dist")?;
    }
    fs::create_dir_all(dist.join("completions"))?;
    let name = format!("toolsearch{}", std::env::consts::EXE_SUFFIX);
    copy(&binary, &dist.join(&name))?;
    let mut files = vec![name];
    for paper in PAPERS {
        copy(&context.root.join(paper), &dist.join(paper))?;
        files.push(paper.to_owned());
    }
    for (shell_name, file) in SHELLS {
        let script = shell::output(context.command(&binary).args(["completions", shell_name]))?;
        let file = format!("completions/{file}");
        fs::write(dist.join(&file), script)?;
        files.push(file);
    }
    let sums = checksums(&dist, &files)?;
    fs::write(dist.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    println!("{}", dist.display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("could not copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Lines that `sha256sum --check` reads.
fn checksums(dist: &Path, files: &[String]) -> Result<String> {
    let mut lines = String::new();
    for file in files {
        let bytes = fs::read(dist.join(file)).with_context(|| format!("could not read {file}"))?;
        let hex: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        lines.push_str(&format!("{hex}  {file}\n"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_the_form_that_sha256sum_reads() {
        let dist = std::env::temp_dir().join(format!("xtask-dist-{}", std::process::id()));
        fs::create_dir_all(&dist).unwrap();
        fs::write(dist.join("abc"), "abc").unwrap();
        assert_eq!(
            checksums(&dist, &["abc".to_owned()]).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  abc\n"
        );
        fs::remove_dir_all(&dist).unwrap();
    }
}
