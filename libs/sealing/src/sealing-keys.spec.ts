import { readSealingKeys, SealBroken, SealingKeys } from './sealing-keys';

const old = Buffer.alloc(32, 1);
const fresh = Buffer.alloc(32, 2);
const nonce = Buffer.alloc(12, 3);
const context = 'webhook secret of endpoint 7';

describe('SealingKeys', () => {
  it('opens what it sealed', () => {
    const keys = new SealingKeys([old]);
    expect(keys.open(keys.seal('whsec_geheim✓', context, nonce), context)).toBe('whsec_geheim✓');
  });

  it('opens what an older key sealed, and seals with the first', () => {
    const sealed = new SealingKeys([old]).seal('secret', context, nonce);
    const rotated = new SealingKeys([fresh, old]);
    expect(rotated.open(sealed, context)).toBe('secret');
    expect(new SealingKeys([fresh]).open(rotated.seal('secret', context, nonce), context)).toBe('secret');
  });

  it('opens nothing under another context', () => {
    const keys = new SealingKeys([old]);
    expect(() => keys.open(keys.seal('secret', context, nonce), 'webhook secret of endpoint 8')).toThrow(
      SealBroken,
    );
  });

  it('digests equally under the key that seals, and differently under another key or context', () => {
    const digest = (keys: SealingKeys, of = 'Message-ID') => keys.digest('1', of).toString('hex');
    const keys = new SealingKeys([fresh, old]);
    expect(digest(new SealingKeys([fresh]))).toBe(digest(keys));
    expect(digest(new SealingKeys([old]))).not.toBe(digest(keys));
    expect(digest(keys, 'another')).not.toBe(digest(keys));
  });

  it('opens nothing with any bit changed, cut off or added', () => {
    const keys = new SealingKeys([old]);
    const sealed = keys.seal('secret', context, nonce);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => keys.open(changed, context)).toThrow(SealBroken);
    }
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => keys.open(sealed.subarray(0, length), context)).toThrow(SealBroken);
    }
    expect(() => keys.open(Buffer.concat([sealed, Buffer.alloc(1)]), context)).toThrow(SealBroken);
  });

  it('opens nothing with another key', () => {
    const sealed = new SealingKeys([old]).seal('secret', context, nonce);
    expect(() => new SealingKeys([fresh]).open(sealed, context)).toThrow(SealBroken);
  });

  it('refuses keys and nonces of another length', () => {
    expect(() => new SealingKeys([])).toThrow('at least one');
    expect(() => new SealingKeys([Buffer.alloc(16)])).toThrow('32 bytes');
    expect(() => new SealingKeys([old]).seal('x', context, Buffer.alloc(8))).toThrow('12 bytes');
  });
});

describe('readSealingKeys', () => {
  const texts = [fresh.toString('base64'), old.toString('base64')];

  it('reads keys separated by commas; the first one seals', () => {
    const keys = readSealingKeys(` ${texts[0]}, ${texts[1]}\n`);
    const sealed = keys?.seal('secret', context, nonce);
    expect(new SealingKeys([fresh]).open(sealed ?? Buffer.alloc(0), context)).toBe('secret');
  });

  it.each([
    '',
    'x',
    `${texts[0]},`,
    Buffer.alloc(16).toString('base64'),
    `${texts[0]}!`,
    texts[0]?.replace('=', '') ?? '',
  ])('reads nothing from %j', (text) => {
    expect(readSealingKeys(text)).toBeNull();
  });
});
