import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import fc from 'fast-check';
import {
  checkpointOrigin,
  type LogKey,
  readCheckpoint,
  readLogKey,
  readNote,
  readSignedTreeHead,
  rfc6962KeyId,
  treeHeadSignatureInput,
} from '../index';

const base64 = (text: string) => Buffer.from(text, 'base64');
const spkiOf = (key: KeyObject) => key.export({ type: 'spki', format: 'der' });

function keyOf(spki: Uint8Array): LogKey {
  const key = readLogKey(spki);
  if (key === null) throw new Error('not a key of a log');
  return key;
}

/** A `get-sth` response of a log that Google ran in 2020 (test data of FiloSottile/sunlight). */
const sth2020 = {
  tree_size: 90785920,
  timestamp: 1588741228371,
  sha256_root_hash: 'l+XrWXWRyp4SmATORgTfz4CcYS/VlE7CeTuWI0FAk3o=',
  tree_head_signature:
    'BAMASDBGAiEAnaHGuwnyyHWvrfgEn3qtl1j2heMzocku6ZAItYD75m8CIQCpotlpH5GEPEfMMzky72BCuIl14FB65t5SWZ91vgTQOg==',
};
const key2020 = keyOf(
  base64(
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAESYlKFDLLFmA9JScaiaNnqlU8oWDytxIYMfswHy9Esg0aiX+WnP/yj4O0ViEHtLwbmOQeSWBGkIu9YK9CLeer+g==',
  ),
);

/**
 * As it was served in January 2025 (documentation of cloudflare/azul): four signatures, of which one is read
 * here.
 */
const willow = {
  origin: 'willow.ct.letsencrypt.org/2025h1b',
  key: keyOf(
    base64(
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEbNmWXyYsF2pohGOAiNELea6UL4/XioI3w6ChE5Udlos0HUqM7KOHIP9qBuWCVs6VAdtDXrvanmxKq52Whh2+2w==',
    ),
  ),
  lines: ['willow.ct.letsencrypt.org/2025h1b', '1237717073', 'pT/KC9MSHoRK2rHkeyfTSXfxolR2ja4JqhdymK9pnlo='],
  others: [
    '— grease.invalid 6PiRCcvuZmG719Q08yWtEVT7C6ncT1s8R1xtzvX/reoSPKtuXROhW7Se59Kiwa7i98c/AM8tH4EElmqOQnJcF4cxRlbI9FY=',
    '— willow.ct.letsencrypt.org/2025h1b kgUpF33pGg==',
    '— willow.ct.letsencrypt.org/2025h1b ilIWIZPYgLHq/TqbHb14ff7ydbJ3VTODZcRE5VVYXTc3RduKQdVTwHV+Uv6NAEq9qBmjeXXw5QePKXNfDK747p2VOgo=',
  ],
  own: '— willow.ct.letsencrypt.org/2025h1b GYcbuAAAAZSU2PMJBAMASDBGAiEAhNc5t31Sx4HmBDN4bh366ApPb1Ag1S1zn1XN02ibJNYCIQCKGun1fU1tcgMpWPu3918Rk6OBuoSjt7wdBag1cKsQ+g==',
};

const note = (text: readonly string[], signatures: readonly string[]) =>
  Buffer.from([...text, '', ...signatures, ''].join('\n'));
const read = (bytes: Uint8Array, origin = willow.origin) => readCheckpoint(bytes, origin, willow.key);

describe('a key of a log', () => {
  it('has the id in the log list', () => {
    const spki =
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEfEEe0JZknA91/c6eNl1aexgeKzuGQUMvRCXPXg9L227O5I4Pi++Abcpq6qxlVUKPYafAJelAnMfGzv3lHCc8gA==';
    expect(keyOf(base64(spki)).logId).toEqual(base64('pcl4kl1XRheChw3YiWYLXFVki30AQPLsB2hR0YhpGfc='));
  });

  it.each<[string, () => Uint8Array, string | undefined]>([
    ['P-256', () => spkiOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey), 'ecdsa'],
    ['RSA of 2048 bits', () => spkiOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey), 'rsa'],
    [
      'RSA of 1024 bits',
      () => spkiOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey),
      undefined,
    ],
    ['P-384', () => spkiOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey), undefined],
    ['Ed25519', () => spkiOf(generateKeyPairSync('ed25519').publicKey), undefined],
    ['nothing', () => Buffer.alloc(0), undefined],
    ['any bytes', () => Buffer.alloc(64, 0x30), undefined],
  ])('may be %s: %3$s', (_kind, make, algorithm) => {
    expect(readLogKey(make())?.algorithm).toBe(algorithm);
  });
});

