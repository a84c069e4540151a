import { decodeBase64 } from '@certwright/pki';
import { decodeBase64url, decodeFixed } from './base64url';
import { ContractError } from './contract-error';
import { isAgentId, keyBytes, signatureBytes } from './keys';
import { limits } from './limits';
import type {
  AgentTask,
  CertificateMessage,
  ClusterMessage,
  CsrResponse,
  CurrentCertificate,
  EnrolResponse,
  ErrorResponse,
  KeysMessage,
  MemberMessage,
  MembersResponse,
  OrderMessage,
  StateResponse,
} from './messages';
import type { SealedKey } from './sealed-key';
import { parseStrictJson } from './strict-json';

/*
 * What an agent reads from a server that it does not trust. Each reader builds its value from the members that the
 * protocol has; unknown members are dropped, and every other deviation is a ContractError that names the member.
 */

type Read<T> = (value: unknown, at: string) => T;

export const readEnrolled = (body: Uint8Array): EnrolResponse => {
  const enrolled = members(body);
  return {
    agent_id: agent(enrolled['agent_id'], 'agent_id'),
    cluster: cluster(enrolled['cluster'], 'cluster'),
  };
};

export const readState = (body: Uint8Array): StateResponse => {
  const state = members(body);
  const isReset = state['reset'] === undefined ? false : flag(state['reset'], 'reset');
  const orders = list(state['orders'], 'orders', limits.maxOrdersPerState, order);
  const version = count(state['version'], 'version');
  if (isReset && orders.length > 0) throw malformed('orders', 'is not empty in a response with "reset"');
  for (const [index, { version: changed }] of orders.entries()) {
    if (changed > version || changed < (orders[index - 1]?.version ?? 0))
      throw malformed(`orders[${index}].version`, 'is not in ascending order');
  }
  return {
    version,
    more: flag(state['more'], 'more'),
    reset: isReset,
    cluster: cluster(state['cluster'], 'cluster'),
    members_version: count(state['members_version'], 'members_version'),
    orders,
    released: list(state['released'], 'released', limits.maxOrdersPerCluster, name),
  };
};

/** Statements are text here; `acceptMembers` verifies them. */
export const readMembers = (body: Uint8Array): MembersResponse => {
  const response = members(body);
  const read = list(response['members'], 'members', limits.maxAgentsPerCluster, member);
  if (new Set(read.map(({ agent_id }) => agent_id)).size !== read.length)
    throw malformed('members', 'has an agent twice');
  return { version: count(response['version'], 'version'), members: read };
};

export const readSealedKeys = (body: Uint8Array): KeysMessage => ({
  keys: list(members(body)['keys'], 'keys', limits.maxAgentsPerCluster, sealedKey),
});

/** The certificates are base64 of at most 64 KiB DER here, and not read yet. */
export const readCertificate = (body: Uint8Array): CertificateMessage => {
  const certificate = members(body);
  return {
    leaf: der(certificate['leaf'], 'leaf'),
    chain: list(certificate['chain'], 'chain', limits.maxChainCertificates, der),
    root: der(certificate['root'], 'root'),
  };
};

export const readCsrAccepted = (body: Uint8Array): CsrResponse => ({
  revision: count(members(body)['revision'], 'revision'),
});

/** @returns undefined when it is no error object: a proxy responded, or the server is broken */
export const readError = (body: Uint8Array): ErrorResponse | undefined => {
  try {
    const error = members(body);
    const { field, sub_errors: subErrors } = error;
    return {
      code: text(error['code'], 'code', 100),
      message: text(error['message'], 'message', 10_000),
      ...(field === undefined ? {} : { field: text(field, 'field', 1_000) }),
      ...(subErrors === undefined ? {} : { sub_errors: list(subErrors, 'sub_errors', 1_000, subError) }),
    };
  } catch (error) {
    if (error instanceof ContractError) return undefined;
    throw error;
  }
};

function subError(value: unknown, at: string) {
  const { code, message, field } = object(value, at);
  return {
    code: text(code, `${at}.code`, 100),
    message: text(message, `${at}.message`, 10_000),
    ...(field === undefined ? {} : { field: text(field, `${at}.field`, 1_000) }),
  };
}

function order(value: unknown, at: string): OrderMessage {
  const read = object(value, at);
  const accepts = object(read['accepts'], `${at}.accepts`);
  return {
    name: name(read['name'], `${at}.name`),
    version: count(read['version'], `${at}.version`),
    revision: count(read['revision'], `${at}.revision`),
    dns_names: names(read['dns_names'], `${at}.dns_names`),
    key_type: oneOf(read['key_type'], `${at}.key_type`, ['rsa', 'ecdsa']),
    accepts: {
      rsa: list(accepts['rsa'], `${at}.accepts.rsa`, 20, count),
      ecdsa: list(accepts['ecdsa'], `${at}.accepts.ecdsa`, 20, (curve, place) => text(curve, place, 50)),
    },
    paused: flag(read['paused'], `${at}.paused`),
    csr_spki_sha256: orNull(read['csr_spki_sha256'], `${at}.csr_spki_sha256`, hash),
    certificate: orNull(read['certificate'], `${at}.certificate`, currentCertificate),
    install: oneOf(read['install'], `${at}.install`, ['go', 'hold']),
    tasks: list(read['tasks'], `${at}.tasks`, 100, task).filter((known) => known !== undefined),
  };
}

function currentCertificate(value: unknown, at: string): CurrentCertificate {
  const read = object(value, at);
  return {
    sha256: hash(read['sha256'], `${at}.sha256`),
    spki_sha256: hash(read['spki_sha256'], `${at}.spki_sha256`),
    not_before: time(read['not_before'], `${at}.not_before`),
    not_after: time(read['not_after'], `${at}.not_after`),
  };
}

