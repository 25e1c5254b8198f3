import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cutLog, endOfLog } from '../../../tools/chaos/log-files';

test('a log whose newest file is empty ends at the first offset of that file', () => {
  const records = mkdtempSync(join(tmpdir(), 'waypost-log-'));
  try {
    const folder = join(records, 'messages-0');
    mkdirSync(folder);
    writeFileSync(join(folder, '00000000000000000000.log'), 'earlier records');
    writeFileSync(join(folder, '00000000000000000120.log'), '');
    expect(endOfLog(records, 'messages-0')).toBe(120);
    expect(cutLog(records, 'messages-0', 100)).toBe(120);
  } finally {
    rmSync(records, { recursive: true });
  }
});
