import { sign } from 'node:crypto';
import { encodeBase64url } from './base64url';
import { clusterKeyFromSeed, clusterKeySha256, newClusterKey } from './cluster-key';
import { agentId, newIdentityKey, newSealingKey, rawPublicKey } from './keys';
import { acceptMembers, noMembersMemory } from './members';
import { signStatement, verifyStatement } from './statement';

const clusterKey = newClusterKey();
const time = new Date('2026-11-24T12:00:00Z');

function newAgent(at = time, by = clusterKey) {
  const identityKey = rawPublicKey(newIdentityKey());
  const sealingKey = rawPublicKey(newSealingKey());
  const statement = signStatement(by, { identityKey, sealingKey, time: at });
  return { agentId: agentId(identityKey), identityKey, sealingKey, statement };
}

function listed(agent: ReturnType<typeof newAgent>) {
  return {
    agent_id: agent.agentId,
    name: 'web-1',
    identity_key: encodeBase64url(agent.identityKey),
    sealing_key: encodeBase64url(agent.sealingKey),
    statement: agent.statement,
  };
}

/** Signed by the cluster key, whatever it says. */
function signed(payload: string, header = '{"alg":"EdDSA","typ":"certwright-member+jws"}') {
  const input = `${encodeBase64url(Buffer.from(header))}.${encodeBase64url(Buffer.from(payload))}`;
  return `${input}.${encodeBase64url(sign(null, Buffer.from(input), clusterKey.privateKey))}`;
}

const agent = newAgent();
const [headerPart = '', payloadPart = '', signaturePart = ''] = agent.statement.split('.');
const payload = Buffer.from(payloadPart, 'base64url').toString();
const verifying = (jws: string) => () => verifyStatement(jws, clusterKey.publicKey);

it('makes the same cluster key from the same seed', () => {
  expect(clusterKeyFromSeed(clusterKey.seed).publicKey).toEqual(clusterKey.publicKey);
});

it('says which keys the cluster key admitted', () => {
  expect(verifyStatement(agent.statement, clusterKey.publicKey)).toEqual({
    agentId: agent.agentId,
    identityKey: Buffer.from(agent.identityKey),
    sealingKey: Buffer.from(agent.sealingKey),
    time,
  });
});

it('drops fractions of a second', () => {
  const { statement } = newAgent(new Date('2026-11-24T12:00:00.999Z'));
  expect(verifyStatement(statement, clusterKey.publicKey).time).toEqual(time);
});

it('is refused when another cluster key signed it', () => {
  const { statement } = newAgent(time, newClusterKey());
  expect(verifying(statement)).toThrow(expect.objectContaining({ code: 'bad_signature' }));
});

it('is refused when it names another cluster key', () => {
  const other = clusterKeySha256(newClusterKey().publicKey);
  const jws = signed(payload.replace(clusterKeySha256(clusterKey.publicKey), other));
  expect(verifying(jws)).toThrow(expect.objectContaining({ code: 'mismatch' }));
});

it('is accepted in the one form only, even with a valid signature', () => {
  expect(verifying(signed(payload))()).toMatchObject({ agentId: agent.agentId });
  const object = JSON.parse(payload) as Record<string, string>;
  const { time: at, ...others } = object;
  const forms: Record<string, string> = {
    'another order': JSON.stringify({ time: at, ...others }),
    'white space': JSON.stringify(object, null, 1),
    'another member': JSON.stringify({ ...object, admin: 'true' }),
    'a missing member': JSON.stringify(others),
    'a repeated member': payload.replace('"time"', `"sealing_key":"${'A'.repeat(43)}","time"`),
    'an escape': payload.replace('"time"', '"\\u0074ime"'),
    'a number as time': payload.replace(`"${at}"`, '1764000000'),
    'an impossible time': payload.replace(String(at), '2026-13-45T99:00:00Z'),
    'a key with stray bits': payload.replace(/"sealing_key":"[^"]*"/, `"sealing_key":"${'A'.repeat(42)}B"`),
    'a line break': `${payload}\n`,
    'an array': `[${payload}]`,
    'an empty payload': '',
  };
  for (const [, text] of Object.entries(forms))
    expect(verifying(signed(text))).toThrow(expect.objectContaining({ code: 'malformed' }));
});

