//! What models do out of habit, recognised by a few words. No regular expressions, no refusal: only
//! texts for programs that have failed.

pub(super) const NO_MODULES: &str = "modules cannot be loaded; find a tool with tools.search(\"…\") \
     and use it with tools.call(id, args)";

/// Words that start a shell command and rarely a JavaScript program.
const COMMANDS: [&str; 44] = [
    "ls", "pwd", "cd", "cat", "echo", "grep", "npm", "npx", "yarn", "pnpm", "bun", "node", "git",
    "pip", "pip3", "python", "python3", "curl", "wget", "mkdir", "rm", "cp", "mv", "touch",
    "chmod", "find", "sed", "awk", "docker", "kubectl", "make", "cargo", "dir", "type", "sudo",
    "apt", "brew", "which", "whoami", "bash", "sh", "ps", "head", "tail",
];

/// Whether the text starts like a shell script or command.
pub(super) fn is_shell(text: &str) -> bool {
    let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else {
        return false;
    };
    let line = line.trim();
    if let Some(interpreter) = line.strip_prefix("#!") {
        return !interpreter.contains("node") && !interpreter.contains("deno");
    }
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if rest.trim_start().starts_with(['=', '(']) || word.contains(['(', '=', '.']) {
        return false;
    }
    COMMANDS.contains(&word) || is_cmdlet(word)
}

/// Whether an unknown name is the command with which the text starts.
pub(super) fn is_shell_word(text: &str, name: &str) -> bool {
    is_shell(text) && text.trim_start().trim_start_matches("$ ").starts_with(name)
}

/// `Get-ChildItem` and the like.
fn is_cmdlet(word: &str) -> bool {
    let Some((verb, noun)) = word.split_once('-') else {
        return false;
    };
    let capital = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.len() > 1
            && text.chars().all(|c| c.is_ascii_alphabetic())
    };
    capital(verb) && capital(noun)
}

/// The module statement of a text that is free of strings and comments.
pub(super) fn module_word(code: &str) -> Option<&'static str> {
    let mut lines = code.lines().map(str::trim_start);
    lines.find_map(|line| {
        ["import", "export"].into_iter().find(|word| {
            line.strip_prefix(word)
                .is_some_and(|rest| rest.starts_with([' ', '{', '*', '\t']))
        })
    })
}

pub(super) fn has_entities(line: &str) -> bool {
    ["&lt;", "&gt;", "&amp;", "&quot;", "&#39;", "&apos;"]
        .iter()
        .any(|entity| line.contains(entity))
}

/// Whether a line awaits inside a function that is not async.
pub(super) fn awaits_outside_async(line: &str) -> bool {
    let words = words(line);
    let Some(place) = words.iter().position(|word| *word == "await") else {
        return false;
    };
    let before = &words[..place];
    let opens = before
        .iter()
        .rposition(|word| *word == "=>" || *word == "function");
    opens.is_some_and(|at| !before[..=at].contains(&"async"))
}

/// Whether a line holds types. Takes a line without strings and comments.
pub(super) fn is_typescript(line: &str) -> bool {
    const TYPES: [&str; 14] = [
        "number", "string", "boolean", "any", "unknown", "void", "never", "object", "bigint",
        "symbol", "Promise", "Array", "Record", "Map",
    ];
    let words = words(line);
    let pairs = || words.windows(2).map(|pair| (pair[0], pair[1]));
    if matches!(
        words.first(),
        Some(&("interface" | "type" | "enum" | "declare" | "namespace"))
    ) && words.len() > 2
    {
        return true;
    }
    pairs().any(|(word, next)| match word {
        ":" | "<" | "|" => TYPES.contains(&next) || next == "{" && word == "<",
        "as" | "satisfies" => true,
        "!" => matches!(next, "." | ";" | ")" | "["),
        "public" | "private" | "protected" | "readonly" | "abstract" => true,
        ")" | "]" => next == "as",
        _ => false,
    }) || words.windows(4).any(|four| {
        // `const x: Name =`
        matches!(four[0], "const" | "let" | "var") && four[2] == ":"
    })
}

fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("=>") {
            2
        } else {
            first.len_utf8()
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

/// What to use instead of a name that is not there.
pub(super) fn missing(name: &str) -> Option<&'static str> {
    Some(match name {
        "search" | "searchTools" | "search_tools" | "tool_search" | "toolSearch" => {
            "write tools.search(\"what you need\")"
        }
        "describe" | "tool_describe" => "write tools.describe(id)",
        "call" | "callTool" | "call_tool" | "tool_call" | "callValue" => {
            "write tools.call(id, args)"
        }
        "fetch" | "XMLHttpRequest" | "WebSocket" | "axios" | "navigator" => {
            "there is no network; find a tool with tools.search(\"…\") and use it with \
             tools.call(id, args)"
        }
        "require" | "module" | "exports" | "importScripts" => NO_MODULES,
        "process" | "Deno" | "Bun" | "fs" | "path" | "os" | "child_process" | "Buffer"
        | "__dirname" | "__filename" | "global" => {
            "there are no files, processes or environment here; find a tool with \
             tools.search(\"…\") and use it with tools.call(id, args)"
        }
        "setInterval" | "setImmediate" | "requestAnimationFrame" => {
            "only setTimeout is there, for waiting: await new Promise(r => setTimeout(r, ms))"
        }
        "window" | "document" | "self" | "localStorage" | "alert" => {
            "this is no browser; find a tool with tools.search(\"…\") and use it with \
             tools.call(id, args)"
        }
        "Intl" => "write dates with toISOString() and numbers with toFixed()",
        "structuredClone" => "write JSON.parse(JSON.stringify(value))",
        "URL" | "URLSearchParams" | "TextEncoder" | "TextDecoder" | "crypto" | "WebAssembly"
        | "Worker" | "SharedArrayBuffer" | "Atomics" | "Temporal" => {
            "only the language itself is here, not the interfaces of browsers or Node"
        }
        _ => return None,
    })
}

/// A helper of `tools` that does not exist.
pub(super) fn unknown_helper(line: &str) -> Option<String> {
    let name = match line.split_once("tools[") {
        Some((_, after)) => {
            let quote = after
                .chars()
                .next()
                .filter(|c| matches!(c, '\'' | '"' | '`'))?;
            after[1..].split_once(quote)?.0
        }
        None => {
            let (_, after) = line.split_once("tools.")?;
            let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))?;
            &after[..end]
        }
    };
    if ["search", "describe", "call", "callValue", ""].contains(&name) {
        return None;
    }
    Some(format!(
        "`tools` has search, describe, call and callValue; to use a tool write \
         tools.call(\"{name}\", args)"
    ))
}
