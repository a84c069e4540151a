// @ts-check
// Links in front of the nodes of a Redis Cluster, which announce the ports of the links to their clients.
import { startLinks } from './links.mjs';
import { command } from './redis-servers.mjs';

/** @param {readonly number[]} ports of the nodes */
export async function cutRedis(ports) {
  const links = await Promise.all(ports.map(startLinks));
  const announce = async (/** @type {(index: number) => number} */ portOf) => {
    for (const [index, port] of ports.entries())
      await command(port, 'CONFIG', 'SET', 'cluster-announce-port', String(portOf(index)));
    for (const port of ports) await command(port, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    for (const port of ports) await command(port, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
  };
  await announce((index) => links[index]?.port ?? 0);
  return {
    cut: () => links.forEach((link) => link.cut()),
    swallow: () => links.forEach((link) => link.swallow()),
    heal: () => links.forEach((link) => link.heal()),
    close: async () => {
      await announce(() => 0);
      for (const link of links) link.close();
    },
  };
}
