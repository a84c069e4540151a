import type { CaaReason } from '@certwright/dns-names';
import type { Caa } from '@certwright/dns-authority';
import type { LookUpResult, LookUp } from '../look-up';
import { type CaaQuestion, checkCaa } from './caa';
import { readIssuerGrant } from './caa-value';
import { relevantCaa } from './relevant-caa';

const account = 'https://ca.example/acct/1';
const question: CaaQuestion = {
  wildcard: false,
  issuerDomains: ['ca.example'],
  accountUri: account,
  method: 'dns-01',
};
const issue = (value: string, flags = 0): Caa => ({ flags, tag: 'issue', value });
const wild = (value: string): Caa => ({ flags: 0, tag: 'issuewild', value });
const other = (tag: string, flags = 0): Caa => ({ flags, tag, value: 'x' });

describe('CAA records allow a CA to issue (RFC 8659, RFC 8657)', () => {
  it.each<[string, readonly Caa[], Partial<CaaQuestion>, boolean]>([
    ['when there are none', [], {}, true],
    ['when one names it', [issue('ca.example')], {}, true],
    ['in any letter case', [issue('CA.Example')], {}, true],
    ['when one of several names it', [issue('other.example'), issue('ca.example')], {}, true],
    ['not when only another is named', [issue('other.example')], {}, false],
    ['not when no CA is named', [issue(';')], {}, false],
    ['not when the value is empty', [issue('')], {}, false],
    ['not when the value is malformed', [issue('ca.example; what is this')], {}, false],
    ['not by a name above or below its own', [issue('example')], {}, false],
    ['when there is no issue property at all', [other('iodef')], {}, true],
    ['not with a critical property that is unknown', [issue('ca.example'), other('tbs', 128)], {}, false],
    ['with an unknown property that is not critical', [issue('ca.example'), other('tbs')], {}, true],
    ['with a critical property that is known', [issue('ca.example', 128)], {}, true],
    ['for a wildcard by issue', [issue('ca.example')], { wildcard: true }, true],
    [
      'for a wildcard by issuewild alone where there is one',
      [issue('ca.example'), wild(';')],
      { wildcard: true },
      false,
    ],
    [
      'for a wildcard by issuewild although issue forbids',
      [issue(';'), wild('ca.example')],
      { wildcard: true },
      true,
    ],
    ['for another name regardless of issuewild', [wild(';')], {}, true],
    ['for our account', [issue(`ca.example; accounturi=${account}`)], {}, true],
    ['not for another account', [issue('ca.example; accounturi=https://ca.example/acct/2')], {}, false],
    [
      'not for two accounts at once',
      [issue(`ca.example; accounturi=${account}; accounturi=${account}`)],
      {},
      false,
    ],
    ['by one record of two', [issue('ca.example; accounturi=x'), issue('ca.example')], {}, true],
    ['by a method that is named', [issue('ca.example; validationmethods=http-01,dns-01')], {}, true],
    ['not by another method', [issue('ca.example; validationmethods=http-01')], {}, false],
    [
      'not by methods that are named twice',
      [issue('ca.example; validationmethods=dns-01; validationmethods=dns-01')],
      {},
      false,
    ],
    ['not by a method in another case', [issue('ca.example; validationmethods=DNS-01')], {}, false],
    [
      'whatever case the operator wrote the CA in',
      [issue('ca.example')],
      { issuerDomains: ['CA.Example'] },
      true,
    ],
    [
      'by any of the names of the CA',
      [issue('b.example')],
      { issuerDomains: ['a.example', 'b.example'] },
      true,
    ],
    [
      'not when one parameter of two holds',
      [issue('ca.example; accounturi=x; validationmethods=dns-01')],
      {},
      false,
    ],
    ['with a tag in capitals', [{ flags: 0, tag: 'ISSUE', value: 'other.example' }], {}, false],
    ['with a parameter that is not known', [issue('ca.example; policy=ev')], {}, true],
    [
      'for an account and method that are not known, whatever account and methods it names',
      [issue('ca.example; accounturi=x; accounturi=y; validationmethods=http-01')],
      { accountUri: null, method: null },
      true,
    ],
    ['with a semicolon at the end', [issue('ca.example;')], {}, true],
    ['with spaces and tabs around', [issue(` ca.example\t; accounturi = ${account} `)], {}, true],
  ])('%s', (_, records, also, expected) => {
    expect(checkCaa(records, { ...question, ...also }).allowed).toBe(expected);
  });

  it.each<[string, readonly Caa[], Partial<CaaQuestion>, CaaReason, string]>([
    [
      'which record, and who may issue instead',
      [issue('other.example')],
      {},
      { kind: 'other_issuers', tag: 'issue', allowed: ['other.example'], issuer: 'ca.example' },
      '0 issue "other.example"',
    ],
    [
      'that no CA may, by issuewild',
      [wild(';')],
      { wildcard: true },
      { kind: 'other_issuers', tag: 'issuewild', allowed: [], issuer: 'ca.example' },
      '0 issuewild ";"',
    ],
    ['which property is unknown', [other('tbs', 128)], {}, { kind: 'unknown_critical' }, '128 tbs "x"'],
    [
      'which account may',
      [issue('ca.example; accounturi=x')],
      {},
      { kind: 'other_account', accountUri: account },
      '0 issue "ca.example; accounturi=x"',
    ],
    [
      'which method is missing',
      [issue('ca.example; validationmethods=http-01')],
      {},
      { kind: 'other_method', method: 'dns-01' },
      '0 issue "ca.example; validationmethods=http-01"',
    ],
  ])('say %s', (_, records, also, reason, record) => {
    expect(checkCaa(records, { ...question, ...also })).toEqual({
      allowed: false,
      reason,
      records: [record],
    });
  });

  it('quote no characters that change how a message is displayed', () => {
    const verdict = checkCaa([issue(`\u001b[2Jother\u202e${'x'.repeat(5_000)}`)], question);
    if (verdict.allowed) throw new Error('allowed');
    expect(verdict.records.join()).toMatch(/^[\x20-\x7e…]{1,200}$/);
    expect(JSON.stringify(verdict.reason)).toMatch(/^[\x20-\x7e]{1,200}$/);
  });
});

