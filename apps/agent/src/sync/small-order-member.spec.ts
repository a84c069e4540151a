import {
  agentId,
  clusterKeyFromSeed,
  encodeBase64url,
  newIdentityKey,
  rawPublicKey,
  signStatement,
} from '@certwright/agent-contract';
import { readCsr } from '@certwright/pki';
import { FakeServer } from '../testing/fake-server';
import { newJoinText, newSeed, TestHost } from '../testing/test-host';

it('a member whose sealing key cannot be used does not keep certificates of other orders from being installed', async () => {
  const server = await FakeServer.start();
  const host = new TestHost(server);
  const [one, other] = ['www.example.com', 'shop.example.com'] as const;
  host.configure([one, other].map((order) => `[[install]]\norder = "${order}"\n`).join('\n'));
  const seed = newSeed();
  host.joinText = newJoinText(server, { seed });
  await host.enrol();
  const orders = [server.addOrder(one), server.addOrder(other)] as const;
  await host.agent().once();
  // A host with the join string enrols with a point of small order (RFC 7748, section 6.1).
  const identityKey = rawPublicKey(newIdentityKey());
  const sealingKey = Buffer.alloc(32);
  const id = agentId(identityKey);
  server.members.set(id, {
    agent_id: id,
    name: 'odd',
    identity_key: encodeBase64url(identityKey),
    sealing_key: encodeBase64url(sealingKey),
    statement: signStatement(clusterKeyFromSeed(seed), { identityKey, sealingKey, time: new Date() }),
  });
  server.membersVersion++;
  orders[0].sealFor = { spki_sha256: orders[0].issued?.spkiSha256 ?? '', members: [id] };
  server.touch(orders[0]);
  const csr = readCsr(Buffer.from(server.csrs[1]?.csr ?? '', 'base64'));
  if (!csr.ok) throw new Error('no CSR');
  orders[1].issued = server.ca.issue(csr.csr.spkiDer, [other]);
  server.touch(orders[1]);
  const outcome = await host
    .agent()
    .once()
    .then(() => 'fine', String);
  expect([outcome, server.lastReport(other)?.certificate_sha256]).toEqual(['fine', orders[1].issued.sha256]);
  await host.end();
  await server.stop();
});
