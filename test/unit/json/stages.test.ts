import fc from 'fast-check';
import { choose } from '../../../cli/listen/choose-events';
import { sampleOf, sampleText } from '../../../console/src/delivery/sample';
import { trustedSourcesOf } from '../../../services/audiences/definitions/trusted-sources';
import { decodeEvent, encodeEvent, eventOf } from '../../../services/audiences/repartition/event';
import { traitsOf, withTraits } from '../../../services/audiences/profiles/profile';
import { decodeProfile, encodeProfile } from '../../../services/audiences/profiles/profile-codec';
import { Entry } from '../../../services/control/debugger/buffer';
import { bodyJson } from '../../../services/control/deliveries/delivery-body';
import { isFault } from '../../../services/ingest/calls/parse-batch';
import { parseBody, validateCalls } from '../../../services/ingest/calls/validate-request';
import { finish } from '../../../services/ingest/calls/steps';
import { rejectedRecords } from '../../../services/ingest/rejected-records';
import { messageRecords } from '../../../services/ingest/store-messages';
import { decide } from '../../../services/router/decide';
import { parseJson, stringifyJson } from '../../../shared/json/json';
import { type Event } from '../../../shared/api/operations';
import { type InRecord, type OutRecord } from '../../../shared/kafka/port';
import { type Destination, type Source } from '../../../shared/model/config';
import { curlOf } from '../../../shared/model/curl';
import { type Message } from '../../../shared/model/message';
import { readMessageHeaders, parseMessage } from '../../../shared/model/message-codec';

/**
 * A number of an event keeps its digits from the request of the client to the receiver, and to
 * every view of it.
 */

const AT = '2026-01-01T00:00:00.000Z';
const NOW = Date.parse(AT);
const source: Source = {
  id: 's1',
  name: 'Site',
  enabled: true,
  writeKeys: [],
  createdAt: AT,
  updatedAt: AT,
};

/** Numbers that no double holds. */
const exactNumber = fc.oneof(
  fc.stringMatching(/^-?[1-9][0-9]{18,40}1$/),
  fc.stringMatching(/^-?[1-9][0-9]{0,5}\.[0-9]{17,30}1$/),
  fc.stringMatching(/^-?[1-9]e[1-9][0-9]{3}$/),
  fc.bigInt({ min: 2n ** 53n + 1n, max: 2n ** 63n - 1n }).map((n) => String(n | 1n)),
);

/** Accepts a batch, and returns the records of its messages and of its rejected calls. */
function ingest(body: string) {
  const parsed = finish(parseBody(Buffer.from(body), 'batch'));
  if (isFault(parsed)) throw new Error(parsed.code);
  const receipt = { now: NOW, makeId: () => 'made', isOwnKey: () => true };
  const verdicts = finish(validateCalls(parsed, receipt));
  const accepting = { acceptedAtMs: NOW, configPosition: 7 };
  return {
    messages: finish(messageRecords('s1', verdicts.accepted, accepting)).map(asRead),
    rejected: finish(
      rejectedRecords(verdicts.rejected, parsed, {
        source: 's1',
        atMs: NOW,
        oneByOne: verdicts.rejected.length,
        key: undefined,
      }),
    ).map(asRead),
  };
}

function asRead({ topic, key, value, headers = {} }: OutRecord): InRecord {
  return {
    topic,
    partition: 0,
    offset: 0,
    epoch: 0,
    timestampMs: NOW,
    key: Buffer.from(key ?? ''),
    value: Buffer.from(value ?? ''),
    headers,
  };
}

/** Returns the bodies of the deliveries of a message, as texts. */
function deliver(record: InRecord, given: Partial<Destination>): string[] {
  const destination: Destination = {
    id: 'd1',
    name: 'Hook',
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: ['s1'],
    webhooks: [],
    createdAt: AT,
    updatedAt: AT,
    ...given,
  };
  const head = readMessageHeaders(record.headers);
  if (head.kind !== 'message') throw new Error(head.kind);
  const decision = decide(head, record, {
    windowMs: 60_000,
    config: {
      source: () => ({ version: 1, data: source }),
      destinationsOf: () => [{ version: 1, data: destination }],
      unreadableDestinationsOf: () => [],
    },
  });
  if (decision.kind !== 'deliver') throw new Error(decision.kind);
  return decision.records.map(({ value }) => String(value));
}

