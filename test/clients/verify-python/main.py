"""Verifies a request by the `verify` of a page: the secret is the argument, the request is JSON on standard input. Exits
with 0 only if the signature is right."""

import json
import sys

from verify import verify

request = json.load(sys.stdin)
verify(request["headers"], request["body"], sys.argv[1])
