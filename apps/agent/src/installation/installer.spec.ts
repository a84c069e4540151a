import { LossyDisk } from '../testing/lossy-disk';
import { Certificates, type Configured, SimulatedHost } from '../testing/simulated-host';

const now = new Date('2026-11-24T12:00:00Z');
const certificates = new Certificates(now);
const www = 'www.example.com';
const api = 'api.example.com';
const combined = '/etc/servers/www.pem';
const minuteMs = 60_000;

const web = (...names: readonly string[]) => ({
  name: 'web',
  probes: names.map((serverName) => ({ address: 'web:443', serverName, starttls: null })),
});

function newHost(configured: Configured): SimulatedHost {
  return new SimulatedHost(new LossyDisk(['/etc/servers']), certificates, configured, now);
}

async function installed(configured: Configured, ...orders: readonly string[]): Promise<SimulatedHost> {
  const host = newHost(configured);
  for (const order of orders) host.want(order, `${order} old`);
  await host.settle();
  host.nowMs += minuteMs;
  host.commands.length = 0;
  return host;
}

const both: Configured = {
  services: [web(www, api)],
  points: [
    { order: www, service: 'web' },
    { order: api, service: 'web' },
  ],
};

const stateOf = (host: SimulatedHost, order: string, id?: string) => host.pointOf(order, id)?.state;
const reloads = (host: SimulatedHost) => host.commands.filter(({ command }) => command.startsWith('reload'));

it('tests, reloads once for everything that changed, and probes', async () => {
  const host = await installed(both, www, api);
  for (const order of [www, api]) host.want(order, `${order} new`);
  await host.settle();
  expect(host.commands.map(({ command }) => command)).toEqual(['test web', 'reload web']);
  expect(host.served.get('web')).toEqual(
    new Map([www, api].map((order) => [order, host.sha256(`${order} new`)])),
  );
  expect(stateOf(host, www)).toBe('serving');
  expect(host.pointOf(www)?.served).toMatchObject([
    { address: `web:443/${www}`, sha256: host.sha256(`${www} new`) },
  ]);
});

it('does nothing for a certificate that is installed', async () => {
  const host = await installed(both, www, api);
  for (const order of [www, api]) host.want(order, `${order} old`);
  await host.settle();
  expect(host.commands).toEqual([]);
});

it('leaves 10 s between two reloads of a service, and collects what comes in between', async () => {
  const host = await installed(both, www, api);
  host.want(www, `${www} new`);
  await host.settle();
  host.want(www, `${www} newer`);
  host.want(api, `${api} new`);
  await host.settle();
  const [first, second, ...rest] = reloads(host);
  expect(rest).toEqual([]);
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(10_000);
  expect(stateOf(host, www)).toBe('serving');
});

it('installs the others when the test refuses one of several', async () => {
  const host = await installed(both, www, api);
  host.behaviour.set('web', 'test_fails');
  host.appliesTo.add(certificates.of(`${www} refused`, www).issued.sha256);
  host.want(www, `${www} refused`);
  host.want(api, `${api} new`);
  await host.settle();
  expect(stateOf(host, www)).toBe('rolled_back');
  expect(host.pointOf(www)?.problem).toBe('test of web failed: syntax error in line 7');
  expect(stateOf(host, api)).toBe('serving');
  expect(reloads(host)).toHaveLength(1);
  expect(host.served.get('web')?.get(www)).toBe(host.sha256(`${www} old`));
});

it('tries again after 1, 10 and 100 minutes, then daily', async () => {
  const host = await installed(both, www, api);
  host.behaviour.set('web', 'reload_fails');
  host.want(www, `${www} new`);
  const delays: number[] = [];
  for (let attempt = 0; attempt < 5; attempt++) {
    await host.settle();
    const { retryAt = null } = host.pointOf(www) ?? {};
    delays.push(Math.round((new Date(retryAt ?? 0).getTime() - host.nowMs) / minuteMs));
    host.nowMs = new Date(retryAt ?? 0).getTime() - 1;
    host.commands.length = 0;
    await host.settle(0);
    expect(host.commands).toEqual([]);
    host.nowMs++;
  }
  expect(delays).toEqual([1, 10, 100, 1440, 1440]);
  host.behaviour.set('web', 'good');
  await host.settle();
  expect(stateOf(host, www)).toBe('serving');
});

