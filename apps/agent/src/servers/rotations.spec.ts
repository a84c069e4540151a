import { setTimeout as pause } from 'node:timers/promises';
import { type Child, eventually, startChild } from '@certwright/testing';
import { debianServers } from './testing/debian-servers';
import { Host } from './testing/host';
import { mayRun, type RunningServer } from './testing/real-server';

/** `npm run rotations` has 200, with every server. */
const rotations = Number(process.env['ROTATIONS'] ?? 10);
const seed = Number(process.env['SEED'] ?? 20);
const isLong = process.env['ROTATIONS'] !== undefined;

const short = ['nginx', 'HAProxy', 'PostgreSQL'];
const servers = debianServers.filter((server) => mayRun(server) && (isLong || short.includes(server.name)));
/** Shown as skipped where no server is installed; tools/test/peers.sh installs all of them. */
const given = servers.length > 0 ? it : it.skip;

/** Mulberry32: the same decisions for the same seed. */
function random(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Reads without a pause, checks that the key is that of the certificate, and prints the counts when it is ended. */
const reader = `
const { readFileSync, realpathSync } = require('node:fs');
const { createPrivateKey, X509Certificate } = require('node:crypto');
const path = require('node:path');
const [way, certificate, key] = process.argv.slice(1);
const counts = { way, pairs: 0, wrong: 0, errors: [] };
let isOver = false;
process.on('SIGTERM', () => { isOver = true; });
function readPair() {
  if (way === 'one file') return Array(2).fill(readFileSync(certificate));
  const folder = way === 'one folder' ? realpathSync(path.dirname(certificate)) : path.dirname(certificate);
  return [certificate, key].map((file) => readFileSync(path.join(folder, path.basename(file))));
}
(function read() {
  for (let count = 0; count < 20; count++) {
    try {
      const [leaf, secret] = readPair();
      counts.pairs++;
      if (!new X509Certificate(leaf).checkPrivateKey(createPrivateKey(secret))) counts.wrong++;
    } catch (error) {
      counts.errors.push(error.message);
    }
  }
  if (isOver) console.log(JSON.stringify(counts));
  else setImmediate(read);
})();
`;

interface Counts {
  readonly way: 'one file' | 'one folder' | 'two paths';
  readonly pairs: number;
  readonly wrong: number;
  readonly errors: readonly string[];
}

async function startReaders(running: readonly RunningServer[]): Promise<readonly Child[]> {
  const combined = running.filter(({ place }) => place.certificate === place.key);
  const folders = running.filter(({ place }) => place.certificate !== place.key);
  const readers = [
    ...combined.map(({ place }) => ['one file', place.certificate, place.key]),
    // All of them read the same folder.
    ...folders.slice(0, 1).flatMap(({ place }) => [
      ['one folder', place.certificate, place.key],
      ['two paths', place.certificate, place.key],
    ]),
  ];
  return await Promise.all(
    readers.map(async (args) => await startChild(process.execPath, { args: ['-e', reader, ...args] })),
  );
}

async function countsOf(reading: Child): Promise<Counts> {
  reading.signal('SIGTERM');
  await reading.ended;
  return JSON.parse(reading.output()) as Counts;
}

/** At a random moment of an installation. The server must start, with the certificate before or after it. */
async function restartAtRandom(
  running: RunningServer,
  next: () => number,
  allowed: readonly string[],
): Promise<void> {
  await pause(next() * 1000);
  await running.restart(next() < 0.5 ? 'crash' : 'stop');
  await eventually(async () => {
    const served = await running.served();
    const others = served.filter((sha256) => !allowed.includes(sha256));
    expect({ server: running.name, others }).toEqual({ server: running.name, others: [] });
  });
}

async function retried(host: Host, isServed: () => boolean): Promise<void> {
  for (let retries = 0; retries < 3 && !isServed(); retries++) await host.retry();
}

given(
  `${rotations} rotations under servers that restart at random, with readers that never pause (seed ${seed})`,
  async () => {
    const host = await Host.with(...servers);
    try {
      const issued = [host.issue()];
      const all = (state: object) => Array(servers.length).fill(state);
      await host.install();
      await retried(host, () => host.records.every(({ state }) => state === 'serving'));
      expect(host.records).toEqual(all({ state: 'serving', problem: null, done: issued[0] }));
      const readers = await startReaders(host.servers);
      const next = random(seed);
      for (let rotation = 0; rotation < rotations; rotation++) {
        const sha256 = host.issue();
        issued.push(sha256);
        const chosen = host.servers.filter(() => next() < 0.6);
        await Promise.all([
          host.install(),
          ...chosen.map(
            async (running) => await restartAtRandom(running, random(next() * 2 ** 32), issued.slice(-2)),
          ),
        ]);
        // A server that was just ended can refuse a reload, which leads to a rollback and a retry.
        const isServed = () =>
          host.records.every(({ state, done }) => state === 'serving' && done === sha256);
        await retried(host, isServed);
        expect(host.records).toEqual(all({ state: 'serving', problem: null, done: sha256 }));
        expect(new Set(host.onDisk)).toEqual(new Set([sha256]));
      }
      await eventually(async () => {
        const served = await Promise.all(host.servers.map(async (running) => await running.served()));
        expect(new Set(served.flat())).toEqual(new Set(issued.slice(-1)));
      });
      for (const { way, pairs, wrong, errors } of await Promise.all(readers.map(countsOf))) {
        expect(errors).toEqual([]);
        expect(pairs).toBeGreaterThan(rotations * 10);
        // Two paths can be read before and after the one rename. It is why servers that read at any time get one file.
        if (way === 'two paths') expect(wrong / pairs).toBeLessThan(0.01);
        else expect({ way, wrong }).toEqual({ way, wrong: 0 });
      }
    } finally {
      await host.dispose();
    }
  },
  120_000 + rotations * 15_000,
);
