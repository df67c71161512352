//! Files that are written whole.

use std::io::{self, Write};
use std::path::Path;

use crate::error::Error;

/// Replaces a file atomically: it has the old content or the new, whatever happens meanwhile. `what` names the
/// operation in errors.
pub fn replace(what: &'static str, file: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: io::Error| Error::file(what, file, error);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}
