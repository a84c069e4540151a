import {
  type CsrRequest,
  type EnrolRequest,
  type InstallationMessage,
  installationStates,
  isAgentId,
  limits,
  type ReportRequest,
  type SealedKey,
  type ServedMessage,
} from '@certwright/agent-contract';
import { ReadBy, Unreadable } from '@certwright/service';
import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions, ApiSchema } from '@nestjs/swagger';
import { decodeCsrField } from '@certwright/pki';
import { csrFaults } from '../wire/outcome-messages';

type Read<T> = (value: unknown, at: string) => T;

/** Which part of a member is wrong, and why. */
class Wrong extends Error {
  constructor(
    readonly at: string,
    readonly because: string,
  ) {
    super(because);
  }
}

/** A required member whose parts are read one by one; the first fault is reported. */
function Part(
  documented: ApiPropertyOptions,
  read: Read<unknown>,
  { isRequired = true } = {},
): PropertyDecorator {
  return (target, member) =>
    applyDecorators(
      isRequired ? ApiProperty(documented) : ApiPropertyOptional(documented),
      ReadBy(
        (value) => {
          try {
            if (value === undefined) throw new Wrong(String(member), 'It is missing.');
            return read(value, String(member));
          } catch (error) {
            if (!(error instanceof Wrong)) throw error;
            const code = value === undefined ? 'missing_field' : 'invalid_value';
            return new Unreadable([{ field: error.at, code, message: error.because }]);
          }
        },
        { isRequired },
      ),
    )(target, member);
}

const object: Read<Readonly<Record<string, unknown>>> = (value, at) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Wrong(at, 'It must be a JSON object.');
  return value as Readonly<Record<string, unknown>>;
};

const list =
  <T>(max: number, read: Read<T>): Read<readonly T[]> =>
  (value, at) => {
    if (!Array.isArray(value)) throw new Wrong(at, 'It must be an array.');
    if (value.length > max) throw new Wrong(at, `It has more than ${max} entries.`);
    return value.map((each, index) => read(each, `${at}[${index}]`));
  };

const orNull =
  <T>(read: Read<T>): Read<T | null> =>
  (value, at) =>
    value === null ? null : read(value, at);

const bytes =
  (min: number, max = min): Read<string> =>
  (value, at) => {
    const decoded = typeof value === 'string' ? Buffer.from(value, 'base64url') : null;
    // Node skips illegal characters and ignores surplus bits, so the encoding is compared.
    if (
      decoded === null ||
      decoded.toString('base64url') !== value ||
      decoded.length < min ||
      decoded.length > max
    )
      throw new Wrong(
        at,
        `It must be ${min === max ? min : `${min} to ${max}`} bytes in base64url without padding.`,
      );
    return value as string;
  };

/** For people: it is shown to them, and never interpreted. */
const text =
  (max: number, { allowed = /\P{Cc}/u, min = 1 } = {}) =>
  (value: unknown, at: string): string => {
    if (typeof value !== 'string' || value.length < min || value.length > max)
      throw new Wrong(at, `It must be a string of ${min} to ${max} characters.`);
    if ([...value].some((character) => !allowed.test(character)))
      throw new Wrong(at, 'It has control characters.');
    return value;
  };

/** Text that PostgreSQL compares or keeps as JSON: a lone surrogate is stored as U+FFFD, and refused in JSON. */
const wellFormed =
  (max: number): Read<string> =>
  (value, at) => {
    const known = text(max)(value, at);
    if (!known.isWellFormed()) throw new Wrong(at, 'It is not well-formed Unicode.');
    return known;
  };

const problem = text(limits.maxProblemLength, { allowed: /\P{Cc}|\n/u });

const hash: Read<string> = (value, at) => {
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value))
    throw new Wrong(at, 'It must be a SHA-256 hash in lower-case hexadecimal.');
  return value;
};

const agent: Read<string> = (value, at) => {
  if (!isAgentId(value)) throw new Wrong(at, 'It must be the id of an agent.');
  return value;
};

/** From the year 2000 to 2200, so that every time can be stored. */
const time: Read<string> = (value, at) => {
  const isTime = typeof value === 'string' && /^2[01]\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value);
  // To `Date`, 30 February is 2 March: formatting it again detects days that PostgreSQL refuses.
  const ms = isTime ? Date.parse(value) : NaN;
  if (!isTime || Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== value.slice(0, 10))
    throw new Wrong(at, 'It must be a time as in 2026-11-24T12:00:00Z.');
  return value;
};

