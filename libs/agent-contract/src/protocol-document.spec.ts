import { verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkCsr, readCsr } from '@certwright/pki';
import { encodeBase64url } from './base64url';
import { clusterKeyFromSeed, clusterKeySha256 } from './cluster-key';
import { joinString, parseJoinString } from './join-string';
import { agentId, ed25519PrivateKey, ed25519PublicKey, rawPublicKey, x25519PrivateKey } from './keys';
import { orderFolder } from './order-folder';
import { checkSignature, parseSignature, signRequest } from './request-signature';
import { openKey, sealKey, type SealedKey } from './sealed-key';
import { signStatement, verifyStatement } from './statement';

interface Vectors {
  cluster: { name: string; seed: string; cluster_key: string; cluster_key_sha256: string };
  agents: Record<'a' | 'b', AgentVector>;
  join_string: string;
  requests: {
    method: string;
    path: string;
    query: string;
    body: string;
    created: number;
    signature_base: string;
    headers: Record<string, string>;
  }[];
  sealed_key: {
    order: string;
    pkcs8: string;
    spki_sha256: string;
    ephemeral_private_key: string;
    info: string;
    signed: string;
    message: SealedKey;
  };
  folders: Record<string, string>;
  csr: { dns_names: string[]; csr: string };
}
interface AgentVector {
  identity_seed: string;
  identity_key: string;
  sealing_private_key: string;
  sealing_key: string;
  agent_id: string;
  statement: string;
}

const hex = (text: string) => Buffer.from(text, 'hex');
const base64url = (text: string) => Buffer.from(text, 'base64url');

const document = readFileSync(path.join(__dirname, '../../../docs/agent-protocol.md'), 'utf8');
const [, block = ''] = /## Test vectors[\s\S]*```json\n([\s\S]*?)```/.exec(document) ?? [];
// Made by tools/second-agent, which shares no code with this lib.
const vectors = JSON.parse(block) as Vectors;

const clusterKey = clusterKeyFromSeed(hex(vectors.cluster.seed));
const [sender, receiver] = [vectors.agents.a, vectors.agents.b].map((agent) => ({
  ...agent,
  identity: ed25519PrivateKey(hex(agent.identity_seed)),
  sealing: x25519PrivateKey(hex(agent.sealing_private_key)),
}));

it('has the public keys of the private keys', () => {
  expect(encodeBase64url(clusterKey.publicKey)).toBe(vectors.cluster.cluster_key);
  expect(clusterKeySha256(clusterKey.publicKey)).toBe(vectors.cluster.cluster_key_sha256);
  for (const agent of [sender!, receiver!]) {
    expect(encodeBase64url(rawPublicKey(agent.identity))).toBe(agent.identity_key);
    expect(encodeBase64url(rawPublicKey(agent.sealing))).toBe(agent.sealing_key);
    expect(agentId(base64url(agent.identity_key))).toBe(agent.agent_id);
  }
});

it('has the join string of a token and the seed', () => {
  const parsed = parseJoinString(vectors.join_string);
  expect(parsed.clusterKeySeed).toEqual(hex(vectors.cluster.seed));
  expect(joinString(parsed)).toBe(vectors.join_string);
});

it.each(['a', 'b'] as const)('has the statement about agent %s', (name) => {
  const agent = vectors.agents[name];
  const member = verifyStatement(agent.statement, clusterKey.publicKey);
  expect(member).toEqual({
    agentId: agent.agent_id,
    identityKey: base64url(agent.identity_key),
    sealingKey: base64url(agent.sealing_key),
    time: new Date('2026-11-24T12:00:00Z'),
  });
  expect(signStatement(clusterKey, member)).toBe(agent.statement);
});

it.each(vectors.requests)('has the signature of $method $path$query', (vector) => {
  const request = { ...vector, body: Buffer.from(vector.body) };
  const now = new Date(vector.created * 1000);
  const signed = signRequest(request, {
    agentId: sender!.agent_id,
    privateKey: sender!.identity,
    now,
  });
  expect(signed).toEqual(vector.headers);
  const publicKey = ed25519PublicKey(base64url(sender!.identity_key));
  const parsed = parseSignature(vector.headers);
  expect(verify(null, Buffer.from(vector.signature_base), publicKey, parsed!.signature)).toBe(true);
  expect(checkSignature(parsed!, request, publicKey, now)).toMatchObject({ ok: true });
});

it('has a sealed key that is made and opened', () => {
  const vector = vectors.sealed_key;
  const binding = {
    cluster: vectors.cluster.name,
    order: vector.order,
    spkiSha256: vector.spki_sha256,
    sender: sender!.agent_id,
    receiver: receiver!.agent_id,
  };
  const pkcs8 = Buffer.from(vector.pkcs8, 'base64');
  const sealed = sealKey({
    pkcs8,
    binding,
    receiverSealingKey: base64url(receiver!.sealing_key),
    senderIdentityPrivateKey: sender!.identity,
    ephemeral: x25519PrivateKey(hex(vector.ephemeral_private_key)),
  });
  expect(sealed).toEqual(vector.message);
  const opened = openKey(vector.message, binding, {
    sealingPrivateKey: receiver!.sealing,
    senderIdentityKey: base64url(sender!.identity_key),
  });
  expect(opened).toEqual(pkcs8);
  expect(vector.signed).toContain(vector.info);
  const signature = base64url(vector.message.signature);
  const publicKey = ed25519PublicKey(base64url(sender!.identity_key));
  expect(verify(null, hex(vector.signed), publicKey, signature)).toBe(true);
});

it.each(Object.entries(vectors.folders))('has the folder of %j', (name, folder) => {
  expect(orderFolder(name)).toBe(folder);
});

it('has a CSR that a product accepts', () => {
  const reading = readCsr(Buffer.from(vectors.csr.csr, 'base64'));
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  const { csr } = reading;
  expect(csr.spkiSha256).toBe(vectors.sealed_key.spki_sha256);
  expect(csr.commonNames).toEqual([]);
  const expected = {
    keyType: 'ecdsa' as const,
    dnsNames: vectors.csr.dns_names,
    rule: { mustNameEveryDnsName: true },
  };
  expect(checkCsr(csr, expected, { keyBlocked: false })).toEqual([]);
});
