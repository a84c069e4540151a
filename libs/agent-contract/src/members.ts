import { decodeFixed } from './base64url';
import { ContractError } from './contract-error';
import { assertSealingKey } from './hpke';
import { agentId, keyBytes } from './keys';
import type { MemberMessage } from './messages';
import { type Member, verifyStatement } from './statement';

/** What an agent remembers about the members of its cluster, on disk. */
export interface MembersMemory {
  /** Agent id → time of the newest statement that was accepted, in milliseconds of Unix time. */
  readonly accepted: Readonly<Record<string, number>>;
  /** Ids of agents that were members and left. They cannot return: a removed host enrols with new keys. */
  readonly gone: readonly string[];
}

export interface AcceptedMembers {
  /** Keys are sealed for these, and opened from these, alone. */
  readonly members: readonly Member[];
  /** One sentence per member that the server listed and the agent refuses. */
  readonly problems: readonly string[];
  readonly memory: MembersMemory;
}

export const noMembersMemory: MembersMemory = { accepted: {}, gone: [] };

/**
 * The server lists members, but the cluster key admits them. A listed agent is refused when its statement is missing,
 * not by the cluster key, about other keys, or older than one that was accepted before, and when it was removed before.
 *
 * @param clusterPublicKey 32 bytes, pinned at enrolment
 */
export function acceptMembers(
  listed: readonly MemberMessage[],
  clusterPublicKey: Uint8Array,
  memory: MembersMemory,
): AcceptedMembers {
  const gone = new Set(memory.gone);
  const accepted = new Map(Object.entries(memory.accepted));
  const members: Member[] = [];
  const problems: string[] = [];
  for (const message of listed) {
    try {
      const member = readMember(message, clusterPublicKey);
      if (gone.has(member.agentId))
        throw new ContractError('mismatch', 'it was removed; a removed host must enrol again with new keys');
      if (member.time.getTime() < (accepted.get(member.agentId) ?? 0))
        throw new ContractError('mismatch', 'its statement is older than the one it had before');
      members.push(member);
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      problems.push(`member ${message.agent_id} is refused: ${error.message}`);
    }
  }
  const listedIds = new Set(listed.map(({ agent_id: id }) => id));
  for (const id of accepted.keys()) if (!listedIds.has(id)) gone.add(id);
  for (const id of gone) accepted.delete(id);
  for (const { agentId: id, time } of members) accepted.set(id, time.getTime());
  return { members, problems, memory: { accepted: Object.fromEntries(accepted), gone: [...gone] } };
}

function readMember(message: MemberMessage, clusterPublicKey: Uint8Array): Member {
  if (message.statement === null) throw new ContractError('malformed', 'it has no statement');
  const member = verifyStatement(message.statement, clusterPublicKey);
  const identityKey = decodeFixed(message.identity_key, 'identity_key', keyBytes);
  const sealingKey = decodeFixed(message.sealing_key, 'sealing_key', keyBytes);
  const isSame =
    Buffer.compare(identityKey, member.identityKey) === 0 &&
    Buffer.compare(sealingKey, member.sealingKey) === 0 &&
    agentId(identityKey) === message.agent_id;
  if (!isSame) throw new ContractError('mismatch', 'its statement is about other keys');
  assertSealingKey(member.sealingKey);
  return member;
}
