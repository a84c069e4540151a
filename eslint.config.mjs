import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import nx from '@nx/eslint-plugin';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

/** Node's own modules, with `node:` and without, apart from the two that only compute. */
const nodeModules = `^(?!(node:)?(crypto|buffer)$)(node:.*|${builtinModules.join('|')})$`;

/** Who may import whom: closed lists, one per tag. docs/decisions/0001-layout.md tells why. */
const depConstraints = [
  {
    sourceTag: 'type:app',
    onlyDependOnLibsWithTags: [
      'type:front',
      'type:runtime',
      'type:capability',
      'type:adapter',
      'type:contract',
      'type:domain',
      'type:testing',
    ],
  },
  {
    sourceTag: 'type:front',
    onlyDependOnLibsWithTags: [
      'type:runtime',
      'type:capability',
      'type:adapter',
      'type:contract',
      'type:domain',
      'type:testing',
    ],
  },
  {
    sourceTag: 'type:capability',
    onlyDependOnLibsWithTags: [
      'type:capability',
      'type:adapter',
      'type:contract',
      'type:domain',
      'type:testing',
    ],
  },
  {
    sourceTag: 'type:runtime',
    onlyDependOnLibsWithTags: ['type:contract', 'type:domain', 'type:testing'],
  },
  {
    sourceTag: 'type:adapter',
    onlyDependOnLibsWithTags: ['type:contract', 'type:domain', 'type:testing'],
  },
  { sourceTag: 'type:contract', onlyDependOnLibsWithTags: ['type:domain', 'type:testing'] },
  { sourceTag: 'type:domain', onlyDependOnLibsWithTags: ['type:domain', 'type:testing'] },
  {
    sourceTag: 'type:testing',
    onlyDependOnLibsWithTags: [
      'type:adapter',
      'type:capability',
      'type:contract',
      'type:domain',
      'type:runtime',
      'type:testing',
    ],
  },
  {
    sourceTag: 'type:tool',
    onlyDependOnLibsWithTags: [
      'type:runtime',
      'type:capability',
      'type:adapter',
      'type:contract',
      'type:domain',
      'type:testing',
    ],
  },
  {
    sourceTag: 'scope:issuance',
    onlyDependOnLibsWithTags: ['scope:issuance', 'scope:shared', 'scope:testing'],
  },
  {
    // Compares what accounts monitor with the index: the only scope that may import both.
    sourceTag: 'scope:monitoring',
    onlyDependOnLibsWithTags: ['scope:issuance', 'scope:ct', 'scope:shared', 'scope:testing'],
  },
  { sourceTag: 'scope:ct', onlyDependOnLibsWithTags: ['scope:ct', 'scope:shared', 'scope:testing'] },
  { sourceTag: 'scope:agent', onlyDependOnLibsWithTags: ['scope:shared', 'scope:testing'] },
  { sourceTag: 'scope:gateway', onlyDependOnLibsWithTags: ['scope:shared', 'scope:testing'] },
  { sourceTag: 'scope:shared', onlyDependOnLibsWithTags: ['scope:shared', 'scope:testing'] },
  { sourceTag: 'reach:none', onlyDependOnLibsWithTags: ['reach:none', 'reach:testing'] },
  { sourceTag: 'reach:db', onlyDependOnLibsWithTags: ['reach:none', 'reach:db', 'reach:testing'] },
  { sourceTag: 'reach:redis', onlyDependOnLibsWithTags: ['reach:none', 'reach:redis', 'reach:testing'] },
];

const libs = new URL('libs/', import.meta.url);
const domainLibs = readdirSync(libs).filter((lib) =>
  readFileSync(new URL(`${lib}/project.json`, libs), 'utf8').includes('"type:domain"'),
);

const testingOnly = [
  '@certwright/testing',
  '@certwright/core-testing',
  '@certwright/ct-testing',
  '@certwright/tls-farm',
].map((name) => ({
  name,
  message: 'Only specs import testing.',
}));
const poolsOfPostgres = {
  name: 'pg',
  importNames: ['default', 'Client', 'Pool', 'native'],
  allowTypeImports: true,
  message: 'Use DatabasePool of @certwright/postgres: the loss of its connections ends no process.',
};

