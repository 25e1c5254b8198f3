import { spawnSync } from 'node:child_process';

/** A tool that some tests need and the repository does not contain. */
export interface Tool {
  command: string;
  /** name for the message if it is missing */
  name: string;
}

export const GO: Tool = { command: 'go', name: 'Go 1.21 or newer' };
export const PYTHON: Tool = { command: 'python3', name: 'Python 3.9 or newer' };

/** Defines a test that needs a tool. Without the tool the test is skipped; if `CI` is set, it fails and says what to install. */
export function testWith(tool: Tool | undefined, name: string, story: () => Promise<void>, timeoutMs = 300_000): void {
  if (tool === undefined || isInstalled(tool)) {
    test(name, story, timeoutMs);
  } else if (process.env.CI) {
    test(name, () => {
      throw new Error(`${tool.name} is not installed here: install it, so that \`${tool.command}\` is on the PATH.`);
    });
  } else {
    test.skip(`${name} (${tool.name} is not installed here)`, () => undefined);
  }
}

function isInstalled({ command }: Tool): boolean {
  return spawnSync(command, [command === 'go' ? 'version' : '--version']).status === 0;
}
