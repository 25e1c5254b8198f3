import { createLog } from '../../../shared/telemetry/log';

const SECRET = 'hush-hush';

function linesOf(fields: object): string {
  let text = '';
  createLog('delivery', 'info', { write: (line) => (text += line) }).info(fields, 'something.happened');
  return text;
}

const NAMES = [
  ...['authorization', 'cookie', 'sharedSecret', 'secret', 'secrets', 'password', 'token', 'adminToken', 'writeKey'],
  ...['x-signature', 'webhook-signature', 'staticHeaders'],
];

test.each(NAMES)('what is called %s is in no line, however deep it came with its object', (name) => {
  // Given an object that was logged as a whole; then everything else of it is told, and the secret is not.
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

test('a line is JSON with its service, its level by name, its time and its event', () => {
  const line = JSON.parse(linesOf({ delivery: 'dlv_1' })) as object;
  expect(line).toMatchObject({ service: 'delivery', level: 'info', msg: 'something.happened', delivery: 'dlv_1' });
  expect(line).toHaveProperty('time', expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/));
});
