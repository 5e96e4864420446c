"""Downloading a file from its publisher: https only, bounded in size and time."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from typing import IO, Any

TIMEOUT = 30.0  # seconds without a byte
DEADLINE = 600.0  # seconds in all
MAX_BYTES = 64 * 2**20  # the largest archive of the papers' data, Covertype's, is about 11 MB
_CHUNK = 2**16


class DownloadError(Exception):
    """A download did not finish; the message is a clause that says why."""


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Refuses redirects that leave https."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Follow a redirect to https only."""
        _require_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_url(url: str) -> Any:
    """Open an https address for reading."""
    _require_https(url)
    request = urllib.request.Request(url, headers={"User-Agent": "superarm"})  # noqa: S310 (https, checked)
    return urllib.request.build_opener(_HttpsOnly).open(request, timeout=TIMEOUT)


def download(url: str, target: IO[bytes]) -> None:
    """Write what `url` holds to `target`; raise DownloadError when it is too large, too slow or not there."""
    try:
        with open_url(url) as response:
            _copy(response, target)
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        # An HTTPError words itself; a URLError wraps the reason in markup.
        wraps = isinstance(error, urllib.error.URLError) and not isinstance(error, urllib.error.HTTPError)
        reason: object = error.reason if isinstance(error, urllib.error.URLError) and wraps else error
        raise DownloadError(str(reason) or type(error).__name__) from error


def _copy(response: Any, target: IO[bytes]) -> None:
    expected = response.headers.get("Content-Length")
    started, received = time.monotonic(), 0
    while chunk := response.read(_CHUNK):
        received += len(chunk)
        if received > MAX_BYTES:
            raise DownloadError(f"it is larger than {MAX_BYTES} bytes")
        if time.monotonic() - started > DEADLINE:
            raise DownloadError(f"it took longer than {DEADLINE:g} seconds")
        target.write(chunk)
    if expected is not None and expected.isdigit() and received != int(expected):
        raise DownloadError(f"it broke off after {received} of {expected} bytes")


def _require_https(url: str) -> None:
    if not url.startswith("https://"):
        raise DownloadError(f"{url} is not https")
