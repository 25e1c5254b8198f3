import { type ClientProgram, PROGRAMS, runClient } from '../clients/programs';
import { startSink } from '../../tools/harness/sink';
import {
  asRecorded,
  namesIn,
  RECORDED_KEY,
  type RecordedRequest,
  recordedRequests,
  writeRecorded,
} from '../support/recorded';
import { testWith } from '../support/external-tools';

/**
 * test/clients/recorded.json holds the requests of real clients, which the fuzz test of ingest
 * mutates. With `RECORD=1` these tests write it: RECORD=1 npx jest --selectProjects libraries
 * --testPathPatterns recorded
 */

const programs: ClientProgram[] = Object.values(PROGRAMS);
const recorded = process.env.RECORD ? [] : recordedRequests('servers');

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
      const requests = sink.received().map((request) => asRecorded(program.name, request));
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
  if (process.env.RECORD) writeRecorded('servers', recorded);
});

/** Returns paths, header names and field names. */
function formsOf(requests: readonly RecordedRequest[]): unknown {
  return {
    paths: namesIn(requests, ({ method, path }) => [`${method} ${path}`]),
    headers: namesIn(requests, ({ headers }) => Object.keys(headers)),
    fields: namesIn(requests, ({ body }) => Object.keys(body)),
  };
}
