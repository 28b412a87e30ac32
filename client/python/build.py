"""Builds the wheel. It is a PEP 517 build backend that needs only Python:

    pip install PATH-OF-THIS-FOLDER    calls it
    python build.py FOLDER             copies the package's files to a folder instead

It takes the models and operations from gen/python, where go generate writes them.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.findall(r'"(.+)"', (HERE / "storefront_client" / "_version.py").read_text())[0]
NAME = f"storefront_client-{VERSION}"


def files() -> dict[str, bytes]:
    """Returns the content of each of the package's files by its path."""
    found = {}
    for folder in (HERE / "storefront_client", HERE.parent.parent / "gen" / "python"):
        for path in sorted(folder.iterdir()):
            if path.suffix in (".py", ".typed"):
                found[f"storefront_client/{path.name}"] = path.read_bytes()
    return found


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Writes the wheel into a folder, and returns its name."""
    readme = (HERE / "README.md").read_text("utf-8")
    made = files()
    made[f"{NAME}.dist-info/METADATA"] = (
        f"Metadata-Version: 2.1\nName: storefront-client\nVersion: {VERSION}\n"
        "Summary: Client of the Storefront API and verifier of its webhooks, with the standard library alone\n"
        "Requires-Python: >=3.10\nProvides-Extra: aio\nRequires-Dist: httpx>=0.23; extra == 'aio'\n"
        f"Description-Content-Type: text/markdown\n\n{readme}"
    ).encode()
    made[f"{NAME}.dist-info/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: build.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text).digest()).decode().rstrip('=')},{len(text)}\n"
        for name, text in made.items()
    )
    made[f"{NAME}.dist-info/RECORD"] = f"{record}{NAME}.dist-info/RECORD,,\n".encode()
    wheel = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in made.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)  # a fixed date, for equal bytes
    return wheel


if __name__ == "__main__":
    for name, text in files().items():
        path = pathlib.Path(sys.argv[1]) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
