// Looks at endpoints per second of one prober: the real process with Redis, and TLS servers and a name server in a process of
// their own. The baseline is tls.connect in a bare process, with the same concurrency against the same servers.
import 'reflect-metadata';
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, entryPointsOf, workspaceRoot } from '../../build/bundle.mjs';
import { freePort } from '../../embedded/ports.mjs';
import { redisBinary } from '../../embedded/redis-binaries.mjs';
import { startRedis } from '../../embedded/redis.mjs';
import { places } from '../../up/home.mjs';
import { loaded } from '../ct/real-entries.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { table } from '../report.mjs';
import { rateOf } from './look-rate.mjs';
import { simulatedSchedule } from './look-schedule.mjs';

const usage = 'npm run bench -- monitoring looks [seconds of each measurement, 15]';
/** Default of PROBE_CONCURRENCY. */
const concurrency = 64;
const hosts = 1_000;
/** Processes start, and compile what runs often. */
const warmUpSeconds = 3;
const required = { perSecond: 50, probers: 5 };

export async function looks(args) {
  if (args.includes('--help')) return void console.log(usage);
  const seconds = Number(args[0] ?? 15);
  const bench = await LooksBench.open();
  try {
    console.log(`looks at ${hosts} endpoints by one prober`);
    const prober = await bench.prober(seconds);
    console.log('bare connections');
    const bare = await bench.bare(seconds);
    return section(prober, bare, await simulatedSchedule());
  } finally {
    await bench.close();
  }
}

class LooksBench {
  undo = [];

  static async open() {
    const bench = new LooksBench();
    try {
      await bench.#start();
      return bench;
    } catch (error) {
      await bench.close();
      throw error;
    }
  }

  async #start() {
    const folder = mkdtempSync(path.join(tmpdir(), 'certwright-looks-'));
    this.undo.push(() => rmSync(folder, { recursive: true }));
    this.libs = await loaded({
      redis: 'libs/redis/src/index.ts',
      redisClient: 'libs/redis-client/src/index.ts',
      'dns-authority': 'libs/dns-authority/src/index.ts',
    });
    await bundle(entryPointsOf('apps/prober'), 'dist/apps/prober');
    const redis = await startRedis({ binary: await redisBinary({ cache: places.redisBinaries }), folder });
    this.undo.push(redis.stop);
    this.redisUrl = redis.url;
    this.servers = await this.#fork('look-servers.mjs', [folder, String(hosts)]);
    await this.#startProber();
  }

  /** A helper process; its first message is the result. */
  async #fork(file, args) {
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), args);
    this.undo.push(async () => await ended(child));
    const [message] = await once(child, 'message');
    return message;
  }

  async #startProber() {
    const opsPort = await freePort();
    const child = spawn(process.execPath, [path.join(workspaceRoot, 'dist/apps/prober/main.js')], {
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH,
        REDIS_URL: this.redisUrl,
        DNS_RESOLVERS: this.servers.resolver,
        ALLOWED_NETWORKS: '127.0.0.0/8',
        OPS_PORT: String(opsPort),
      },
    });
    this.undo.push(async () => await ended(child));
    this.pid = child.pid;
  }

  async prober(seconds) {
    const log = { warn: () => undefined, info: () => undefined };
    const { RedisAccess, redisSettingsOf } = this.libs.redisClient;
    const access = new RedisAccess(redisSettingsOf(this.redisUrl));
    const probes = new this.libs.redis.ProbeQuestions(access, { name: 'bench', log });
    const ask = async (nth) => {
      const host = { host: `h${nth}.example.com`, ports: [this.servers.port] };
      const look = await probes.askLook({ hosts: [host], serverName: null, withHttpStatus: true });
      return look?.hosts[0]?.addresses[0]?.result.kind === 'presented';
    };
    try {
      await rateOf(ask, { seconds: warmUpSeconds, hosts, concurrency });
      const before = cpuSeconds(this.pid);
      const rate = await rateOf(ask, { seconds, hosts, concurrency });
      return { ...rate, cpuMs: ((cpuSeconds(this.pid) - before) * 1_000) / rate.done };
    } finally {
      await probes.close();
    }
  }

  async bare(seconds) {
    const { port } = this.servers;
    return await this.#fork(
      'bare-connections.mjs',
      [port, hosts, concurrency, warmUpSeconds, seconds].map(String),
    );
  }

  async close() {
    for (const step of this.undo.splice(0).reverse()) await step();
  }
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

function section(prober, bare, { endpoints, mean, max, changed }) {
  const whole = (number) => Math.round(number).toLocaleString('en');
  const row = (what, { perSecond, cpuMs, failed }) => [
    what,
    whole(perSecond),
    cpuMs.toFixed(2),
    (perSecond / bare.perSecond).toFixed(2),
    failed,
  ];
  const text = `## Looks at endpoints

\`npm run bench -- monitoring looks\`: one prober with ${concurrency} questions at a time looks at ${whole(hosts)} endpoints, each a name with one address in a network of its own:
DNS, the occupancy of the address in Redis, a TLS 1.3 handshake, \`HEAD /\`, and the response with the certificates. The baseline is \`tls.connect\` in
a bare process, without DNS, Redis and HTTP. Servers, Redis and the requester are on the same machine.

${table([
  ['what', 'endpoints per second', 'CPU of the process for each, ms', 'relative to the baseline', 'failed'],
  row('**one prober**', prober),
  row('baseline: bare connections', bare),
])}

Required are ${required.perSecond} per second. A simulation of two days with ${whole(endpoints)} endpoints, each checked every 6 h with jitter, of which ${changed} a day change to
something that further checks confirm, has ${mean.toFixed(1)} checks per second on average, and ${max.toFixed(1)} in the busiest minute. That needs
${Math.ceil(max / prober.perSecond)} ${Math.ceil(max / prober.perSecond) === 1 ? 'prober' : 'probers'} of this speed, or ${Math.ceil(max / required.perSecond)} of the required one; max ${required.probers} are planned. After an outage of six hours, when all endpoints are due at
once, ${required.probers} probers of the required speed need ${Math.ceil(endpoints / (required.probers * required.perSecond) / 60)} minutes for them.
`;
  return { name: 'looks', text };
}
