import { usage } from '../process-context';

/**
 * Parses the target of a listener: `3000`, `3000/hook`, `localhost:3000/hook` or a full URL.
 * @throws CliError
 */
export function parseTarget(text: string): URL {
  const [, port, path = '/'] = /^(\d{1,5})(\/.*)?$/.exec(text) ?? [];
  const spelt =
    port === undefined
      ? /^https?:\/\//.test(text)
        ? text
        : `http://${text}`
      : `http://127.0.0.1:${port}${path}`;
  const url = URL.canParse(spelt) ? new URL(spelt) : undefined;
  if (!url || url.username || url.password || url.port === '0') {
    throw usage(
      '--to must be a port or an address, such as 3000, 3000/hook or ' +
        `http://localhost:3000/hook, not "${text}".`,
    );
  }
  return url;
}
