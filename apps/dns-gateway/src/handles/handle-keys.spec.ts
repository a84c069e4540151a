import { randomBytes } from 'node:crypto';
import type { IntegrationOwner } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import { defineSettings } from '@certwright/service';
import { type HandledRecord, HandleKeys, handleKeys } from './handle-keys';

const owner: IntegrationOwner = { account: '42', integration_id: 'int_7', provider: 'cloudflare' };
const kept = { token: 'correct horse battery staple', scopes: ['zone.read', 'dns.edit'] };
const handled: HandledRecord = {
  zone: { id: '/zones/abc', name: 'example.com' },
  record: { fqdn: '_acme-challenge.www.example.com', type: 'TXT', value: 'x"\\;y', ttlS: 60 },
};
const [first, second] = [randomBytes(32), randomBytes(32)];
const keys = new HandleKeys([first]);
const integration = keys.sealIntegration(owner, kept);
const record = keys.sealRecord(owner, handled);
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Every refusal of an integration handle equals this one, whatever the reason. */
const refusal = {
  code: 'bad_handle',
  message: 'The handle does not open for this account, integration and provider.',
  field: 'integration',
  faults: [],
};
const refusedRecord = { ...refusal, field: 'record_handle' };

function outcome(open: () => unknown): unknown {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { code, message, field, faults } = error;
    return { code, message, field, faults };
  }
}
const openedIntegration = (text: string, by = keys, whose = owner) =>
  outcome(() => by.openIntegration(whose, text));
const openedRecord = (text: string, by = keys, whose = owner) => outcome(() => by.openRecord(whose, text));

describe('a handle', () => {
  it('opens to the sealed content for the same account, integration and provider', () => {
    expect(openedIntegration(integration)).toEqual({ kept, isRetiring: false });
    expect(openedRecord(record)).toEqual(handled);
  });

  it('reveals nothing by its length or content, and differs each time', () => {
    const other = keys.sealIntegration(owner, { token: 'a' });
    expect(other).toHaveLength(integration.length);
    expect(keys.sealIntegration(owner, kept)).not.toBe(integration);
    expect(integration).toMatch(/^cwi1\.[A-Za-z0-9_-]+$/);
    expect(record).toMatch(/^cwr1\.[A-Za-z0-9_-]+$/);
    const decoded = Buffer.from(integration.slice(5), 'base64url').toString('latin1');
    expect(decoded).not.toContain('correct horse');
  });

  it.each([
    ['integration', integration, openedIntegration, refusal],
    ['record', record, openedRecord, refusedRecord],
  ] as const)(
    'of an %s does not open with any byte changed, nor any bit of the first 64',
    (_kind, text, opened, expected) => {
      const frame = Buffer.from(text.slice(5), 'base64url');
      const changed = (at: number, mask: number): string => {
        const copy = Buffer.from(frame);
        copy[at] = (copy[at] ?? 0) ^ mask;
        return text.slice(0, 5) + copy.toString('base64url');
      };
      for (let at = 0; at < frame.length; at += 1) expect(opened(changed(at, 0xff))).toEqual(expected);
      for (let bit = 0; bit < 512; bit += 1)
        expect(opened(changed(bit >> 3, 1 << (bit & 7)))).toEqual(expected);
      for (let bit = 0; bit < 128; bit += 1) {
        expect(opened(changed(frame.length - 1 - (bit >> 3), 1 << (bit & 7)))).toEqual(expected);
      }
    },
  );

  it('does not open with any character changed, including the last ones with their unused bits', () => {
    const last = integration.length - 1;
    const others = [...alphabet].filter((each) => each !== integration[last]);
    for (const each of others) expect(openedIntegration(integration.slice(0, last) + each)).toEqual(refusal);
    for (let at = 0; at < integration.length; at += 7) {
      const changed = integration[at] === 'A' ? 'B' : 'A';
      expect(openedIntegration(integration.slice(0, at) + changed + integration.slice(at + 1))).toEqual(
        refusal,
      );
    }
  });

  it('does not open when it is cut off', () => {
    for (let length = 0; length < integration.length; length += length < 128 ? 1 : 61) {
      expect(openedIntegration(integration.slice(0, length))).toEqual(refusal);
    }
    expect(openedIntegration(integration.slice(0, -1))).toEqual(refusal);
    expect(openedIntegration(integration.slice(5))).toEqual(refusal);
  });

  it.each([
    ['a character', `${integration}A`],
    ['padding', `${integration}=`],
    ['a line break', `${integration}\n`],
    ['a space in front', ` ${integration}`],
    ['a second one', integration + integration],
    ['another character in its middle', `${integration.slice(0, 99)}.${integration.slice(99)}`],
    ['white space for a character', `${integration.slice(0, 99)} ${integration.slice(100)}`],
    ['a fullwidth letter', `${integration.slice(0, 99)}Ａ${integration.slice(100)}`],
  ])('does not open with %s added', (_what, text) => expect(openedIntegration(text)).toEqual(refusal));

  it('does not open in the standard alphabet of base64', () => {
    const frame = Buffer.from(integration.slice(5), 'base64url').toString('base64').replaceAll('=', '');
    expect(frame).toMatch(/[+/]/);
    expect(openedIntegration(`cwi1.${frame}`)).toEqual(refusal);
  });

  it.each([
    ['account', { ...owner, account: '43' }],
    ['account in another spelling', { ...owner, account: '42 ' }],
    ['integration', { ...owner, integration_id: 'int_8' }],
    ['provider', { ...owner, provider: 'gandi' as const }],
    ['split between account and integration', { ...owner, account: '42","int_7', integration_id: '' }],
  ])('does not open for another %s', (_what, whose) => {
    expect(openedIntegration(integration, keys, whose)).toEqual(refusal);
    expect(openedRecord(record, keys, whose)).toEqual(refusedRecord);
  });

  it('of one kind does not open as the other kind, even with its prefix', () => {
    expect(openedIntegration(record)).toEqual(refusal);
    expect(openedRecord(integration)).toEqual(refusedRecord);
    expect(openedIntegration(`cwi1.${record.slice(5)}`)).toEqual(refusal);
    expect(openedRecord(`cwr1.${integration.slice(5)}`)).toEqual(refusedRecord);
    expect(openedRecord(`cwr1.${integration.slice(5, record.length)}`)).toEqual(refusedRecord);
  });

  it.each(['', 'x', 'cwi1.', 'cwi2.', 'null', '..', `cwi1.${'A'.repeat(integration.length - 5)}`])(
    'that was forged (%#) does not open',
    (text) => expect(openedIntegration(text)).toEqual(refusal),
  );
});

