import { cipherSuites } from './cipher-suites';
import { HandshakeKeys } from './handshake-keys';

/** The contents of the bytes from a server, as far as received and readable. */
export interface ServerFlight {
  /** Whether they begin like TLS; null before the first byte. */
  readonly isTls: boolean | null;
  /** What the ServerHello chose; null: none that is readable, or a choice that was not offered. */
  readonly choice: Choice | null;
  /** DER, in the order in which they were sent; null until the Certificate message is complete. */
  readonly certificates: readonly Buffer[] | null;
  /** Description of the server's fatal alert (RFC 8446 §6.2); null: none that is readable. */
  readonly alert: number | null;
}

export interface Choice {
  readonly version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  /** In the spelling of the IANA registry. */
  readonly cipher: string;
}

/** RFC 8446 §5.1. */
const contentTypes = { alert: 21, handshake: 22, applicationData: 23 } as const;
/** RFC 8446 §4. */
const messageTypes = { serverHello: 2, certificate: 11 } as const;

/** RFC 8446 §4.2. */
const supportedVersions = 43;

const versions: ReadonlyMap<number, Choice['version']> = new Map([
  [0x0301, 'TLSv1'],
  [0x0302, 'TLSv1.1'],
  [0x0303, 'TLSv1.2'],
  [0x0304, 'TLSv1.3'],
]);

/** RFC 5246 §7.2. */
const fatal = 2;

const recordHeaderBytes = 5;
const messageHeaderBytes = 4;

/**
 * Reads the first flight of a TLS server: clear text up to TLS 1.2, encrypted from TLS 1.3 on. Strict in what it
 * reads, and ignores what it cannot read.
 *
 * @param bytes as received over TCP, from the first one
 * @param secret the server's handshake traffic secret (TLS 1.3), once there is one
 */
export function readServerFlight(bytes: Buffer, secret: Buffer | null): ServerFlight {
  if (bytes.length === 0) return { ...nothing, isTls: null };
  // RFC 8446 §5.1: the first byte of a record's version is always 3.
  const isTls =
    (bytes[0] === contentTypes.handshake || bytes[0] === contentTypes.alert) &&
    (bytes.length === 1 || bytes[1] === 3);
  if (!isTls) return { ...nothing, isTls };
  const { clear, opened, alert } = contentOf(bytes, secret);
  // RFC 8446 §4.4.2: in TLS 1.3 the message is always encrypted, and every certificate may be followed by extensions.
  const before13 = bodyOf(messageTypes.certificate, clear);
  const since13 = bodyOf(messageTypes.certificate, opened);
  const certificates =
    before13 !== undefined
      ? certificatesIn(before13, false)
      : since13?.[0] === 0
        ? certificatesIn(since13.subarray(1), true)
        : null;
  return { isTls, choice: choiceIn(clear), certificates, alert };
}

const nothing = { choice: null, certificates: null, alert: null };

interface Content {
  /** Concatenated handshake messages: sent in clear text, and sent encrypted. */
  readonly clear: Buffer;
  readonly opened: Buffer;
  readonly alert: number | null;
}

/** A message may begin in one record and end in another, but never spans a change of keys (RFC 8446 §5.1). */
function contentOf(bytes: Buffer, secret: Buffer | null): Content {
  const clear: Buffer[] = [];
  const opened: Buffer[] = [];
  let alert: number | null = null;
  let keys: HandshakeKeys | null = null;
  for (const { type, header, fragment } of recordsIn(bytes)) {
    const isSealed = type === contentTypes.applicationData;
    if (isSealed && secret !== null) keys ??= keysOf(Buffer.concat(clear), secret);
    const record = isSealed ? keys?.open(header, fragment) : { type, fragment };
    if (!record) break;
    if (record.type === contentTypes.handshake) (isSealed ? opened : clear).push(record.fragment);
    if (record.type === contentTypes.alert) alert ??= alertIn(record.fragment);
  }
  return { clear: Buffer.concat(clear), opened: Buffer.concat(opened), alert };
}

