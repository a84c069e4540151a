import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Gateway, GatewayClient, GatewayFault } from '@certwright/gateway-client';
import { startedPlatform } from './started-platform';

/** Runs one command against the DNS gateway, and closes the connection again. */
export type WithGateway = (work: (gateway: Gateway) => Promise<void>) => Promise<void>;

export const withGateway: WithGateway = async (work) => {
  const started = await startedPlatform();
  const url = process.env['GATEWAY_URL'] ?? started?.gateway;
  if (url === undefined) {
    throw new Error('GATEWAY_URL is not set, and "npm start" has not stored the address of a DNS gateway.');
  }
  const folder = started?.gateway_keys;
  const client = new GatewayClient({
    url,
    ca: await pem('GATEWAY_CA_FILE', folder, 'ca.pem'),
    certificate: await pem('GATEWAY_CERTIFICATE_FILE', folder, 'admin.pem'),
    key: await pem('GATEWAY_KEY_FILE', folder, 'admin.key'),
  });
  try {
    await work(client);
  } catch (error) {
    throw error instanceof GatewayFault ? messageOf(error) : error;
  } finally {
    client.close();
  }
};

/** @param folder of the files that `npm start` creates; undefined without it */
async function pem(variable: string, folder: string | undefined, file: string): Promise<string> {
  const place = process.env[variable] ?? (folder === undefined ? undefined : path.join(folder, file));
  if (place === undefined) throw new Error(`${variable} is not set.`);
  try {
    return await readFile(place, 'utf8');
  } catch {
    throw new Error(`Cannot read ${place}: set ${variable} to the file.`);
  }
}

function messageOf({ message, faults }: GatewayFault): Error {
  return new Error([message, ...faults.map((fault) => `  ${fault.field}: ${fault.message}`)].join('\n'));
}
