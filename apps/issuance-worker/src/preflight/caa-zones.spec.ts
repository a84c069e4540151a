import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { neutralMessage } from '@certwright/outcome-messages';
import { DnsClient } from '@certwright/dns-lookup';
import { startChild } from '@certwright/testing';
import { preflight } from './preflight';
import { plain } from './testing/fake-resolver';

const workspaceRoot = path.join(__dirname, '../../../..');
const upWithinMs = 40_000;

interface Zone {
  readonly name: string;
  /** Lines of a master file. */
  readonly records: readonly string[];
}

interface ResolvedZones {
  readonly resolver: { readonly host: string; readonly port: number };
  stop(): Promise<void>;
}

/** Required programs that are not installed. */
function missingPrograms(): readonly string[] {
  const program = `import('./tools/peers/programs.mjs').then(({ missingFor }) => console.log(missingFor(['bind', 'unbound']).join()))`;
  const missing = execFileSync(process.execPath, ['-e', program], { cwd: workspaceRoot, encoding: 'utf8' });
  return missing.trim().split(',').filter(Boolean);
}

/** Zones on BIND, with Unbound as the resolver (see tools/peers/options.mjs). */
async function startZones(zones: readonly Zone[]): Promise<ResolvedZones> {
  const options = { servers: [{ kind: 'bind', address: '127.0.0.41', zones }], unbound: true };
  const args = [path.join(workspaceRoot, 'tools/peers/main.mjs'), JSON.stringify(options)];
  const child = await startChild(process.execPath, { args, cwd: workspaceRoot });
  await child.says(/^\{"peers":.*\}$/m, upWithinMs);
  const [line = ''] = /^\{"peers":.*\}$/m.exec(child.output()) ?? [];
  const { peers } = JSON.parse(line) as {
    peers: { unbound: { readonly address: string; readonly port: number } };
  };
  const { address: host, port } = peers.unbound;
  return { resolver: { host, port }, stop: async () => void (await child.stop()) };
}

const account = plain.accountUri;
const zones = [
  {
    name: 'example.com',
    records: [
      '@ IN CAA 0 issue "ca.example"',
      '@ IN CAA 0 iodef "mailto:hostmaster@example.com"',
      'other IN CAA 0 issue "other.example"',
      'forbidden IN CAA 0 issue ";"',
      'wild IN CAA 0 issue "ca.example"',
      'wild IN CAA 0 issuewild ";"',
      'critical IN CAA 0 issue "ca.example"',
      'critical IN CAA 128 tbs "Unknown"',
      'noncritical IN CAA 0 issue "ca.example"',
      'noncritical IN CAA 0 tbs "Unknown"',
      'malformed IN CAA 0 issue "%%%%%"',
      `ours IN CAA 0 issue "ca.example; accounturi=${account}"`,
      'theirs IN CAA 0 issue "ca.example; accounturi=https://ca.example/acct/2"',
      'dns IN CAA 0 issue "ca.example; validationmethods=dns-01"',
      'http IN CAA 0 issue "ca.example; validationmethods=http-01"',
      // RFC 8659, section 3: the alias's target counts for the name itself, and nothing above the target does.
      'alias IN CNAME caa.example.net.',
      'alias-to-none IN CNAME none.other.example.net.',
      'chain IN CNAME alias',
      'dangling IN CNAME nowhere.example.net.',
      'deep.empty.nonterminal IN A 127.0.0.1',
      ...Array.from({ length: 60 }, (_, n) => `many IN CAA 0 issue "ca${n}.example; long=${'x'.repeat(40)}"`),
      'many IN CAA 0 issue "ca.example"',
      'lame IN NS ns.lame',
      'ns.lame IN A 127.0.0.49',
    ],
  },
  {
    name: 'example.net',
    records: ['caa IN CAA 0 issue "other.example"', 'other IN CAA 0 issue ";"', 'none.other IN A 127.0.0.1'],
  },
  { name: 'net', records: ['example IN NS ns1.example', 'ns1.example IN A 127.0.0.41'] },
];

