import { parseDuration } from '../shared/model/time';
import { usage } from './process-context';

/**
 * Parses a time: `15m` means 15 minutes ago; otherwise ISO 8601.
 * @throws CliError
 */
export function timeOf(text: string, name: string, nowMs: number): string {
  const ago = parseDuration(text);
  const at =
    ago === undefined ? (/^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : NaN) : nowMs - ago;
  if (Number.isNaN(at)) {
    throw usage(
      `${name} must be 15m, 24h or 7d ago, or a time such as 2026-12-01T10:00:00Z, not "${text}".`,
    );
  }
  return new Date(at).toISOString();
}
