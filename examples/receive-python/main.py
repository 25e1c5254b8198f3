"""Receives webhooks with the standard library alone: verifies each, and drops repeats."""

import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_S = 300

class NotVerified(Exception):
    """Do not trust this request."""

def standard_key(secret: str) -> bytes:
    """`whsec_…` is base64, any other secret is its text."""
    if secret.startswith("whsec_"):
        text = secret[len("whsec_"):].rstrip("=")
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4))
        except binascii.Error:
            key = b""
        if key:
            return key
    return secret.encode()

def verify(headers, body: bytes, secrets: list[str]) -> str:
    """Returns the id of a delivery; raises NotVerified. `headers` must ignore case, as those of every framework do."""
    if not secrets or "" in secrets:
        raise ValueError("there is no secret")  # anybody can sign with an empty key
    webhook_id = headers.get("webhook-id")
    timestamp = headers.get("webhook-timestamp") or ""
    signatures = headers.get("webhook-signature")
    if not webhook_id or not signatures:
        raise NotVerified("no_signature")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise NotVerified("no_timestamp")
    if abs(time.time() - int(timestamp)) > TOLERANCE_S:
        raise NotVerified("too_old_or_too_new")
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    for secret in secrets:
        digest = hmac.new(standard_key(secret), signed, hashlib.sha256).digest()
        wanted = b"v1," + base64.b64encode(digest)
        for given in signatures.split(" "):
            if hmac.compare_digest(given.encode(), wanted):
                return webhook_id
    raise NotVerified("bad_signature")

def verify_x_signature(headers, body: bytes, secrets: list[str]) -> None:
    """For requests that lost their other headers on the way. Such requests can be replayed."""
    given = (headers.get("X-Signature") or "").encode()
    for secret in secrets:
        if secret and hmac.compare_digest(given, hmac.new(secret.encode(), body, hashlib.sha1).hexdigest().encode()):
            return
    raise NotVerified("bad_signature")

class Receiver(BaseHTTPRequestHandler):
    secrets: list[str] = []
    seen: set[str] = set()  # a real receiver stores these with its data

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            webhook_id = verify(self.headers, body, self.secrets)
        except NotVerified as why:
            self.send_error(401, str(why))
            return
        if webhook_id not in self.seen:
            self.seen.add(webhook_id)
            call = json.loads(body)
            print(f"{call['type']} of {call.get('userId') or call.get('anonymousId')}", flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """Print nothing: do_POST prints the calls."""

if __name__ == "__main__":
    Receiver.secrets = os.environ["WEBHOOK_SECRET"].split(",")
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
