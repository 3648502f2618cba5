"""Asks a server for a document, with the client opa-python-client. Arguments: the server's address, the package and
the rule, and the file of the input."""

import json
import pathlib
import sys
import urllib.parse

from opa_client.opa import OpaClient

address, package, rule, file = sys.argv[1:]
url = urllib.parse.urlsplit(address)
with OpaClient(host=url.hostname, port=url.port) as client:
    client.check_connection()
    answer = client.query_rule(json.loads(pathlib.Path(file).read_text()), package, rule)
print(json.dumps(answer["result"]))
