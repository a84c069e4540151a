import { createPrivateKey, type KeyObject } from 'node:crypto';
import path from 'node:path';
import {
  agentId,
  decodeFixed,
  encodeBase64url,
  type MembersMemory,
  newIdentityKey,
  newSealingKey,
  noMembersMemory,
  rawPublicKey,
} from '@certwright/agent-contract';
import { replaceFile, secret } from '../files/durable';
import type { Files } from '../files/files';
import { enrolAgain, readJson, StateFault } from './json-file';

/** Who this host is. Its private keys never leave it. */
export interface Identity {
  readonly agentId: string;
  readonly identityKey: KeyObject;
  readonly sealingKey: KeyObject;
  /** By the cluster key, at enrolment; null in a cluster without one. */
  readonly statement: string | null;
  /** Raw public half of the cluster key, which was in the join string: pinned. */
  readonly clusterKey: Uint8Array | null;
  /** Null until the server confirmed the enrolment. */
  readonly cluster: string | null;
  readonly server: string;
  /** Of the machine at enrolment: a copy of the disk on another one must not be this agent. */
  readonly machineId: string | null;
  readonly isRefused: boolean;
}

interface StoredIdentity {
  readonly identity_key: string;
  readonly sealing_key: string;
  readonly statement: string | null;
  readonly cluster_key: string | null;
  readonly cluster: string | null;
  readonly server: string;
  readonly machine_id: string | null;
  readonly refused?: boolean;
}

const identityFile = (state: string): string => path.join(state, 'identity.json');
const membersFile = (state: string): string => path.join(state, 'members.json');

/** An identity that no server knows yet. */
export function newIdentity(parts: {
  readonly server: string;
  readonly clusterKey: Uint8Array | null;
  readonly machineId: string | null;
}): Identity {
  const identityKey = newIdentityKey();
  return {
    agentId: agentId(rawPublicKey(identityKey)),
    identityKey,
    sealingKey: newSealingKey(),
    statement: null,
    cluster: null,
    isRefused: false,
    ...parts,
  };
}

export function readIdentity(files: Files, state: string): Identity | null {
  const file = identityFile(state);
  const stored = readJson<StoredIdentity>(files, file);
  if (stored === null) return null;
  try {
    return identityOf(stored);
  } catch {
    throw new StateFault(`${file} is damaged; ${enrolAgain}`);
  }
}

function identityOf(stored: StoredIdentity): Identity {
  const identityKey = privateKey(stored.identity_key);
  return {
    agentId: agentId(rawPublicKey(identityKey)),
    identityKey,
    sealingKey: privateKey(stored.sealing_key),
    statement: stored.statement,
    clusterKey:
      stored.cluster_key === null
        ? null
        : decodeFixed(stored.cluster_key, 'cluster_key of identity.json', 32),
    cluster: stored.cluster,
    server: stored.server,
    machineId: stored.machine_id,
    isRefused: stored.refused === true,
  };
}

export function storeIdentity(files: Files, state: string, identity: Identity): void {
  const stored: StoredIdentity = {
    identity_key: pkcs8(identity.identityKey),
    sealing_key: pkcs8(identity.sealingKey),
    statement: identity.statement,
    cluster_key: identity.clusterKey === null ? null : encodeBase64url(identity.clusterKey),
    cluster: identity.cluster,
    server: identity.server,
    machine_id: identity.machineId,
    ...(identity.isRefused ? { refused: true } : {}),
  };
  replaceFile(files, identityFile(state), Buffer.from(`${JSON.stringify(stored, null, 2)}\n`), secret);
}

export function removeIdentity(files: Files, state: string): void {
  for (const file of [identityFile(state), membersFile(state)])
    if (files.state(file) !== null) files.remove(file);
}

/** What was learned about other members, so that a server cannot return to older statements. */
export function readMembersMemory(files: Files, state: string): MembersMemory {
  const file = membersFile(state);
  const whatToDo =
    'restore it from a backup, or remove it if you trust the members that the server lists now';
  const memory = readJson<MembersMemory>(files, file, whatToDo) ?? noMembersMemory;
  const { accepted, gone } = memory as Partial<MembersMemory>;
  if (typeof accepted !== 'object' || accepted === null || !Array.isArray(gone))
    throw new StateFault(`${file} is damaged; ${whatToDo}`);
  return memory;
}

export function storeMembersMemory(files: Files, state: string, memory: MembersMemory): void {
  replaceFile(files, membersFile(state), Buffer.from(`${JSON.stringify(memory)}\n`), secret);
}

/** Of systemd; null on a host without one. */
export function readMachineId(files: Files): string | null {
  for (const file of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const text = files.read(file, 256).toString('latin1').trim();
      if (/^[0-9a-f]{32}$/.test(text)) return text;
    } catch {
      // Not on this host, or not readable: then the check of clones does not apply.
    }
  }
  return null;
}

const pkcs8 = (key: KeyObject): string => key.export({ format: 'der', type: 'pkcs8' }).toString('base64');
const privateKey = (text: string): KeyObject =>
  createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' });
