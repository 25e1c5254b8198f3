"""Verifies a request with the Standard Webhooks library for Python: the secret is the argument, the request is JSON on
standard input. Exits with 0 only if the signature is right."""

import json
import sys

from standardwebhooks.webhooks import Webhook

request = json.load(sys.stdin)
Webhook(sys.argv[1]).verify(request["body"], request["headers"])
