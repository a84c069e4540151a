import type { CaAccountEntity, CertificateAuthorityEntity } from '@certwright/core-schema';
import type { CaAccounts } from '../ca-accounts';
import type { CertificateAuthorities } from '../certificate-authorities';
import { type AccountKey, AcmeFault, type AcmeServer, isPassing } from '../../acme';
import type { AcmeAccounts } from './acme-accounts';
import type { AcmeServers } from './acme-servers';
import { isDown } from '../health/authority-health';

export interface RolloverEvents {
  keyChanged(authority: string): void;
  /** It is retried. */
  keyNotChanged(authority: string, error: unknown): void;
  /** It is not retried: the CA has refused it repeatedly, and no key is lost. */
  keyChangeRefused(authority: string, error: unknown): void;
  /** It is retried. */
  contactsNotUpdated(authority: string, error: unknown): void;
}

export interface KeepAccountsPorts {
  readonly accounts: Pick<CaAccounts, 'takeRollover' | 'beginRollover' | 'finishRollover' | 'ofAuthority'>;
  readonly authorities: Pick<CertificateAuthorities, 'byName'>;
  readonly sessions: Pick<AcmeAccounts, 'newSealedKey' | 'openKey' | 'byId'>;
  readonly servers: Pick<AcmeServers, 'of'>;
  readonly events: RolloverEvents;
}

/** Short, because an operator requests it and waits for the result. */
const restMs = 5_000;
/** How long a worker claims a key change; exceeds all its exchanges together, ms. */
const takenMs = 3 * 60_000;

/**
 * A key change ends after this many refusals in a row to one process, which take at least 12 minutes. A CA that fails over
 * to a lagging replica may refuse a change that it has carried out, and the next key must not be deleted then.
 */
const maxRefusals = 5;

/**
 * Carries out requested key changes of accounts (RFC 8555, section 7.3.5). The next key is stored before it is sent,
 * and the CA is queried for the valid one: after a crash the next round continues.
 *
 * @returns a function that runs one round and returns the pause until the next, ms
 */
export function changeAccountKeys(ports: KeepAccountsPorts): () => Promise<number> {
  /** Refusals in a row by account. */
  const refusals = new Map<string, number>();
  return async () => {
    const account = await ports.accounts.takeRollover(takenMs);
    if (account === null) return restMs;
    const { id, authority } = account;
    // Another process may have ended the change before this one.
    if (account.nextKeySealed === null) refusals.delete(id);
    try {
      const isLast = (refusals.get(id) ?? 0) + 1 >= maxRefusals;
      const refusal = await changeKey(ports, account, isLast);
      if (refusal === null) ports.events.keyChanged(authority);
      else ports.events.keyChangeRefused(authority, refusal);
      refusals.delete(id);
    } catch (error) {
      if (isRefusal(error) || error instanceof NeitherKey) refusals.set(id, (refusals.get(id) ?? 0) + 1);
      else refusals.delete(id);
      ports.events.keyNotChanged(authority, error);
    }
    return 0;
  };
}

function isRefusal(error: unknown): error is AcmeFault {
  return error instanceof AcmeFault && error.kind === 'problem' && !isPassing(error);
}

/** Both keys are kept: the CA may recognize one of them later. */
class NeitherKey extends Error {
  constructor(authority: string, accountUrl: string) {
    super(
      `${authority} recognizes neither the former nor the next key of the account ${accountUrl}. Both are kept. Ask the CA for the ` +
        `state of the account. If it recognizes a key again, run: npm run admin -- authority roll-account-key ${authority}`,
    );
    this.name = 'NeitherKey';
  }
}

/** @returns the CA's refusal, if it is the last one and has ended the change; null: the key is changed */
async function changeKey(
  { accounts, sessions, servers, authorities }: KeepAccountsPorts,
  { id, authority, accountUrl, keySealed }: CaAccountEntity,
  isLast: boolean,
): Promise<AcmeFault | NeitherKey | null> {
  const row = (await authorities.byName()).get(authority);
  if (row === undefined || accountUrl === null)
    throw new Error(`the account ${id} at ${authority} is not open`);
  const nextSealed = await accounts.beginRollover(id, sessions.newSealedKey(authority));
  const [former, next] = [sessions.openKey(authority, keySealed), sessions.openKey(authority, nextSealed)];
  const server = servers.of(row);
  const held = await heldKey(server, accountUrl, [next, former]);
  if (held === null) {
    const neither = new NeitherKey(authority, accountUrl);
    if (!isLast) throw neither;
    await accounts.finishRollover(id, nextSealed, 'neither');
    return neither;
  }
  if (held === former) {
    try {
      await server.account(former, accountUrl).changeKey(next);
    } catch (error) {
      if (!isLast || !isRefusal(error)) throw error;
      if ((await heldKey(server, accountUrl, [next, former])) !== former) throw error;
      await accounts.finishRollover(id, nextSealed, 'former');
      return error;
    }
  }
  await accounts.finishRollover(id, nextSealed, 'next');
  return null;
}

/** The key that the CA has for the account; null: it refuses both. Some CAs have another refusal than accountDoesNotExist. */
async function heldKey(
  server: AcmeServer,
  accountUrl: string,
  keys: readonly AccountKey[],
): Promise<AccountKey | null> {
  for (const key of keys) {
    try {
      if ((await server.findAccount(key))?.url === accountUrl) return key;
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }
  return null;
}

const contactsRestMs = 60_000;

/**
 * Updates the contacts at CAs when an operator changes them, and after each start. An unavailable CA delays no other.
 *
 * @returns a function that runs one round and returns the pause until the next, ms
 */
export function keepContacts(ports: KeepAccountsPorts): () => Promise<number> {
  const updated = new Map<string, string>();
  return async () => {
    for (const authority of (await ports.authorities.byName()).values()) {
      const { name, enabled } = authority;
      const wanted = JSON.stringify(authority.contacts);
      if (!enabled || isDown(authority) || updated.get(name) === wanted) continue;
      try {
        if (await updateContacts(ports, authority)) updated.set(name, wanted);
      } catch (error) {
        if (!(error instanceof AcmeFault)) throw error;
        ports.events.contactsNotUpdated(name, error);
      }
    }
    return contactsRestMs;
  };
}

/** @returns false without an account at the CA */
async function updateContacts(
  { accounts, sessions }: KeepAccountsPorts,
  { name, contacts }: CertificateAuthorityEntity,
): Promise<boolean> {
  const account = await accounts.ofAuthority(name);
  if (account?.state !== 'valid') return false;
  const session = await sessions.byId(account.id);
  // Some CAs do not store or return contacts.
  const { contacts: known } = await session.account.read();
  if (JSON.stringify([...known].sort()) !== JSON.stringify([...contacts].sort()))
    await session.account.updateContacts(contacts);
  return true;
}
