//! The gateway with a certificate. The key is for these tests alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::Method;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use toolsearch_gateway::http::Tls;

use super::served::{Served, http_options, request};

fn file(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/it/http/tls").join(name)
}

fn connector() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(file("authority.pem")).unwrap();
    roots.add(authority).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn with_a_certificate_nothing_but_tls_is_answered() {
    let tls = Tls::read(&file("localhost.pem"), &file("localhost.key")).unwrap();
    let served = Served::over(vec![], http_options(), Some(tls)).await;
    let stream = TcpStream::connect(served.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = connector().connect(name, stream).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let healthy = request(Method::GET, "/healthz", &[], "");
    assert_eq!(sender.send_request(healthy).await.unwrap().status(), 200);
    let stream = TcpStream::connect(served.address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let plain = request(Method::GET, "/healthz", &[], "");
    assert!(sender.send_request(plain).await.is_err());
}

#[test]
fn a_file_that_is_no_certificate_is_named() {
    let (good, key) = (file("localhost.pem"), file("localhost.key"));
    for (chain, private, word) in [
        (file("missing.pem"), key.clone(), "missing.pem"),
        (key.clone(), key.clone(), "localhost.key"),
        (good.clone(), file("missing.key"), "missing.key"),
        (good.clone(), good, "localhost.pem"),
        (file("authority.pem"), key, "authority.pem"),
    ] {
        let error = Tls::read(&chain, &private).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
