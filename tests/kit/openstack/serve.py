"""Runs one service in its own environment, where nothing of ours is: `python serve.py keystone FOLDER PORT`.

The folder holds what configuration.py wrote. It prints a line when it listens.
"""

import importlib
import os
import socketserver
import sys
import wsgiref.simple_server

MODULES = {"keystone": "keystone.wsgi.api", "glance": "glance.wsgi.api", "placement": "placement.wsgi.api"}


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self) -> None:
        # The name of the host is not asked for: that takes seconds where no resolver answers.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]
        self.setup_environ()


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    protocol_version = "HTTP/1.0"

    def address_string(self) -> str:
        return self.client_address[0]


def main() -> None:
    name, folder, port = sys.argv[1:]
    sys.argv = [name]
    os.environ[f"OS_{name.upper()}_CONFIG_DIR"] = folder
    os.environ["OS_KEYSTONE_CONFIG_FILES"] = os.path.join(folder, "keystone.conf")
    application = importlib.import_module(MODULES[name]).application
    server = wsgiref.simple_server.make_server("127.0.0.1", int(port), application, Server, Handler)
    print(f"{name} listens", flush=True)
    server.serve_forever()


main()
