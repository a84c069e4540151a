import {
  acceptMembers,
  ContractError,
  limits,
  type Member,
  openKey,
  type OrderMessage,
  type SealedKey,
  sealKey,
  type SealKeyTask,
} from '@certwright/agent-contract';
import { type Csr, decodeBase64, decodePem, readCsr } from '@certwright/pki';
import type { CommandResult } from '../commands/run-command';
import type { KeySettings } from '../configuration/settings';
import type { Files } from '../files/files';
import type { Log } from '../log/log';
import { type AgentApi, Refusal } from '../protocol/agent-api';
import { type Identity, readMembersMemory, storeMembersMemory } from '../state/identity';
import type { StoredKey, StoredKeys } from '../state/stored-keys';
import { certificateRequest, KeyFault, newKey } from './certificate-request';

export interface KeyExchangeParts {
  readonly api: AgentApi;
  readonly identity: Identity & { readonly cluster: string };
  readonly files: Files;
  readonly state: string;
  readonly keys: StoredKeys;
  readonly settings: KeySettings;
  readonly now: () => Date;
  readonly runCsrCommand: (command: readonly string[], input: string) => Promise<CommandResult>;
  readonly log: Log;
}

/** How often the members may change while a CSR is being sent. */
const maxMemberChanges = 5;

/** Generates keys, and exchanges them with the other members of the cluster. */
export class KeyExchange {
  /** What is wrong with members that the server lists; for the report. */
  memberProblem: string | null = null;
  /** Of the newest list that the server has, as it said; the list is read again when it is older. */
  membersVersion = 0;
  private cached: { readonly version: number; readonly members: readonly Member[] } | null = null;

  constructor(private readonly parts: KeyExchangeParts) {}

  /**
   * Task `make_key`. The key is on the disk before its CSR leaves the host, and the same task always gets the same CSR.
   *
   * @returns SHA-256 of its public key; null when the server does not want it any more
   * @throws KeyFault when this host cannot make it
   */
  async makeKey(order: OrderMessage, task: string): Promise<string | null> {
    const made = this.parts.keys.ofTask(order.name, task).find((each) => isFor(each, order));
    const key = made ?? (await this.generate(order, task));
    const { csr } = key;
    if (csr === null) return null;
    for (let attempt = 1; ; attempt++) {
      const others = await this.otherMembers();
      if (key.pkcs8 === null && others.length > 0)
        throw new KeyFault('csr_command keeps its key on this host; use it in a cluster with one host only');
      const keys = others.map((member) => this.sealed(key, member));
      try {
        await this.parts.api.sendCsr(order.name, {
          task,
          csr: Buffer.from(csr.der).toString('base64'),
          keys,
        });
        this.parts.log.info('CSR sent', {
          order: order.name,
          key: key.spkiSha256.slice(0, 16),
          members: keys.length,
        });
        return key.spkiSha256;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.cached = null;
        if (error.code === 'members_changed' && attempt < maxMemberChanges) continue;
        if (error.code !== 'not_asked') throw error;
        // Another agent was first, or the request was withdrawn. The key is removed when nothing uses it.
        this.parts.log.info('CSR is not requested any more', { order: order.name });
        return null;
      }
    }
  }

  /** Task `seal_key_for`: members that came later. */
  async sealFor(order: string, task: SealKeyTask): Promise<void> {
    // A host that uses nothing of the order has not fetched the key yet.
    const key = await this.obtain(order, task.spki_sha256);
    if (key?.order !== order || key.pkcs8 === null) return;
    const others = await this.otherMembers();
    const receivers = others.filter(({ agentId }) => task.members.includes(agentId));
    if (receivers.length === 0) return;
    await this.parts.api.addSealedKeys(
      order,
      task.spki_sha256,
      receivers.map((member) => this.sealed(key, member)),
    );
  }

  /**
   * The key of a certificate: own, or sealed for this host by a member.
   *
   * @returns null when no member sealed it yet; a member gets a task to do so
   */
  async obtain(order: string, spkiSha256: string): Promise<StoredKey | null> {
    const { api, identity, keys, now, log } = this.parts;
    const own = keys.find(spkiSha256);
    // The key of another order is none: a server could exchange the certificates of two orders.
    if (own?.order === order) return own;
    if (identity.clusterKey === null) return null;
    const sealed = (await api.sealedKeys(order, spkiSha256)).keys;
    if (sealed.length === 0) return null;
    const members = await this.otherMembers();
    for (const each of sealed) {
      const sender = members.find(({ agentId }) => agentId === each.sender);
      if (sender === undefined) {
        log.warn('sealed key refused', { order, sender: each.sender, reason: 'its sender is not a member' });
        continue;
      }
      try {
        const binding = {
          cluster: identity.cluster,
          order,
          spkiSha256,
          sender: each.sender,
          receiver: identity.agentId,
        };
        const pkcs8 = openKey(each, binding, {
          sealingPrivateKey: identity.sealingKey,
          senderIdentityKey: sender.identityKey,
        });
        const key: StoredKey = { spkiSha256, order, createdAt: now(), pkcs8, csr: null };
        keys.add(key);
        log.info('key received', { order, key: spkiSha256.slice(0, 16), sender: each.sender });
        return key;
      } catch (error) {
        if (!(error instanceof ContractError)) throw error;
        log.warn('sealed key refused', { order, sender: each.sender, reason: error.message });
      }
    }
    return null;
  }

