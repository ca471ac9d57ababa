//! Headers and files; whole logins are in `tests/`.

use super::*;

#[test]
fn parameters_of_a_challenge_are_read_however_they_are_written() {
    let header = r#"Basic realm="a=b, resource_metadata=no", Bearer error=invalid_token, resource_metadata="https://a.example/x?y=\"1\"" , scope="read write""#;
    for (key, expected) in [
        ("resource_metadata", Some(r#"https://a.example/x?y="1""#)),
        ("Error", Some("invalid_token")),
        ("scope", Some("read write")),
        ("missing", None),
    ] {
        assert_eq!(
            challenge_parameter(header, key).as_deref(),
            expected,
            "{key}"
        );
    }
    assert_eq!(challenge_parameter("Bearer", "scope"), None);
    assert_eq!(
        challenge_parameter("Bearer scope=\"open", "scope").as_deref(),
        Some("open")
    );
}

fn tokens(resource: &str) -> Tokens {
    Tokens {
        access: Secret::from("access-secret"),
        refresh: Some(Secret::from("refresh-secret")),
        expires_at_ms: Some(1),
        scope: None,
        issuer: "https://issuer.example".to_owned(),
        resource: resource.to_owned(),
        audience: None,
        token_endpoint: "https://issuer.example/token".to_owned(),
        client_id: "c1".to_owned(),
        client_secret: Some(Secret::from("client-secret")),
        secret_in_body: true,
    }
}

#[test]
fn tokens_are_kept_for_one_address_and_one_user() {
    let folder = tempfile::tempdir().unwrap();
    let store = TokenStore::new(folder.path().join("new/tokens"));
    let url = "https://a.example/mcp?key=1";
    assert_eq!(store.get(url), None);
    let own = tokens("https://a.example/mcp");
    store.keep(&own).unwrap();
    assert_eq!(store.get(url), Some(own.clone()));
    assert_eq!(store.get("https://a.example/mcp2"), None);
    assert!(own.is_expired());
    assert!(!format!("{own:?}").contains("secret"));
    #[cfg(unix)]
    for file in std::fs::read_dir(folder.path().join("new/tokens")).unwrap() {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(store.remove(url).unwrap());
    assert!(!store.remove(url).unwrap());
    assert_eq!(store.get(url), None);
}

#[test]
fn a_file_that_is_no_token_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = TokenStore::new(folder.path());
    store.keep(&tokens("https://a.example/mcp")).unwrap();
    let file = std::fs::read_dir(folder.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    std::fs::write(file.path(), "{\"access\": 7}").unwrap();
    assert_eq!(store.get("https://a.example/mcp"), None);
}
