import type { Caa } from '@certwright/dns-authority';
import type { LookUpResult, LookUp } from '@certwright/dns-lookup';
import type { PreflightQuestion } from '../preflight';

/** One name at a CA without limits, named `ca.example` in CAA records. */
export const plain: PreflightQuestion = {
  authority: { name: 'good-ca', caaDomains: ['ca.example'], limits: {} },
  profile: null,
  accountId: '1',
  caAccountId: '1',
  accountUri: 'https://ca.example/acct/1',
  product: { name: 'free_ca', maxDnsNames: 100 },
  names: [{ dnsName: 'www.example.com', challenge: 'dns-01' }],
  replaces: false,
};

export const byDns = (...dnsNames: readonly string[]) =>
  dnsNames.map((dnsName) => ({ dnsName, challenge: 'dns-01' as const }));

export type Said = Readonly<Record<string, readonly Caa[] | 'servfail' | 'silent'>>;

/** A resolver with CAA records by name. `silent`: it responds only when aborted. */
export class Resolver {
  readonly queried: string[] = [];
  /** Max concurrent queries seen. */
  maxAtOnce = 0;
  private waiting = 0;

  constructor(private readonly said: Said) {}

  readonly lookUp: LookUp = async (name, _type, options): Promise<LookUpResult> => {
    this.queried.push(name);
    this.waiting += 1;
    this.maxAtOnce = Math.max(this.maxAtOnce, this.waiting);
    await new Promise((resolve) => setImmediate(resolve));
    const from = '127.0.0.1:53';
    const said = this.said[name];
    try {
      if (said === undefined) return { from, kind: 'nodata' };
      if (said === 'servfail') return { from, kind: 'failure', reason: 'servfail' };
      if (said === 'silent') {
        const { signal } = options ?? {};
        await new Promise((resolve) => {
          if (signal?.aborted === true) resolve(undefined);
          signal?.addEventListener('abort', resolve);
        });
        return { from, kind: 'failure', reason: 'aborted' };
      }
      const answers = said.map((data) => ({ name, type: 'CAA' as const, ttl: 5, data }));
      return { from, kind: 'records', answers, authority: [] };
    } finally {
      this.waiting -= 1;
    }
  };
}
