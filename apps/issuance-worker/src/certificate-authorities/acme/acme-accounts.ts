import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import type { CaAccountEntity, CertificateAuthorityEntity } from '@certwright/core-schema';
import { type CaAccounts, isRolloverSuspended } from '../ca-accounts';
import type { CertificateAuthorities } from '../certificate-authorities';
import type { SealingKeys } from '@certwright/sealing';
import {
  AccountKey,
  type AcmeAccount,
  AcmeFault,
  type AcmeServer,
  type ExternalAccount,
  type FoundAccount,
  isProblem,
  readHmacKey,
} from '../../acme';
import type { AcmeServers } from './acme-servers';

/** One CA and our account there. */
export interface AcmeSession {
  readonly authority: CertificateAuthorityEntity;
  readonly row: CaAccountEntity;
  readonly key: AccountKey;
  readonly server: AcmeServer;
  readonly account: AcmeAccount;
}

export interface AccountEvents {
  accountMade(authority: string, accountUrl: string): void;
  /** The CA no longer accepts our account; the next order creates another one. */
  accountLost(authority: string, accountUrl: string | null): void;
}

export interface AccountPorts {
  readonly authorities: Pick<CertificateAuthorities, 'byName'>;
  readonly accounts: CaAccounts;
  readonly servers: AcmeServers;
  /** Unseal secrets of the worker. */
  readonly keys: SealingKeys;
  readonly events: AccountEvents;
}

/**
 * An account ends when the CA has denied it for this long, ms: a CA that fails over to a lagging replica does so for
 * minutes, and a new account loses the orders in progress, the authorizations, and maybe a key for external binding.
 */
const deniedForMs = 15 * 60_000;
/** Max time between two denials of one series, ms; a CA that is down gets an attempt a minute. */
const maxDenialGapMs = 10 * 60_000;

/** If an account is lost sooner, the cause is likely not the CA alone and another account would be lost too, ms. */
const minLifeMs = 60 * 60 * 1_000;

/**
 * How long a valid account is used without reading its row again, ms. Later changes are found anyway: the CA refuses an
 * earlier key or an ended account, and `keyChanges` and `lost` read the row.
 */
const keptMs = 1_000;

/**
 * How long orders share a failed request for an account, ms: some checked whether the CA is down before that was
 * stored.
 */
const failureSharedMs = 1_000;

interface Creation {
  readonly account: Promise<CaAccountEntity>;
  /** In progress: Infinity. */
  untilMs: number;
}

const keyContext = (authority: string) => `ca-account:${authority}`;
const externalContext = (authority: string) => `ca-eab:${authority}`;
const nonceBytes = 12;

/** Our accounts at CAs. A key is sealed and stored before it is sent to the CA. */
export class AcmeAccounts {
  /** Unsealed keys by row id: unsealing and deriving cost as much as a signature. */
  private readonly opened = new Map<string, { readonly sealed: Buffer; readonly key: AccountKey }>();
  /** Row ids of accounts that a CA has denied to this process, and not used successfully since. */
  private readonly denied = new Set<string>();
  /** Requests for a new account in progress, and those that failed a moment ago, by CA. */
  private readonly creating = new Map<string, Creation>();
  /** Valid accounts by CA. */
  private readonly kept = new Map<string, { readonly row: CaAccountEntity; readonly untilMs: number }>();

  constructor(private readonly ports: AccountPorts) {}

  /**
   * Returns the account at the CA and creates it if needed. Concurrent workers get the same one.
   *
   * @param beforeExchange called before each request to the CA
   * @throws AcmeFault
   */
  async at(
    authority: CertificateAuthorityEntity,
    beforeExchange: () => Promise<void> = async () => undefined,
  ): Promise<AcmeSession> {
    const standing = await this.standing(authority.name);
    if (standing?.state === 'valid') return this.session(authority, standing);
    await beforeExchange();
    // CAs limit new accounts: orders of this process share one request and its outcome.
    let creation = this.creating.get(authority.name);
    if (creation === undefined || performance.now() >= creation.untilMs) {
      creation = { account: this.create(authority, standing), untilMs: Infinity };
      this.creating.set(authority.name, creation);
    }
    try {
      return this.session(authority, await creation.account);
    } catch (error) {
      if (creation.untilMs === Infinity) creation.untilMs = performance.now() + failureSharedMs;
      throw error;
    }
  }

  private async create(
    authority: CertificateAuthorityEntity,
    standing: CaAccountEntity | null,
  ): Promise<CaAccountEntity> {
    const { accounts, servers } = this.ports;
    const server = servers.of(authority);
    const row = standing ?? (await accounts.begin(authority.name, this.newSealedKey(authority.name)));
    const { url, isNew } = await server.newAccount(this.keyOf(row), {
      contacts: authority.contacts,
      termsOfServiceAgreed: true,
      externalAccount: this.externalAccountOf(authority),
    });
    await accounts.opened(row.id, url);
    this.creating.delete(authority.name);
    if (isNew) this.ports.events.accountMade(authority.name, url);
    return { ...row, state: 'valid', accountUrl: url };
  }

