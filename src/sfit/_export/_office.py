"""Files of Excel and Word: zip archives of XML, equal to the byte for equal content."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from sfit._document import check_path, save_bytes
from sfit.exceptions import ArgumentError

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the earliest that a zip archive can store."""

CORE = "docProps/core.xml"
TIMES = re.compile(rb"<dcterms:(created|modified)[^>]*>[^<]*</dcterms:\1>")


def check_office_path(path: str | Path, ending: str) -> None:
    """Refuse a path before any work is done; Office opens a file only by its usual ending."""
    check_path(path)
    if Path(path).suffix.lower() != ending:
        raise ArgumentError(f"path {str(path)!r} must end in {ending}: Office opens no other.")


def save_office(written: bytes, path: str | Path, *, keep_times: bool = False) -> None:
    """Write an Office file, without the time of writing, or with the times that were set."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(written)) as before,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for member in before.infolist():
            content = before.read(member)
            if member.filename == CORE and not keep_times:
                content = TIMES.sub(b"", content)
            entry = zipfile.ZipInfo(member.filename, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            after.writestr(entry, content)
    save_bytes(buffer.getvalue(), path)
