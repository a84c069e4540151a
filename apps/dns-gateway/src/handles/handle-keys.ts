import type { IntegrationOwner, Zone } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import type { Setting } from '@certwright/service';
import type { DnsRecord, KeptCredentials } from '../providers/dns-provider';
import {
  badHandle,
  type HandleKind,
  handleKinds,
  maxContentBytes,
  masterKey,
  masterKeyBytes,
  type MasterKey,
  open,
  seal,
} from './handle-seal';

/**
 * Content of a record handle: all that is needed to remove the record. A caller cannot choose any of it when
 * removing.
 */
export interface HandledRecord {
  readonly zone: Zone;
  readonly record: DnsRecord;
  /** True: the record existed before it was added, so the gateway must not remove it. */
  readonly existed?: true;
}

export interface OpenedIntegration {
  readonly kept: KeptCredentials;
  /** Whether the sealing key is no longer the first: the caller gets a new handle. */
  readonly isRetiring: boolean;
}

/**
 * Seals and opens handles. Stateless: a handle contains all its data, for every process that has its key. Both kinds
 * are bound to account, integration and provider, and open only with the same three.
 */
export class HandleKeys {
  readonly #masters: readonly MasterKey[];
  readonly #sealing: MasterKey;

  /**
   * @param keys 32 bytes each; the first one seals, all of them open
   * @throws RangeError when there is none, one has another length, or one is listed twice
   */
  constructor(keys: readonly Buffer[]) {
    this.#masters = keys.map(masterKey);
    const [first] = this.#masters;
    if (first === undefined) throw new RangeError('at least one handle key is needed');
    if (keys.some(({ length }) => length !== masterKeyBytes))
      throw new RangeError('a handle key has 32 bytes');
    const ids = new Set(this.#masters.map(({ id }) => id.toString('hex')));
    if (ids.size !== keys.length) throw new RangeError('a handle key is listed twice');
    this.#sealing = first;
  }

  /**
   * Start of the handles under each key, after their prefix, the sealing key first. Lets callers count their handles
   * under a retiring key. Thirty bits of the key's id, and nothing of the key.
   */
  marks(): readonly string[] {
    return this.#masters.map(({ id }) => id.toString('base64url').slice(0, 5));
  }

  /** @throws Problem `invalid_value` when the credentials are too long */
  sealIntegration(owner: IntegrationOwner, kept: KeptCredentials): string {
    const content = Buffer.from(JSON.stringify(kept));
    if (content.length > maxContentBytes(handleKinds.integration)) {
      throw new Problem(
        'invalid_value',
        `The credentials are longer than the ${maxContentBytes(handleKinds.integration)} bytes that a handle holds.`,
        { field: 'credentials' },
      );
    }
    return this.#seal(content, handleKinds.integration, owner);
  }

  /** @throws Problem `bad_handle` */
  openIntegration(owner: IntegrationOwner, text: string): OpenedIntegration {
    const { value, isRetiring } = this.#open(text, handleKinds.integration, owner);
    return { kept: value as KeptCredentials, isRetiring };
  }

  /** @throws Problem `provider_rejected` when the provider's own id of the zone is too long for a handle */
  sealRecord(owner: IntegrationOwner, { zone, record, existed }: HandledRecord): string {
    const content = Buffer.from(JSON.stringify({ zone, record, existed } satisfies HandledRecord));
    if (content.length > maxContentBytes(handleKinds.record)) {
      throw new Problem(
        'provider_rejected',
        'The provider names the zone in a way that is too long to keep.',
      );
    }
    return this.#seal(content, handleKinds.record, owner);
  }

  /** @throws Problem `bad_handle` */
  openRecord(owner: IntegrationOwner, text: string): HandledRecord {
    return this.#open(text, handleKinds.record, owner).value as HandledRecord;
  }

  #seal(content: Buffer, kind: HandleKind, owner: IntegrationOwner): string {
    return seal(content, kind, bindingOf(owner), this.#sealing);
  }

  #open(text: string, kind: HandleKind, owner: IntegrationOwner): { value: unknown; isRetiring: boolean } {
    const { content, master } = open(text, kind, bindingOf(owner), this.#masters);
    try {
      return { value: JSON.parse(content.toString()), isRetiring: master !== this.#sealing };
    } catch {
      throw badHandle(kind);
    }
  }
}

const bindingOf = ({
  provider,
  integration_id: integrationId,
  account,
}: IntegrationOwner): readonly string[] => [provider, integrationId, account];

/** Keys that seal handles, as one secret: they come from one file or one variable. */
export function handleKeys({ meaning }: { readonly meaning: string }): Setting<HandleKeys> {
  return {
    meaning,
    unit: '32 bytes each in base64, separated by commas or line breaks; the first one seals, all of them open',
    secret: true,
    read: (text) => {
      const parts = text.split(/[,\n]/).map((part) => part.trim());
      const keys = parts.map((part) => Buffer.from(part, 'base64'));
      if (keys.some((key, at) => key.length !== masterKeyBytes || key.toString('base64') !== parts[at])) {
        return { fault: 'has an entry that is not the base64 of 32 bytes' };
      }
      try {
        return { value: new HandleKeys(keys) };
      } catch {
        return { fault: 'has an entry twice' };
      }
    },
    show: () => '(not shown)',
  };
}
