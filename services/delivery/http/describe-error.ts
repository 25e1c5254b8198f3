import { type UrlError } from '../../../shared/model/attempt-events';
import { type Phase } from '../../../shared/model/phases';
import { EndpointFault } from './endpoint-fault';
import { DistrustedIssuerError } from './distrusted-issuer';
import { ForbiddenAddressError, ForbiddenAnswerError } from './forbidden-address';
import { DnsError } from './resolver';
import { ProxyError, UnreachableError } from './tunnel';

/** Codes of a connection error: the system's, TLS's, or undici's when the other side closes. */
const BROKEN = /^(E[A-Z]+|UND_ERR_SOCKET|ERR_SSL_\w+)$/;

export function isBroken(error: unknown): boolean {
  return BROKEN.test(codeOf(error));
}

const CLOSED = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

/** Returns whether the other side has closed the connection. */
export function isClosed(code: string): boolean {
  return CLOSED.test(code);
}

export function codeOf(error: unknown): string {
  return (
    (error as NodeJS.ErrnoException | null)?.code ??
    (error instanceof Error ? error.name : 'unknown')
  );
}

const CLOSED_EARLY = 'the endpoint closed it before it had answered';
const NO_ROUTE = 'no route leads to its network';
/** The codes of the system and of undici, in words. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its port',
  ECONNRESET: CLOSED_EARLY,
  EPIPE: CLOSED_EARLY,
  UND_ERR_SOCKET: CLOSED_EARLY,
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ETIMEDOUT: 'the endpoint did not accept it in time',
};

/**
 * Classifies an error of the connection. Messages name host and cause, never path, query or header.
 */
export function describeError(error: unknown, phase: Phase, hint: string | undefined): UrlError {
  if (error instanceof ForbiddenAnswerError) {
    return { code: 'forbidden_address', phase: 'dns', message: error.message };
  }
  if (error instanceof ForbiddenAddressError) {
    return { code: 'forbidden_address', message: error.message };
  }
  // The resolver gives up shortly before the deadline or together with it. Both have the same cause
  // and get the same code.
  if (error instanceof DnsError) {
    return {
      code: error.code === 'ETIMEOUT' ? 'timeout' : 'dns',
      phase: 'dns',
      message: error.message,
    };
  }
  if (error instanceof ProxyError) return { code: 'proxy', phase: 'proxy', message: error.message };
  if (error instanceof UnreachableError) {
    return { code: 'connection', phase: 'connect', message: error.message };
  }
  if (error instanceof EndpointFault) return { code: 'connection', phase, message: error.message };
  if (error instanceof DistrustedIssuerError) {
    return { code: 'tls', phase: 'tls', message: error.message };
  }
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return { code: 'timeout', phase, message: 'the connection took too long' };
  }
  if (phase === 'tls' || /CERT|TLS|SSL|EPROTO/.test(code)) {
    return {
      code: 'tls',
      phase: 'tls',
      message: because(`the connection could not be secured (${code})`, hint),
    };
  }
  const when = phase === 'headers' || phase === 'body' ? 'was interrupted' : 'could not be opened';
  const message = because(`the connection ${when} (${code})`, hint ?? CAUSES[code]);
  return { code: 'connection', phase, message };
}

function because(message: string, cause: string | undefined): string {
  return cause === undefined ? message : `${message}: ${cause}`;
}