const withoutData = {
  name: 'class-validator',
  importNames: ['IsPhoneNumber', 'isPhoneNumber'],
  message: 'Bundles do not contain its data: see tools/build/bundle.mjs.',
};

const clientsOfRedis = {
  name: 'ioredis',
  message: 'RedisAccess of @certwright/redis-client makes every connection; it exports the types.',
};

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'coverage/**', '.certwright/**', '.nx/**'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommended, ...tseslint.configs.stylistic],
    plugins: { '@nx': nx },
    rules: {
      '@nx/enforce-module-boundaries': [
        'error',
        {
          enforceBuildableLibDependency: false,
          allow: [],
          depConstraints,
          // Specs of the libs below it use its fixtures.
          ignoredCircularDependencies: [
            ['*', 'core-testing'],
            ['*', 'ct-testing'],
            ['*', 'testing'],
          ],
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', destructuredArrayIgnorePattern: '^_' },
      ],
      '@typescript-eslint/no-extraneous-class': 'off',
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportAllDeclaration', message: 'Name what a lib offers; `export *` hides it.' },
      ],
      eqeqeq: 'error',
    },
  },
  {
    files: ['apps/*/src/**/*.ts', 'libs/*/src/**/*.ts'],
    ignores: ['**/config.ts', '**/*.spec.ts', 'libs/{testing,core-testing,ct-testing,tls-farm}/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only config.ts reads the environment.' },
      ],
    },
  },
  {
    files: ['**/*.{ts,mjs,cjs}'],
    ignores: ['libs/redis-client/**'],
    rules: { 'no-restricted-imports': ['error', { paths: [clientsOfRedis] }] },
  },
  {
    files: domainLibs.map((lib) => `libs/${lib}/src/**/*.ts`),
    ignores: ['**/*.spec.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: nodeModules,
              message: 'Domain libs do no I/O: time, ids and bytes come in as arguments.',
            },
            {
              group: ['@nestjs/*', 'typeorm', 'bullmq', 'ioredis', 'pg'],
              message: 'Domain libs know no framework.',
            },
          ],
        },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportAllDeclaration', message: 'Name what a lib offers; `export *` hides it.' },
        {
          selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
          message: 'Domain libs have no clock: take `now` as an argument.',
        },
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: 'Domain libs have no clock: take `now` as an argument.',
        },
        {
          selector: 'CallExpression:matches([callee.name=/^random/], [callee.property.name=/^random/])',
          message: 'Domain libs have no randomness: take the bytes as an argument.',
        },
      ],
    },
  },
  {
    files: ['apps/dns-gateway/src/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['typeorm', 'pg', 'ioredis', 'bullmq', '@nestjs/typeorm', '@nestjs/microservices'],
              message: 'The gateway holds credentials: it reaches neither the database nor Redis.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['**/*.ts'],
    ignores: [
      'libs/{testing,core-testing,ct-testing,tls-farm}/**',
      '**/*.spec.ts',
      '**/testing/**',
      'tools/**',
    ],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { paths: [...testingOnly, poolsOfPostgres, withoutData] },
      ],
    },
  },
  {
    files: ['libs/postgres/src/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', { paths: [...testingOnly, withoutData] }],
    },
  },
  {
    // The simulation runs the use cases of several processes in one, and the operator's commands use the stores of the
    // process that they serve. The documentation has defaults that depend on each other across processes. Manifests and
    // the Compose file are held against the settings of every process. The audit log is verified by the gateway's own code.
    // Both agents run against a real orders-v3.
    files: ['tools/{simulate,admin,dialects,docs,k8s,images,audit,second-agent}/**/*.ts'],
    rules: { '@nx/enforce-module-boundaries': 'off' },
  },
  prettier,
);
