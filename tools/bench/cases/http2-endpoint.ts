import { createSecureServer } from 'node:http2';
import { type Certificate } from '../../../test/support/certificate';
import { delayOf } from '../../harness/receiver';

/**
 * A TLS endpoint in a separate process that speaks HTTP/2 and HTTP/1.1, and responds with 200 as
 * its paths say.
 */

/** This file, to be started as a process; its argument is a certificate. */
export const HTTP2_ENDPOINT_MAIN = __filename;

function main({ key, cert }: Certificate): void {
  process.title = 'waypost-bench-http2-endpoint';
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    request.resume().on('end', () => {
      const delay = delayOf(request.url);
      if (delay === 0) response.end('ok');
      else if (delay !== 'never') setTimeout(() => response.end('ok'), delay);
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.send?.(typeof address === 'object' && address ? address.port : 0);
  });
  // The parent has ended.
  process.on('disconnect', () => process.exit());
}

if (require.main === module) main(JSON.parse(process.argv[2] ?? '{}') as Certificate);
