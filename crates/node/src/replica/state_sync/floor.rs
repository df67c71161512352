//! The file with the certificate of the floor that a replica's engine begins on. It is missing if the engine has all
//! blocks from the first.

use spv::finality::Certificate;
use storage::{DataDirectory, Directory};

use super::super::roster::FOLDER;
use crate::{Error, sealing};

/// In the folder of the sets of replicas.
const FILE: &str = "floor";

/// Writes the floor's certificate, durably.
pub fn write(data: &DataDirectory, floor: &Certificate) -> Result<(), storage::Error> {
    data.directory().directory(FOLDER)?.replace(FILE, &floor.encode())
}

/// Reads the floor's certificate, if there is one.
pub fn read(data: &DataDirectory) -> Result<Option<Certificate>, Error> {
    let directory = data.directory().directory(FOLDER)?;
    match directory.read(FILE) {
        Ok(bytes) => match Certificate::decode(&bytes) {
            Ok(floor) => Ok(Some(floor)),
            Err(_) => Err(sealing::Error::Members { path: directory.path().join(FILE) }.into()),
        },
        Err(storage::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
