import { existsSync, readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import path from 'node:path';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { type Child, eventually, startChild } from '@certwright/testing';
import { type IssuedFiles, servedName } from './issued-files';
import type { Place, Program } from './program';

/** A program that serves. */
export interface Site {
  readonly child: Child;
  /** Trusts the root alone, so that the server must send the intermediate. @returns the version agreed on, or `refused` */
  tried(options: ConnectionOptions): Promise<string>;
}

export interface ToServe {
  readonly command: string;
  readonly file: string;
  readonly place: Place;
  readonly files: IssuedFiles;
}

/** @throws Error with the output of the program when no connection succeeds */
export async function serve(program: Program, { command, file, place, files }: ToServe): Promise<Site> {
  program.prepare?.(place);
  const child = await startChild(program.server?.() ?? command, {
    args: program.serveArguments(file, place),
    env: { HOME: place.folder, XDG_DATA_HOME: place.folder },
  });
  const ca = readFileSync(files.ROOT);
  const tried = async (options: ConnectionOptions) => {
    const socket = await connected(place.port, program.startTls ?? false);
    return await agreedVersion({ socket, servername: servedName, ca, ...options });
  };
  let ended = false;
  void child.ended.then(() => (ended = true));
  try {
    await eventually(
      async () => {
        if ((await tried({})) === 'refused') throw new Error('TLS is refused');
      },
      { withinMs: 30_000, isHopeless: () => ended },
    );
  } catch (error) {
    await child.stop();
    throw new Error(`${command} says: ${child.output()}${logOf(place)}`, { cause: error });
  }
  return { child, tried };
}

function logOf({ folder }: Place): string {
  const log = path.join(folder, 'error.log');
  return existsSync(log) ? readFileSync(log, 'utf8') : '';
}

async function agreedVersion(options: ConnectionOptions): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connectTls(options, () => {
      resolve(socket.getProtocol() ?? '');
      socket.destroy();
    });
    socket.once('error', (error) => {
      // The server refused or closed the connection; the certificate is not the cause.
      if (/handshake failure|before secure TLS connection/i.test(error.message)) resolve('refused');
      else reject(error);
    });
  });
}

/** A connection on which TLS may begin. */
async function connected(port: number, startTls: boolean): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1');
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  if (!startTls) return socket;
  await said(socket, /^220 /m);
  socket.write('EHLO spec.example\r\n');
  await said(socket, /^250 /m);
  socket.write('STARTTLS\r\n');
  await said(socket, /^220 /m);
  return socket;
}

async function said(socket: Socket, pattern: RegExp): Promise<void> {
  let text = '';
  await new Promise<void>((resolve, reject) => {
    const listen = (bytes: Buffer): void => {
      text += bytes.toString();
      if (!pattern.test(text)) return;
      socket.off('data', listen).pause();
      resolve();
    };
    socket.on('data', listen).resume();
    socket.once('close', () => reject(new Error(`closed after: ${text}`)));
  });
}
