//! The files of the page, as `web/dist` has them: built by `web/build`, embedded here.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::{
    http::{Get, Reply},
    text::hex,
};

/// A file of the page.
pub struct Asset {
    name: &'static str,
    kind: &'static str,
    plain: &'static [u8],
    gzip: &'static [u8],
    /// The entity tag, once it was needed.
    tag: OnceLock<String>,
}

/// Embeds files, each with its compressed form beside it.
macro_rules! assets {
    ($(($name:literal, $kind:literal)),* $(,)?) => {
        [$(Asset {
            name: $name,
            kind: $kind,
            plain: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist/", $name)),
            gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist/", $name, ".gz")),
            tag: OnceLock::new(),
        }),*]
    };
}

static ASSETS: [Asset; 5] = assets![
    ("index.html", "text/html; charset=utf-8"),
    ("page.css", "text/css; charset=utf-8"),
    ("page.js", "text/javascript; charset=utf-8"),
    ("verify.js", "text/javascript; charset=utf-8"),
    ("icon.svg", "image/svg+xml"),
];

/// The page loads nothing from elsewhere, and cannot be framed.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

fn tag(bytes: &[u8]) -> String {
    // 64 bits distinguish the versions of a file.
    format!("\"{}\"", hex(&Sha256::digest(bytes)[..8]))
}

/// The page itself.
pub fn index() -> &'static Asset {
    // The first of them.
    &ASSETS[0]
}

/// A file of the page by its name.
pub fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// The file, unless the client has it already.
    pub fn serve(&self, get: &Get<'_>) -> Reply {
        let tag = self.tag.get_or_init(|| tag(self.plain));
        let reply = if get.has(tag) {
            Reply::not_modified(tag)
        } else if get.accepts_gzip() {
            Reply::bytes(self.kind, self.gzip.to_vec()).with_header("Content-Encoding", "gzip").with_header("ETag", tag)
        } else {
            Reply::bytes(self.kind, self.plain.to_vec()).with_header("ETag", tag)
        };
        // The same address has other bytes after an upgrade, and another form for other clients.
        reply
            .with_header("Cache-Control", "no-cache")
            .with_header("Vary", "Accept, Accept-Encoding")
            .with_header("Content-Security-Policy", POLICY)
            .with_header("X-Content-Type-Options", "nosniff")
            .with_header("Referrer-Policy", "no-referrer")
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn every_file_of_the_page_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist");
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let embedded = ASSETS.iter().flat_map(|asset| [asset.name.to_owned(), format!("{}.gz", asset.name)]);
        assert_eq!(names.collect::<BTreeSet<_>>(), embedded.collect());
    }
}
