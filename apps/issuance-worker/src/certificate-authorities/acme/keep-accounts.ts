import type { CaAccountEntity, CertificateAuthorityEntity } from '@certwright/core-schema';
import type { CaAccounts } from '../ca-accounts';
import type { CertificateAuthorities } from '../certificate-authorities';
import { AcmeFault } from '../../acme';
import type { AcmeAccounts } from './acme-accounts';
import type { AcmeServers } from './acme-servers';
import { isDown } from '../health/authority-health';

export interface RolloverEvents {
  keyChanged(authority: string): void;
  /** It is retried. */
  keyNotChanged(authority: string, error: unknown): void;
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
 * Carries out requested key changes of accounts (RFC 8555, section 7.3.5). The next key is stored before it is sent,
 * and the CA is queried for the valid one: after a crash the next round continues.
 *
 * @returns a function that runs one round and returns the pause until the next, ms
 */
export function changeAccountKeys(ports: KeepAccountsPorts): () => Promise<number> {
  return async () => {
    const account = await ports.accounts.takeRollover(takenMs);
    if (account === null) return restMs;
    try {
      await changeKey(ports, account);
      ports.events.keyChanged(account.authority);
    } catch (error) {
      ports.events.keyNotChanged(account.authority, error);
    }
    return 0;
  };
}

async function changeKey(
  { accounts, sessions, servers, authorities }: KeepAccountsPorts,
  { id, authority, accountUrl, keySealed }: CaAccountEntity,
): Promise<void> {
  const row = (await authorities.byName()).get(authority);
  if (row === undefined || accountUrl === null)
    throw new Error(`the account ${id} at ${authority} is not open`);
  const nextSealed = await accounts.beginRollover(id, sessions.newSealedKey(authority));
  const [former, next] = [sessions.openKey(authority, keySealed), sessions.openKey(authority, nextSealed)];
  const server = servers.of(row);
  const held = await server.keyOfAccount(accountUrl, [next, former]);
  if (held === null) throw new Error(`${authority} knows neither key of its account`);
  if (held === former) await server.account(former, accountUrl).changeKey(next);
  await accounts.finishRollover(id, nextSealed, 'next');
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
