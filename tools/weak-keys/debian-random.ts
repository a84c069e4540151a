import { createHash } from 'node:crypto';

/** The platforms of Debian 4.0 whose keys differ: byte order, size of `long` and of `struct stat`. */
export const platforms = {
  le32: { longBytes: 4, statBytes: 88, bigEndian: false },
  le64: { longBytes: 8, statBytes: 144, bigEndian: false },
  be32: { longBytes: 4, statBytes: 88, bigEndian: true },
} as const;

/**
 * What the command `openssl` found: the file `~/.rnd`, or not; 0.9.8c mixed in the file's `struct stat` even then, 0.9.8g
 * did not.
 */
export const variants = ['rnd', 'nornd-old', 'nornd-new'] as const;

export interface Origin {
  readonly platform: keyof typeof platforms;
  readonly variant: (typeof variants)[number];
  /** 0 to 32767. */
  readonly processId: number;
}

/** Of `crypto/rand/md_rand.c`. */
const poolBytes = 1023;
const digestBytes = 20;
const bytesPerDigest = digestBytes / 2;

/**
 * The random numbers of OpenSSL 0.9.8c-1 to 0.9.8g-8 on Debian (CVE-2008-0166). The lines that mixed the seed into the pool
 * were removed, so that only the number and the sizes of the seeds count, and the process id.
 */
export class DebianRandom {
  private readonly pool = Buffer.alloc(poolBytes);
  private digest: Buffer = Buffer.alloc(digestBytes);
  private poolUsed = 0;
  private poolIndex = 0;
  private outputs = 0;
  private blocks = 0;
  private seeded = false;
  private stirred = false;

  constructor(private readonly origin: Origin) {
    const { statBytes } = platforms[origin.platform];
    if (origin.variant !== 'nornd-new') this.seed(statBytes);
    if (origin.variant === 'rnd') this.seed(1024);
    // Without the file the command checks the amount of randomness at once; otherwise at the first output.
    else this.poll();
  }

  /** `ssleay_rand_add` without its line `MD_Update(&m, buf, j)`. */
  seed(bytes: number): void {
    let index = this.poolIndex;
    const outputs = this.outputs;
    let blocks = this.blocks;
    this.poolIndex += bytes;
    if (this.poolIndex >= poolBytes) {
      this.poolIndex %= poolBytes;
      this.poolUsed = poolBytes;
    } else {
      this.poolUsed = Math.max(this.poolUsed, this.poolIndex);
    }
    this.blocks += Math.ceil(bytes / digestBytes);
    let local = this.digest;
    for (let left = bytes; left > 0; left -= digestBytes) {
      const size = Math.min(left, digestBytes);
      local = sha1(local, this.poolAt(index, size, poolBytes), this.counters(outputs, blocks));
      blocks++;
      index = this.mix(index, local.subarray(0, size), poolBytes);
    }
    this.digest = Buffer.from(this.digest.map((byte, at) => byte ^ (local[at] ?? 0)));
  }

  /** `ssleay_rand_bytes` */
  bytes(count: number): Buffer {
    if (!this.seeded) this.poll();
    if (!this.stirred) {
      for (let left = poolBytes; left > 0; left -= digestBytes) this.seed(digestBytes);
      this.stirred = true;
    }
    let index = this.poolIndex;
    const used = this.poolUsed;
    const counters = this.counters(this.outputs, this.blocks);
    this.poolIndex += Math.ceil(count / bytesPerDigest) * bytesPerDigest;
    if (this.poolIndex > used) this.poolIndex %= used;
    this.outputs++;
    let local = this.digest;
    let processId = this.origin.processId === 0 ? Buffer.alloc(0) : this.encoded(this.origin.processId, 4);
    const output: Buffer[] = [];
    for (let left = count; left > 0; left -= bytesPerDigest) {
      local = sha1(processId, local, counters, this.poolAt(index, bytesPerDigest, used));
      processId = Buffer.alloc(0);
      index = this.mix(index, local.subarray(0, bytesPerDigest), used);
      output.push(local.subarray(bytesPerDigest, bytesPerDigest + Math.min(left, bytesPerDigest)));
    }
    this.digest = sha1(counters, local, this.digest);
    return Buffer.concat(output);
  }

  /** `RAND_poll`: 32 bytes of /dev/urandom, the process id, the user id and the time. */
  private poll(): void {
    const { longBytes } = platforms[this.origin.platform];
    for (const bytes of [32, longBytes, longBytes, longBytes]) this.seed(bytes);
    this.seeded = true;
  }

  private poolAt(index: number, bytes: number, end: number): Buffer {
    const first = this.pool.subarray(index, Math.min(index + bytes, end));
    return Buffer.concat([first, this.pool.subarray(0, bytes - first.length)]);
  }

  private mix(start: number, bytes: Buffer, end: number): number {
    let index = start;
    for (const byte of bytes) {
      this.pool[index] = (this.pool[index] ?? 0) ^ byte;
      index = index + 1 >= end ? 0 : index + 1;
    }
    return index;
  }

  private counters(outputs: number, blocks: number): Buffer {
    const { longBytes } = platforms[this.origin.platform];
    return Buffer.concat([this.encoded(outputs, longBytes), this.encoded(blocks, longBytes)]);
  }

  private encoded(value: number, bytes: number): Buffer {
    const encoded = Buffer.alloc(bytes);
    if (platforms[this.origin.platform].bigEndian) encoded.writeUInt32BE(value, bytes - 4);
    else encoded.writeUInt32LE(value);
    return encoded;
  }
}

function sha1(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