it('goes on when the clock, which was days ahead, is corrected', async () => {
  const host = await installed(both, www, api);
  host.clockErrorMs = 10 * 24 * 60 * minuteMs;
  host.behaviour.set('web', 'reload_fails');
  host.want(www, `${www} new`);
  await host.settle();
  expect(stateOf(host, www)).toBe('rolled_back');
  host.clockErrorMs = 0;
  host.behaviour.set('web', 'good');
  await host.settle();
  expect(stateOf(host, www)).toBe('serving');
});

it('a newer certificate does not wait for the end of a back-off', async () => {
  const host = await installed(both, www, api);
  host.behaviour.set('web', 'reload_lies');
  host.want(www, `${www} new`);
  await host.settle();
  expect(stateOf(host, www)).toBe('rolled_back');
  host.behaviour.set('web', 'good');
  host.want(www, `${www} newer`);
  await host.settle();
  expect(host.served.get('web')?.get(www)).toBe(host.sha256(`${www} newer`));
});

it('restores the old certificate when a reload changes nothing, and says what is served', async () => {
  const host = await installed(both, www, api);
  host.behaviour.set('web', 'reload_lies');
  host.want(www, `${www} new`);
  await host.settle();
  expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
  expect(host.pointOf(www)?.problem).toBe(
    `web:443 serves another certificate (${host.sha256(`${www} old`).slice(0, 16)}…) for ${www} within 30 s after the reload; the old certificate is served`,
  );
});

it('a first certificate stays, so that a server that could not start without it can', async () => {
  const host = newHost(both);
  host.behaviour.set('web', 'reload_fails');
  host.want(www, `${www} old`);
  await host.settle();
  expect(stateOf(host, www)).toBe('failed');
  expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
  host.behaviour.set('web', 'good');
  host.want(api, `${api} old`);
  await host.settle(2 * minuteMs);
  expect(stateOf(host, www)).toBe('serving');
});

it('a file of its own does not return because another service fails', async () => {
  const host = await installed(
    {
      services: [
        web(www),
        { name: 'mail', probes: [{ address: 'mail:25', serverName: www, starttls: 'smtp' }] },
      ],
      points: [
        { order: www, service: 'web' },
        { order: www, service: 'mail', path: combined },
      ],
    },
    www,
  );
  host.behaviour.set('mail', 'dies');
  host.appliesTo.add(certificates.of(`${www} new`, www).issued.sha256);
  host.want(www, `${www} new`);
  await host.settle();
  expect(stateOf(host, www)).toBe('serving');
  expect(stateOf(host, www, combined)).toBe('rolled_back');
  expect(host.served.get('mail')?.get(www)).toBe(host.sha256(`${www} old`));
});

it('does not expect a wildcard certificate where the service has one for the name itself', async () => {
  const wildcard = '*.example.com';
  const host = newHost({
    services: [web(www)],
    points: [
      { order: wildcard, service: 'web' },
      { order: www, service: 'web' },
    ],
  });
  for (const label of ['old', 'new']) {
    for (const order of [wildcard, www]) host.want(order, `${order} ${label}`);
    await host.settle();
    expect([stateOf(host, wildcard), stateOf(host, www)]).toEqual(['installed', 'serving']);
  }
});

describe('hold', () => {
  it('keeps a new certificate from being installed until another host serves it', async () => {
    const host = await installed(both, www, api);
    host.want(www, `${www} new`, { mayInstall: false });
    await host.settle();
    expect(stateOf(host, www)).toBe('held');
    expect(host.commands).toEqual([]);
    host.want(www, `${www} new`);
    await host.settle();
    expect(stateOf(host, www)).toBe('serving');
  });

  it('ends a day before the installed certificate expires', async () => {
    const host = await installed(both, www, api);
    host.want(www, `${www} new`, { mayInstall: false });
    host.nowMs = certificates.of(`${www} old`).issued.notAfter.getTime() - 23 * 60 * minuteMs;
    await host.settle();
    expect(stateOf(host, www)).toBe('serving');
  });
});

it('ends a hold before the installed certificate expires also when the clock of the host is days behind', async () => {
  const host = await installed(both, www, api);
  host.clockErrorMs = -5 * 24 * 60 * minuteMs;
  host.want(www, `${www} new`, { mayInstall: false });
  host.nowMs = certificates.of(`${www} old`).issued.notAfter.getTime() - 23 * 60 * minuteMs;
  await host.settle();
  expect(stateOf(host, www)).toBe('serving');
});

