//! Which names the gateway answers to and which pages may ask it. A page of a stranger that makes its
//! name point at this machine is told apart from a client by both.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

/// The names of a gateway.
#[derive(Debug, Clone)]
pub(super) struct Names {
    loopback: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Names {
    /// The names of a gateway at an address, with those that are configured.
    pub(super) fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        Self {
            loopback: address.ip().is_loopback(),
            hosts: lower(hosts),
            origins: lower(origins),
        }
    }

    /// Whether a request was meant for this gateway and comes from where it may.
    pub(super) fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let Some(host) = host(uri, headers) else {
            return false;
        };
        self.is_ours(&host) && self.origin(headers)
    }

    /// On loopback its names; elsewhere any bare address, as no page can take one over; and
    /// everywhere what is configured, with or without a port.
    fn is_ours(&self, authority: &Authority) -> bool {
        let name = bare(authority.host());
        let address = IpAddr::from_str(&name).ok();
        let known = match address {
            Some(address) => address.is_loopback() || !self.loopback,
            None => self.loopback && name == "localhost",
        };
        let whole = authority.as_str().to_ascii_lowercase();
        let listed = |host: &String| bare(host) == name || *host == whole;
        known || self.hosts.iter().any(listed)
    }

    /// No page, a page of this machine for a gateway of this machine, or one that is configured.
    fn origin(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return true;
        };
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        if origins.next().is_some() {
            return false;
        }
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Some(authority) = origin.split_once("://").map(|(_, rest)| rest) else {
            return false;
        };
        Authority::from_str(authority).is_ok_and(|authority| {
            let name = bare(authority.host());
            let local = IpAddr::from_str(&name).is_ok_and(|address| address.is_loopback());
            self.loopback && (local || name == "localhost")
        })
    }
}

/// The one host that a request names.
fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => Authority::from_str(host.to_str().ok()?).ok(),
        (None, _) => uri.authority().cloned(),
        _ => None,
    }
}

/// A host name in lower case, without the brackets of an address.
fn bare(host: &str) -> String {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(address: &str) -> Names {
        let hosts = ["gate.example".to_owned(), "odd.example:8443".to_owned()];
        let origins = ["https://app.example".to_owned()];
        Names::new(address.parse().unwrap(), &hosts, &origins)
    }

    fn check(names: &Names, host: &str, origin: Option<&str>, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        let allowed = names.allow(&Uri::from_static("/mcp"), &headers);
        assert_eq!(allowed, expected, "{host} {origin:?}");
    }

    #[test]
    fn loopback_answers_to_its_own_names_and_pages() {
        let names = names("127.0.0.1:7332");
        for host in [
            "localhost",
            "LOCALHOST:7332",
            "127.0.0.1:1",
            "[::1]:7332",
            "gate.example",
            "gate.example:99",
            "odd.example:8443",
        ] {
            check(&names, host, None, true);
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "127.0.0.1.evil.example",
        ] {
            check(&names, host, None, false);
        }
        for (origin, expected) in [
            ("http://localhost:3000", true),
            ("http://127.0.0.1:6274", true),
            ("https://app.example", true),
            ("https://app.example:444", false),
            ("http://evil.example", false),
            ("http://localhost.evil.example", false),
            ("http://localhost@evil.example", false),
            ("null", false),
            ("", false),
        ] {
            check(&names, "localhost", Some(origin), expected);
        }
    }

    #[test]
    fn elsewhere_bare_addresses_and_configured_names_count() {
        let names = names("0.0.0.0:7332");
        for (host, expected) in [
            ("10.0.0.1:7332", true),
            ("[2001:db8::1]", true),
            ("gate.example", true),
            ("localhost", false),
            ("rebound.example", false),
        ] {
            check(&names, host, None, expected);
        }
        check(&names, "10.0.0.1", Some("http://localhost:3000"), false);
        check(&names, "10.0.0.1", Some("https://app.example"), true);
    }

    #[test]
    fn two_hosts_or_none_are_nobody() {
        let names = names("127.0.0.1:7332");
        let mut headers = HeaderMap::new();
        assert!(!names.allow(&Uri::from_static("/mcp"), &headers));
        headers.append(HOST, "localhost".parse().unwrap());
        headers.append(HOST, "localhost".parse().unwrap());
        assert!(!names.allow(&Uri::from_static("/mcp"), &headers));
    }
}