/** @returns undefined for a type of a newer protocol, which is not for this agent */
function task(value: unknown, at: string): AgentTask | undefined {
  const read = object(value, at);
  const type = text(read['type'], `${at}.type`, 100);
  if (type === 'make_key') {
    const id = text(read['id'], `${at}.id`, 20);
    if (!/^[1-9]\d*$/.test(id)) throw malformed(`${at}.id`, 'is not an id');
    return { type, id, until: time(read['until'], `${at}.until`) };
  }
  if (type !== 'seal_key_for') return undefined;
  return {
    type,
    spki_sha256: hash(read['spki_sha256'], `${at}.spki_sha256`),
    members: list(read['members'], `${at}.members`, limits.maxAgentsPerCluster, agent),
  };
}

function member(value: unknown, at: string): MemberMessage {
  const read = object(value, at);
  return {
    agent_id: agent(read['agent_id'], `${at}.agent_id`),
    name: text(read['name'], `${at}.name`, limits.maxAgentTextLength),
    identity_key: key(read['identity_key'], `${at}.identity_key`),
    sealing_key: key(read['sealing_key'], `${at}.sealing_key`),
    statement: orNull(read['statement'], `${at}.statement`, (jws, place) => text(jws, place, 1_024)),
  };
}

function sealedKey(value: unknown, at: string): SealedKey {
  const read = object(value, at);
  return {
    sender: agent(read['sender'], `${at}.sender`),
    receiver: agent(read['receiver'], `${at}.receiver`),
    enc: key(read['enc'], `${at}.enc`),
    ciphertext: encoded(read['ciphertext'], `${at}.ciphertext`, limits.maxPkcs8Bytes + 16),
    signature: fixed(read['signature'], `${at}.signature`, signatureBytes),
  };
}

function cluster(value: unknown, at: string): ClusterMessage {
  const read = object(value, at);
  return {
    name: name(read['name'], `${at}.name`),
    cluster_key: orNull(read['cluster_key'], `${at}.cluster_key`, key),
  };
}

/** The rules of order names, which clusters share. Such a name can still be `../../etc`: see `orderFolder`. */
const name: Read<string> = (value, at) => {
  const read = text(value, at, 510);
  if (read === '' || [...read].length > 255 || !read.isWellFormed() || /\p{Cc}/u.test(read))
    throw malformed(at, 'is not a name');
  return read;
};

const dnsName: Read<string> = (value, at) => {
  const read = text(value, at, 255);
  if (!/^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)+$/.test(read))
    throw malformed(at, 'is not a DNS name');
  return read;
};

/** A CSR without names would be one for any name. */
const names: Read<readonly string[]> = (value, at) => {
  const read = list(value, at, limits.maxNamesPerOrder, dnsName);
  if (read.length === 0) throw malformed(at, 'is empty');
  return read;
};

const hash: Read<string> = (value, at) => {
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value))
    throw malformed(at, 'is not a SHA-256 hash in lower-case hexadecimal');
  return value;
};

const agent: Read<string> = (value, at) => {
  if (!isAgentId(value)) throw malformed(at, 'is not the id of an agent');
  return value;
};

const key: Read<string> = (value, at) => fixed(value, at, keyBytes);

function fixed(value: unknown, at: string, length: number): string {
  decodeFixed(value, at, length);
  return value as string;
}

function encoded(value: unknown, at: string, maxBytes: number): string {
  decodeBase64url(value, at, { minBytes: 1, maxBytes });
  return value as string;
}

const der: Read<string> = (value, at) => {
  if (typeof value !== 'string' || !decodeBase64(value, limits.maxCertificateBytes).ok)
    throw malformed(at, `is not base64 of at most ${limits.maxCertificateBytes} bytes`);
  return value;
};

const time: Read<string> = (value, at) => {
  const pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
  if (typeof value !== 'string' || !pattern.test(value) || Number.isNaN(Date.parse(value)))
    throw malformed(at, 'is not an RFC 3339 time');
  return value;
};

const count: Read<number> = (value, at) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw malformed(at, 'is not a whole number');
  return value;
};

const flag: Read<boolean> = (value, at) => {
  if (typeof value !== 'boolean') throw malformed(at, 'is not true or false');
  return value;
};

function text(value: unknown, at: string, maxLength: number): string {
  if (typeof value !== 'string') throw malformed(at, 'is not a string');
  if (value.length > maxLength) throw new ContractError('too_large', `${at} is longer than ${maxLength}`);
  return value;
}

function oneOf<const T extends string>(value: unknown, at: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw malformed(at, `is not one of ${allowed.join(', ')}`);
  return found;
}

function orNull<T>(value: unknown, at: string, read: Read<T>): T | null {
  return value === null ? null : read(value, at);
}

function list<T>(value: unknown, at: string, maxEntries: number, read: Read<T>): readonly T[] {
  if (!Array.isArray(value)) throw malformed(at, 'is not an array');
  if (value.length > maxEntries)
    throw new ContractError('too_large', `${at} has more than ${maxEntries} entries`);
  return value.map((entry, index) => read(entry, `${at}[${index}]`));
}

function members(body: Uint8Array): Record<string, unknown> {
  return object(parseStrictJson(body, limits.maxResponseBytes), 'the body');
}

function object(value: unknown, at: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed(at, 'is not an object');
  return value as Record<string, unknown>;
}

function malformed(at: string, what: string): ContractError {
  return new ContractError('malformed', `${at} ${what}`);
}
