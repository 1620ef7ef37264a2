"""Serve a built site on loopback, with the media types that modules and WebAssembly need.

`make serve` runs it; the browser tests import it.
"""

import argparse
import functools
import http.server
import threading
from pathlib import Path


class _Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
        ".woff2": "font/woff2",
    }

    def log_message(self, *args):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")  # a rebuilt page is seen at the next reload
        super().end_headers()


def serve(site, port=0):
    """Start serving the folder `site` on 127.0.0.1, in a thread.

    Parameters
    ----------
    site : path
        Folder with an `index.html`.
    port : int
        0 takes a free one.

    Returns
    -------
    http.server.ThreadingHTTPServer
        Its `server_port` is the port taken; `shutdown()` ends it.

    Raises
    ------
    FileNotFoundError
        If `site` has no `index.html`.
    OSError
        If `port` is taken.
    """
    if not Path(site, "index.html").is_file():
        raise FileNotFoundError(f"{site} has no index.html; `make book` builds the site")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(prog="python -m book.serve", description=__doc__)
    parser.add_argument("site")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    try:
        server = serve(options.site, options.port)
    except OSError as error:
        raise SystemExit(f"port {options.port}: {error.strerror or error}; another: make serve PORT=8001") from None
    print(f"The book is on http://127.0.0.1:{server.server_port}/ (Ctrl-C ends)", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.shutdown()


if __name__ == "__main__":
    main()
