import { createHmac } from 'node:crypto';

/** Secret of the key `gateway-key`. */
export const secret = Buffer.alloc(32, 0x33);
const keyName = Buffer.from('\x0bgateway-key\x00', 'latin1');
const algorithm = Buffer.from('\x0bhmac-sha256\x00', 'latin1');

interface Signing {
  readonly secret?: Buffer;
  readonly name?: Buffer;
  readonly timeS?: number;
  readonly error?: number;
  readonly macBytes?: number;
  readonly requestMac?: Buffer;
}

/** The response to a request: its header and question, with an rcode and no records. */
export function plain(request: Buffer, rcode = 0, flags = 0): Buffer {
  const questionEnd = request.indexOf(0, 12) + 5;
  const response = Buffer.from(request.subarray(0, questionEnd));
  response.writeUInt16BE(0x8000 | (request.readUInt16BE(2) & 0x7800) | flags | rcode, 2);
  response.writeUInt16BE(1, 4);
  for (const at of [6, 8, 10]) response.writeUInt16BE(0, at);
  return response;
}

/** Implemented independently of the tested code: RFC 8945 sections 4.2 and 4.3. */
export function signed(request: Buffer, response: Buffer, how: Signing = {}): Buffer {
  const name = how.name ?? keyName;
  const time = Buffer.alloc(6);
  time.writeUIntBE(how.timeS ?? Math.floor(Date.now() / 1000), 0, 6);
  const error = Buffer.from([0, how.error ?? 0]);
  const requestMac = how.requestMac ?? request.subarray(request.length - 6 - 32, request.length - 6);
  const mac = createHmac('sha256', how.secret ?? secret)
    .update(Buffer.concat([Buffer.of(0, 32), requestMac, response]))
    .update(
      Buffer.concat([name, Buffer.from('00ff00000000', 'hex'), algorithm, time, Buffer.from('012c', 'hex')]),
    )
    .update(Buffer.concat([error, Buffer.of(0, 0)]))
    .digest()
    .subarray(0, how.macBytes ?? 32);
  const content = Buffer.concat([
    algorithm,
    time,
    Buffer.from([0x01, 0x2c, 0, mac.length]),
    mac,
    response.subarray(0, 2),
    error,
    Buffer.of(0, 0),
  ]);
  const fixed = Buffer.from('00fa00ff000000000000', 'hex');
  fixed.writeUInt16BE(content.length, 8);
  const whole = Buffer.concat([response, name, fixed, content]);
  whole.writeUInt16BE(1, 10);
  return whole;
}

/** The request with another first letter in its question. */
export function questionOf(request: Buffer, letter: string): Buffer {
  const changed = Buffer.from(request);
  changed[13] = letter.charCodeAt(0);
  return changed;
}

export function withFlags(message: Buffer, flags: number): Buffer {
  message.writeUInt16BE(flags, 2);
  return message;
}
