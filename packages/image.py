"""Unpacks the layers of an OCI layout, after checking every digest, and prints the user, volumes and command of the image.

usage: image.py LAYOUT FOLDER
"""

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path


def main():
    layout, folder = map(Path, sys.argv[1:])

    def blob(descriptor):
        kind, _, digest = descriptor["digest"].partition(":")
        data = (layout / "blobs" / kind / digest).read_bytes()
        if hashlib.sha256(data).hexdigest() != digest or len(data) != descriptor["size"]:
            sys.exit(f"error: blob {digest} is damaged")
        return data

    [manifest] = [json.loads(blob(entry)) for entry in json.loads((layout / "index.json").read_text())["manifests"]]
    image = json.loads(blob(manifest["config"]))
    for layer in manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(blob(layer))) as archive:
            archive.extractall(folder, numeric_owner=True)
    config = image["config"]
    print(config["User"], *config["Volumes"], *config["Entrypoint"], *config["Cmd"])


if __name__ == "__main__":
    main()
