//! Certificates for tests, made by openssl.

use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = r#"
authority() {
    openssl req -x509 -newkey $1 -nodes -keyout $2.key -subj "/CN=$2" -days 2 -out $2.crt
}
pair() {
    openssl req -newkey $1 -nodes -keyout $3.key -subj "/CN=$3" -out $3.csr
    openssl x509 -req -in $3.csr -CA $2.crt -CAkey $2.key -CAcreateserial -days 2 \
        -extfile $4 -out $3.crt
}
exec 2>openssl.log
ec="ec -pkeyopt ec_paramgen_curve:prime256v1"
printf keyUsage=digitalSignature > extensions
printf 'keyUsage=digitalSignature\nsubjectAltName=DNS:localhost,IP:127.0.0.1' > names
: > none
authority "$ec" ca
authority "$ec" other-ca
pair "$ec" ca server extensions
pair "$ec" ca named names
pair "$ec" ca renewed extensions
pair "$ec" ca client extensions
pair "$ec" other-ca stranger extensions
pair "$ec" ca old-version none
pair rsa:2048 ca rsa extensions
printf subjectAltName=DNS:elsewhere.example > elsewhere
pair "$ec" ca misnamed elsewhere
openssl req -x509 -newkey $ec -nodes -keyout namesake.key -subj "/CN=ca" -days 2 -out namesake.crt
for name in alone alone-too; do
    openssl req -x509 -newkey $ec -nodes -keyout $name.key -subj "/CN=alone" -days 2 \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -out $name.crt
done
openssl req -x509 -key rsa.key -subj "/CN=rsa-ca" -days 2 -out rsa-ca.crt
cp rsa.key old-rsa.key
openssl req -new -key old-rsa.key -subj "/CN=old-rsa" -out old-rsa.csr
openssl x509 -req -in old-rsa.csr -CA rsa-ca.crt -CAkey rsa.key -CAcreateserial -days 2 -out old-rsa.crt
openssl pkcs8 -topk8 -in server.key -passout pass:secret -out encrypted.key
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out p521.key
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out short.key
"#;

/// Certificates in a directory of their own, as `NAME.crt` and `NAME.key`: `ca` has signed
/// those of `server`, `renewed`, `client`, `rsa` and `old-version` (X.509 version 1),
/// and of `named` and `misnamed`, which are good for 127.0.0.1 and localhost, and for elsewhere.example alone;
/// `other-ca` that of `stranger`, `rsa-ca` that of `old-rsa` (version 1, too); `namesake` is
/// another authority by the name of `ca`; `alone` has signed itself, as an authority, and is good for
/// 127.0.0.1 and localhost, and so has `alone-too` by the same name; `encrypted.key` is the key of `server` behind a pass phrase;
/// `p521.key` and `short.key` (RSA of 1024 bits) are keys that the library does not use.
#[derive(Debug)]
pub struct Certificates(tempfile::TempDir);

impl Certificates {
    /// Makes them.
    ///
    /// # Panics
    /// If openssl is not on this machine, or does not make them.
    pub fn make() -> Certificates {
        let directory = tempfile::tempdir().expect("a directory");
        let status = Command::new("sh").args(["-ec", SCRIPT]).current_dir(&directory).status();
        let log = std::fs::read_to_string(directory.path().join("openssl.log"));
        assert!(status.is_ok_and(|status| status.success()), "openssl is needed: {log:?}");
        Certificates(directory)
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        self.0.path()
    }

    /// One of the files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// One of the files, as an argument.
    ///
    /// # Panics
    /// If temporary directories have names that are no text.
    pub fn path(&self, name: &str) -> String {
        self.file(name).to_str().expect("a path in UTF-8").to_owned()
    }

    /// The settings of a server that shows `NAME.crt`, and believes `ca`.
    pub fn settings(&self, port: u16, name: &str) -> Vec<String> {
        let options = [
            ("--tls-port", port.to_string()),
            ("--tls-cert-file", self.path(&format!("{name}.crt"))),
            ("--tls-key-file", self.path(&format!("{name}.key"))),
            ("--tls-ca-cert-file", self.path("ca.crt")),
        ];
        options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}
