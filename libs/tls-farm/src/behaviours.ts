import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { Duplex, duplexPair } from 'node:stream';
import { createSecureContext, type SecureVersion, TLSSocket } from 'node:tls';
import type { Forged } from '@certwright/testing';
import type { Behaviour } from './addressed-server';

export interface Presenting {
  /** Records the requested server names; an absent one is not recorded. */
  readonly serverNames?: string[];
  /** For a requested server name; other names get the certificates in general. */
  readonly byServerName?: Readonly<Record<string, readonly Forged[]>>;
  /** The only version; omitted: TLS 1.2 and 1.3. */
  readonly version?: SecureVersion;
  /** Ciphers in OpenSSL's notation. */
  readonly suites?: string;
  readonly clientCertificate?: 'wanted' | 'required';
  /** Sent in return for the first bytes of the client, before the end of the connection. Default: nothing. */
  readonly response?: string;
  readonly closesAfterHandshake?: boolean;
}

/** TLS with these certificates, the leaf first, which has the key. Weak keys and signatures are allowed. */
export function presents(certificates: readonly Forged[], more: Presenting = {}): Behaviour {
  const {
    serverNames = [],
    byServerName = {},
    clientCertificate,
    response = '',
    closesAfterHandshake,
  } = more;
  const contextOf = (chain: readonly Forged[]) =>
    createSecureContext({
      key: readFileSync(chain[0]?.keyFile ?? ''),
      cert: chain.map(({ file }) => readFileSync(file, 'utf8')).join(''),
      ciphers: `${more.suites ?? 'DEFAULT'}:@SECLEVEL=0`,
      ...(more.version === undefined ? {} : { minVersion: more.version, maxVersion: more.version }),
    });
  const general = contextOf(certificates);
  const contexts = new Map(Object.entries(byServerName).map(([name, chain]) => [name, contextOf(chain)]));
  return (socket) => {
    const tls = new TLSSocket(socket, {
      isServer: true,
      secureContext: general,
      requestCert: clientCertificate !== undefined,
      rejectUnauthorized: clientCertificate === 'required',
      SNICallback: (name, done) => {
        serverNames.push(name);
        done(null, contexts.get(name) ?? general);
      },
    });
    tls.on('error', () => undefined);
    tls.on('data', () => tls.end(response));
    if (closesAfterHandshake === true) tls.once('secure', () => tls.destroy());
  };
}

/** Each connection gets the next one. */
export function inTurns(...behaviours: readonly Behaviour[]): Behaviour {
  let connections = 0;
  return (socket) => behaviours[connections++ % behaviours.length]?.(socket);
}

/** Sends everything byte by byte. */
export const inPieces =
  (behaviour: Behaviour): Behaviour =>
  (socket) => {
    const [near, far] = duplexPair();
    socket.on('data', (chunk: Buffer) => far.write(chunk)).on('close', () => far.destroy());
    far
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => {
        for (const byte of chunk) if (socket.writable) socket.write(Buffer.of(byte));
      });
    behaviour(asSocket(near));
  };

/** A `TLSSocket` needs no more of a socket than its stream. */
const asSocket = (stream: Duplex): Socket => stream as Socket;

export const says =
  (bytes: string | Buffer): Behaviour =>
  (socket) =>
    void socket.resume().end(bytes);

/** Once the client has sent something. */
export const replies =
  (bytes: string | Buffer): Behaviour =>
  (socket) =>
    void socket.once('data', () => socket.resume().end(bytes));

/** Without an end of the connection. */
export const stopsAfter =
  (bytes: string | Buffer): Behaviour =>
  (socket) =>
    void socket.once('data', () => socket.resume().write(bytes));

export const staysSilent: Behaviour = (socket) => void socket.resume();

export const echoes: Behaviour = (socket) => void socket.pipe(socket);

/** Again and again, in blocks of 16 KiB or more: one write for few bytes would keep this process busy. */
export function neverEnds(bytes: Buffer): Behaviour {
  const block = Buffer.concat(Array.from({ length: Math.ceil(16_384 / bytes.length) }, () => bytes));
  return (socket) => {
    const more = (): void => void (socket.writable && socket.write(block, more));
    socket.resume();
    more();
  };
}

export const resetsAtOnce: Behaviour = (socket) => socket.resetAndDestroy();

export const resetsAfter =
  (bytes: Buffer): Behaviour =>
  (socket) =>
    void socket.once('data', () => socket.write(bytes, () => socket.resetAndDestroy()));

/** RFC 8446, section 5.1. */
export const tlsRecord = (type: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.of(type, 3, 3, content.length >> 8, content.length & 255), content]);

/** RFC 8446, section 6. */
export const fatalAlert = (description: number): Buffer => tlsRecord(21, Buffer.of(2, description));
