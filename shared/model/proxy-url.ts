/** Reads the URLs of egress proxies, as settings and destinations write them. */
import { defined } from '../collections/defined';

/** An egress proxy. */
export interface ProxyUrl {
  /** scheme, host and port: not a secret, shown in reads and logs */
  address: string;
  protocol: 'http' | 'socks5';
  /** without brackets */
  hostname: string;
  port: number;
  /** `user:password`, percent-encoded as given; absent: none */
  userInfo?: string;
}

/** Instead of a proxy: connect directly, even if the setting names a proxy. */
export const NO_PROXY = 'none';
/** Stands for the stored user info in reads, and in writes that keep it. */
export const HIDDEN_USER_INFO = '***';

const FORM = /^(http|socks5):\/\/(?:([^@/?#\s]*)@)?(\[[0-9a-f:.]+\]|[^:@/?#[\]\s]+):(\d{1,5})\/?$/i;
const MAX_CHARACTERS = 2_048;
/** A field of the login of SOCKS5 (RFC 1929) has one byte for its length. */
const MAX_LOGIN_BYTES = 255;

/**
 * @returns the proxy, or the problem as the end of a sentence. It never repeats the text, which may
 *   hold a password.
 */
export function readProxyUrl(text: string): ProxyUrl | string {
  const [, scheme = '', userInfo, host = '', digits = ''] = FORM.exec(text) ?? [];
  const port = Number(digits);
  const base = `http://${host}:${digits}/`;
  if (
    text.length > MAX_CHARACTERS ||
    scheme === '' ||
    port < 1 ||
    port > 65_535 ||
    !URL.canParse(base)
  ) {
    return (
      'must be http://host:port or socks5://host:port, with user:password@ before the host ' +
      'where the proxy asks for a login'
    );
  }
  if (userInfo !== undefined && !isLogin(userInfo)) {
    return (
      'must have a user name before the @, and characters such as : / @ in it and in the ' +
      'password percent-encoded'
    );
  }
  const { hostname } = new URL(base);
  const protocol = scheme.toLowerCase() as ProxyUrl['protocol'];
  return {
    address: `${protocol}://${hostname}:${String(port)}`,
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    ...defined({ userInfo }),
  };
}

/** Returns user name and password in clear. */
export function loginOf(userInfo: string): { user: string; password: string } {
  const at = userInfo.indexOf(':');
  const [user, password] =
    at < 0 ? [userInfo, ''] : [userInfo.slice(0, at), userInfo.slice(at + 1)];
  return { user: decodeURIComponent(user), password: decodeURIComponent(password) };
}

function isLogin(userInfo: string): boolean {
  if (userInfo === HIDDEN_USER_INFO) return true;
  try {
    const { user, password } = loginOf(userInfo);
    const isText = (text: string) =>
      new TextEncoder().encode(text).length <= MAX_LOGIN_BYTES && !/\p{Cc}/u.test(text);
    // Basic authentication separates the two by a colon.
    return user !== '' && !user.includes(':') && isText(user) && isText(password);
  } catch {
    return false;
  }
}
