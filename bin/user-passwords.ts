import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { AppError, messageOf } from '../shared/runtime/errors';

interface Passwords {
  /** by user name */
  passwords: Map<string, string>;
  /** the users whose password was generated now */
  generated: string[];
}

/**
 * Reads the passwords of users from a file with lines `name=password`. Users without a line get a
 * password of 32 random characters, which is added to the file: only its owner may read it.
 * @throws AppError `cannot_start` for a line of another form, and if passwords cannot be added
 */
export function passwordsOf(file: string, users: readonly string[]): Passwords {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const known = new Map(
    text
      .split(/\r?\n/)
      .flatMap((line, i) => (line.trim() === '' ? [] : [pairOf(line, i + 1, file)])),
  );
  const missing = users.filter((user) => !known.has(user));
  const made = new Map(missing.map((user) => [user, randomBytes(24).toString('base64url')]));
  if (made.size > 0) {
    const lines = [...made].map(([user, password]) => `${user}=${password}\n`).join('');
    const separator = text === '' || text.endsWith('\n') ? '' : '\n';
    store(file, text + separator + lines, missing);
  }
  const all = new Map([...known, ...made].filter(([user]) => users.includes(user)));
  return { passwords: all, generated: missing };
}

/**
 * @throws AppError `cannot_start` that names the users, for a file that cannot be written: a
 *   mounted secret
 */
function store(file: string, text: string, users: string[]): void {
  try {
    writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    const reason =
      `${file} has no line for ${users.join(', ')}, and cannot be written ` +
      `(${messageOf(error)})`;
    throw new AppError('cannot_start', `${reason}: add a line name=password for each`, false, {
      cause: error,
    });
  }
}

function pairOf(line: string, number: number, file: string): [string, string] {
  const [, name, password] = /^\s*([^=\s]+)=(.+)$/.exec(line) ?? [];
  // The message does not repeat the line, which may hold a password.
  if (!name || !password) {
    throw new AppError('cannot_start', `${file}: line ${number} must be name=password`);
  }
  return [name, password];
}
