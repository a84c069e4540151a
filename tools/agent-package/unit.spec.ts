import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const unitFile = path.join(__dirname, 'debian/certwright-agent.service');
const isRoot = process.getuid?.() === 0;
const nginx = '/usr/sbin/nginx';
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-unit-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Shown as skipped where a program is missing; tools/test/peers.sh installs all of them. */
const withSystemd = spawnSync('systemd-analyze', ['--version']).status === 0 ? it : it.skip;
const mayUnshare = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0;
const withNginx =
  mayUnshare &&
  existsSync(nginx) &&
  existsSync('/etc/nginx/nginx.conf') &&
  spawnSync('strace', ['-V']).status === 0
    ? it
    : it.skip;

/** The settings of a section; systemd adds the values of one that is repeated. */
function settingsOf(section: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  let current = '';
  for (const line of readFileSync(unitFile, 'utf8').split('\n')) {
    current = /^\[(\w+)\]$/.exec(line)?.[1] ?? current;
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (current === section && name !== '') settings.set(name, `${settings.get(name) ?? ''} ${value}`.trim());
  }
  return settings;
}

const service = settingsOf('Service');
const setting = (name: string): string => service.get(name) ?? '';

withSystemd('systemd reads every setting, and rates the exposure at 3.0 or less', () => {
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unitFile], { encoding: 'utf8' });
  const complaints = verified.stderr.split('\n').filter((line) => line !== '');
  // The program is not installed here.
  expect(complaints.filter((line) => !/Command .* is not executable|special device file/.test(line))).toEqual(
    [],
  );
  const { stdout } = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', '--threshold=30', '--no-pager', unitFile],
    { encoding: 'utf8' },
  );
  const [, exposure = ''] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
  expect(Number(exposure)).toBeGreaterThan(0);
  expect(Number(exposure)).toBeLessThanOrEqual(3.0);
});

/** Runs a command with the mounts, capabilities and rights of the unit, without systemd as process 1. */
function inUnit(
  command: readonly string[],
  { protectSystem = setting('ProtectSystem'), capabilities = setting('CapabilityBoundingSet') } = {},
) {
  const readOnly = { full: ['/usr', '/boot', '/etc'], strict: ['/'] }[protectSystem];
  if (readOnly === undefined) throw new Error(`ProtectSystem=${protectSystem} is unknown to this spec`);
  const homes = ['/home', '/root', '/run/user'];
  const tunables = ['/proc/sys', '/sys'];
  const mounts = [
    ...[...readOnly, ...homes, ...tunables].map(
      (each) => `if [ -d ${each} ]; then mount --rbind ${each} ${each}; mount -o remount,bind,ro ${each}; fi`,
    ),
    ...setting('ReadWritePaths')
      .split(' ')
      .map((each) => each.replace(/^-/, ''))
      .map(
        (each) =>
          `if [ -e ${each} ]; then mount --bind ${each} ${each}; mount -o remount,bind,rw ${each}; fi`,
      ),
    'mount -t tmpfs tmpfs /tmp',
    'mount -t tmpfs tmpfs /var/tmp',
  ];
  const names = capabilities
    .split(' ')
    .map((name) => `+${name.replace('CAP_', '').toLowerCase()}`)
    .join(',');
  const script = `set -e\numask ${setting('UMask')}\n${mounts.join('\n')}\ncd /\nexec "$@"`;
  const setpriv = [
    'setpriv',
    `--bounding-set=-all,${names}`,
    '--inh-caps=-all',
    '--ambient-caps=-all',
    '--no-new-privs',
  ];
  return spawnSync(
    'unshare',
    ['--mount', '--propagation=private', 'sh', '-c', script, 'unit', ...setpriv, ...command],
    { encoding: 'utf8' },
  );
}

withNginx('`nginx -t` works in the unit with the configuration of Debian', () => {
  expect(inUnit([nginx, '-t'])).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/test is successful/),
  });
});

const tests = [
  ['/usr/sbin/lighttpd', '-t', '-f', '/etc/lighttpd/lighttpd.conf'],
  ['/usr/bin/caddy', 'validate', '--config', '/etc/caddy/Caddyfile'],
] as const;
for (const [program, ...args] of tests) {
  const given = mayUnshare && existsSync(program) ? it : it.skip;
  given(`the test of ${path.basename(program)} works in the unit with the configuration of Debian`, () => {
    expect(inUnit([program, ...args])).toMatchObject({ status: 0 });
  });
}

withNginx('`nginx -t` uses no system call and no address family that the unit refuses', () => {
  const log = path.join(folder, 'trace');
  execFileSync('strace', ['-f', '-qq', '-o', log, nginx, '-t'], { stdio: 'ignore' });
  const trace = readFileSync(log, 'utf8');
  const used = new Set([...trace.matchAll(/^\d+ +(\w+)\(/gm)].map(([, name = '']) => name));
  expect(used.size).toBeGreaterThan(20);
  const allowed = new Set(systemCallsOf('@system-service'));
  expect(setting('SystemCallFilter')).toBe('@system-service');
  expect([...used].filter((name) => !allowed.has(name))).toEqual([]);
  const families = [...trace.matchAll(/ socket\((AF_\w+)/g)].map(([, family = '']) => family);
  expect(families).toContain('AF_INET');
  const restricted = setting('RestrictAddressFamilies').split(' ');
  expect(families.filter((family) => !restricted.includes(family))).toEqual([]);
});

/** With the sets that a set contains. */
function systemCallsOf(set: string): readonly string[] {
  const lines = execFileSync('systemd-analyze', ['syscall-filter', '--no-pager', set], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && line !== set);
  return lines.flatMap((line) => (line.startsWith('@') ? systemCallsOf(line) : [line]));
}

// Otherwise the spec above proves nothing.
withNginx.each([
  ['with ProtectSystem=strict', { protectSystem: 'strict' }, /Read-only file system/],
  ['without CAP_DAC_OVERRIDE', { capabilities: 'CAP_NET_BIND_SERVICE' }, /Permission denied/],
  [
    'without CAP_NET_BIND_SERVICE',
    { capabilities: 'CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER' },
    /Permission denied/,
  ],
])('`nginx -t` fails %s', (_what, change, reason) => {
  const { status, stderr } = inUnit([nginx, '-t'], change);
  expect(stderr).toMatch(reason);
  expect(status).not.toBe(0);
});

it('a configuration error or a removed agent is not started again, and stopping leaves time for a reload', () => {
  expect(setting('Restart')).toBe('always');
  expect(setting('RestartPreventExitStatus').split(' ')).toEqual(['2', '3']);
  expect(Number(setting('TimeoutStopSec'))).toBeGreaterThan(30);
});
