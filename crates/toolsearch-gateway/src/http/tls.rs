//! The certificate of the gateway, from PEM files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

/// Why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
#[error("{what} {path}: {why}")]
pub struct TlsError {
    what: &'static str,
    path: String,
    why: String,
}

impl TlsError {
    fn new(what: &'static str, path: &Path, why: impl fmt::Display) -> Self {
        let path = path.display().to_string();
        let why = why.to_string();
        Self { what, path, why }
    }
}

/// A certificate with its key, read once.
#[derive(Clone)]
pub struct Tls {
    pub(super) acceptor: TlsAcceptor,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a chain of certificates and its private key, both PEM.
    ///
    /// # Errors
    /// [`TlsError`] names the file that cannot be used.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let path: PathBuf = certificates.to_owned();
        let unusable =
            |why: &dyn fmt::Display| TlsError::new("the certificate cannot be used:", &path, why);
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect)
            .map_err(|error| unusable(&error))?;
        if chain.is_empty() {
            return Err(unusable(&"there is no certificate in it"));
        }
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| TlsError::new("the private key cannot be used:", key, error))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                config
                    .with_no_client_auth()
                    .with_single_cert(chain, private)
            })
            .map_err(|error| unusable(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }
}
