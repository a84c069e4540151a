import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '@certwright/testing';
import { FakeServer } from '../../apps/agent/src/testing/fake-server';
import { newJoinText, newSeed, TestHost } from '../../apps/agent/src/testing/test-host';
import { hasCryptography } from './python';
import { type Installed, installedIn, PythonHost } from './python-host';

const whole = hasCryptography() ? describe : describe.skip;
if (!hasCryptography()) console.warn('Skipped: python3-cryptography not installed (tools/test/peers.sh).');

const withinMs = 60_000;
jest.setTimeout(120_000);

whole('a cluster of apps/agent and the second agent', () => {
  const seed = newSeed();
  const order = 'www.example.com';
  let server: FakeServer;
  let folder: string;
  let python: PythonHost;
  let node: TestHost;
  const onNode = (): Installed | undefined => installedIn(path.join(node.state, 'orders', order));

  beforeEach(async () => {
    server = await FakeServer.start({ isSecure: true });
    folder = mkdtempSync(path.join(tmpdir(), 'certwright-interoperability-'));
    const caFile = path.join(folder, 'ca.pem');
    writeFileSync(caFile, server.ca.rootPem);
    python = new PythonHost({ url: server.url, caFile });
    node = new TestHost(server);
    node.configure(`[[install]]\norder = "${order}"\n`);
  });

  afterEach(async () => {
    await python.stop();
    await node.end();
    await server.stop();
    python.dispose();
    rmSync(folder, { recursive: true });
  });

  async function enrol(...hosts: readonly (TestHost | PythonHost)[]) {
    for (const host of hosts) {
      const join = newJoinText(server, { seed });
      if (host instanceof PythonHost) await host.enrol(join);
      else {
        host.joinText = join;
        expect(await host.enrol()).toBe(0);
      }
    }
  }

  async function bothServe(sha256: () => string | undefined) {
    for (const installed of [() => python.installed(order), onNode])
      await eventually(
        () => {
          const found = installed();
          expect([found?.sha256, python.output()]).toEqual([sha256(), python.output()]);
          expect(found?.leaf.checkPrivateKey(found.privateKey)).toBe(true);
        },
        { withinMs },
      );
  }

  // The fake server selects the member that enrolled first.
  it.each([
    ['apps/agent', 'second agent', 'ecdsa'],
    ['second agent', 'apps/agent', 'rsa'],
  ] as const)('%s makes a key, which the %s opens (%s)', async (maker, _, keyType) => {
    await enrol(...(maker === 'apps/agent' ? [node, python] : [python, node]));
    const made = server.addOrder(order, { keyType });
    await python.start();
    node.start(node.agent());
    await bothServe(() => made.issued?.sha256);
  });

  it.each([
    ['apps/agent', 'second agent'],
    ['second agent', 'apps/agent'],
  ])('%s seals a key for the %s that comes later', async (first) => {
    const [early, late] = first === 'apps/agent' ? [node, python] : [python, node];
    await enrol(early);
    const start = async (host: TestHost | PythonHost) =>
      host instanceof PythonHost ? await host.start() : host.start(host.agent());
    await start(early);
    const made = server.addOrder(order);
    await eventually(() => expect(made.issued).not.toBeNull(), { withinMs });
    await enrol(late);
    await start(late);
    const { spkiSha256 } = made.issued!;
    const [, second] = [...server.members.keys()];
    made.sealFor = { spki_sha256: spkiSha256, members: [second!] };
    server.touch(made);
    await bothServe(() => made.issued?.sha256);
  });
});
