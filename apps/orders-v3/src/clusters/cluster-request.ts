import {
  BooleanMember,
  Ignored,
  type MemberFault,
  type ReadMembers,
  ReadBy,
  unknownMemberFaults,
  Unreadable,
} from '@certwright/service';
import { ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { NameMember } from '../orders/order-members';

/** Length of an Ed25519 public key, RFC 8032, section 5.1.5. */
const clusterKeyBytes = 32;

/** Documents `cluster_key` of requests and responses. */
export const documentedClusterKey = {
  type: String,
  nullable: true,
  pattern: '^[A-Za-z0-9_-]{43}$',
  example: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
} as const;

/** Documents `rotate_keys` of requests and responses. */
export const documentedRotateKeys = {
  default: true,
  description:
    'Whether each renewal begins with a new key. If no agent creates one in time, the present key is used.',
} as const;

/** The body of a POST; a member that is left out keeps its value, or gets its default. */
@ApiSchema({ name: 'ClusterRequestSchema' })
export class ClusterRequest {
  @NameMember('Identifies the cluster in URLs and in orders. Required on creation, and cannot change.')
  name?: string;

  @ApiPropertyOptional({
    ...documentedClusterKey,
    default: null,
    description:
      'Ed25519 public key, base64url without padding. Its private half signs which hosts are members, and is never sent here. Without a cluster key, the cluster has one agent only. It can change only while the cluster has no agents.',
  })
  @ReadBy(readClusterKey)
  cluster_key?: Buffer | null;

  @BooleanMember(documentedRotateKeys)
  rotate_keys?: boolean;

  @Ignored()
  created_at?: unknown;
}

function readClusterKey(value: unknown): Buffer | null | Unreadable {
  if (value === null) return null;
  const key = typeof value === 'string' ? Buffer.from(value, 'base64url') : Buffer.alloc(0);
  // Node skips illegal characters and ignores surplus bits, so the encoding is compared.
  if (key.length === clusterKeyBytes && key.toString('base64url') === value) return key;
  return Unreadable.because(
    'It must be null, or an Ed25519 public key: 32 bytes as base64url without padding, 43 characters.',
  );
}

/** Everything that is wrong with the body that modifies a cluster. */
export function updateFaults(read: ReadMembers<ClusterRequest>, name: string): readonly MemberFault[] {
  const renames = read.value.name !== undefined && read.value.name !== name;
  return [
    ...read.faults,
    ...unknownMemberFaults(read),
    ...(renames
      ? [{ field: 'name', code: 'immutable_field' as const, message: 'A cluster keeps its name.' }]
      : []),
  ];
}

/** The body of a rekey. */
@ApiSchema({ name: 'RekeyRequestSchema' })
export class RekeyRequest {
  @BooleanMember({
    default: false,
    description: 'true: all keys at once; false: spread over an hour, so that CAs do not limit the rate.',
  })
  now = false;
}

const maxUses = 1_000;
const minutesS = 60;
const hourS = 60 * minutesS;
const maxExpiryS = 30 * 24 * hourS;

/** The body of a POST of an enrolment token. */
@ApiSchema({ name: 'EnrolmentRequestSchema' })
export class EnrolmentRequest {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: maxUses,
    default: 1,
    description: 'How many hosts can enrol with the token.',
  })
  @ReadBy((value) => wholeNumber(value, 1, maxUses))
  uses = 1;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: minutesS,
    maximum: maxExpiryS,
    default: hourS,
    description: 'Seconds until the token expires.',
  })
  @ReadBy((value) => wholeNumber(value, minutesS, maxExpiryS))
  expires_in = hourS;
}

function wholeNumber(value: unknown, min: number, max: number): number | Unreadable {
  if (typeof value !== 'number' || !Number.isInteger(value))
    return Unreadable.because('It must be a whole number.');
  if (value >= min && value <= max) return value;
  return new Unreadable([{ code: 'out_of_range', message: `It must be from ${min} to ${max}.` }]);
}
