import { createRequire } from 'node:module';
import path from 'node:path';
import type { Metafile } from 'esbuild';

/** Packages that would let the gateway store data. */
const forbidden = [
  'typeorm',
  'pg',
  'ioredis',
  'bullmq',
  '@nestjs/typeorm',
  '@nestjs/bullmq',
  '@nestjs/microservices',
  '@certwright/core-schema',
  '@certwright/redis',
  '@certwright/bullmq',
];

const workspaceRoot = path.join(__dirname, '../../..');
const require = createRequire(path.join(workspaceRoot, 'package.json'));

interface Bundling {
  bundleOptions(entryPoints: Record<string, string>, outdir: string): object;
}

describe('the gateway bundle', () => {
  let metafile: Metafile;
  beforeAll(async () => {
    const { bundleOptions } = (await import(path.join(workspaceRoot, 'tools/build/bundle.mjs'))) as Bundling;
    const { build } = require('esbuild') as typeof import('esbuild');
    const options = bundleOptions({ main: 'apps/dns-gateway/src/main.ts' }, 'dist/apps/dns-gateway');
    ({ metafile } = await build({ ...options, write: false, metafile: true, logLevel: 'silent' }));
  }, 240_000);

  const inputs = (): readonly string[] => Object.keys(metafile.inputs);
  const packages = (): readonly string[] => {
    const names = inputs().flatMap((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
    return [...new Set(names)].sort();
  };
  const own = (): readonly string[] => inputs().filter((file) => !file.includes('node_modules/'));

  it('reaches no database, no Redis, no ORM and no queue', () => {
    expect(packages().length).toBeGreaterThan(5);
    expect(packages().filter((name) => forbidden.includes(name))).toEqual([]);
    expect(
      inputs().filter((file) => /^libs\/(core-schema|ct-schema|ct-index|redis|bullmq|jobs)\//.test(file)),
    ).toEqual([]);
  });

  it('contains only the allowed libs, and no specs', () => {
    const libs = inputs().flatMap((file) => /^libs\/([^/]+)\//.exec(file)?.[1] ?? []);
    expect([...new Set(libs)].sort()).toEqual([
      'dns-authority',
      'dns-names',
      'errors',
      'gateway-contract',
      'outbound',
      // Parses a setting that this app does not have; connects nowhere.
      'redis-address',
      'sealing',
      'service',
      'tracing',
    ]);
    expect(own().filter((file) => /testing\/|\.spec\.|fixture|\/fake-/.test(file))).toEqual([]);
  });

  it('is small, with its packages', () => {
    const [code] = Object.entries(metafile.outputs).filter(([file]) => file.endsWith('.js'));
    expect(code?.[1].bytes).toBeLessThan(6 * 1024 * 1024);
  });
});
