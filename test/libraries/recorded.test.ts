import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ROOT } from '../../shared/runtime/repo-root';
import { type ClientProgram, PROGRAMS, runClient } from '../clients/programs';
import { type ReceivedRequest, startSink } from '../../tools/harness/sink';
import { RECORDED_KEY, type RecordedRequest, recordedRequests } from '../support/recorded';
import { testWith } from '../support/external-tools';

/**
 * test/clients/recorded.json holds the requests of real clients, which the fuzz test of ingest
 * mutates. With `RECORD=1` these tests write it: RECORD=1 npx jest --selectProjects libraries
 * --testPathPatterns recorded
 */

const FILE = join(ROOT, 'test/clients/recorded.json');
const programs: ClientProgram[] = Object.values(PROGRAMS);
const recorded = process.env.RECORD ? [] : recordedRequests();

/** Headers that differ with each connection or with the length of the body. */
const LEFT_OUT = new Set(['host', 'content-length', 'connection', 'transfer-encoding']);

for (const program of programs) {
  testWith(
    program.needs,
    `the requests of ${program.name} have the form of the recorded ones`,
    async () => {
      const sink = await startSink();
      await runClient(program, {
        url: sink.url('').replace(/\/$/, ''),
        writeKey: RECORDED_KEY,
        user: 'user-1',
      });
      const requests = sink.received().map((request) => record(program.name, request));
      await sink.close();
      expect(requests.length).toBeGreaterThan(0);
      if (process.env.RECORD) recorded.push(...requests);
      else {
        expect(formsOf(requests)).toEqual(
          formsOf(recorded.filter(({ client }) => client === program.name)),
        );
      }
    },
  );
}

afterAll(() => {
  if (process.env.RECORD) writeFileSync(FILE, `${JSON.stringify(recorded, undefined, 2)}\n`);
});

function record(client: string, { method, path, headers, body }: ReceivedRequest): RecordedRequest {
  const kept = Object.entries(headers).flatMap(([name, value = '']) =>
    LEFT_OUT.has(name) ? [] : [[name, value]],
  );
  const text = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  return {
    client,
    method,
    path,
    headers: Object.fromEntries(kept),
    body: JSON.parse(text.toString()) as object,
  };
}

/** Returns paths, header names and field names: a slow machine divides calls into other batches. */
function formsOf(requests: readonly RecordedRequest[]): unknown {
  const names = (of: (request: RecordedRequest) => string[]) =>
    [...new Set(requests.flatMap(of))].sort();
  return {
    paths: names(({ method, path }) => [`${method} ${path}`]),
    headers: names(({ headers }) => Object.keys(headers)),
    fields: names(({ body }) => Object.keys(body)),
  };
}