describe('a signed tree head', () => {
  it('of a real log is accepted', () => {
    expect(readSignedTreeHead(sth2020, key2020)).toEqual({
      ok: true,
      head: { treeSize: 90785920, timestamp: 1588741228371, rootHash: base64(sth2020.sha256_root_hash) },
    });
  });

  it('has the bytes of RFC 6962 signed', () => {
    const input = treeHeadSignatureInput({
      treeSize: 258,
      timestamp: 2 ** 40 + 1,
      rootHash: Buffer.alloc(32, 9),
    });
    expect(input.toString('hex')).toBe(`000100000100000000010000000000000102${'09'.repeat(32)}`);
  });

  it.each<[string, unknown, string]>([
    ['another size', { ...sth2020, tree_size: 90785921 }, 'signature'],
    ['another time', { ...sth2020, timestamp: 1588741228372 }, 'signature'],
    ['another root', { ...sth2020, sha256_root_hash: willow.lines[2] }, 'signature'],
    ['a root of 31 bytes', { ...sth2020, sha256_root_hash: Buffer.alloc(31).toString('base64') }, 'json'],
    ['a size in a text', { ...sth2020, tree_size: '90785920' }, 'json'],
    ['a negative size', { ...sth2020, tree_size: -1 }, 'json'],
    ['a size that is not exact', { ...sth2020, tree_size: 2 ** 53 }, 'json'],
    ['half a millisecond', { ...sth2020, timestamp: 0.5 }, 'json'],
    ['no signature', { ...sth2020, tree_head_signature: undefined }, 'json'],
    ['a signature that is no base64', { ...sth2020, tree_head_signature: '*' }, 'json'],
    ['an empty signature', { ...sth2020, tree_head_signature: '' }, 'signature_form'],
    ['a byte after the signature', { ...sth2020, tree_head_signature: 'BAMAAQEB' }, 'signature_form'],
    ['a signature of one byte', { ...sth2020, tree_head_signature: 'BAMAAQE=' }, 'signature'],
    ['another hash algorithm', { ...sth2020, tree_head_signature: 'AgMAAQE=' }, 'signature_algorithm'],
    ['the algorithm of another key', { ...sth2020, tree_head_signature: 'BAEAAQE=' }, 'signature_algorithm'],
    ['null', null, 'json'],
    ['a text', 'sth', 'json'],
    ['a list', [], 'json'],
  ])('with %s is refused', (_what, response, fault) => {
    expect(readSignedTreeHead(response, key2020)).toEqual({ ok: false, fault });
  });

  it('may be signed with RSA', () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const head = { treeSize: 5, timestamp: 6, rootHash: Buffer.alloc(32, 7) };
    const value = sign('sha256', treeHeadSignatureInput(head), privateKey);
    const response = {
      tree_size: 5,
      timestamp: 6,
      sha256_root_hash: head.rootHash.toString('base64'),
      tree_head_signature: Buffer.concat([Buffer.from([4, 1, 1, 0]), value]).toString('base64'),
    };
    expect(readSignedTreeHead(response, keyOf(spkiOf(publicKey)))).toEqual({ ok: true, head });
    expect(readSignedTreeHead({ ...response, tree_size: 4 }, keyOf(spkiOf(publicKey)))).toMatchObject({
      ok: false,
    });
    expect(readSignedTreeHead(response, key2020)).toEqual({ ok: false, fault: 'signature_algorithm' });
  });
});

