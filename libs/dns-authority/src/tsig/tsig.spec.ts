import { createHmac } from 'node:crypto';
import { queryBytes } from '../asking/request-bytes';
import { WireFault } from '../wire-fault';
import { signResponse, verifyRequest } from './answerer';
import { signRequest, verifyResponse } from './asker';
import { macOf as macOfVariables } from './signature';
import { readTsigKey, type TsigKey } from './tsig-key';
import { appendTsig, type SignedMessage, removeTsig, type TsigRecord } from './tsig-record';

/** The message with its record, changed as a forger would. */
function withTsig({ message, record }: SignedMessage, change: Partial<TsigRecord>): Buffer {
  return appendTsig(message, { ...record, ...change });
}

function key(name: string, algorithm: string, secret: string): TsigKey {
  const read = readTsigKey({ name, algorithm, secret });
  if ('rule' in read) throw new Error(read.rule);
  return read;
}

/** Requests of nsupdate and what BIND 9.18 answered, recorded between the two. */
const recorded = [
  {
    key: key('gateway-key', 'hmac-sha256', 'X+i6gaS+IW10IdN8KzIRkro3oEJCFtuqs54QVYUJhec='),
    request:
      'bc0728000001000000010001076578616d706c6503636f6d00000600010174c00c001000010000003c000201780b676174657761792d6b65790000fa00ff00000000003d0b686d61632d7368613235360000006b00cf56012c00209fd7aedf8eed24f48b092a7b019d88d02731a3ada924a7c316e6806d008576e0bc0700000000',
    response:
      'bc07a8000001000000000001076578616d706c6503636f6d00000600010b676174657761792d6b65790000fa00ff00000000003d0b686d61632d7368613235360000006b00cf56012c00205ce6ad14e9643ce6af14497a3c84bc3e9b1f9547710522261a89879c4373ea63bc0700000000',
  },
  {
    key: key(
      'gateway-key-384',
      'hmac-sha384',
      'ws87yI3Hk/U9d/FTzyAvKpkt5qSTkoz8rvy44cXHptdv8IrWd7xoYcK32GmHMF0S',
    ),
    request:
      '787128000001000000010001076578616d706c6503636f6d00000600010174c00c001000010000003c000201780f676174657761792d6b65792d3338340000fa00ff00000000004d0b686d61632d7368613338340000006b00cf56012c00304f3c5efed29758825d0358f12369ac9e8f0c372515079a23083def84799b3ce56bb5811d9116d43b265e610cd46943cc787100000000',
    response:
      '7871a8000001000000000001076578616d706c6503636f6d00000600010f676174657761792d6b65792d3338340000fa00ff00000000004d0b686d61632d7368613338340000006b00cf56012c0030074df4247820180a72e1c5bc7aaca941476546745eaf0675cac51a9eef1ffcd7c11637527261517ed4d240b820a8e162787100000000',
  },
  {
    key: key(
      'gateway-key-512',
      'hmac-sha512',
      'lqd6+JvpmVBtOQCZlC9Pcu0+5NCvzaLf99NVyLAkUN6EwnExv5Fck8Mzjddp1nv62b0js72ovlP7KxqB+4f/9w==',
    ),
    request:
      '800628000001000000010001076578616d706c6503636f6d00000600010174c00c001000010000003c000201780f676174657761792d6b65792d3531320000fa00ff00000000005d0b686d61632d7368613531320000006b00cf56012c004019f730d6ec05274e0d5a4f9529a5b75877a323e31cce40e5c2b5b7dffb6ae23f2d8cfaee19149fc2c8eb4e3f41342bcbfd82eb5688c3e6bc32fd13fa2d1a501a800600000000',
    response:
      '8006a8000001000000000001076578616d706c6503636f6d00000600010f676174657761792d6b65792d3531320000fa00ff00000000005d0b686d61632d7368613531320000006b00cf56012c004077f9ffff59e3ce139552c21e043d9d4b0b9257ec2c9d741c2dec14b5a7d17ab66a942129cae7f174f181296d25db531a2b6e5873c68e44aef500039c269fe4b4800600000000',
  },
].map(({ key: theirs, request, response }) => ({
  key: theirs,
  request: Buffer.from(request, 'hex'),
  response: Buffer.from(response, 'hex'),
}));
const signedAt = 0x6b00cf56;
const [first] = recorded as [(typeof recorded)[number]];
const macOf = (message: Buffer): Buffer => removeTsig(message)?.record.mac ?? Buffer.alloc(0);