  private async generate(order: OrderMessage, task: string): Promise<StoredKey> {
    const { keys, settings, now } = this.parts;
    const made =
      settings.csrCommand === null
        ? await this.generateHere(order)
        : await this.runCsrCommand(order, settings.csrCommand);
    const key: StoredKey = {
      spkiSha256: made.spkiSha256,
      order: order.name,
      createdAt: now(),
      pkcs8: made.pkcs8,
      csr: { task, der: made.csr },
    };
    keys.add(key);
    return key;
  }

  private async generateHere(
    order: OrderMessage,
  ): Promise<{ spkiSha256: string; pkcs8: Uint8Array; csr: Uint8Array }> {
    const { privateKey, pkcs8, spkiSha256 } = await newKey(
      order.key_type,
      order.accepts,
      this.parts.settings,
    );
    return { spkiSha256, pkcs8, csr: certificateRequest(privateKey, order.dns_names) };
  }

  /** The command gets the request as JSON and prints a CSR, in PEM or as base64 DER. */
  private async runCsrCommand(
    { name, dns_names, key_type, accepts }: OrderMessage,
    command: readonly string[],
  ): Promise<{ spkiSha256: string; pkcs8: null; csr: Uint8Array }> {
    const input = `${JSON.stringify({ order: name, dns_names, key_type, accepts })}\n`;
    const result = await this.parts.runCsrCommand(command, input);
    if (!result.isOk) throw new KeyFault(`csr_command failed: ${result.problem ?? ''}`);
    const der = derOf(result.stdout.toString('latin1').trim());
    const reading = readCsr(der);
    if (!reading.ok) throw new KeyFault('csr_command printed something that is not a CSR; print one in PEM');
    if (!hasNames(reading.csr, dns_names))
      throw new KeyFault('csr_command printed a CSR for other names; use exactly those of dns_names');
    return { spkiSha256: reading.csr.spkiSha256, pkcs8: null, csr: der };
  }

  private sealed(key: StoredKey, member: Member): SealedKey {
    const { identity } = this.parts;
    if (key.pkcs8 === null) throw new KeyFault('the key is not on this host');
    return sealKey({
      pkcs8: key.pkcs8,
      binding: {
        cluster: identity.cluster,
        order: key.order,
        spkiSha256: key.spkiSha256,
        sender: identity.agentId,
        receiver: member.agentId,
      },
      receiverSealingKey: member.sealingKey,
      senderIdentityPrivateKey: identity.identityKey,
    });
  }

  /** Members that the cluster key admitted. Without a cluster key there are none. */
  private async otherMembers(): Promise<readonly Member[]> {
    const { api, identity, files, state } = this.parts;
    if (identity.clusterKey === null) return [];
    if (this.cached !== null && this.cached.version >= this.membersVersion) return this.cached.members;
    const memory = readMembersMemory(files, state);
    const { version, members: listed } = await api.members();
    const accepted = acceptMembers(listed, identity.clusterKey, memory);
    if (JSON.stringify(accepted.memory) !== JSON.stringify(memory))
      storeMembersMemory(files, state, accepted.memory);
    this.memberProblem = accepted.problems[0] ?? null;
    const members = accepted.members.filter(({ agentId }) => agentId !== identity.agentId);
    this.cached = { version, members };
    return members;
  }
}

/** The order may have changed since the key was made. */
function isFor({ csr }: StoredKey, { dns_names, key_type }: OrderMessage): boolean {
  const reading = csr === null ? null : readCsr(csr.der);
  return reading?.ok === true && reading.csr.keyType === key_type && hasNames(reading.csr, dns_names);
}

function hasNames({ subjectAlternativeNames }: Csr, dnsNames: readonly string[]): boolean {
  const names = (subjectAlternativeNames?.dnsNames ?? []).map((each) => each.toLowerCase());
  return [...names].sort().join() === [...dnsNames].sort().join();
}

function derOf(text: string): Uint8Array {
  const pem = decodePem(text, 1, 'ignored');
  const [block] = pem.ok ? pem.blocks : [];
  if (block !== undefined) return block.der;
  const decoded = decodeBase64(text.replace(/\s/g, ''), limits.maxCsrBytes);
  return decoded.ok ? decoded.bytes : new Uint8Array();
}
