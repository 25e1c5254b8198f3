import { request } from 'undici';
import { SECRET } from './payload';
import { type SystemEnv } from './system';

/** The few calls of the control API that a benchmark needs. */

/** A source and the destination of its calls. */
export interface Customer {
  sourceId: string;
  destinationId: string;
  /** the value of the Authorization header of its calls */
  authorization: string;
}

/** Creates, for each URL, one source with one signed destination. */
export async function createCustomers(system: SystemEnv, urls: readonly string[]): Promise<Customer[]> {
  const customers: Customer[] = [];
  for (const [i, url] of urls.entries()) {
    const source = await post<{ id: string; writeKey: string }>(system, '/sources', { name: `Source ${String(i)}` });
    const destination = await post<{ id: string }>(system, '/destinations', {
      name: `Destination ${String(i)}`,
      type: 'webhooks',
      enabled: true,
      sources: [source.id],
      webhooks: [{ url }],
      sharedSecret: SECRET,
    });
    const authorization = `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}`;
    customers.push({ sourceId: source.id, destinationId: destination.id, authorization });
  }
  return customers;
}

async function post<T>({ controlUrl, adminToken }: SystemEnv, path: string, body: object): Promise<T> {
  const { statusCode, body: answer } = await request(`${controlUrl}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (statusCode !== 201) throw new Error(`control answered POST ${path} with ${String(statusCode)}: ${text}`);
  return JSON.parse(text) as T;
}