describe('a checkpoint', () => {
  const { lines, others, own } = willow;

  it('of a real log is accepted, ignoring signatures of others', () => {
    const head = { treeSize: 1237717073, timestamp: 0x19494d8f309, rootHash: base64(lines[2]!) };
    expect(read(note(lines, [...others, own]))).toEqual({ ok: true, head });
    expect(read(note(lines, [own, ...others]))).toEqual({ ok: true, head });
    expect(read(note(lines, [own]))).toEqual({ ok: true, head });
    expect(new Date(head.timestamp).toISOString()).toMatch(/^2025-01-23/);
  });

  it('of another real log has its key id', () => {
    const logId = base64('SU2QSbivPlrKupk+TB8wVnN6qfltAPewubJRBve+Go8=');
    const id = rfc6962KeyId('sycamore.ct.letsencrypt.org/2024h2', logId).toString(16);
    expect(id).toBe(base64('PdkIag==').toString('hex'));
  });

  const changedOwn = own.replace('hNc5t31S', 'hNc5t31T');
  it.each<[string, Uint8Array, string]>([
    ['without a signature of the log', note(lines, others), 'unsigned'],
    ['of another size', note([lines[0]!, '1237717074', lines[2]!], [own]), 'signature'],
    ['with another root', note([lines[0]!, lines[1]!, sth2020.sha256_root_hash], [own]), 'signature'],
    ['with a signature changed', note(lines, [changedOwn]), 'signature'],
    ['with one of two signatures of the log changed', note(lines, [own, changedOwn]), 'signature'],
    ['with its time changed', note(lines, [own.replace('AAAZSU', 'AAAZSV')]), 'signature'],
    ['under another key name', note(lines, [own.replace('2025h1b', '2025h2b')]), 'unsigned'],
    ['of another log', note(['log.example', ...lines.slice(1)], [own]), 'origin'],
    ['with an extension line', note([...lines, 'more'], [own]), 'extension_lines'],
    ['with an empty line', note([...lines, '', 'more'], [own]), 'checkpoint_form'],
    ['with an empty line at the end', note([...lines, ''], [own]), 'checkpoint_form'],
    ['with a leading zero', note([lines[0]!, '01237717073', lines[2]!], [own]), 'checkpoint_form'],
    ['with a sign', note([lines[0]!, '+1237717073', lines[2]!], [own]), 'checkpoint_form'],
    ['with a size in hexadecimal', note([lines[0]!, '0x10', lines[2]!], [own]), 'checkpoint_form'],
    ['with a size beyond 2^53', note([lines[0]!, '9007199254740992', lines[2]!], [own]), 'checkpoint_form'],
    [
      'with a root of 31 bytes',
      note([lines[0]!, '1', Buffer.alloc(31).toString('base64')], [own]),
      'checkpoint_form',
    ],
    [
      'with a root in another base64',
      note([lines[0]!, '1', lines[2]!.replace('/', '_')], [own]),
      'checkpoint_form',
    ],
    ['without a root', note(lines.slice(0, 2), [own]), 'checkpoint_form'],
    ['without an origin', note(['', ...lines.slice(1)], [own]), 'checkpoint_form'],
    ['without signatures', Buffer.from(`${lines.join('\n')}\n`), 'note_form'],
    ['without signatures but with the empty line', Buffer.from(`${lines.join('\n')}\n\n`), 'note_form'],
    ['with nothing', Buffer.alloc(0), 'note_form'],
    ['without its last line feed', note(lines, [own]).subarray(0, -1), 'note_form'],
    ['with a hyphen for the dash', note(lines, [own.replace('—', '-')]), 'signature_line'],
    ['with a line that is no signature', note(lines, [own, 'x']), 'signature_line'],
    ['with two spaces in a signature', note(lines, [own.replace(' GY', '  GY')]), 'signature_line'],
    ['with a space at the end of a signature', note(lines, [`${own} `]), 'signature_line'],
    ['with a signature that is no base64', note(lines, [`${own.slice(0, -2)}*=`]), 'signature_line'],
    ['with a signature of a key id alone', note(lines, ['— a AAAAAA==']), 'signature_line'],
    ['with a plus in a key name', note(lines, ['— a+b AAAAAAA=']), 'signature_line'],
    ['with a space of Unicode in a key name', note(lines, ['— a\u2003b AAAAAAA=']), 'signature_line'],
    ['with a carriage return', note([lines[0]!, `${lines[1]}\r`, lines[2]!], [own]), 'note_characters'],
    ['with NUL', note([`${lines[0]}\0`, lines[1]!, lines[2]!], [own]), 'note_characters'],
    [
      'with a broken character',
      Buffer.concat([note(lines, [own]), Buffer.from([0xff, 0x0a])]),
      'note_characters',
    ],
    ['of a megabyte', Buffer.alloc(1 << 20, 'a'), 'note_size'],
  ])('%s is refused', (_what, bytes, fault) => expect(read(bytes)).toEqual({ ok: false, fault }));

  it('is rejected when its own signature is truncated before or in the time', () => {
    const keyId = Buffer.alloc(4);
    keyId.writeUInt32BE(rfc6962KeyId(willow.origin, willow.key.logId));
    const signed = (size: number, fill = 0) =>
      note(lines, [
        `— ${willow.origin} ${Buffer.concat([keyId, Buffer.alloc(size, fill)]).toString('base64')}`,
      ]);
    for (const size of [1, 7, 8, 11])
      expect(read(signed(size))).toEqual({ ok: false, fault: 'signature_form' });
    expect(read(signed(12, 0xff))).toEqual({ ok: false, fault: 'signature_form' });
    expect(read(signed(12))).toEqual({ ok: false, fault: 'signature_algorithm' });
  });

  it('may have sixteen post-quantum signatures', () => {
    const large = Array.from(
      { length: 16 },
      (_, i) => `— witness${i} ${Buffer.alloc(5000, i).toString('base64')}`,
    );
    expect(read(note(lines, [...large, own]))).toMatchObject({ ok: true });
  });

  it('of a log with an empty tree', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = keyOf(spkiOf(publicKey));
    const head = { treeSize: 0, timestamp: 1, rootHash: createHash('sha256').digest() };
    const value = sign('sha256', treeHeadSignatureInput(head), privateKey);
    const keyId = Buffer.alloc(4);
    keyId.writeUInt32BE(rfc6962KeyId('a.example/log', key.logId));
    const body = Buffer.concat([
      keyId,
      Buffer.from('00000000000000010403', 'hex'),
      Buffer.from([0, value.length]),
      value,
    ]);
    const bytes = note(
      ['a.example/log', '0', head.rootHash.toString('base64')],
      [`— a.example/log ${body.toString('base64')}`],
    );
    expect(readCheckpoint(bytes, 'a.example/log', key)).toEqual({ ok: true, head });
  });

  it.each([
    ['https://rome.ct.example.com/2024h1/', 'rome.ct.example.com/2024h1'],
    ['https://log.example', 'log.example'],
    ['http://127.0.0.1:8080/log//', '127.0.0.1:8080/log'],
    ['log.example/x', 'log.example/x'],
  ])('of the log with submission prefix %s has the origin %s', (url, origin) =>
    expect(checkpointOrigin(url)).toBe(origin),
  );
});