  /** The account that placed an order, active or ended. */
  async byId(id: string): Promise<AcmeSession> {
    const row = await this.ports.accounts.byId(id);
    const authority = row === null ? undefined : (await this.ports.authorities.byName()).get(row.authority);
    if (row === null || authority === undefined) throw new Error(`the CA of account ${id} no longer exists`);
    return this.session(authority, row);
  }

  /**
   * The account that placed an order; if it has ended, its successor, which a CA also accepts when it has
   * authorizations for all names. @throws AcmeFault
   */
  async standingFor(id: string): Promise<AcmeSession> {
    const session = await this.byId(id);
    return session.row.state === 'ended' ? await this.at(session.authority) : session;
  }

  /**
   * Whether the CA may have refused the key of the session: it was changed since, or its change is in progress, and the
   * CA does not confirm the key. A change that the CA refuses takes a while to end.
   */
  async keyChanges({ row, server, key }: AcmeSession): Promise<boolean> {
    const now = await this.ports.accounts.byId(row.id);
    if (now === null || !now.keySealed.equals(row.keySealed)) return now !== null;
    if (now.nextKeySealed === null || isRolloverSuspended(now)) return false;
    const found = await whatIsFound(server.findAccount(key));
    return found === null || found === undefined;
  }

  /**
   * Handles a CA response that the account does not exist or is not authorized, with a request for the account of its
   * key (RFC 8555, section 7.3.1). The account ends when the CA shows it as deactivated or revoked, which is
   * irreversible, or has denied it repeatedly for some time.
   *
   * @returns `ended`: the next order creates another one; `denied`: the CA denies it, maybe for a moment; else null
   */
  async lost({ row, authority, server, key }: AcmeSession, now: Date): Promise<'ended' | 'denied' | null> {
    const { accounts } = this.ports;
    if ((await accounts.byId(row.id))?.state === 'ended') return 'ended';
    if (now.getTime() - row.createdAt.getTime() < minLifeMs) return null;
    const found = await whatIsFound(server.findAccount(key));
    if (found === undefined) return null;
    this.kept.delete(authority.name);
    if (found?.state.status === 'valid') {
      await accounts.known(row.id);
      // The CA has moved it.
      if (found.url !== row.accountUrl) await accounts.opened(row.id, found.url);
      return null;
    }
    if (found === null) {
      this.denied.add(row.id);
      if ((await accounts.denied(row.id, maxDenialGapMs)) < deniedForMs) return 'denied';
    }
    await accounts.end(row.id);
    this.ports.events.accountLost(authority.name, row.accountUrl);
    return 'ended';
  }

  /** The CA has carried out requests of the account. */
  async used({ row: { id } }: AcmeSession): Promise<void> {
    if (this.denied.delete(id)) await this.ports.accounts.known(id);
  }

  newSealedKey(authority: string): Buffer {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return this.ports.keys.seal(pem, keyContext(authority), randomBytes(nonceBytes));
  }

  openKey(authority: string, sealed: Uint8Array): AccountKey {
    return new AccountKey(createPrivateKey(this.ports.keys.open(sealed, keyContext(authority))));
  }

  private async standing(authority: string): Promise<CaAccountEntity | null> {
    const kept = this.kept.get(authority);
    const now = performance.now();
    if (kept !== undefined && kept.untilMs > now) return kept.row;
    const row = await this.ports.accounts.ofAuthority(authority);
    if (row?.state === 'valid') this.kept.set(authority, { row, untilMs: now + keptMs });
    return row;
  }

  private session(authority: CertificateAuthorityEntity, row: CaAccountEntity): AcmeSession {
    if (row.accountUrl === null) throw new Error(`the account ${row.id} at ${row.authority} is not open yet`);
    const server = this.ports.servers.of(authority);
    const key = this.keyOf(row);
    return { authority, row, key, server, account: server.account(key, row.accountUrl) };
  }

  private keyOf({ id, authority, keySealed }: CaAccountEntity): AccountKey {
    const known = this.opened.get(id);
    if (known?.sealed.equals(keySealed) === true) return known.key;
    const key = this.openKey(authority, keySealed);
    this.opened.set(id, { sealed: keySealed, key });
    return key;
  }

  private externalAccountOf({
    name,
    eabKeyId,
    eabHmacSealed,
  }: CertificateAuthorityEntity): ExternalAccount | null {
    if (eabKeyId === null || eabHmacSealed === null) return null;
    const hmacKey = readHmacKey(this.ports.keys.open(eabHmacSealed, externalContext(name)));
    if (hmacKey === null) throw new Error(`the external account key of ${name} is not base64url`);
    return { keyId: eabKeyId, hmacKey };
  }
}

/** @returns undefined: unknown, since the request failed as well */
async function whatIsFound(finding: Promise<FoundAccount | null>): Promise<FoundAccount | null | undefined> {
  try {
    return await finding;
  } catch (error) {
    // Some CAs refuse the key of a deactivated account (section 7.3.6).
    if (isProblem(error, 'unauthorized')) return null;
    if (error instanceof AcmeFault) return undefined;
    throw error;
  }
}
