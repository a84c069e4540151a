import type { WantedRecord } from '@certwright/gateway-contract';
import fc from 'fast-check';
import { accountUri, decideRecord, digest, rules, underscoredNames, zone, zones } from './testing/rules';

/** Parts of names and values: allowed ones, nearly allowed ones, and noise. */
const label = fc.oneof(
  fc.constantFrom(
    '_acme-challenge',
    '_ACME-challenge',
    '_validation-persist',
    '_dmarc',
    '_domainkey',
    '_tcp',
  ),
  fc.constantFrom(
    '_k2f9',
    '_ta-1',
    '_tls',
    'www',
    'x',
    'deep',
    'xn--bcher-kva',
    '*',
    '',
    '_',
    'a_b',
    'é',
    'a\\.b',
  ),
  fc.stringMatching(/^_?[a-z0-9-]{1,12}$/),
  fc.string({ maxLength: 4 }),
);
const suffix = fc.constantFrom(
  ...['example.com', 'deep.example.com', 'EXAMPLE.ORG.', 'evilexample.com', 'example.net', 'com', 'a.com'],
);
const noisyName = fc
  .tuple(fc.array(label, { maxLength: 3 }), suffix)
  .map(([labels, end]) => [...labels, end].join('.'));
const goodName = fc
  .tuple(fc.constantFrom('_acme-challenge', '_validation-persist', '_k2f9', 'www'), fc.constantFrom('', 'a.'))
  .map(([first, rest]) => `${first}.${rest}example.com`);
const fqdn = fc.oneof(noisyName, goodName);
const value = fc.oneof(
  fc.constantFrom(digest, 'k.approval.example.net', 'approval.example.net', 'x.evil.test', '0 issue ";"'),
  fc.constantFrom(
    '0 issue "plain-ca.example"',
    `0 issue "ca.example; accounturi=${accountUri}"`,
    '0 issue "ca.example"',
  ),
  fc.constantFrom(`ca.example; accounturi=${accountUri}`, 'plain-ca.example', 'abcdefghij0123456789'),
  fc.stringMatching(/^[A-Za-z0-9_=-]{10,140}$/),
  fc.string({ maxLength: 60 }),
);
const wanted: fc.Arbitrary<WantedRecord> = fc.record(
  {
    fqdn,
    value,
    type: fc.constantFrom('TXT', 'CAA', 'CNAME', 'NS'),
    ttl: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.constant(60)),
    replace: fc.boolean(),
  },
  { requiredKeys: ['fqdn', 'value', 'type'] },
);
const offered = fc.subarray([...zones, zone('com'), zone('net'), zone('Example.ORG')]);

/** The rules again, each as an independent check of the record to be written. */
const holds: Readonly<
  Record<string, (decision: Extract<ReturnType<typeof decideRecord>, { allowed: true }>) => boolean>
> = {
  'the name is canonical': ({ record }) =>
    /^(_?[a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+$/.test(record.fqdn) && record.fqdn.length <= 253,
  'the zone has two labels or more': ({ zone: { name } }) => name.split('.').length >= 2,
  'the name is below the zone': ({ record, zone: { name } }) =>
    record.fqdn.split('.').slice(-name.split('.').length).join('.') === name && record.fqdn !== name,
  'what coexists is TXT or CAA': ({ mode, record }) =>
    mode === 'replace' || ['TXT', 'CAA'].includes(record.type),
  'a replacing record is at a free underscored label': ({ mode, record }) => {
    const [first = ''] = record.fqdn.split('.');
    return (
      mode === 'add' || first === '_acme-challenge' || (first.startsWith('_') && !underscoredNames.has(first))
    );
  },
  'no registered label of another purpose is in the name': ({ record }) =>
    record.fqdn.split('.').every((each) => each === '_acme-challenge' || !underscoredNames.has(each)),
  'a target is strictly below the approval zone': ({ record }) =>
    !['CNAME', 'NS'].includes(record.type) || /^[a-z0-9_.-]+\.approval\.example\.net$/.test(record.value),
  'CAA names a configured CA and account': ({ record }) =>
    record.type !== 'CAA' ||
    new RegExp(
      `^(0|128) issue(wild)? "(plain-ca\\.example|ca\\.example; accounturi=${accountUri.replaceAll('.', '\\.')})(; validationmethods=[a-z0-9,-]+)?"$`,
    ).test(record.value),
  'a text is a digest, a token or a persistent approval of the operator': ({ record }) =>
    record.type !== 'TXT' ||
    /^[\w-]{43}$/.test(record.value) ||
    (record.fqdn.startsWith('_validation-persist.')
      ? /^[ \t]*ca\.example\s*;/i.test(record.value) && record.value.includes(accountUri)
      : record.fqdn.startsWith('_') && /^[\w-]{18,128}={0,2}$/.test(record.value)),
  'no text has blanks but a persistent approval': ({ record }) =>
    record.type !== 'TXT' || record.fqdn.startsWith('_validation-persist.') || !/[^\w=-]/.test(record.value),
  'the TTL is from 30 to 3600': ({ record: { ttlS } }) => ttlS === null || (ttlS >= 30 && ttlS <= 3_600),
};

describe('an allowed record', () => {
  it('satisfies every rule, and the decision is repeatable', () => {
    const met = new Set<string>();
    fc.assert(
      fc.property(wanted, offered, (record, ofIntegration) => {
        const decision = decideRecord(record, ofIntegration, rules);
        expect(decideRecord(record, ofIntegration, rules)).toEqual(decision);
        if (!decision.allowed) return;
        met.add(`${decision.mode} ${decision.record.type}`);
        for (const [rule, holdsFor] of Object.entries(holds)) {
          if (!holdsFor(decision)) throw new Error(`${rule}: ${JSON.stringify(decision)}`);
        }
      }),
      { numRuns: 20_000 },
    );
    // A run in which all random records are refused proves nothing.
    expect([...met].sort()).toEqual(
      expect.arrayContaining(['add CAA', 'add TXT', 'replace CNAME', 'replace NS', 'replace TXT']),
    );
  }, 60_000);

  it('gets the same decision in its normal form', () => {
    fc.assert(
      fc.property(wanted, (record) => {
        const decision = decideRecord(record, zones, rules);
        if (!decision.allowed) return;
        const { fqdn: name, type, value: text, ttlS } = decision.record;
        const again = {
          fqdn: name,
          type,
          value: text,
          ...(ttlS === null ? {} : { ttl: ttlS }),
          replace: decision.mode === 'replace',
        };
        expect(decideRecord(again, zones, rules)).toEqual(decision);
      }),
      { numRuns: 5_000 },
    );
  }, 60_000);

  it('throws for no input', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.string({ maxLength: 600 }),
        (name, text) => {
          decideRecord({ fqdn: name, type: 'CAA', value: text }, [zone(name)], rules);
          decideRecord({ fqdn: `_acme-challenge.${name}`, type: 'TXT', value: text }, [zone(name)], rules);
        },
      ),
    );
  });
});
