//! Names that say whose a resource or a prompt is, and the way back.

/// Before every resource of the gateway.
const SCHEME: &str = "toolsearch://";
/// Between the owner and the name of a prompt.
const BETWEEN: &str = "__";

/// `toolsearch://OWNER/URI`. The server's own address stands at the end as it is, so that a template
/// stays a template.
pub(crate) fn resource_uri(owner: &str, uri: &str) -> String {
    let mut text = String::with_capacity(SCHEME.len() + owner.len() + 1 + uri.len());
    text.push_str(SCHEME);
    for byte in owner.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text.push('/');
    text.push_str(uri);
    text
}

/// Owner and own address of a resource that [`resource_uri`] named.
pub(crate) fn owned_resource(uri: &str) -> Option<(String, &str)> {
    let (owner, own) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    Some((unescaped(owner)?, own))
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// `OWNER__NAME`.
pub(crate) fn prompt_name(owner: &str, name: &str) -> String {
    format!("{owner}{BETWEEN}{name}")
}

/// The own name of a prompt if it may be this owner's.
pub(crate) fn owned_prompt<'a>(owner: &str, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(owner)?.strip_prefix(BETWEEN)
}

/// Whether an address may come from a template: its fixed parts are there, in order.
pub(crate) fn matches(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut pieces = template.split('{');
    let Some(after) = pieces.next().and_then(|head| rest.strip_prefix(head)) else {
        return false;
    };
    rest = after;
    let mut open = false;
    for piece in pieces {
        let Some((_, fixed)) = piece.split_once('}') else {
            return false;
        };
        open = fixed.is_empty();
        match rest.find(fixed) {
            Some(at) => rest = &rest[at + fixed.len()..],
            None => return false,
        }
    }
    open || rest.is_empty() || template.contains('{') && uri.ends_with(last_fixed(template))
}

fn last_fixed(template: &str) -> &str {
    template.rsplit('}').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_named_and_found_again() {
        for owner in ["files", "数据库", "a/b c", "%2F", ""] {
            for uri in ["file:///tmp/x", "test://{id}/data", "a", ""] {
                let named = resource_uri(owner, uri);
                assert_eq!(
                    owned_resource(&named),
                    Some((owner.to_owned(), uri)),
                    "{named}"
                );
            }
        }
        assert_eq!(
            resource_uri("files", "file:///x"),
            "toolsearch://files/file:///x"
        );
        for foreign in [
            "file:///x",
            "toolsearch://alone",
            "toolsearch://%zz/x",
            "toolsearch://%f",
        ] {
            assert_eq!(owned_resource(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn prompts_are_named_and_found_again() {
        for (owner, name) in [("a", "b"), ("a__b", "c"), ("数据库", "x y"), ("a", "")] {
            assert_eq!(owned_prompt(owner, &prompt_name(owner, name)), Some(name));
        }
        assert_eq!(owned_prompt("a", "ab__c"), None);
    }

    #[test]
    fn templates_match_what_they_may_have_made() {
        for (template, uri, expected) in [
            ("test://template/{id}/data", "test://template/7/data", true),
            ("test://template/{id}/data", "test://template//data", true),
            ("test://template/{id}/data", "test://template/7/date", false),
            (
                "test://template/{id}/data",
                "test://template/7/data/more",
                false,
            ),
            ("file:///{path}", "file:///a/b", true),
            ("file:///{path}", "http:///a/b", false),
            ("{scheme}://{rest}", "x://y", true),
            ("plain", "plain", true),
            ("plain", "plainer", false),
            ("broken/{x", "broken/y", false),
            ("a/{b}/c/{d}/c", "a/1/c/2/c/3/c", true),
        ] {
            assert_eq!(matches(template, uri), expected, "{template} {uri}");
        }
    }
}