const callWith = (number: string) =>
  `{"type":"track","userId":"u","event":"e","properties":{"id":${number}}}`;

test('every delivered body has the digits, however it is rendered', () => {
  const template = '{"id": properties.id, "whole": properties, "message": message}';
  fc.assert(
    fc.property(exactNumber, (number) => {
      for (const envelope of ['', '"context":{"ip":"::"},', `"context":{"big":${number}},`]) {
        const [record] = ingest(`{${envelope}"batch":[${callWith(number)}]}`).messages;
        const id = `"id":${number}`;
        expect(deliver(record!, {})[0]).toContain(id);
        expect(deliver(record!, { filter: 'has(properties.id)' })[0]).toContain(id);
        for (const format of ['cloudevents', 'cloudevents-binary', 'pagerduty'] as const) {
          expect(deliver(record!, { request: { format } })[0]).toContain(id);
        }
        expect(deliver(record!, { request: { format: 'slack' } })[0]).toContain(number);
        const [body = ''] = deliver(record!, { request: { body: template } });
        expect(body.split(id)).toHaveLength(4);
        if (envelope.includes('big')) expect(deliver(record!, {})[0]).toContain(`"big":${number}`);
      }
    }),
  );
});

test('every view of an event has the digits', () => {
  fc.assert(
    fc.property(exactNumber, (number) => {
      const { messages, rejected } = ingest(
        `{"batch":[${callWith(number)},{"type":"track","properties":{"id":${number}}}]}`,
      );
      const shown = [new Entry(messages[0]!, 1, true), new Entry(rejected[0]!, 2, false)].map(
        (entry) => entry.view(),
      );
      for (const event of shown) expect(stringifyJson(event)).toContain(`{"id":${number}}`);

      const read = parseJson(stringifyJson(shown[0])) as Event;
      const choice = choose(read, { destination: undefined, isNew: () => true });
      expect(choice.kind === 'forward' && String(choice.forward.body)).toContain(
        `{"id":${number}}`,
      );

      const [delivered = ''] = deliver(messages[0]!, {});
      const body = bodyJson(Buffer.from(delivered));
      expect(stringifyJson({ body })).toBe(`{"body":${delivered}}`);
      expect(curlOf({ method: 'POST', url: 'https://a.test', headers: {}, body })).toContain(
        delivered,
      );
      const sample = sampleOf(sampleText({ body, type: 'track' }) ?? '');
      expect(stringifyJson(sample)).toContain(`{"id":${number}}`);
    }),
  );
});

test('traits keep the digits in profiles', () => {
  fc.assert(
    fc.property(exactNumber, (number) => {
      const [record] = ingest(
        `{"batch":[{"type":"identify","userId":"u","traits":{"id":${number}}}]}`,
      ).messages;
      const found = eventOf(parseMessage(record!.value) as Message, 's1');
      const { value, headers } = encodeEvent(found!.event);
      const event = decodeEvent(asRead({ topic: 't', key: 'u', value, headers }))?.event;
      if (event?.kind !== 'identify') throw new Error('no identify');
      const profile = decodeProfile(encodeProfile(withTraits({}, 's1', event)));
      expect(stringifyJson(profile)).toContain(`[${number},`);
      expect(withTraits(profile, 's1', event)).toBe(profile);
      expect(stringifyJson(traitsOf(profile, trustedSourcesOf(undefined, new Set())))).toBe(
        `{"id":${number}}`,
      );
    }),
  );
});

test('a time that cannot be read is named in the headers, and in the debugger', () => {
  const { messages } = ingest(
    `{"batch":[{"type":"page","userId":"u","timestamp":"soon","sentAt":7615917337495251231},{"type":"page","userId":"u","timestamp":1396594800}]}`,
  );
  expect(messages[0]?.headers.warnings).toBe('timestamp_unreadable,sent_at_unreadable');
  expect(messages[1]?.headers).not.toHaveProperty('warnings');
  const [unreadable, readable] = messages.map((record) => new Entry(record, 1, true).view());
  expect(unreadable).toMatchObject({
    warnings: ['timestamp_unreadable', 'sent_at_unreadable'],
    call: { timestamp: AT, originalTimestamp: 'soon', sentAt: '7615917337495251231' },
  });
  expect(readable).toMatchObject({
    warnings: [],
    call: { timestamp: '2014-04-04T07:00:00.000Z', originalTimestamp: '1396594800' },
  });
});