it.each([
  ['no algorithm', '{"alg":"none","typ":"certwright-member+jws"}'],
  ['HMAC', '{"alg":"HS256","typ":"certwright-member+jws"}'],
  ['another type', '{"alg":"EdDSA","typ":"JWT"}'],
  ['a key of its own', '{"alg":"EdDSA","typ":"certwright-member+jws","jwk":{}}'],
  ['another order', '{"typ":"certwright-member+jws","alg":"EdDSA"}'],
])('is refused with the header of %s', (_, header) => {
  expect(verifying(signed(payload, header))).toThrow(expect.objectContaining({ code: 'malformed' }));
});

it.each([
  ['unsigned', `${headerPart}.${payloadPart}.`],
  ['cut', agent.statement.slice(0, -1)],
  ['with another part', `${agent.statement}.${signaturePart}`],
  ['padded', `${agent.statement}==`],
  ['with white space', `${agent.statement} `],
  ['huge', 'A'.repeat(2_000_000)],
  ['empty', ''],
])('is refused when it is %s', (_, jws) => {
  expect(verifying(jws)).toThrow(expect.objectContaining({ name: 'ContractError' }));
});

describe('the list of members', () => {
  const accept = (...args: [Parameters<typeof acceptMembers>[0], Parameters<typeof acceptMembers>[2]?]) =>
    acceptMembers(args[0], clusterKey.publicKey, args[1] ?? noMembersMemory);

  it('has the members that the cluster key admitted', () => {
    const other = newAgent();
    const { members, problems, memory } = accept([listed(agent), listed(other)]);
    expect(members.map((member) => member.agentId)).toEqual([agent.agentId, other.agentId]);
    expect(problems).toEqual([]);
    expect(memory).toEqual({ accepted: { [agent.agentId]: +time, [other.agentId]: +time }, gone: [] });
  });

  it('does not have a member that the server invented', () => {
    const invented = newAgent(time, newClusterKey());
    const { members, problems, memory } = accept([
      listed(agent),
      listed(invented),
      { ...listed(newAgent()), statement: null },
      { ...listed(newAgent()), statement: agent.statement },
    ]);
    expect(members.map((member) => member.agentId)).toEqual([agent.agentId]);
    expect(problems).toHaveLength(3);
    expect(Object.keys(memory.accepted)).toEqual([agent.agentId]);
  });

  it('does not have a member whose sealing key the server exchanged', () => {
    const swapped = { ...listed(agent), sealing_key: encodeBase64url(newAgent().sealingKey) };
    expect(accept([swapped])).toMatchObject({
      members: [],
      problems: [`member ${agent.agentId} is refused: its statement is about other keys`],
    });
  });

  it('does not have a member under the id of another one', () => {
    expect(accept([{ ...listed(newAgent()), agent_id: agent.agentId }]).members).toEqual([]);
  });

  it('does not go back to an older statement', () => {
    const renewed = newAgent(new Date(+time + 1000));
    const older = signStatement(clusterKey, { ...renewed, sealingKey: newAgent().sealingKey, time });
    const { memory } = accept([listed(renewed)]);
    const old = { ...listed(renewed), sealing_key: sealingKeyOf(older), statement: older };
    const after = accept([old], memory);
    expect(after.members).toEqual([]);
    expect(after.problems).toEqual([expect.stringContaining('older')]);
    expect(accept([listed(renewed)], after.memory).members).toHaveLength(1);
  });

  it('does not get a removed member back', () => {
    const removed = newAgent();
    const { memory } = accept([listed(agent), listed(removed)]);
    const without = accept([listed(agent)], memory);
    expect(without.memory.gone).toEqual([removed.agentId]);
    const again = accept([listed(agent), listed(removed)], without.memory);
    expect(again.members.map((member) => member.agentId)).toEqual([agent.agentId]);
    expect(again.problems).toEqual([expect.stringContaining('it was removed')]);
  });
});

function sealingKeyOf(statement: string) {
  return encodeBase64url(verifyStatement(statement, clusterKey.publicKey).sealingKey);
}
