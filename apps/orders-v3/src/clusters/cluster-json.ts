import {
  type Cluster,
  type ClusterAgent,
  type ClusterEnrolment,
  maxSilenceMinutes,
  offlineAdvice,
} from '@certwright/accounts';
import { timestamp } from '@certwright/service';
import { ApiProperty } from '@nestjs/swagger';
import { documentedClusterKey, documentedRotateKeys } from './cluster-request';

/** A cluster in a response. */
export class ClusterSchema {
  @ApiProperty({ example: 'web' })
  name: string;

  @ApiProperty({
    ...documentedClusterKey,
    description: 'Ed25519 public key, base64url. null: the cluster has one agent only.',
  })
  cluster_key: string | null;

  @ApiProperty(documentedRotateKeys)
  rotate_keys: boolean;

  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

/** Result of a rekey. */
export class RekeySchema {
  @ApiProperty({ type: 'integer', description: 'Orders that get a new key.' })
  orders: number;
}

const enrolmentStates = ['active', 'used_up', 'expired', 'revoked'] as const;

/** An enrolment token in a list, without the token. */
export class EnrolmentSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({ type: 'integer', description: 'How many hosts can enrol with the token.' })
  uses: number;

  @ApiProperty({ type: 'integer', description: 'How many have enrolled.' })
  used: number;

  @ApiProperty({ enum: enrolmentStates })
  state: (typeof enrolmentStates)[number];

  @ApiProperty({ format: 'date-time' })
  expires_at: string;

  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

/** The response to its creation. */
export class EnrolmentWithTokenSchema extends EnrolmentSchema {
  @ApiProperty({
    example: 'n5cJq1M0vW8kq0bF2y3Zc4tXh6sRzYp7uE9aLdGm1oQ',
    description:
      'Shown in this response only. The join string of a host is cwj1.<token>, or cwj1.<token>.<seed of the cluster key>.',
  })
  token: string;
}

const agentStates = ['online', 'offline', 'removed'] as const;

/** An agent in a response. */
export class AgentSchema {
  @ApiProperty({
    example: 'fT2n9Wq0s8LkM4vXc1Zb7A',
    description: 'base64url of the first 16 bytes of the SHA-256 over its identity key.',
  })
  id: string;

  @ApiProperty({ example: 'web-1', description: 'Name of the host, as the agent reports it.' })
  name: string;

  @ApiProperty({ example: '1.4.0' })
  version: string;

  @ApiProperty({ example: 'linux x64' })
  platform: string;

  @ApiProperty({
    enum: agentStates,
    description: `offline: not seen for ${maxSilenceMinutes} minutes. removed: its requests are refused.`,
  })
  state: (typeof agentStates)[number];

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  last_seen_at: string | null;

  @ApiProperty({
    type: Number,
    nullable: true,
    description: 'Seconds that the clock of the host is ahead of ours; null: not known yet.',
  })
  clock_offset: number | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'What is wrong on the host, as the agent reports it, or what to do when it is offline.',
  })
  problem: string | null;

  @ApiProperty({ format: 'date-time' })
  enrolled_at: string;
}

export function clusterJson({ name, clusterKey, rotateKeys, createdAt }: Cluster): ClusterSchema {
  return {
    name,
    cluster_key: clusterKey && clusterKey.toString('base64url'),
    rotate_keys: rotateKeys,
    created_at: timestamp(createdAt),
  };
}

export function enrolmentJson(enrolment: ClusterEnrolment): EnrolmentSchema {
  return {
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(enrolment.id),
    uses: enrolment.uses,
    used: enrolment.used,
    state: enrolmentState(enrolment),
    expires_at: timestamp(enrolment.expiresAt),
    created_at: timestamp(enrolment.createdAt),
  };
}

function enrolmentState({ uses, used, isExpired, revokedAt }: ClusterEnrolment): EnrolmentSchema['state'] {
  if (revokedAt !== null) return 'revoked';
  if (used >= uses) return 'used_up';
  return isExpired ? 'expired' : 'active';
}

export function agentJson(agent: ClusterAgent): AgentSchema {
  const { id, name, version, platform, state, lastSeenAt, clockOffsetS, problem, enrolledAt } = agent;
  return {
    id,
    name,
    version,
    platform,
    state,
    last_seen_at: timestamp(lastSeenAt),
    clock_offset: clockOffsetS,
    problem: state === 'offline' ? offlineAdvice(problem) : problem,
    enrolled_at: timestamp(enrolledAt),
  };
}
