import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import express from 'express';
import supertest from 'supertest';
import { consoleRoutes } from '../../../../services/control/app/console-routes';

const folder = mkdtempSync(join(tmpdir(), 'waypost-console-'));
const page = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

beforeAll(() => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Waypost</title>');
  writeFileSync(join(folder, 'assets', 'a.js'), 'one();');
  writeFileSync(join(folder, 'assets', 'a.js.br'), brotliCompressSync('brotli'));
  writeFileSync(join(folder, 'assets', 'a.js.gz'), gzipSync('zipped'));
  writeFileSync(join(folder, 'assets', 'b.css'), 'b {}');
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function app(from = folder) {
  const under = express();
  under.use((_req, res, next) => {
    res.set('Cache-Control', 'no-store');
    next();
  });
  under.use(consoleRoutes(from));
  return supertest(under);
}

describe('the console', () => {
  test.each(['/', '/deliveries', '/deliveries/dlv_1?x=1', '/connect/new'])(
    '%s is a page of the console',
    async (path) => {
      const answer = await app().get(path).set(page);
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('<title>Waypost</title>');
      expect(answer.headers['cache-control']).toBe('no-store');
    },
  );

  test('the console allows no inline code and no other origin', async () => {
    const policy = (await app().get('/').set(page)).headers['content-security-policy']!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
  });

  test('browsers may cache files with a hash in their name', async () => {
    const answer = await app().get('/assets/a.js');
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toContain('immutable');
  });

  test.each([
    ['br, gzip', 'br', 'brotli'],
    ['gzip', 'gzip', 'zipped'],
    ['identity', undefined, 'one();'],
  ])(
    'a client that accepts %s gets the matching file of the build',
    async (accepted, encoding, content) => {
      const answer = await app().get('/assets/a.js').set('Accept-Encoding', accepted);
      expect([answer.status, answer.headers['content-encoding'], answer.text]).toEqual([
        200,
        encoding,
        content,
      ]);
      expect(answer.headers['content-type']).toContain('text/javascript');
      expect(answer.headers['cache-control']).toContain('immutable');
      expect(answer.headers.vary).toContain('Accept-Encoding');
    },
  );

  test('an uncompressed file is sent as it is', async () => {
    const answer = await app().get('/assets/b.css').set('Accept-Encoding', 'br, gzip');
    expect([answer.status, answer.headers['content-encoding'], answer.text]).toEqual([
      200,
      undefined,
      'b {}',
    ]);
  });

  test.each([
    ['a missing asset', '/assets/old.js'],
    ['a path out of the folder', '/assets/..%2f..%2fpackage.json'],
  ])('the console does not answer for %s', async (_, path) => {
    const answer = await app().get(path).set(page);
    expect(answer.text).not.toContain('<title>Waypost</title>');
    expect(answer.status).toBeGreaterThanOrEqual(400);
  });

  test('the root is the console for clients that accept anything, such as curl', async () => {
    const answer = await app().get('/').set('Accept', '*/*');
    expect([answer.status, answer.text]).toEqual([
      200,
      expect.stringContaining('<title>Waypost</title>'),
    ]);
    expect((await app().get('/').set('Accept', 'application/json')).status).toBe(404);
    expect((await app().get('/deliveries').set('Accept', '*/*')).status).toBe(404);
  });

  test('the console answers neither programs nor changes', async () => {
    expect((await app().get('/nothing').set('Accept', 'application/json')).status).toBe(404);
    expect((await app().post('/deliveries').set(page)).status).toBe(404);
  });

  test('a console that was not built is not found', async () => {
    expect((await app(join(folder, 'none')).get('/').set(page)).status).toBe(404);
  });
});
