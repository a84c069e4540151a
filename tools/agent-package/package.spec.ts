import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const workspaceRoot = path.join(__dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-package-'));
afterAll(() => rmSync(folder, { recursive: true }));

const hasDpkg = spawnSync('dpkg-deb', ['--version']).status === 0;
const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
const isLinux = process.platform === 'linux';
/** Shown as skipped on other systems than Debian. */
const onDebian = isLinux && hasDpkg ? it : it.skip;

/** The whole system, in which changes are lost when the last process in it has ended. */
const overlay = `set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/changes /mnt/work /mnt/system
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/changes,workdir=/mnt/work /mnt/system
mount --rbind /dev /mnt/system/dev
mount -t proc proc /mnt/system/proc
mount --bind ${folder} /mnt/system${folder}
`;

const build = (output: string) => {
  const options = ['--architecture', architecture, '--compression', 'none', '--output', output];
  const args = ['tools/agent-package/main.mjs', ...options];
  execFileSync(process.execPath, args, { cwd: workspaceRoot, stdio: 'pipe' });
  const files = readdirSync(output).sort();
  return { files, debianPackage: path.join(output, files.find((name) => name.endsWith('.deb')) ?? '') };
};

describe('the packages of one commit', () => {
  let first: ReturnType<typeof build>;
  let program: string;

  beforeAll(() => {
    if (!isLinux || !hasDpkg) return;
    first = build(path.join(folder, 'first'));
    const unpacked = path.join(folder, 'unpacked');
    execFileSync('dpkg-deb', ['-x', first.debianPackage, unpacked]);
    program = path.join(unpacked, 'usr/bin/certwright-agent');
  }, 300_000);

  onDebian(
    'have the same bytes in every folder',
    () => {
      const second = build(path.join(folder, 'deeper/second'));
      expect(second.files).toEqual(first.files);
      for (const name of first.files) {
        const bytes = ['first', 'deeper/second'].map((each) => readFileSync(path.join(folder, each, name)));
        expect(`${name} ${bytes[0]?.equals(bytes[1] ?? Buffer.alloc(0))}`).toBe(`${name} true`);
      }
    },
    300_000,
  );

  onDebian('contain a program that needs no Node.js and obeys no NODE_OPTIONS', () => {
    const env = { PATH: '/nonexistent', NODE_OPTIONS: '--require=/nonexistent.js' };
    const { status, stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8', env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(first.debianPackage).toContain(`certwright-agent_${stdout.trim()}_${architecture}.deb`);
    expect(spawnSync(program, ['--check'], { env }).status).toBe(2);
  });

  onDebian('have no file of a user, and none that others may write', () => {
    const listed = execFileSync('dpkg-deb', ['-c', first.debianPackage], { encoding: 'utf8' })
      .trim()
      .split('\n');
    expect(listed.length).toBeGreaterThan(10);
    expect(listed.filter((line) => !/^[d-]r[w-][x-]r-[x-]r-[x-] root\/root /.test(line))).toEqual([]);
  });

  const mayChange = isLinux && hasDpkg && process.getuid?.() === 0 && canOverlay() ? it : it.skip;
  const state = '/var/lib/certwright-agent';

  mayChange('removal and purge leave the files that servers use', () => {
    const report = inCopyOfSystem(
      `dpkg -i --force-depends ${first.debianPackage}
say installed "$(stat -c '%a %U' ${state} /etc/certwright-agent | tr '\\n' ' ')"
say enabled "$(ls /etc/systemd/system/multi-user.target.wants/ | grep certwright)"
say version "$(certwright-agent --version)"
mkdir -p ${state}/orders/www.example.com/versions/a ${state}/keys
touch ${state}/orders/www.example.com/versions/a/privkey.pem ${state}/identity.json ${state}/keys/b.json
ln -s versions/a ${state}/orders/www.example.com/current
echo 'names = ["www.example.com"]' > /etc/certwright-agent/conf.d/names.toml
dpkg -r certwright-agent
say removed "$(command -v certwright-agent || echo gone) $(ls ${state} | tr '\\n' ' ')$(ls /etc/certwright-agent | tr '\\n' ' ')"
dpkg -P certwright-agent
say purged "$(ls ${state} | tr '\\n' ' ')$(ls ${state}/orders/www.example.com/current/) $(ls -d /etc/certwright-agent 2>/dev/null || echo gone)"
dpkg -i --force-depends ${first.debianPackage}
dpkg -i --force-depends ${first.debianPackage}
rm -rf ${state}/orders
dpkg -P certwright-agent
say empty "$(ls -d ${state} 2>/dev/null || echo gone)"
mkdir ${state}
mount -t tmpfs tmpfs ${state}
dpkg -i --force-depends ${first.debianPackage}
touch ${state}/identity.json
dpkg -P certwright-agent
say mounted "$(ls -A ${state})"`,
    );
    expect(report).toEqual({
      installed: '700 root 755 root ',
      enabled: 'certwright-agent.service',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      removed: 'gone identity.json keys orders agent.toml conf.d ',
      purged: 'orders privkey.pem gone',
      empty: 'gone',
      mounted: '',
    });
  });
});

function canOverlay(): boolean {
  return spawnSync('unshare', ['--mount', 'sh', '-c', overlay]).status === 0;
}

/** @returns what the commands said, by its first word */
function inCopyOfSystem(commands: string): Readonly<Record<string, string>> {
  const script = path.join(folder, 'script');
  writeFileSync(script, `set -e\nsay() { printf '%s=%s\\n' "$1" "$2" >&3; }\n${commands}\n`);
  const { status, output } = spawnSync(
    'unshare',
    ['--mount', '--pid', '--fork', 'sh', '-c', `${overlay}exec chroot /mnt/system sh ${script}`],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
  );
  expect({ status, errors: status === 0 ? '' : output[2] }).toEqual({ status: 0, errors: '' });
  const lines = (output[3] ?? '').split('\n').filter((line) => line !== '');
  return Object.fromEntries(lines.map((line) => /^(\w+)=(.*)$/.exec(line)?.slice(1) ?? [line, '']));
}

it('the plain file uses nothing that is newer than Node.js 20.19', () => {
  // The types of that version, under the name by which packages refer to them.
  const types = path.join(folder, 'types');
  mkdirSync(types);
  symlinkSync(path.join(workspaceRoot, 'node_modules/types-node-20'), path.join(types, 'node'));
  const { version } = JSON.parse(readFileSync(path.join(types, 'node/package.json'), 'utf8')) as {
    version: string;
  };
  expect(version).toMatch(/^20\.19\./);
  const project = path.join(folder, 'tsconfig.json');
  const fromRoot = (file: string) => path.join(workspaceRoot, file);
  writeFileSync(
    project,
    JSON.stringify({
      extends: fromRoot('tsconfig.base.json'),
      compilerOptions: {
        typeRoots: [types],
        types: ['node'],
        // V8 11.3 of Node.js 20 also has isWellFormed.
        lib: ['es2023', 'es2024.string'],
      },
      files: [fromRoot('apps/agent/src/main.ts'), fromRoot('libs/pki/src/text-file.d.ts')],
    }),
  );
  const compiler = fromRoot('node_modules/typescript7/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', project, '--noEmit', '--listFiles'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const lines = stdout.split('\n');
  expect(lines.filter((line) => line.includes('/@types/node/'))).toEqual([]);
  expect(lines.some((line) => line.endsWith('/apps/agent/src/main.ts'))).toBe(true);
  // These types lack a method of http.Agent that Node.js has had since 0.11.
  const known = /error TS4113: .* not declared in the base class 'Agent'/;
  expect(lines.filter((line) => / error TS\d+: /.test(line) && !known.test(line))).toEqual([]);
});

const systemNode = ['/usr/bin/node', '/usr/local/bin/node'].find((file) => existsSync(file));
const isOld =
  systemNode !== undefined &&
  /^v20\./.test(spawnSync(systemNode, ['--version'], { encoding: 'utf8' }).stdout);

(isOld ? it : it.skip)('the plain file runs on Node.js 20', () => {
  const output = path.join(folder, 'plain');
  const args = ['tools/agent-package/main.mjs', '--plain', '--output', output];
  execFileSync(process.execPath, args, { cwd: workspaceRoot, stdio: 'pipe' });
  const plainFile = path.join(output, 'certwright-agent.cjs');
  const { status, stdout } = spawnSync(systemNode ?? '', [plainFile, '--help'], { encoding: 'utf8' });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^Installs certificates of Certwright on this host\./);
  // Its first line starts Node.js.
  expect(readFileSync(plainFile, 'utf8').split('\n')[0]).toBe('#!/usr/bin/env node');
});
