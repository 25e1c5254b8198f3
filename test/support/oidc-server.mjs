import { createServer } from 'node:http';
import process from 'node:process';
import { URL } from 'node:url';
import { Provider } from 'oidc-provider';

/**
 * A real OAuth2 server, and an API behind it. `/token` grants tokens to the client `shop` by its
 * secret (the arguments: the secret, and the life of a token in s), and `/token/revocation` revokes
 * one (RFC 7009). `/hook` accepts a POST with a valid token, and repeats its `Authorization` in the
 * response. `/state` shows the tokens that were issued, and the number of responses of `/hook` by
 * status. It prints its port.
 */

const [, , secret, seconds] = process.argv;
const state = { tokens: [], 200: 0, 401: 0 };

const server = createServer((request, response) => void respond(request, response));
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${server.address().port}\n`));

let provider;
function oidc() {
  if (provider) return provider;
  provider = new Provider(`http://127.0.0.1:${server.address().port}`, {
    clients: [
      {
        client_id: 'shop',
        client_secret: secret,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
        scope: 'hooks',
      },
    ],
    scopes: ['hooks'],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      revocation: { enabled: true },
    },
    ttl: { ClientCredentials: Number(seconds) },
  });
  provider.on('client_credentials.saved', ({ jti }) => state.tokens.push(jti));
  return provider;
}

async function respond(request, response) {
  const { pathname } = new URL(request.url, 'http://host');
  if (pathname === '/state') return answer(response, 200, JSON.stringify(state));
  if (pathname !== '/hook') return oidc().callback()(request, response);
  request.resume();
  const { authorization = '' } = request.headers;
  const found = await oidc().ClientCredentials.find(authorization.replace('Bearer ', ''));
  const status = found && !found.isExpired ? 200 : 401;
  state[status]++;
  return answer(response, status, `you sent ${authorization}`);
}

function answer(response, status, body) {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
}
