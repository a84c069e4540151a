import { execFile } from 'node:child_process';
import path from 'node:path';

const root = path.join(__dirname, '../..');
const boundary = '@nx/enforce-module-boundaries';
const environment = 'no-restricted-properties';
const imports = 'no-restricted-imports';
const restricted = '@typescript-eslint/no-restricted-imports';
const syntax = 'no-restricted-syntax';

interface Case {
  readonly what: string;
  readonly filePath: string;
  readonly text: string;
  /** The rule that must report an error; null for none. */
  readonly rule: string | null;
}

/** Uses the import, so that only the import rule can report an error. */
const uses = (specifier: string) => `import * as used from '${specifier}';\nconsole.log(used);\n`;

const refused: readonly Case[] = [
  {
    what: 'a domain lib importing an adapter',
    filePath: 'libs/pki/src/canary.ts',
    text: uses('@certwright/core-schema'),
    rule: boundary,
  },
  {
    what: 'a domain lib importing the runtime',
    filePath: 'libs/issuance/src/canary.ts',
    text: uses('@certwright/service'),
    rule: boundary,
  },
  {
    what: 'a domain lib importing a contract',
    filePath: 'libs/dns-names/src/canary.ts',
    text: uses('@certwright/jobs'),
    rule: boundary,
  },
  {
    what: 'a contract importing an adapter',
    filePath: 'libs/jobs/src/canary.ts',
    text: uses('@certwright/bullmq'),
    rule: boundary,
  },
  {
    what: 'an adapter importing an adapter',
    filePath: 'libs/bullmq/src/canary.ts',
    text: uses('@certwright/core-schema'),
    rule: boundary,
  },
  {
    what: 'the schema importing a capability, which is built on it',
    filePath: 'libs/core-schema/src/canary.ts',
    text: uses('@certwright/ordering'),
    rule: boundary,
  },
  {
    what: 'product code importing the fixtures of specs',
    filePath: 'apps/orders-v3/src/canary.ts',
    text: uses('@certwright/core-testing'),
    rule: restricted,
  },
  {
    what: 'the runtime, which reaches no store, importing Redis',
    filePath: 'libs/service/src/canary.ts',
    text: uses('@certwright/redis'),
    rule: boundary,
  },
  {
    what: 'an adapter without stores importing Redis',
    filePath: 'libs/dns-authority/src/canary.ts',
    text: uses('@certwright/redis'),
    rule: boundary,
  },
  {
    what: 'something shared importing the domain of issuance',
    filePath: 'libs/jobs/src/canary.ts',
    text: uses('@certwright/issuance'),
    rule: boundary,
  },
  {
    what: 'the DNS gateway importing the database',
    filePath: 'apps/dns-gateway/src/canary.ts',
    text: uses('@certwright/core-schema'),
    rule: boundary,
  },
  {
    what: 'the DNS gateway importing Redis',
    filePath: 'apps/dns-gateway/src/canary.ts',
    text: uses('@certwright/redis'),
    rule: boundary,
  },
  {
    what: 'the DNS gateway importing the domain of issuance',
    filePath: 'apps/dns-gateway/src/canary.ts',
    text: uses('@certwright/issuance'),
    rule: boundary,
  },
  {
    what: 'the DNS gateway importing a database driver past the libs',
    filePath: 'apps/dns-gateway/src/canary.ts',
    text: uses('pg'),
    rule: imports,
  },
  {
    what: 'an app importing an app',
    filePath: 'apps/orders-v3/src/canary.ts',
    text: uses('../../issuance-worker/src/app.module'),
    rule: boundary,
  },
  {
    what: 'a lib importing an app',
    filePath: 'libs/service/src/canary.ts',
    text: uses('../../../apps/orders-v3/src/app.module'),
    rule: boundary,
  },
  {
    what: 'going past a lib’s index',
    filePath: 'apps/orders-v3/src/canary.ts',
    text: uses('../../../libs/pki/src/index'),
    rule: boundary,
  },
  {
    what: 'product code importing testing',
    filePath: 'apps/orders-v3/src/canary.ts',
    text: uses('@certwright/testing'),
    rule: restricted,
  },
  {
    what: 'a pool whose lost connections end the process',
    filePath: 'apps/ct-search/src/canary.ts',
    text: `import { Pool } from 'pg';\nconsole.log(Pool);\n`,
    rule: restricted,
  },
  {
    what: 'a connection to Redis that is not made by its one factory',
    filePath: 'libs/redis/src/canary.ts',
    text: `import { Redis } from 'ioredis';\nconsole.log(Redis);\n`,
    rule: imports,
  },
  {
    what: 'a connection to Redis of a tool',
    filePath: 'tools/bench/canary.mjs',
    text: `import { Cluster } from 'ioredis';\nconsole.log(Cluster);\n`,
    rule: imports,
  },
  {
    what: 'reading the environment outside config.ts',
    filePath: 'apps/orders-v3/src/orders/canary.ts',
    text: 'console.log(process.env.PORT);\n',
    rule: environment,
  },
  {
    what: 'reading the environment in a lib',
    filePath: 'libs/service/src/canary.ts',
    text: 'export const { PORT } = process.env;\n',
    rule: environment,
  },
  {
    what: 'a clock in a domain lib: Date.now',
    filePath: 'libs/issuance/src/canary.ts',
    text: 'export const now = Date.now();\n',
    rule: syntax,
  },
  {
    what: 'a clock in a domain lib: new Date',
    filePath: 'libs/pki/src/canary.ts',
    text: 'export const now = new Date();\n',
    rule: syntax,
  },
  {
    what: 'randomness in a domain lib: Math',
    filePath: 'libs/issuance/src/canary.ts',
    text: 'export const jitter = Math.random();\n',
    rule: syntax,
  },
  {
    what: 'randomness in a domain lib: named import',
    filePath: 'libs/pki/src/canary.ts',
    text: `import { randomBytes } from 'node:crypto';\nexport const serial = randomBytes(16);\n`,
    rule: syntax,
  },
  {
    what: 'I/O in a domain lib',
    filePath: 'libs/pki/src/canary.ts',
    text: uses('node:fs'),
    rule: imports,
  },
  {
    what: 'I/O in a domain lib, by its old name',
    filePath: 'libs/issuance/src/canary.ts',
    text: uses('fs/promises'),
    rule: imports,
  },
  {
    what: 'a framework in a domain lib',
    filePath: 'libs/issuance/src/canary.ts',
    text: uses('@nestjs/common'),
    rule: imports,
  },
  {
    what: 'an export of everything',
    filePath: 'libs/jobs/src/canary.ts',
    text: `export * from './queues';\n`,
    rule: syntax,
  },
  {
    what: 'an export of everything in a domain lib',
    filePath: 'libs/pki/src/canary.ts',
    text: `export * from './csr';\n`,
    rule: syntax,
  },
];

