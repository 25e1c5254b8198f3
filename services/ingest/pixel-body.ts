/**
 * Reads the call that the address of a pixel holds: as JSON in `data`, as Segment writes it, or
 * field by field, as RudderStack does.
 */

/** Names such as `context.page.url` name nested fields; a deeper one is one name. */
const MOST_LEVELS = 8;

/**
 * Returns the call as JSON. An unreadable `data` is returned as it is, and is refused as any body
 * is.
 */
export function pixelBody(url: string): Buffer {
  const query = url.indexOf('?');
  const parameters = new URLSearchParams(query < 0 ? '' : url.slice(query));
  const data = parameters.get('data')?.trim();
  if (data === undefined) return Buffer.from(JSON.stringify(callOf(parameters)));
  // An unescaped plus sign was decoded as a space.
  return data.startsWith('{')
    ? Buffer.from(data)
    : Buffer.from(data.replaceAll(' ', '+'), 'base64');
}

interface Fields {
  [name: string]: string | Fields;
}

function callOf(parameters: URLSearchParams): Fields {
  const call = noFields();
  for (const [name, value] of parameters) if (name !== 'writeKey') setField(call, name, value);
  return call;
}

/** Sets a nested field; the first of two equal names counts. */
function setField(call: Fields, name: string, value: string): void {
  const path = name.split('.');
  if (path.length > MOST_LEVELS) path.splice(0, path.length, name);
  const last = path.pop() ?? '';
  let fields = call;
  for (const step of path) {
    const inner = (fields[step] ??= noFields());
    if (typeof inner === 'string') return;
    fields = inner;
  }
  fields[last] ??= value;
}

/** Without a prototype, so that `__proto__` is a name like any other. */
function noFields(): Fields {
  return Object.create(null) as Fields;
}
