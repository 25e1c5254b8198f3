import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { choosePorts, localSettings, PORTS } from '../../../dev/local-settings';

test("a port that stays taken is given up, also if the machine's clock is set back", async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const any = Object.fromEntries(PORTS.map((name) => [name, '0']));
  const { settings } = localSettings({ ...any, WAYPOST_INGEST_PORT: String(port) });
  const clock = jest.spyOn(Date, 'now').mockReturnValue(0);
  await expect(choosePorts(settings, 1)).rejects.toThrow(
    `Port ${port} (WAYPOST_INGEST_PORT) on 127.0.0.1 is in use`,
  );
  clock.mockRestore();
  await new Promise((resolve) => other.close(resolve));
});