const accepted: readonly Case[] = [
  [
    'the DNS gateway importing its contract',
    'apps/dns-gateway/src/canary.ts',
    uses('@certwright/gateway-contract'),
  ],
  ['an app importing an adapter', 'apps/orders-v3/src/canary.ts', uses('@certwright/core-schema')],
  ['an app importing the runtime', 'apps/issuance-worker/src/canary.ts', uses('@certwright/service')],
  ['an app importing its domain', 'apps/issuance-worker/src/canary.ts', uses('@certwright/issuance')],
  ['the runtime importing a domain lib', 'libs/service/src/canary.ts', uses('@certwright/errors')],
  ['an adapter importing a contract', 'libs/bullmq/src/canary.ts', uses('@certwright/jobs')],
  ['a capability importing the schema', 'libs/billing/src/canary.ts', uses('@certwright/core-schema')],
  ['a capability importing a capability', 'libs/ordering/src/canary.ts', uses('@certwright/billing')],
  [
    'a capability importing the domain of issuance',
    'libs/ordering/src/canary.ts',
    uses('@certwright/issuance'),
  ],
  ['a domain lib importing a domain lib', 'libs/pki/src/canary.ts', uses('@certwright/dns-names')],
  ['a spec importing testing', 'apps/orders-v3/src/canary.spec.ts', uses('@certwright/testing')],
  [
    'config.ts reading the environment',
    'apps/orders-v3/src/config.ts',
    'export const { PORT } = process.env;\n',
  ],
  ['a clock in the runtime', 'libs/service/src/canary.ts', 'export const now = Date.now();\n'],
  ['a date from a number in a domain lib', 'libs/pki/src/canary.ts', 'export const epoch = new Date(0);\n'],
  ['hashes in a domain lib', 'libs/pki/src/canary.ts', uses('node:crypto')],
  ['the index in the monitoring API', 'apps/monitoring/src/canary.ts', uses('@certwright/ct')],
  ['the core in the monitoring API', 'apps/monitoring/src/canary.ts', uses('@certwright/core-schema')],
].map(([what = '', filePath = '', text = '']) => ({ what, filePath, text, rule: null }));

const cases = [...refused, ...accepted];
const messages = new Map<Case, readonly string[]>();

/** @returns standard output */
function node(args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NX_DAEMON: 'false' };
    const options = { cwd: root, env, timeout: 60_000, maxBuffer: 16 * 1024 * 1024 };
    const child = execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${args.join(' ')}: ${error.message}\n${stderr}`));
      else resolve(stdout);
    });
    child.stdin?.end(input);
  });
}

beforeAll(async () => {
  // The boundary rule reads the cached project graph, and reports nothing without it.
  await node(['node_modules/nx/dist/bin/nx.js', 'show', 'projects']);
  const input = cases.map(({ filePath, text }) => ({ filePath: path.join(root, filePath), text }));
  const output = await node(['tools/boundaries/lint-texts.mjs'], JSON.stringify(input));
  const results = JSON.parse(output) as string[][];
  cases.forEach((each, index) => messages.set(each, results[index] ?? []));
}, 120_000);

it.each(refused)('refuses $what', (each) => {
  expect(messages.get(each)).toContainEqual(expect.stringContaining(`${each.rule}: `));
});

it.each(accepted)('accepts $what', (each) => {
  expect(messages.get(each)).toEqual([]);
});
