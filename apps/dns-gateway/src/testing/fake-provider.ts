import type { ProviderName, Zone } from '@certwright/gateway-contract';
import type {
  AddOutcome,
  DnsProvider,
  DnsRecord,
  KeptCredentials,
  ProviderSession,
} from '../providers/dns-provider';

const exampleCom: Zone = { id: 'z1', name: 'example.com' };

type Step = 'accept' | 'zones' | 'add' | 'replace' | 'remove';

/** An in-memory provider that records its calls, and runs a spec's code at each step. */
export class FakeProvider implements DnsProvider {
  readonly title = 'Fake';
  readonly advice = 'Allow nothing.';
  readonly calls: string[] = [];
  readonly records: string[] = [];
  zones: readonly Zone[] = [exampleCom];
  /** Renewed credentials that sessions report. */
  renewed: KeptCredentials | null = null;
  /** Runs at a step, before or instead of it. Default: nothing. */
  at: Partial<Record<Step, (signal: AbortSignal) => Promise<void>>> = {};
  opened: KeptCredentials[] = [];

  constructor(readonly name: ProviderName = 'cloudflare') {}

  credentialKinds: DnsProvider['credentialKinds'] = (account) => [
    {
      type: 'cloud_account',
      members: [{ name: 'role', meaning: 'a role', secret: false, required: true }],
      authorization_url: null,
      principal: 'arn:aws:iam::111122223333:user/certwright',
      external_id: `external-${account}`,
    },
  ];

  accept: DnsProvider['accept'] = async (credentials, _account, _ports, signal) => {
    await this.#step('accept', signal);
    const { type: _type, ...kept } = credentials;
    return kept as KeptCredentials;
  };

  session: DnsProvider['session'] = (kept, _account, _ports, signal): ProviderSession => {
    this.opened.push(kept);
    const text = ({ fqdn, type, value }: DnsRecord): string => `${fqdn} ${type} ${value}`;
    const without = (gone: (each: string) => boolean): void => {
      this.records.splice(0, Infinity, ...this.records.filter((each) => !gone(each)));
    };
    const put = (record: DnsRecord): AddOutcome => {
      if (this.records.includes(text(record))) return 'existed';
      this.records.push(text(record));
      return 'created';
    };
    return {
      zones: async () => {
        await this.#step('zones', signal);
        return this.zones;
      },
      add: async (_zone, record) => {
        await this.#step('add', signal);
        return put(record);
      },
      replace: async (_zone, record) => {
        await this.#step('replace', signal);
        without((each) => each.startsWith(`${record.fqdn} `) && each !== text(record));
        return put(record);
      },
      remove: async (_zone, record) => {
        await this.#step('remove', signal);
        without((each) => each === text(record));
      },
      renewed: () => this.renewed,
    };
  };

  async #step(step: Step, signal: AbortSignal): Promise<void> {
    this.calls.push(step);
    await this.at[step]?.(signal);
  }
}