describe('window', () => {
  const windowed: Configured = {
    services: [{ ...web(www), window: { startMinute: 120, endMinute: 180 } }],
    points: [{ order: www, service: 'web' }],
  };
  const at = (host: SimulatedHost, hour: number, minute: number) => {
    const time = new Date(host.nowMs);
    time.setHours(hour, minute, 0, 0);
    if (time.getTime() < host.nowMs) time.setDate(time.getDate() + 1);
    host.nowMs = time.getTime();
  };

  it('does not delay a first certificate', async () => {
    const host = newHost(windowed);
    at(host, 12, 0);
    host.want(www, `${www} old`);
    await host.settle();
    expect(stateOf(host, www)).toBe('serving');
  });

  it('delays a renewal until it opens', async () => {
    const host = await installed(windowed, www);
    at(host, 12, 0);
    host.want(www, `${www} new`);
    await host.settle();
    expect(host.pointOf(www)).toMatchObject({ state: 'held', problem: 'waits for the window 02:00-03:00' });
    at(host, 1, 59);
    await host.settle(30_000);
    expect(stateOf(host, www)).toBe('held');
    at(host, 2, 0);
    await host.settle();
    expect(stateOf(host, www)).toBe('serving');
  });

  it('is ignored when less than a quarter of the old lifetime is left', async () => {
    const host = await installed(windowed, www);
    const { notAfter } = certificates.of(`${www} old`).issued;
    host.nowMs = notAfter.getTime() - (90 / 4) * 24 * 60 * minuteMs + 60 * minuteMs;
    at(host, 12, 0);
    host.want(www, `${www} new`);
    await host.settle();
    expect(stateOf(host, www)).toBe('serving');
  });
});

describe('inspection', () => {
  it('installs again what was removed or replaced by another program', async () => {
    const host = await installed(
      { services: [web(www)], points: [{ order: www, service: 'web', path: combined }] },
      www,
    );
    host.disk.put(combined, 'something else');
    await host.installer.inspect();
    await host.settle();
    expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
    expect(stateOf(host, www, combined)).toBe('serving');
  });

  it.each([
    ['permissions', {}, { mode: 0o644 }],
    ['owner', { owner: '0' }, { mode: 0o600, uid: 1234 }],
  ])('installs a file again whose %s were changed', async (_, configured, changed) => {
    const host = await installed(
      { services: [web(www)], points: [{ order: www, service: 'web', path: combined, ...configured }] },
      www,
    );
    host.disk.put(combined, host.disk.read(combined, 100_000), changed);
    await host.installer.inspect();
    await host.settle();
    expect(host.disk.state(combined)).toMatchObject({ mode: 0o600, uid: 0 });
    expect(stateOf(host, www, combined)).toBe('serving');
    expect(reloads(host)).toHaveLength(1);
    await host.installer.inspect();
    await host.settle();
    expect(reloads(host)).toHaveLength(1);
  });

  it.each([
    [
      'that others may read',
      (disk: LossyDisk) => disk.put(combined, disk.read(combined, 100_000), { mode: 0o644 }),
    ],
    ['that was removed', (disk: LossyDisk) => disk.remove(combined)],
  ])('restores an installed file %s while another host goes first', async (_, change) => {
    const host = await installed(
      { services: [web(www)], points: [{ order: www, service: 'web', path: combined }] },
      www,
    );
    host.want(www, `${www} new`, { mayInstall: false });
    await host.settle();
    change(host.disk);
    await host.installer.inspect();
    await host.settle();
    expect(host.disk.state(combined)).toMatchObject({ mode: 0o600 });
    expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
    expect(stateOf(host, www, combined)).toBe('held');
    expect(host.commands).toEqual([]);
  });

  it('reloads a server that serves another certificate', async () => {
    const host = await installed(both, www, api);
    host.served.get('web')?.set(www, 'f'.repeat(64));
    await host.installer.inspect();
    await host.settle();
    expect(reloads(host)).toHaveLength(1);
    expect(host.served.get('web')?.get(www)).toBe(host.sha256(`${www} old`));
  });

  it('reports a server that does not return', async () => {
    const host = await installed(both, www, api);
    host.behaviour.set('web', 'dies');
    host.served.clear();
    await host.installer.inspect();
    await host.settle();
    expect(host.pointOf(www)).toMatchObject({ state: 'failed' });
    expect(host.pointOf(www)?.problem).toContain('web:443: connection refused');
  });
});

