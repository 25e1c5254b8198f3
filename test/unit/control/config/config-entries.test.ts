import { openConfigEntries } from '../../../../services/control/config/config-entries';
import { type ConfigWriter } from '../../../../shared/config/writer';
import { type ConfigReader } from '../../../../shared/config/types';

test('a kind at its limit of entries takes no more, and the error says what to do', async () => {
  const config = { list: () => ({ length: 100_000 }) } as unknown as ConfigReader;
  const write = () => Promise.reject(new Error('nothing is written'));
  const writer = {
    inTurn: (work: (write: unknown) => Promise<unknown>) => work(write),
  } as unknown as ConfigWriter;
  const by = { kind: 'admin' } as never;
  const created = openConfigEntries(config, writer).create('destination', by, () => ({}) as never);
  await expect(created).rejects.toMatchObject({
    code: 'conflict',
    message:
      'The limit of 100000 entries of kind destination is reached. Delete some that are not used',
  });
});
