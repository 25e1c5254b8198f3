"""The Python client: main.py <endpoint> <write key> <user> [gzip]"""

import sys

from segment.analytics.client import Client

host, write_key, user = sys.argv[1:4]
errors = []

client = Client(
    write_key,
    host=host,
    on_error=lambda error, batch: errors.append(error),
    gzip="gzip" in sys.argv[4:],
    max_retries=0,
    upload_size=4,
)

client.identify(user, {"plan": "pro"})
client.track(user, "Order Completed", {"total": 9.5, "name": "Zoë"})
client.page(user, "Docs", "Start", {"path": "/"})
client.screen(user, None, "Home", {"dark": True})
client.group(user, "group-1", {"seats": 3})
client.alias(user + "-before", user)
client.track(user, "integrations absent")
client.track(user, "All false", integrations={"All": False})
client.track(user, "All false, Webhooks true", integrations={"All": False, "Webhooks": True})
client.track(user, "Webhooks false", integrations={"Webhooks": False})

client.shutdown()
for error in errors:
    print(error, file=sys.stderr)
sys.exit(1 if errors else 0)
