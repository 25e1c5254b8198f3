/**
 * Reads the call that the address of a pixel holds: as JSON in `data`, as Segment writes it, or
 * field by field, as RudderStack does.
 */

/** Names such as `context.page.url` name nested fields; a deeper one is one name. */
const MOST_LEVELS = 8;

/**
 * Returns the call as JSON. An unreadable `data` is returned as it is, and bytes that are not UTF-8
 * stay what they are: both are refused as in any body.
 */
export function pixelBody(url: string): Buffer {
  const parameters = parametersOf(url);
  const data = parameters.find(([name]) => name === 'data')?.[1].trim();
  if (data === undefined) return Buffer.from(JSON.stringify(callOf(parameters)), 'latin1');
  // An unescaped plus sign was decoded as a space.
  return data.startsWith('{')
    ? Buffer.from(data, 'latin1')
    : Buffer.from(data.replaceAll(' ', '+'), 'base64');
}

type Parameter = [name: string, value: string];

/** One character stands for each byte: URLSearchParams would replace bytes that are not UTF-8. */
function parametersOf(url: string): Parameter[] {
  const query = url.indexOf('?');
  if (query < 0) return [];
  return url
    .slice(query + 1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair): Parameter => {
      const equals = pair.indexOf('=');
      const [name, value] =
        equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
      return [unescaped(name), unescaped(value)];
    });
}

function unescaped(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

interface Fields {
  [name: string]: string | Fields;
}

function callOf(parameters: readonly Parameter[]): Fields {
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
