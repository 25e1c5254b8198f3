import { spawnSync } from 'node:child_process';

/** A tool that some tests need and the repository does not contain. */
export interface Tool {
  command: string;
  /** name for the message if it is missing */
  name: string;
  /** arguments with which it prints its version; default: `--version` */
  versionArguments?: string[];
}

export function isInstalled(tool: Tool): boolean {
  return spawnSync(tool.command, versionArguments(tool)).status === 0;
}

export function versionArguments({ versionArguments: given = ['--version'] }: Tool): string[] {
  return given;
}
