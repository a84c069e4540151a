import path from 'node:path';
import { workspaceRoot } from './platform';

interface Ports {
  wantedPorts(apps: readonly unknown[], stores: readonly string[]): readonly unknown[];
  freeOffset(wanted: readonly unknown[], from: number): Promise<number>;
}

/** PORT_OFFSET for an `npm start` beside others: below the kernel's ephemeral ports. */
export async function freePortOffset(): Promise<string> {
  const folder = path.join(workspaceRoot, 'tools/up');
  const { apps } = (await import(path.join(folder, 'apps.mjs'))) as { apps: readonly unknown[] };
  const { wantedPorts, freeOffset } = (await import(path.join(folder, 'ports.mjs'))) as Ports;
  const first = 2_000 + 100 * Math.floor(Math.random() * 150);
  return String(await freeOffset(wantedPorts(apps, ['postgres', 'redis']), first));
}
