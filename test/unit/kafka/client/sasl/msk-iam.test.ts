import { generateAuthTokenFromCredentialsProvider } from 'aws-msk-iam-sasl-signer-js';
import { mskToken, presign, signToken } from '../../../../../shared/kafka/client/sasl/msk-iam';

/**
 * Signature Version 4: vectors of the published test suite, and tokens of Amazon's own signer for
 * MSK.
 */

const KEYS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const UNRESERVED = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const NOW = new Date('2026-11-23T12:00:00.123Z');

test.each([
  [
    'get-vanilla-empty-query-key',
    { Param1: 'value1' },
    '49096700cbbaa5753443850f40df10f904fc2fdb544dc9512203cc77c471a9de',
  ],
  [
    'get-vanilla-query-order-key-case',
    { Param2: 'value2', Param1: 'value1' },
    '86012e2c9ad4d77369f5d81c11f75158aae4f895a085212cc6d3f923d300bed5',
  ],
  [
    'get-vanilla-query-unreserved',
    { [UNRESERVED]: UNRESERVED },
    '8e76a88a7433637b12778d5592799b29ad21ecd6cf6325051c21d86f0acda2bf',
  ],
  [
    'get-vanilla-query-order-encoded',
    { 'Param-3': 'Value3', Param: 'Value2', ሴ: 'Value1' },
    'c5f1848ceec943ac2ca68ee720460c23aaae30a2300586597ada94c4a65e4787',
  ],
])('a presigned URL has the signature of the published test %s', (_, query, signature) => {
  const now = new Date('2015-08-30T12:36:00Z');
  const scope = {
    region: 'us-east-1',
    service: 'service',
    host: 'example.amazonaws.com',
    now,
    seconds: 3600,
  };
  const url = presign({ ...KEYS, ...scope, query: query });
  expect(new URL(url).searchParams.get('X-Amz-Signature')).toBe(signature);
});

describe('a token for MSK', () => {
  beforeEach(() => jest.useFakeTimers({ now: NOW }));
  afterEach(() => jest.useRealTimers());

  test.each([
    ['long-lived keys', KEYS, 'eu-central-1'],
    ['keys of a role', { ...KEYS, sessionToken: 'FwoGZXIvYXdzE+/==(a)*!' }, 'us-east-1'],
  ])('equals the token of the signer of Amazon for %s', async (_, keys, region) => {
    const ours = signToken(keys, region, NOW);
    const awsCredentialsProvider = () => Promise.resolve(keys);
    const theirs = await generateAuthTokenFromCredentialsProvider({
      region,
      awsCredentialsProvider,
    });
    const [mine, other] = [ours.value, theirs.token].map(parametersOf);
    expect(mine).toEqual({ ...other, 'User-Agent': 'waypost' });
    expect(ours.expiresAt - theirs.expiryTime).toBe(NOW.getMilliseconds());
  });

  test('expires with the credentials, if they expire earlier', () => {
    const expiration = new Date(NOW.getTime() + 60_000);
    expect(signToken({ ...KEYS, expiration }, 'eu-central-1', NOW).expiresAt).toBe(
      expiration.getTime(),
    );
  });
});

test('the credentials of the environment sign a token', async () => {
  const before = { ...process.env };
  process.env.AWS_ACCESS_KEY_ID = KEYS.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = KEYS.secretAccessKey;
  try {
    const parameters = parametersOf((await mskToken('eu-central-1')).value);
    expect(parameters['X-Amz-Credential']).toMatch(
      /^AKIDEXAMPLE\/\d{8}\/eu-central-1\/kafka-cluster\/aws4_request$/,
    );
  } finally {
    process.env = before;
  }
});

function parametersOf(token: string): Record<string, string> {
  const url = new URL(Buffer.from(token, 'base64url').toString());
  return { host: url.host, path: url.pathname, ...Object.fromEntries(url.searchParams) };
}
