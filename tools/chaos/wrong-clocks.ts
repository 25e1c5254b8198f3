import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Sets the clocks of single processes. Each process has been given code that reads from a file, by
 * its pid, how far its clock is ahead; clocks that never jump go on.
 */
export class WrongClocks {
  constructor(private readonly dir: string) {
    mkdirSync(dir, { recursive: true });
  }

  /** The environment of the processes. */
  get env(): { NODE_OPTIONS: string } {
    return {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(codeFor(this.dir))}`,
    };
  }

  /** @param byMs negative: back */
  set(pid: number, byMs: number): void {
    writeFileSync(join(this.dir, String(pid)), String(byMs));
  }

  setRight(pid: number): void {
    rmSync(join(this.dir, String(pid)), { force: true });
  }
}

/** Loaded before all else. */
function codeFor(dir: string): string {
  return `
    import { readFileSync } from 'node:fs';
    const file = ${JSON.stringify(dir)} + '/' + process.pid;
    let byMs = 0;
    setInterval(() => {
      try { byMs = Number(readFileSync(file, 'utf8')); } catch { byMs = 0; }
    }, 100).unref();
    const now = Date.now;
    Date.now = () => now() + byMs;
    globalThis.Date = new Proxy(Date, {
      construct: (date, given, made) =>
        Reflect.construct(date, given.length === 0 ? [date.now()] : given, made),
    });`;
}
