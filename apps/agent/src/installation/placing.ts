import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Point } from '../configuration/settings';
import type { Access, Files } from '../files/files';
import { fileFault } from '../files/durable';
import { type Owner, unsafeFile, unsafeFolder } from '../files/safe-path';
import { formatFiles } from '../formats/format-files';
import type { OrderStore } from '../state/order-store';
import { decodePem } from '@certwright/pki';

/** Nothing was changed. The message says what to do. */
class PlacingFault extends Error {}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Writes files of versions to the paths of points. */
export class Placing {
  constructor(
    private readonly files: Files,
    private readonly orders: OrderStore,
    private readonly owner: Owner,
  ) {}

  /** @throws PlacingFault when the file cannot be made or its place is not safe */
  prepare(point: Point, sha256: string): { content: Uint8Array; access: Access } {
    const file = point.path ?? '';
    const unsafe = unsafeFolder(this.files, path.dirname(file), this.owner);
    if (unsafe !== null) throw new PlacingFault(`${file}: ${unsafe}`);
    const present = this.files.state(file);
    if (present?.kind === 'link')
      throw new PlacingFault(
        `${file} is a symbolic link, which the agent does not follow; use the real path`,
      );
    if (present !== null && present.kind !== 'file')
      throw new PlacingFault(`${file} is not a regular file; use another path`);
    return { content: this.content(point, sha256), access: accessOf(point) };
  }

  /** Whether the file of a point has the permissions, and the owner and group if they are configured. */
  hasAccess(point: Point): boolean {
    try {
      const present = this.files.state(point.path ?? '');
      const { mode, uid = present?.uid, gid = present?.gid } = accessOf(point);
      return present?.mode === mode && present.uid === uid && present.gid === gid;
    } catch {
      // Unknown: such as a directory service that does not respond. The next installation reports it.
      return true;
    }
  }

  /** @returns SHA-256 of what the file contains; null when it cannot be read */
  present(file: string): string | null {
    try {
      return this.files.state(file)?.kind === 'file' ? sha256Of(this.files.read(file, maxBytes)) : null;
    } catch {
      return null;
    }
  }

  private content(point: Point, sha256: string): Uint8Array {
    const read = (name: string) => this.orders.read(point.order, sha256, name);
    if (point.format !== 'pkcs12') return read('combined.pem');
    const [leaf, ...chain] = pemBlocks(read('fullchain.pem'));
    const [pkcs8] = pemBlocks(read('privkey.pem'));
    if (leaf === undefined || pkcs8 === undefined) throw new PlacingFault('the version has no key');
    const password = this.password(point.passwordFile ?? '');
    const made = formatFiles({ leaf, chain, root: null, pkcs8, password }).get('bundle.p12');
    if (made === undefined) throw new PlacingFault('no PKCS#12 file was made');
    return made;
  }

  private password(file: string): string {
    const unsafe = unsafeFile(this.files, file, this.owner);
    if (unsafe !== null) throw new PlacingFault(`password_file ${file}: ${unsafe}`);
    const [line = ''] = this.files.read(file, 4096).toString('utf8').split(/\r?\n/);
    if (!/^[\x20-\x7e]{1,1000}$/.test(line))
      throw new PlacingFault(
        `password_file ${file}: its first line is not 1 to 1,000 printable ASCII characters; write such a password into it`,
      );
    return line;
  }
}

const maxBytes = 4 * 1024 * 1024;

const accessOf = ({ mode, owner, group }: Point): Access => ({
  mode,
  ...(owner === null ? {} : { uid: userOrGroupId('passwd', owner) }),
  ...(group === null ? {} : { gid: userOrGroupId('group', group) }),
});

function pemBlocks(pem: Buffer): Uint8Array[] {
  const decoded = decodePem(pem.toString('latin1'), 50);
  return decoded.ok ? decoded.blocks.map(({ der }) => der) : [];
}

/** Number of a user or group. The name service of the host also knows those of a directory. */
export function userOrGroupId(database: 'passwd' | 'group', name: string): number {
  if (/^\d+$/.test(name)) return Number(name);
  try {
    const line = execFileSync('getent', [database, name], {
      timeout: 10_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const id = line.toString('latin1').split(':')[2];
    if (id !== undefined && /^\d+$/.test(id)) return Number(id);
  } catch {
    // Reported below.
  }
  const what = database === 'passwd' ? 'user' : 'group';
  throw new PlacingFault(
    `there is no ${what} ${JSON.stringify(name)} on this host; create it or correct the configuration`,
  );
}

export const faultOf = (error: unknown): string =>
  error instanceof PlacingFault ? error.message : fileFault(error);
