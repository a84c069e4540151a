// One configuration for the whole workspace and for one project: `--rootDir` and path arguments narrow it down.
const path = require('node:path');

const root = path.join(__dirname, '../..');
module.exports = {
  rootDir: root,
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/tools'],
  testEnvironment: path.join(__dirname, 'jest-environment.cjs'),
  runtime: path.join(__dirname, 'jest-runtime.cjs'),
  // Tools that must run before anything is compiled are plain .mjs, and so are their specs.
  testMatch: ['**/*.spec.ts', '**/*.spec.mjs'],
  globalSetup: path.join(__dirname, 'global-setup.mjs'),
  globalTeardown: path.join(__dirname, 'global-teardown.mjs'),
  reporters: ['default', path.join(__dirname, 'count-reporter.cjs')],
  setupFiles: [path.join(__dirname, 'behind-pooler.cjs')],
  transform: { '\\.(ts|m?js|txt)$': path.join(__dirname, 'jest-swc.cjs') },
  transformIgnorePatterns: ['/node_modules/(typescript|typeorm|rxjs|swagger-ui-dist)/'],
  moduleNameMapper: { '^@certwright/([^/]+)$': root + '/libs/$1/src/index.ts' },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.certwright'],
  cacheDirectory: root + '/node_modules/.cache/jest',
  testSequencer: path.join(__dirname, 'slow-first.cjs'),
  // Two more than the cores of CI: the slow specs wait for processes and timers.
  maxWorkers: 4,
  // ms. At its end a worker writes the compiled packages to the run's cache, for the workers and programs that start after it.
  workerGracefulExitTimeout: 20_000,
  // Of the heap. A worker keeps about 15 MB of every spec file; with gigabytes of them, half of its time is garbage collection.
  workerIdleMemoryLimit: '400MB',
  // For the worst day of a loaded machine; a spec that must be quick has a limit of its own.
  testTimeout: 120_000,
};
