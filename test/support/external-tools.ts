import { isInstalled, type Tool, versionArguments } from './installed-tool';

export const GO: Tool = { command: 'go', name: 'Go 1.21 or newer', versionArguments: ['version'] };
export const PYTHON: Tool = { command: 'python3', name: 'Python 3.9 or newer' };
export const PIP: Tool = {
  command: 'python3',
  name: 'pip of Python 3',
  versionArguments: ['-m', 'pip', '--version'],
};
export const CURL: Tool = { command: 'curl', name: 'curl' };
export const HELM: Tool = {
  command: 'helm',
  name: 'Helm 3.18 or newer',
  versionArguments: ['version'],
};

/**
 * Defines a test that needs a tool. Without the tool the test is skipped. If `CI` is set, it fails
 * and says what to install.
 */
export function testWith(
  tool: Tool | undefined,
  name: string,
  story: () => Promise<void>,
  timeoutMs = 300_000,
): void {
  if (tool === undefined || isInstalled(tool)) {
    test(name, story, timeoutMs);
  } else if (process.env.CI) {
    test(name, () => {
      throw new Error(
        `${tool.name} is not installed here: install it, so that ` +
          `\`${[tool.command, ...versionArguments(tool)].join(' ')}\` works.`,
      );
    });
  } else {
    test.skip(`${name} (${tool.name} is not installed here)`, () => undefined);
  }
}