function* recordsIn(bytes: Buffer): Generator<{ type: number; header: Buffer; fragment: Buffer }> {
  for (let at = 0; at + recordHeaderBytes <= bytes.length;) {
    const header = bytes.subarray(at, at + recordHeaderBytes);
    const end = at + recordHeaderBytes + header.readUInt16BE(3);
    if (end > bytes.length) return;
    yield { type: header.readUInt8(0), header, fragment: bytes.subarray(at + recordHeaderBytes, end) };
    at = end;
  }
}

function* messagesIn(handshake: Buffer): Generator<{ type: number; body: Buffer }> {
  for (let at = 0; at + messageHeaderBytes <= handshake.length;) {
    const end = at + messageHeaderBytes + handshake.readUIntBE(at + 1, 3);
    if (end > handshake.length) return;
    yield { type: handshake.readUInt8(at), body: handshake.subarray(at + messageHeaderBytes, end) };
    at = end;
  }
}

function bodyOf(wanted: number, handshake: Buffer): Buffer | undefined {
  for (const { type, body } of messagesIn(handshake)) if (type === wanted) return body;
  return undefined;
}

interface ServerHello {
  /** `legacy_version`: that of TLS 1.2 when TLS 1.3 was chosen. */
  readonly version: number;
  readonly suite: number;
  /** With their length; empty: none. */
  readonly extensions: Buffer;
}

/** The first one; a HelloRetryRequest has the version and suite of the one that follows (RFC 8446 §4.1.4). */
function serverHelloIn(handshake: Buffer): ServerHello | null {
  const hello = bodyOf(messageTypes.serverHello, handshake) ?? Buffer.of();
  // legacy_version, random, and the session id with its length (RFC 8446 §4.1.3).
  const at = 2 + 32 + 1 + (hello[2 + 32] ?? 0);
  if (hello.length < at + 2) return null;
  // The suite, and one byte for the compression method.
  return {
    version: hello.readUInt16BE(0),
    suite: hello.readUInt16BE(at),
    extensions: hello.subarray(at + 3),
  };
}

function keysOf(handshake: Buffer, secret: Buffer): HandshakeKeys | null {
  const hello = serverHelloIn(handshake);
  return hello === null ? null : HandshakeKeys.of(hello.suite, secret);
}

function choiceIn(handshake: Buffer): Choice | null {
  const hello = serverHelloIn(handshake);
  if (hello === null) return null;
  const version = versions.get(selectedVersionIn(hello.extensions) ?? hello.version);
  const cipher = cipherSuites.get(hello.suite);
  return version === undefined || cipher === undefined ? null : { version, cipher };
}

/** RFC 8446 §4.2.1: only TLS 1.3 and later versions are chosen by this extension. */
function selectedVersionIn(extensions: Buffer): number | null {
  for (let at = 2; at + 4 <= extensions.length;) {
    const end = at + 4 + extensions.readUInt16BE(at + 2);
    if (end > extensions.length) return null;
    if (extensions.readUInt16BE(at) === supportedVersions)
      return end === at + 6 ? extensions.readUInt16BE(at + 4) : null;
    at = end;
  }
  return null;
}

/** RFC 5246 §7.4.2, RFC 8446 §4.4.2. @returns null when it is empty, or the lengths are inconsistent */
function certificatesIn(list: Buffer, hasExtensions: boolean): readonly Buffer[] | null {
  if (list.length < 3 || 3 + list.readUIntBE(0, 3) !== list.length) return null;
  const certificates: Buffer[] = [];
  for (let at = 3; at < list.length;) {
    const begin = at + 3;
    if (begin > list.length) return null;
    const end = begin + list.readUIntBE(at, 3);
    if (end + (hasExtensions ? 2 : 0) > list.length) return null;
    certificates.push(list.subarray(begin, end));
    at = hasExtensions ? end + 2 + list.readUInt16BE(end) : end;
    if (at > list.length) return null;
  }
  return certificates.length === 0 ? null : certificates;
}

/** RFC 8446 §6: level and description. A warning does not end a handshake. */
function alertIn(fragment: Buffer): number | null {
  const [level, description] = fragment;
  return level === fatal && description !== undefined ? description : null;
}