const sealedKey: Read<SealedKey> = (value, at) => {
  const key = object(value, at);
  return {
    sender: agent(key['sender'], `${at}.sender`),
    receiver: agent(key['receiver'], `${at}.receiver`),
    enc: bytes(32)(key['enc'], `${at}.enc`),
    ciphertext: bytes(17, limits.maxPkcs8Bytes + 16)(key['ciphertext'], `${at}.ciphertext`),
    signature: bytes(64)(key['signature'], `${at}.signature`),
  };
};

const sealedKeys = list(limits.maxAgentsPerCluster, sealedKey);

const served: Read<ServedMessage> = (value, at) => {
  const each = object(value, at);
  return {
    address: wellFormed(limits.maxAgentTextLength + 100)(each['address'], `${at}.address`),
    sha256: orNull(hash)(each['sha256'], `${at}.sha256`),
    checked_at: time(each['checked_at'], `${at}.checked_at`),
  };
};

/** Names of orders need no rule of their own: they are compared with those of the cluster. */
const orderName = text(510);

const installation: Read<InstallationMessage> = (value, at) => {
  const each = object(value, at);
  const { state } = each;
  const known = installationStates.find((name) => name === state);
  if (known === undefined)
    throw new Wrong(`${at}.state`, `It must be one of: ${installationStates.join(', ')}.`);
  return {
    order: orderName(each['order'], `${at}.order`),
    point: wellFormed(limits.maxPointLength)(each['point'], `${at}.point`),
    state: known,
    certificate_sha256: orNull(hash)(each['certificate_sha256'], `${at}.certificate_sha256`),
    served: list(limits.maxServedPerInstallation, served)(each['served'], `${at}.served`),
    since: time(each['since'], `${at}.since`),
    problem: orNull(problem)(each['problem'], `${at}.problem`),
  };
};

const documentedKey = { type: String, pattern: '^[A-Za-z0-9_-]{43}$' } as const;
const documentedText = { type: String, minLength: 1, maxLength: limits.maxAgentTextLength } as const;
const agentText = text(limits.maxAgentTextLength);

/** @ApiProperty classes of the parts, which `Part` reads. */
export class SealedKeySchema implements SealedKey {
  @ApiProperty({ type: String, pattern: '^[A-Za-z0-9_-]{22}$' }) sender: string;
  @ApiProperty({ type: String, pattern: '^[A-Za-z0-9_-]{22}$' }) receiver: string;
  @ApiProperty({ ...documentedKey, description: 'Encapsulated key of HPKE (RFC 9180).' }) enc: string;
  @ApiProperty({ description: 'PKCS#8 DER, sealed for the receiver; base64url.' }) ciphertext: string;
  @ApiProperty({ description: "By the sender's identity key; base64url." }) signature: string;
}

export class AgentServedSchema implements ServedMessage {
  @ApiProperty({ example: '127.0.0.1:443/www.example.com' }) address: string;
  @ApiProperty({ type: String, nullable: true, description: 'Null: no certificate was received.' })
  sha256: string | null;
  @ApiProperty({ format: 'date-time' }) checked_at: string;
}

@ApiSchema({ name: 'AgentInstallationSchema' })
export class AgentInstallationSchema implements InstallationMessage {
  @ApiProperty({ example: 'www.example.com' }) order: string;
  @ApiProperty({ example: 'nginx', maxLength: limits.maxPointLength }) point: string;
  @ApiProperty({ enum: installationStates }) state: InstallationMessage['state'];
  @ApiProperty({ type: String, nullable: true }) certificate_sha256: string | null;
  @ApiProperty({ type: [AgentServedSchema], maxItems: limits.maxServedPerInstallation })
  served: readonly AgentServedSchema[];
  @ApiProperty({ format: 'date-time' }) since: string;
  @ApiProperty({ type: String, nullable: true, maxLength: limits.maxProblemLength }) problem: string | null;
}

@ApiSchema({ name: 'ReportingAgentSchema' })
export class ReportingAgentSchema {
  @ApiProperty(documentedText) version: string;
  @ApiProperty(documentedText) platform: string;
  @ApiProperty({ type: String, nullable: true, maxLength: limits.maxProblemLength }) problem: string | null;
}

/** `POST enrol`. */
@ApiSchema({ name: 'EnrolRequestSchema' })
export class EnrolBody implements EnrolRequest {
  @Part({ ...documentedKey, description: 'Of the join string.' }, text(200))
  token: string;

