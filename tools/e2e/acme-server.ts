import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import path from 'node:path';
import { startChild } from '@certwright/testing';
import { workspaceRoot } from './platform';

/** Output of tools/peers/pebble.mjs. */
export interface AcmeServer {
  readonly directoryUrl: string;
  readonly managementUrl: string;
  readonly tlsRoot: string;
  readonly httpPort: number;
  readonly folder: string;
  /** Root of its certificates, PEM. */
  readonly root: string;
  /** Serial numbers of all issued certificates, in the order of its log. */
  issued(): readonly string[];
  stop(): Promise<unknown>;
}

const upWithinMs = 30_000;

/** pebble. @param options see PebbleOptions in tools/peers/pebble.mjs */
export async function startAcmeServer(options: object): Promise<AcmeServer> {
  const child = await startChild(process.execPath, {
    args: ['tools/peers/pebble.mjs', JSON.stringify(options)],
    cwd: workspaceRoot,
  });
  await child.says(/^\{"binary":.*\}$/m, upWithinMs);
  const line = /^\{"binary":.*\}$/m.exec(child.output())?.[0] ?? '';
  const started = JSON.parse(line) as Omit<AcmeServer, 'root' | 'issued' | 'stop'>;
  const root = await get(`${started.managementUrl}/roots/0`, started.tlsRoot);
  const log = path.join(started.folder, 'pebble.log');
  const issued = () =>
    [...readFileSync(log, 'utf8').matchAll(/Issued certificate serial ([0-9a-f]+)/g)].map(
      ([, serial = '']) => serial,
    );
  return { ...started, root, issued, stop: async () => await child.stop() };
}

async function get(url: string, ca: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    request(url, { ca }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}
