import { createLog } from '../../../shared/telemetry/log';

const SECRET = 'hush-hush';

function linesOf(fields: object): string {
  let text = '';
  createLog('delivery', 'info', { write: (line) => (text += line) }).info(
    fields,
    'something.happened',
  );
  return text;
}

const NAMES = [
  'authorization',
  'cookie',
  'sharedSecret',
  'secret',
  'secrets',
  'password',
  'token',
  'adminToken',
  'writeKey',
  'x-signature',
  'webhook-signature',
  'staticHeaders',
];

test.each(NAMES)('a log line censors the field %s at any depth', (name) => {
  // Each object is logged as a whole. The line keeps everything but the secret.
  for (const fields of [
    { id: 'd', [name]: SECRET },
    { a: { id: 'd', [name]: SECRET } },
    { a: { b: { id: 'd', [name]: SECRET } } },
    { list: [{ id: 'd' }, { deep: [{ [name]: SECRET }] }] },
    { id: 'd', err: Object.assign(new Error('no'), { options: { [name]: SECRET } }) },
  ]) {
    const line = linesOf(fields);
    expect(line).not.toContain(SECRET);
    expect(line).toContain('"***"');
    expect(line).toContain('"id":"d"');
  }
});

test('a log line is JSON with its service, the name of its level, its time and its event', () => {
  const line = JSON.parse(linesOf({ delivery: 'dlv_1' })) as object;
  expect(line).toMatchObject({
    service: 'delivery',
    level: 'info',
    msg: 'something.happened',
    delivery: 'dlv_1',
  });
  expect(line).toHaveProperty('time', expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/));
});