describe('a note', () => {
  it('of the specification is read', () => {
    const text =
      'Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n';
    const signature =
      'NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=';
    expect(readNote(Buffer.from(`${text}\n— quasimodo.example/salvatore ${signature}\n`))).toEqual({
      ok: true,
      note: {
        text,
        signatures: [
          {
            keyName: 'quasimodo.example/salvatore',
            keyId: 0x367ba04b,
            signature: base64(signature).subarray(4),
          },
        ],
      },
    });
  });

  it('of any bytes is read or rejected', () => {
    const parts = fc.constantFrom(
      '\n',
      '\n\n',
      '— ',
      'a',
      ' ',
      'AAAAAAA=',
      'log.example',
      '1',
      '\0',
      '+',
      'é',
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 40 }), (pieces) => {
        const bytes = Buffer.from(pieces.join(''));
        const reading = readNote(bytes);
        read(bytes, 'a');
        if (!reading.ok) return;
        const lines = reading.note.signatures.map(({ keyName, keyId, signature }) => {
          const head = Buffer.alloc(4);
          head.writeUInt32BE(keyId);
          return `— ${keyName} ${Buffer.concat([head, signature]).toString('base64')}\n`;
        });
        expect(`${reading.note.text}\n${lines.join('')}`).toBe(bytes.toString());
      }),
      { numRuns: 5000, seed: 6962 },
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => void read(bytes)),
      { numRuns: 1000, seed: 6962 },
    );
  });
});
