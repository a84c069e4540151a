import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

interface PasswordHash {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** scrypt (RFC 7914) with N = 2^15, r = 8, p = 1: 32 MiB and about 60 ms per guess. */
const currentCost: Cost = { N: 2 ** 15, r: 8, p: 1 };

/** Maximum cost of a stored hash, so that no row can make a process spend without bound. */
const max = { N: 2 ** 17, r: 16, p: 4, memoryBytes: 128 * 1024 * 1024 } as const;

const saltBytes = 16;
const hashBytes = 32;

/** @returns `scrypt:N:r:p:salt:hash`, the last two in base64url */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  return writeHash({ cost: currentCost, salt, hash: await derive(password, currentCost, salt) });
}

/** A hash that no password matches, at the same cost. */
export function unknownPasswordHash(): string {
  return writeHash({ cost: currentCost, salt: randomBytes(saltBytes), hash: randomBytes(hashBytes) });
}

/** @param stored an unreadable hash matches no password */
export async function fitsPassword(password: string, stored: string): Promise<boolean> {
  const known = readHash(stored);
  if (known === null) return false;
  return timingSafeEqual(await derive(password, known.cost, known.salt), known.hash);
}

type Scrypt = (password: string, salt: Buffer, length: number, options: object) => Promise<Buffer>;

/** Input methods compose characters differently (RFC 8265 §4.2). */
async function derive(password: string, cost: Cost, salt: Buffer): Promise<Buffer> {
  const maxmem = 2 * memoryOf(cost);
  return await (promisify(scrypt) as Scrypt)(password.normalize('NFC'), salt, hashBytes, {
    ...cost,
    maxmem,
  });
}

/** RFC 7914 §2: 128 · N · r + 128 · r · p bytes. */
const memoryOf = ({ N, r, p }: Cost): number => 128 * r * (N + p);

const writeHash = ({ cost: { N, r, p }, salt, hash }: PasswordHash): string =>
  `scrypt:${N}:${r}:${p}:${salt.toString('base64url')}:${hash.toString('base64url')}`;

function readHash(stored: string): PasswordHash | null {
  const shape = /^scrypt:(\d{1,6}):(\d{1,2}):(\d):([\w-]{11,86}):([\w-]{43})$/.exec(stored);
  if (shape === null) return null;
  const [, N, r, p, salt = '', hash = ''] = shape;
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return isWithinMax(cost)
    ? { cost, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
    : null;
}

const isWithinMax = (cost: Cost): boolean =>
  cost.N >= 2 &&
  Number.isInteger(Math.log2(cost.N)) &&
  cost.N <= max.N &&
  cost.r >= 1 &&
  cost.r <= max.r &&
  cost.p >= 1 &&
  cost.p <= max.p &&
  memoryOf(cost) <= max.memoryBytes;