describe('keys rotate:', () => {
  const rotated = new HandleKeys([second, first]);

  it('the first seals, all open, and handles sealed by a later one are retiring', () => {
    expect(openedIntegration(integration, rotated)).toEqual({ kept, isRetiring: true });
    expect(openedRecord(record, rotated)).toEqual(handled);
    const fresh = rotated.sealIntegration(owner, kept);
    expect(openedIntegration(fresh, rotated)).toEqual({ kept, isRetiring: false });
    expect(openedIntegration(fresh, new HandleKeys([second]))).toEqual({ kept, isRetiring: false });
  });

  it('a handle begins with the mark of its key, so that handles of a retiring key can be counted', () => {
    const both = new HandleKeys([second, first]);
    const [sealing, retiring] = both.marks();
    expect(both.sealRecord(owner, handled).startsWith(`cwr1.${sealing}`)).toBe(true);
    expect(integration.startsWith(`cwi1.${retiring}`)).toBe(true);
  });

  it('a handle of a removed key does not open', () => {
    expect(openedIntegration(integration, new HandleKeys([second]))).toEqual(refusal);
  });
});

describe('credentials', () => {
  it('that are too long for a handle are refused with the reason', () => {
    const longest = 4_094 - '{"token":""}'.length;
    expect(openedIntegration(keys.sealIntegration(owner, { token: 'x'.repeat(longest) }))).toMatchObject({
      isRetiring: false,
    });
    expect(outcome(() => keys.sealIntegration(owner, { token: 'x'.repeat(longest + 1) }))).toMatchObject({
      code: 'invalid_value',
      field: 'credentials',
      message: 'The credentials are longer than the 4094 bytes that a handle holds.',
    });
  });

  it('fit for the longest record that the policy allows', () => {
    const record = { fqdn: 'x'.repeat(253), type: 'TXT' as const, value: '"'.repeat(512), ttlS: 86_400 };
    const longest: HandledRecord = { zone: { id: 'z'.repeat(512), name: 'y'.repeat(253) }, record };
    expect(openedRecord(keys.sealRecord(owner, longest))).toEqual(longest);
  });
});

describe('HANDLE_KEYS', () => {
  const settings = defineSettings({ HANDLE_KEYS: handleKeys({ meaning: 'Seal' }) });
  const read = (text: string) => settings.read({ HANDLE_KEYS_FILE: '/keys' }, () => text).HANDLE_KEYS;
  const [a, b] = [first.toString('base64'), second.toString('base64')];

  it.each([[`${b}\n${a}\n`], [`${b},${a}`], [`${b}\r\n${a}\r\n`], [` ${b} , ${a}`]])(
    'is a list of keys (%#), of which the first seals',
    (text) => expect(openedIntegration(integration, read(text))).toEqual({ kept, isRetiring: true }),
  );

  it.each([
    ['31 bytes', randomBytes(31).toString('base64')],
    ['something else beside a key', `${a}\nhello`],
    ['other bits behind the end', `${'A'.repeat(42)}B=`],
    ['an empty place', `${a},,${b}`],
  ])('with %s is refused, and not repeated', (_what, text) => {
    expect(() => read(text)).toThrow(/has an entry that is not the base64 of 32 bytes$/m);
  });

  it('with nothing is refused', () =>
    expect(() => read('')).toThrow('the file that HANDLE_KEYS_FILE names is empty'));

  it('with one key twice is refused', () => expect(() => read(`${a},${a}`)).toThrow('has an entry twice'));
});
