import pino from 'pino';

/** The part of pino that Waypost uses. Event names are `noun.participle`; ids go in fields, never in the text. */
export type Log = pino.Logger;

/**
 * A JSON logger on stdout. Secrets are redacted by path as a last line of defence: no caller passes one on purpose.
 * @param service the `service` field of every line
 */
export function createLog(service: string, level: string): Log {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['*.authorization', '*.sharedSecret', '*.secret', '*.password', '*.token', '*.writeKey', 'authorization'],
      censor: '***',
    },
  });
}
