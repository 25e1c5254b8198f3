import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pipeline, type PipelineOptions } from '../../../services/audiences/pipeline';
import { takeLock } from '../../../shared/runtime/data-dir';
import { createLog } from '../../../shared/telemetry/log';
import { fakeConfig, fakeDeletions } from '../../support/fakes';

test('the pipeline opens no store that another process uses, and names that one', async () => {
  const path = mkdtempSync(join(tmpdir(), 'waypost-stores-'));
  const other = takeLock(path);
  const options: PipelineOptions = {
    // Kafka must not be used: the folder is refused first.
    kafka: new Proxy({} as PipelineOptions['kafka'], {
      get: () => {
        throw new Error('Kafka was asked');
      },
    }),
    config: fakeConfig(),
    deletions: fakeDeletions(),
    path,
    definitions: () => {
      throw new Error('definitions were asked for');
    },
    log: createLog('test', 'silent'),
    onFatal: (error) => {
      throw error;
    },
  };
  try {
    await expect(Pipeline.open(options)).rejects.toMatchObject({
      code: 'cannot_start',
      message: expect.stringContaining(`pid ${String(process.pid)}`),
    });
  } finally {
    other.release();
    rmSync(path, { recursive: true });
  }
});
