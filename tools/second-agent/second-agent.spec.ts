import { createPrivateKey, X509Certificate } from 'node:crypto';
import { eventually } from '@certwright/testing';
import { AgentHost } from './agent-host';
import type { Exchange } from './falsifying-relay';
import { ManagedServer } from './managed-server';
import { hasCryptography } from './python';
import { PythonHost } from './python-host';
import { formsIn, secretsOf } from './secret-forms';

const whole = hasCryptography() ? describe : describe.skip;
if (!hasCryptography()) console.warn('Skipped: python3-cryptography not installed (tools/test/peers.sh).');

const withinMs = 60_000;
jest.setTimeout(120_000);

whole('agents that were written from the document', () => {
  let server: ManagedServer;
  const hosts: PythonHost[] = [];
  const newHost = () => {
    const host = new PythonHost(server.relay);
    hosts.push(host);
    return host;
  };

  beforeAll(async () => (server = await ManagedServer.start()));
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.stop()));
    hosts.forEach((host) => host.dispose());
    await server.stop();
  });

  it('make a key, send a CSR, and install the certificate on every host of the cluster', async () => {
    const join = await server.cluster('web');
    const [one, two] = [newHost(), newHost()];
    await one.enrol(await join(), 'one');
    await two.enrol(await join(), 'two');
    await Promise.all([one.start(), two.start()]);
    const order = {
      cluster: 'web',
      dns_names: ['www.example.com', '*.example.com'],
      product: 'free_ca',
      key_type: 'ecdsa',
    };
    await server.must(201, 'POST', '/orders', order);
    const sha256 = await server.issueWhenRequested('www.example.com');
    for (const host of [one, two]) {
      const installed = await eventually(
        () => {
          const found = host.installed('www.example.com');
          if (found?.sha256 !== sha256) throw new Error(`${sha256} is not installed:\n${host.output()}`);
          return found;
        },
        { withinMs },
      );
      expect(installed.leaf.checkPrivateKey(installed.privateKey)).toBe(true);
      expect(installed.leaf.subjectAltName).toBe('DNS:www.example.com, DNS:*.example.com');
    }
    await eventually(
      async () => {
        const { installations } = await server.order('www.example.com', '?expand=installations');
        expect(installations).toHaveLength(2);
        for (const installation of installations)
          expect(installation).toMatchObject({ state: 'installed', certificate_sha256: sha256 });
      },
      { withinMs },
    );
  });

  it('seal the key for a host that comes later', async () => {
    const join = await server.cluster('late');
    const first = newHost();
    await first.enrol(await join());
    await first.start();
    const order = { cluster: 'late', dns_names: ['late.example.com'], product: 'free_ca', key_type: 'rsa' };
    await server.must(201, 'POST', '/orders', order);
    const sha256 = await server.issueWhenRequested('late.example.com');
    const second = newHost();
    await second.enrol(await join());
    await second.start();
    await eventually(
      () => {
        const { leaf, privateKey } = second.installed('late.example.com') ?? {};
        expect(leaf).toBeInstanceOf(X509Certificate);
        expect(leaf?.checkPrivateKey(privateKey!)).toBe(true);
      },
      { withinMs },
    );
    expect(second.installed('late.example.com')?.sha256).toBe(sha256);
  });

  it('get new keys after a host was removed, which gets none', async () => {
    const join = await server.cluster('fleet');
    const [staying, removed] = [newHost(), newHost()];
    await staying.enrol(await join());
    await removed.enrol(await join());
    await Promise.all([staying.start(), removed.start()]);
    const order = {
      cluster: 'fleet',
      dns_names: ['fleet.example.com'],
      product: 'free_ca',
      key_type: 'ecdsa',
    };
    await server.must(201, 'POST', '/orders', order);
    const first = await server.issueWhenRequested('fleet.example.com');
    for (const host of [staying, removed])
      await eventually(() => expect(host.installed('fleet.example.com')?.sha256).toBe(first), { withinMs });
    await server.must(204, 'DELETE', `/clusters/fleet/agents/${removed.agentId}`);
    await eventually(() => expect(removed.output()).toContain('401'), { withinMs });
    await server.must(200, 'POST', '/clusters/fleet/rekey', { now: true });
    const next = await server.issueWhenRequested('fleet.example.com');
    await eventually(() => expect(staying.installed('fleet.example.com')?.sha256).toBe(next), { withinMs });
    const [before, after] = [removed, staying].map(
      (host) => host.installed('fleet.example.com')!.leaf.publicKey,
    );
    expect(after!.equals(before!)).toBe(false);
    await expect(removed.once()).rejects.toThrow('401');
    expect(removed.installed('fleet.example.com')?.sha256).toBe(first);
  });

  it('start again when the server has an older database, such as a backup', async () => {
    const join = await server.cluster('restored');
    const name = 'restored.example.com';
    const [python, node] = [newHost(), new AgentHost(server.relay, [name])];
    try {
      await python.enrol(await join());
      await node.enrol(await join());
      await python.start();
      node.start();
      const order = { cluster: 'restored', product: 'free_ca', key_type: 'ecdsa' };
      await server.must(201, 'POST', '/orders', { ...order, dns_names: [name] });
      const first = await server.issueWhenRequested(name);
      for (const host of [python, node])
        await eventually(() => expect(host.installed(name)?.sha256).toBe(first), { withinMs });
      const earlier = server.relay.exchanges.length;
      await server.api.database.transaction(async (tx) => {
        await tx.query(`UPDATE cluster SET version = 1, members_version = 1 WHERE name = 'restored'`);
        await tx.query(`UPDATE order_v3 SET agent_version = 1 WHERE cluster = 'restored'`);
      });
      const isReset = ({ response }: Exchange) => response.body.includes('"reset":true');
      const resets = () => server.relay.exchanges.slice(earlier).filter(isReset);
      await eventually(() => expect(resets()).toHaveLength(2), { withinMs });
      await server.must(200, 'POST', `/orders/${name}`, { dns_names: [name, `www.${name}`] });
      const second = await server.issueWhenRequested(name);
      for (const host of [python, node])
        await eventually(() => expect(host.installed(name)?.sha256).toBe(second), { withinMs });
    } finally {
      await node.stop();
      node.dispose();
    }
  });

  it('keep private keys out of every message, every row and every log line', async () => {
    const keys = hosts.flatMap((host) => host.keys());
    expect(keys.length).toBeGreaterThan(3);
    const secrets = [
      ...keys.flatMap((der) => secretsOf(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))),
      ...hosts.flatMap((host) => host.ownSecrets()),
      ...server.clusterKeySeeds,
    ];
    const messages = server.relay.exchanges.map(
      ({ request, response }) =>
        request.path +
        JSON.stringify(request.headers) +
        request.body.toString('latin1') +
        response.body.toString('latin1'),
    );
    expect(messages.length).toBeGreaterThan(10);
    const rows = await server.everyRow();
    // What must be there shows that the text is complete.
    for (const { agentId } of hosts) expect(rows.includes(agentId)).toBe(true);
    expect(server.api.logged.length).toBeGreaterThan(10);
    for (const text of [...messages, rows, server.api.logged.join('\n')])
      expect(secrets.flatMap((secret) => formsIn(text, secret))).toEqual([]);
  });
});
