"""``python gs_server.py PORT``: the Google Cloud Storage emulator, with a thread for each connection.

As it comes it has one thread. A client that reads an object by ranges leaves one answer half read while it
asks for the next: the only thread waits for the first to be taken, and the client for the second, for ever.
"""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer

from gcp_storage_emulator import server

if __name__ == "__main__":
    server.server.HTTPServer = ThreadingHTTPServer
    server.create_server("127.0.0.1", int(sys.argv[1]), in_memory=True, default_bucket="box").run()
