import { randomBytes } from 'node:crypto';
import { defineSettings } from './settings';
import { sealingKeys } from './sealing-keys';

const settings = defineSettings({ SEALING_KEYS: sealingKeys({ meaning: 'Seal' }) });
const read = (text: string) => settings.read({ SEALING_KEYS: text }).SEALING_KEYS;
const key = () => randomBytes(32).toString('base64');

it('the first key seals, and all of them open', () => {
  const [old, fresh] = [key(), key()];
  const sealed = read(old).seal('secret', 'spec', randomBytes(12));
  const rotated = read(`${fresh}, ${old}`);
  expect(rotated.open(sealed, 'spec')).toBe('secret');
  expect(() => read(old).open(rotated.seal('secret', 'spec', randomBytes(12)), 'spec')).toThrow();
});

it.each([
  ['31 bytes', randomBytes(31).toString('base64')],
  ['33 bytes', randomBytes(33).toString('base64')],
  ['no base64', '!'.repeat(44)],
  ['base64 of other bits behind the end', `${'A'.repeat(42)}B=`],
  ['an empty place', `${'A'.repeat(43)}=,`],
])('refuses %s, without repeating it', (_what, text) => {
  expect(() => read(text)).toThrow(/SEALING_KEYS has an entry that is not the base64 of 32 bytes/);
});

it('is a secret, in the manual and from a file', () => {
  expect(settings.describe()).toContain('SEALING_KEYS_FILE');
  const text = `${key()}\n`;
  expect(settings.read({ SEALING_KEYS_FILE: '/keys' }, () => text).SEALING_KEYS).toBeDefined();
});
