// Serves the page, the installed client, and the page's settings.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

const { WRITE_KEY, ENDPOINT = 'http://localhost:8080', PORT = '3000' } = process.env;
if (!WRITE_KEY)
  throw new Error('Set WRITE_KEY to the write key of a source for pages (trust: browser).');

const CLIENT = new URL('.', import.meta.resolve('@waypost/node'));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json' };

/** Returns the file for a path; undefined for any other path. */
function fileAt(path) {
  if (path === '/') return new URL('index.html', import.meta.url);
  if (path === '/page.js') return new URL('page.js', import.meta.url);
  const [, name] = /^\/waypost\/([a-z]+\.js)$/.exec(path) ?? [];
  return name === undefined ? undefined : new URL(name, CLIENT);
}

const server = createServer(async (request, response) => {
  const path = new URL(request.url, 'http://page').pathname;
  if (path === '/settings.json') {
    response.writeHead(200, { 'content-type': TYPES['.json'] });
    response.end(JSON.stringify({ writeKey: WRITE_KEY, endpoint: ENDPOINT }));
    return;
  }
  const file = fileAt(path);
  const text = file && (await readFile(fileURLToPath(file)).catch(() => undefined));
  response.writeHead(text ? 200 : 404, text && { 'content-type': TYPES[extname(file.pathname)] });
  response.end(text);
});
server.listen(Number(PORT), '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}`),
);
