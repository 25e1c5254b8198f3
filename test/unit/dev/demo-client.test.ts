import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { demoSource } from '../../../dev/demo-client';

let control: Server;

/** Starts a control API with the source of an earlier demo. */
async function controlWith(
  writeKey: string | null,
): Promise<{ controlUrl: string; adminToken: string }> {
  const sources = { data: [{ id: 'src_1', name: 'Demo source', writeKey }] };
  control = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(sources));
  });
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
  return {
    controlUrl: `http://127.0.0.1:${String((control.address() as AddressInfo).port)}`,
    adminToken: 'token',
  };
}

describe('the source of the demo', () => {
  afterEach(() => {
    control.closeAllConnections();
    control.close();
  });

  test('the demo reuses the source of an earlier demo', async () => {
    const system = await controlWith('key-1');
    await expect(demoSource(system)).resolves.toEqual({ id: 'src_1', writeKey: 'key-1' });
  });

  test("the demo does not start without decrypting the earlier source's write key", async () => {
    const system = await controlWith(null);
    await expect(demoSource(system)).rejects.toMatchObject({
      code: 'cannot_start',
      message: 'The write key of the source "Demo source" cannot be decrypted.',
    });
  });
});