it('an order that left the cluster keeps its files and is not changed any more', async () => {
  const host = await installed(both, www, api);
  host.installer.journals.release(www);
  await host.settle();
  expect(stateOf(host, www)).toBe('released');
  expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
  host.restart('killed');
  await host.settle();
  expect(host.commands).toEqual([]);
});

describe('a disk that fails changes nothing', () => {
  const at = new RegExp(`^(?:/var/lib/certwright-agent/orders/${www}|/etc/servers)`);

  it.each([
    ['ENOSPC', 'the disk is full; free space or inodes on it'],
    ['EDQUOT', 'the disk quota is used up; raise it or free space'],
    ['EROFS', 'the file system is read-only; mount it for writing'],
    ['EACCES', 'permission denied; run the agent as a user that may write there, or correct the permissions'],
    ['EIO', 'the disk reports an error; check it'],
  ])('%s', async (code, text) => {
    const host = await installed(both, www, api);
    host.want(www, `${www} new`);
    host.disk.injected = [{ code, at }];
    await host.settle();
    expect(host.pointOf(www)?.state).toBe('failed');
    expect(host.pointOf(www)?.problem).toContain(`${text} (${code})`);
    expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
    expect(host.commands).toEqual([]);
    host.disk.injected = [];
    host.nowMs += 2 * minuteMs;
    await host.settle();
    expect(stateOf(host, www)).toBe('serving');
  });

  it.each([
    ['EXDEV', 'the file is on another file system than its folder; mount the folder, not the file'],
    ['EBUSY', 'the file is a mount point of its own; mount its folder instead'],
  ])('%s of a file outside the state', async (code, text) => {
    const configured = { services: [web(www)], points: [{ order: www, service: 'web', path: combined }] };
    const host = await installed(configured, www);
    host.want(www, `${www} new`);
    host.disk.injected = [{ code, at: /^\/etc\/servers/, calls: ['rename'] }];
    await host.settle();
    expect(host.pointOf(www, combined)?.problem).toBe(`${combined}: ${text} (${code})`);
    expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
    expect(host.disk.list('/etc/servers')).toEqual(['www.pem']);
    expect(host.commands).toEqual([]);
  });

  it('a disk that fills up during a rollback still restores the old version', async () => {
    const host = await installed(both, www, api);
    host.behaviour.set('web', 'dies');
    host.appliesTo.add(certificates.of(`${www} new`, www).issued.sha256);
    host.want(www, `${www} new`);
    host.disk.onCall = () => {
      if (host.commands.some(({ command }) => command === 'reload web'))
        host.disk.injected = [{ code: 'ENOSPC', at: /./, calls: ['create'] }];
    };
    // From the reload on, no file can be created; a link and a rename need no space.
    host.disk.injected = [];
    await host.settle();
    expect(host.pairAt(host.settings.points[0] as never)).toBe(host.sha256(`${www} old`));
    expect(host.served.get('web')?.get(www)).toBe(host.sha256(`${www} old`));
  });
});

describe('an unsafe place changes nothing', () => {
  const configured = { services: [web(www)], points: [{ order: www, service: 'web', path: combined }] };
  const arrangements: readonly [string, (disk: LossyDisk) => void, string][] = [
    [
      'a folder that others may write',
      (disk) => disk.makeFolders('/etc/servers', { mode: 0o775 }),
      `other users may write to the folder /etc/servers (mode 0775); run chmod go-w /etc/servers`,
    ],
    [
      'a folder of another user',
      (disk) => disk.makeFolders('/etc/servers', { uid: 1000 }),
      'the folder /etc/servers belongs to user 1000; change its owner to root',
    ],
    [
      'a link in place of the file',
      (disk) => disk.putLink(combined, '/etc/shadow'),
      `${combined} is a symbolic link, which the agent does not follow; use the real path`,
    ],
    [
      'a folder in place of the file',
      (disk) => disk.makeFolders(combined),
      `${combined} is not a regular file; use another path`,
    ],
  ];

  it.each(arrangements)('%s', async (_what, arrange, text) => {
    const host = newHost(configured);
    arrange(host.disk);
    host.want(www, `${www} old`);
    await host.settle();
    expect(host.pointOf(www, combined)?.state).toBe('failed');
    expect(host.pointOf(www, combined)?.problem).toContain(text);
    expect(host.commands).toEqual([]);
    expect(host.disk.readThrough('/etc/shadow')).toBeNull();
  });
});
