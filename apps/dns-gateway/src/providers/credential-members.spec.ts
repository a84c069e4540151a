import { type MemberRule, readMembers, visibleAscii } from './credential-members';

const rules: readonly MemberRule[] = [
  { name: 'token', meaning: 'a token', secret: true, required: true, ...visibleAscii },
  { name: 'note', meaning: 'a note', secret: false, required: false, ...visibleAscii },
];
const read = (credentials: object) => readMembers(credentials as never, { bearer: rules });

describe('credentials', () => {
  it('are read without their type and without absent members', () => {
    expect(read({ type: 'bearer', token: 'abc' })).toEqual({ token: 'abc' });
    expect(read({ type: 'bearer', token: 'abc', note: 'x' })).toEqual({ token: 'abc', note: 'x' });
  });

  it.each([
    ['another type', { type: 'oauth_code', code: 'x' }, 'credentials.type', 'invalid_value'],
    ['a missing member', { type: 'bearer' }, 'credentials.token', 'missing_field'],
    ['a space', { type: 'bearer', token: 'planted secret' }, 'credentials.token', 'invalid_value'],
    ['a line break', { type: 'bearer', token: 'planted\nsecret' }, 'credentials.token', 'invalid_value'],
    ['a number', { type: 'bearer', token: 5 }, 'credentials.token', 'invalid_value'],
    ['null', { type: 'bearer', token: null }, 'credentials.token', 'invalid_value'],
    ['too long a value', { type: 'bearer', token: 'x'.repeat(5_000) }, 'credentials.token', 'invalid_value'],
    [
      'an unknown member',
      { type: 'bearer', token: 'abc', 'planted-secret': 'x' },
      'credentials',
      'invalid_value',
    ],
  ])('%s is refused with the name of its field, and never repeated', (_, credentials, field, code) => {
    expect(() => read(credentials)).toThrow(
      expect.objectContaining({ code: 'bad_request', faults: [expect.objectContaining({ field, code })] }),
    );
    try {
      read(credentials);
    } catch (error) {
      expect(JSON.stringify([error, String(error)])).not.toContain('planted');
    }
  });

  it('for a provider that is not configured are refused with that reason', () => {
    expect(() => readMembers({ type: 'bearer', token: 'x' }, {})).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ field: 'credentials.type' })] }),
    );
  });
});