describe('the value of an issue property', () => {
  it.each([
    'ca..example',
    '-ca.example',
    'ca.example; =x',
    'ca.example; a',
    'ca.example;; a=b',
    'ca.example; a=\u00e4',
    'ca example',
  ])('is malformed: %s', (value) => expect(readIssuerGrant(value)).toBeNull());
});

describe('a value of spaces', () => {
  it('is parsed in linear time', () => {
    // In quadratic time this value would take minutes.
    const value = `ca.example; a=${' '.repeat(400_000)}b`;
    const startedMs = performance.now();
    expect(readIssuerGrant(value)).not.toBeNull();
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});

describe('the relevant record set', () => {
  const find = async (said: Readonly<Record<string, readonly Caa[] | 'servfail'>>, name: string) => {
    const names: string[] = [];
    const lookUp: LookUp = async (at) => {
      names.push(at);
      const result = said[at];
      const from = '127.0.0.1:53';
      if (result === 'servfail') return { from, kind: 'failure', reason: 'servfail' };
      if (result === undefined) return { from, kind: 'nodata' };
      const answers = result.map((data) => ({ name: at, type: 'CAA', ttl: 5, data }));
      return { from, kind: 'records', answers, authority: [] } as LookUpResult;
    };
    return { finding: await relevantCaa(lookUp, name), names };
  };

  it('is the nearest one at or above the name', async () => {
    const records = [issue('ca.example')];
    const { finding, names } = await find({ 'example.com': records, com: [issue(';')] }, 'a.b.example.com');
    expect(finding).toEqual({ known: true, at: 'example.com', records });
    expect(names).toEqual(['a.b.example.com', 'b.example.com', 'example.com']);
  });

  it('is looked up to the top level, not at the root', async () => {
    const { finding, names } = await find({}, 'www.example.com');
    expect(finding).toMatchObject({ known: true, records: [] });
    expect(names).toEqual(['www.example.com', 'example.com', 'com']);
  });

  it('is unknown when a lookup on the way fails, regardless of the parents', async () => {
    const { finding } = await find({ 'www.example.com': 'servfail', 'example.com': [] }, 'www.example.com');
    expect(finding).toMatchObject({ known: false, at: 'www.example.com' });
  });
});