const missing = missingPrograms();
const whole = missing.length === 0 ? describe : describe.skip;

whole(`CAA records on BIND, seen through Unbound (missing: ${missing.join(', ') || 'nothing'})`, () => {
  let served: ResolvedZones;
  let client: DnsClient;
  beforeAll(async () => {
    served = await startZones(zones);
    client = new DnsClient({ server: served.resolver });
  }, 60_000);
  afterAll(async () => {
    client.close();
    await served.stop();
  });

  const free = {
    take: async () => await Promise.resolve({ taken: true as const }),
  };
  const check = async (dnsName: string) =>
    await preflight(
      { ...plain, names: [{ dnsName, challenge: 'dns-01' }] },
      { lookUp: client.lookUp, buckets: free },
    );

  it.each([
    ['the name of the CA', 'example.com'],
    ['a parent that names the CA', 'a.b.www.example.com'],
    ['a wildcard below it', '*.www.example.com'],
    ['a name with an issuewild against it, but no wildcard', 'wild.example.com'],
    ['a property that is not known and not critical', 'noncritical.example.com'],
    ['our account', 'ours.example.com'],
    ['a method that is named', 'dns.example.com'],
    ['an alias to a name without any, by its own parent', 'alias-to-none.example.com'],
    ['an alias to nowhere, by its own parent', 'dangling.example.com'],
    ['a name that is no owner of any record', 'empty.nonterminal.example.com'],
    ['a response that only fits TCP', 'many.example.com'],
    ['no record up to the top', 'www.example.net'],
  ])('let it issue: %s', async (_, dnsName) => {
    expect(await check(dnsName)).toEqual({ kind: 'ready', taken: [] });
  });

  it.each([
    ['other.example.com', 'other.example.com allow only other.example to issue (0 issue "other.example")'],
    ['a.forbidden.example.com', 'forbidden.example.com allow no CA to issue (0 issue ";")'],
    ['*.wild.example.com', 'wild.example.com allow no CA to issue (0 issuewild ";")'],
    [
      'critical.example.com',
      'critical.example.com have a critical property that no CA here understands (128 tbs "Unknown")',
    ],
    ['malformed.example.com', 'malformed.example.com allow no CA to issue (0 issue "%%%%%")'],
    [
      'theirs.example.com',
      `theirs.example.com allow only another account to issue than ours, ${account} (0 issue "ca.example; accounturi=https://ca.example/acct/2")`,
    ],
    [
      'http.example.com',
      'http.example.com do not allow validation by dns-01 (0 issue "ca.example; validationmethods=http-01")',
    ],
    ['alias.example.com', 'alias.example.com allow only other.example to issue (0 issue "other.example")'],
    ['chain.example.com', 'chain.example.com allow only other.example to issue (0 issue "other.example")'],
    ['*.alias.example.com', 'alias.example.com allow only other.example to issue (0 issue "other.example")'],
  ])('forbid it: %s', async (dnsName, words) => {
    const verdict = await check(dnsName);
    expect(verdict).toMatchObject({ kind: 'refused', retryable: false, error: { code: 'caa_forbids' } });
    const message = verdict.kind === 'refused' ? neutralMessage(verdict.error.outcome) : '';
    expect(message.startsWith(`For ${dnsName}, the CAA records of ${words}. `)).toBe(true);
  });

  it('are unknown when the name servers do not respond, and the check is retried', async () => {
    const verdict = await check('www.lame.example.com');
    expect(verdict).toMatchObject({ kind: 'refused', retryable: true, error: { code: 'caa_forbids' } });
    const message = verdict.kind === 'refused' ? neutralMessage(verdict.error.outcome) : '';
    expect(message).toMatch(
      /^The CAA records of www\.lame\.example\.com could not be looked up at 127\.0\.0\.1:\d+ \((SERVFAIL|no response in time)\), and no CA may issue for www\.lame\.example\.com without them\./,
    );
  });
});