  @Part({ ...documentedKey, description: 'Ed25519; signs the request.' }, bytes(32))
  identity_key: string;

  @Part({ ...documentedKey, description: 'X25519.' }, bytes(32))
  sealing_key: string;

  @Part(
    {
      type: String,
      nullable: true,
      maxLength: 1024,
      description: 'JWS of the cluster key; null without one.',
    },
    orNull(text(1_024)),
  )
  statement: string | null;

  @Part({ ...documentedText, description: 'Of the host, for people.' }, agentText)
  name: string;

  @Part(documentedText, agentText)
  version: string;

  @Part({ ...documentedText, example: 'linux-x64 Debian 12' }, agentText)
  platform: string;
}

/** `POST orders/{name}/keys/{spki_sha256}`. */
@ApiSchema({ name: 'SealedKeysRequestSchema' })
export class KeysBody {
  @Part({ type: [SealedKeySchema], maxItems: limits.maxAgentsPerCluster }, sealedKeys)
  keys: readonly SealedKey[];
}

/** `POST orders/{name}/csr`. */
@ApiSchema({ name: 'AgentCsrRequestSchema' })
export class CsrBody implements Omit<CsrRequest, 'csr'> {
  @Part(
    { type: String, pattern: '^[1-9][0-9]{0,18}$', description: 'Id of the task make_key.' },
    (value, at) => {
      if (typeof value === 'string' && /^[1-9]\d{0,17}$/.test(value)) return value;
      throw new Wrong(at, 'It must be the id of a task.');
    },
  )
  task: string;

  @ApiProperty({ type: String, format: 'byte', description: 'PKCS#10, DER, base64 on one line.' })
  @ReadBy(
    (value) => {
      if (typeof value !== 'string') return Unreadable.because('It must be a string.');
      const decoded = decodeCsrField(value);
      return decoded.ok ? decoded.der : new Unreadable(csrFaults(decoded.faults));
    },
    { isRequired: true },
  )
  csr: Uint8Array;

  @Part(
    {
      type: [SealedKeySchema],
      maxItems: limits.maxAgentsPerCluster,
      description: 'The new key, sealed for every other member.',
    },
    sealedKeys,
  )
  keys: readonly SealedKey[];
}

/** `POST reports`. */
@ApiSchema({ name: 'AgentReportSchema' })
export class ReportBody implements ReportRequest {
  @Part({ type: 'integer', minimum: 1, description: 'Grows with each report of the agent.' }, (value, at) => {
    if (Number.isSafeInteger(value) && (value as number) > 0) return value;
    throw new Wrong(at, 'It must be a positive whole number.');
  })
  number: number;

  @Part({ type: String, format: 'date-time' }, time)
  sent_at: string;

  @Part({ type: ReportingAgentSchema }, (value, at) => {
    const each = object(value, at);
    return {
      version: agentText(each['version'], `${at}.version`),
      platform: agentText(each['platform'], `${at}.platform`),
      problem: orNull(problem)(each['problem'], `${at}.problem`),
    };
  })
  agent: ReportRequest['agent'];

  @Part(
    { type: [AgentInstallationSchema], maxItems: limits.maxInstallationsPerReport },
    list(limits.maxInstallationsPerReport, installation),
  )
  installations: readonly InstallationMessage[];

  @Part(
    {
      type: [String],
      maxItems: limits.maxInstallationsPerReport,
      description: 'Orders of the cluster that no service of the host uses.',
    },
    list(limits.maxInstallationsPerReport, orderName),
    { isRequired: false },
  )
  without_points: readonly string[] = [];
}

/** `GET state`. */
export class StateQuery {
  @WholeNumber(
    { default: 0, description: 'The version that the agent has; 0: none.' },
    Number.MAX_SAFE_INTEGER,
  )
  after = 0;

  @WholeNumber(
    { default: limits.defaultWaitS, maximum: limits.maxWaitS, description: 'Seconds to wait for a change.' },
    limits.maxWaitS,
  )
  wait: number = limits.defaultWaitS;
}

function WholeNumber(documented: ApiPropertyOptions, max: number): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ type: 'integer', minimum: 0, ...documented } as ApiPropertyOptions),
    ReadBy((value) => {
      const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : NaN;
      if (Number.isNaN(number)) return Unreadable.because('It must be one whole number.');
      if (number <= max) return number;
      return new Unreadable([{ code: 'out_of_range', message: `It must be from 0 to ${max}.` }]);
    }),
  );
}