describe.each(recorded)(
  'what nsupdate and BIND said with $key.algorithm',
  ({ key: theirs, request, response }) => {
    it('the request holds', () => {
      expect(verifyRequest(request, [theirs], signedAt)).toMatchObject({ verdict: 'valid' });
    });

    it('the response holds, for that request and no other', () => {
      expect(verifyResponse(response, theirs, macOf(request), signedAt)).toMatchObject({ verdict: 'valid' });
      const other = Buffer.from(macOf(request));
      other[0] = (other[0] ?? 0) ^ 1;
      expect(verifyResponse(response, theirs, other, signedAt)).toEqual({
        verdict: 'untrusted',
        reason: 'wrong signature',
      });
    });

    it('signing the same message at the same time gives the same bytes', () => {
      const unsigned = removeTsig(request)!.message;
      expect(signRequest(unsigned, theirs, signedAt).message.toString('hex')).toBe(request.toString('hex'));
      const reply = removeTsig(response)!.message;
      const verdict = verifyRequest(request, [theirs], signedAt);
      if (verdict.verdict !== 'valid') throw new Error(verdict.verdict);
      expect(signResponse(reply, verdict.signing, signedAt).toString('hex')).toBe(response.toString('hex'));
    });

    it('no bit of either can be changed', () => {
      const accepted: number[] = [];
      for (let bit = 0; bit < request.length * 8; bit++) {
        const spoilt = Buffer.from(request);
        spoilt[bit >> 3] = (spoilt[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        try {
          if (verifyRequest(spoilt, [theirs], signedAt).verdict === 'valid') accepted.push(bit);
        } catch (error) {
          expect(error).toBeInstanceOf(WireFault);
        }
      }
      // The id in the header, which forwarders may change (section 4.2), and the case of the names of key and algorithm,
      // which are signed in canonical form.
      const nameAt = request.indexOf(Buffer.from('gateway-key'));
      const algorithmAt = request.indexOf(Buffer.from('hmac-sha'));
      expect(
        accepted.filter((bit) => {
          const byte = bit >> 3;
          const isLetterCase = (bit & 7) === 5 && /[a-z]/.test(String.fromCharCode(request[byte] ?? 0));
          const isName =
            (byte >= nameAt && byte < nameAt + theirs.name.length) ||
            (byte >= algorithmAt && byte < algorithmAt + 11);
          return byte >= 2 && !(isName && isLetterCase);
        }),
      ).toEqual([]);
    });

    it('no prefix of it is a signed message', () => {
      for (let length = 0; length < request.length; length++) {
        expect(() => verifyRequest(request.subarray(0, length), [theirs], signedAt)).toThrow(WireFault);
      }
      expect(() => verifyRequest(Buffer.concat([request, Buffer.of(0)]), [theirs], signedAt)).toThrow(
        WireFault,
      );
    });
  },
);

it('signs what RFC 8945 section 4.3 lists, byte by byte', () => {
  const secret = Buffer.alloc(32, 7);
  const ours = key('K.Example.', 'HMAC-SHA256', secret.toString('base64'));
  const message = queryBytes(0x1234, 'www.example.com', 'TXT');
  const variables = Buffer.concat([
    Buffer.from('\x01k\x07example\x00', 'latin1'),
    Buffer.from('00ff00000000', 'hex'),
    Buffer.from('\x0bhmac-sha256\x00', 'latin1'),
    Buffer.from('0000499602d2012c00000000', 'hex'),
  ]);
  const mac = createHmac('sha256', secret).update(message).update(variables).digest();
  expect(signRequest(message, ours, 1234567890).mac).toEqual(mac);
});

describe('a request is refused', () => {
  const { key: theirs, request } = first;
  const error = (verdict: ReturnType<typeof verifyRequest>) =>
    verdict.verdict === 'refused' ? verdict.signing.error : verdict.verdict;

  it.each([
    ['another name', { ...theirs, name: 'other-key' }],
    ['another algorithm', { ...theirs, algorithm: 'hmac-sha512' } as TsigKey],
  ])('BADKEY for a key of %s, without a signature of ours', (_, other) => {
    const verdict = verifyRequest(request, [other], signedAt);
    expect(error(verdict)).toBe('BADKEY');
    expect(verdict).not.toHaveProperty('signing.key');
  });

  it('BADSIG for another secret', () => {
    expect(error(verifyRequest(request, [{ ...theirs, secret: Buffer.alloc(32) }], signedAt))).toBe('BADSIG');
  });

  it('BADTIME beyond the fudge of five minutes, either way, and signed', () => {
    for (const late of [301, -301]) {
      const verdict = verifyRequest(request, [theirs], signedAt + late);
      expect(error(verdict)).toBe('BADTIME');
      if (verdict.verdict !== 'refused') return;
      const response = signResponse(
        Buffer.from('bc07a8090000000000000000', 'hex'),
        verdict.signing,
        signedAt + late,
      );
      // Section 5.2.3: the asker's time, so that it takes the answer as fresh.
      expect(removeTsig(response)?.record).toMatchObject({ timeSigned: signedAt, fudge: 300 });
      expect(verifyResponse(response, theirs, macOf(request), signedAt)).toEqual({
        verdict: 'refused',
        error: 'BADTIME',
        serverTimeS: signedAt + late,
      });
    }
    // Our fudge limits the client's, so that replay is limited.
    const { message } = removeTsig(request)!;
    const wide = { timeSigned: signedAt, fudge: 0xffff, error: 0, otherData: Buffer.alloc(0) };
    const record = { ...removeTsig(request)!.record, ...wide, mac: macOfVariables(theirs, message, wide) };
    expect(error(verifyRequest(withTsig({ message, record }, {}), [theirs], signedAt + 300))).toBe('valid');
    expect(error(verifyRequest(withTsig({ message, record }, {}), [theirs], signedAt + 301))).toBe('BADTIME');
    for (const late of [300, -300])
      expect(error(verifyRequest(request, [theirs], signedAt + late))).toBe('valid');
  });

  it('BADTRUNC for a MAC that is cut, and FORMERR for one cut below what truncation allows', () => {
    const mac = macOf(request);
    const cut = (bytes: number) => withTsig(removeTsig(request)!, { mac: mac.subarray(0, bytes) });
    expect(error(verifyRequest(cut(31), [theirs], signedAt))).toBe('BADTRUNC');
    expect(error(verifyRequest(cut(16), [theirs], signedAt))).toBe('BADTRUNC');
    for (const bytes of [15, 1, 0]) {
      expect(() => verifyRequest(cut(bytes), [theirs], signedAt)).toThrow(WireFault);
    }
    const longer = withTsig(removeTsig(request)!, { mac: Buffer.concat([mac, Buffer.of(0)]) });
    expect(() => verifyRequest(longer, [theirs], signedAt)).toThrow(WireFault);
  });

  it('FORMERR when the record is not the last, is there twice, or is of another class or TTL', () => {
    const signed = removeTsig(request)!;
    const twice = withTsig({ ...signed, message: withTsig(signed, {}) }, {});
    expect(() => removeTsig(twice)).toThrow(WireFault);
    const classAt = request.indexOf(Buffer.from('00fa00ff', 'hex')) + 2;
    for (const at of [classAt, classAt + 5]) {
      const spoilt = Buffer.from(request);
      spoilt[at] = 1;
      expect(() => removeTsig(spoilt)).toThrow(WireFault);
    }
    // The same record counted to the update section instead of the additional one.
    const elsewhere = Buffer.from(request);
    elsewhere.writeUInt16BE(2, 8);
    elsewhere.writeUInt16BE(0, 10);
    expect(() => removeTsig(elsewhere)).toThrow(WireFault);
  });

  it('not at all when there is no record', () => {
    expect(verifyRequest(removeTsig(request)!.message, [theirs], signedAt)).toEqual({ verdict: 'unsigned' });
  });
});

describe('a response', () => {
  const { key: theirs, request, response } = first;
  const verdictOn = (bytes: Buffer, nowS = signedAt) => verifyResponse(bytes, theirs, macOf(request), nowS);

  it.each(['BADKEY', 'BADSIG', 'BADTRUNC'] as const)('that is unsigned tells %s', (error) => {
    const refused = signResponse(
      removeTsig(response)!.message,
      { request: removeTsig(request)!.record, error },
      signedAt,
    );
    expect(verdictOn(refused)).toEqual({ verdict: 'refused', error });
  });

  it('that is unsigned is not believed, nor is BADTIME without a signature', () => {
    const unsigned = removeTsig(response)!;
    expect(verdictOn(unsigned.message)).toEqual({ verdict: 'untrusted', reason: 'unsigned' });
    for (const error of [0, 18]) {
      expect(verdictOn(withTsig(unsigned, { mac: Buffer.alloc(0), error }))).toEqual({
        verdict: 'untrusted',
        reason: 'unsigned',
      });
    }
  });

  it('of another key, of another time, or with a cut MAC is not believed', () => {
    expect(verifyResponse(response, { ...theirs, name: 'other' }, macOf(request), signedAt)).toMatchObject({
      reason: 'other key',
    });
    expect(verdictOn(response, signedAt + 301)).toMatchObject({ reason: 'old' });
    const signed = removeTsig(response)!;
    expect(verdictOn(withTsig(signed, { mac: signed.record.mac.subarray(0, 16) }))).toMatchObject({
      reason: 'wrong signature',
    });
  });
});

describe('a key', () => {
  const secret = Buffer.alloc(32, 1).toString('base64');
  it.each([
    ['key', 'hmac-md5', secret, 'algorithm'],
    ['key', 'hmac-md5.sig-alg.reg.int', secret, 'algorithm'],
    ['key', 'hmac-sha1', secret, 'algorithm'],
    ['key', '__proto__', secret, 'algorithm'],
    ['', 'hmac-sha256', secret, 'name'],
    ['a b', 'hmac-sha256', secret, 'name'],
    ['key', 'hmac-sha256', `${secret} `, 'secret'],
    ['key', 'hmac-sha256', secret.replace('=', ''), 'secret'],
    ['key', 'hmac-sha256', Buffer.alloc(15).toString('base64'), 'secret'],
    ['key', 'hmac-sha256', '', 'secret'],
  ])('is refused: %s:%s', (name, algorithm, text, part) => {
    const read = readTsigKey({ name, algorithm, secret: text });
    expect(read).toMatchObject({ part });
    expect(JSON.stringify(read)).not.toContain(secret);
  });

  it('is known by its canonical name', () => {
    expect(readTsigKey({ name: 'Key.Example.COM.', algorithm: 'HMAC-SHA512', secret })).toEqual({
      name: 'key.example.com',
      algorithm: 'hmac-sha512',
      secret: Buffer.alloc(32, 1),
    });
  });
});
