import { createHash } from 'node:crypto';

/** Certificates that the servers of a look present, each once. */
export class CertificatesOfLook {
  /** DER in base64. */
  readonly list: string[] = [];
  private readonly indexes = new Map<string, number>();
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  /**
   * @param chain DER
   * @returns indexes in the list; null: the list would become too long, and is unchanged
   */
  add(chain: readonly Buffer[]): readonly number[] | null {
    const each = chain.map((der) => ({ der, digest: createHash('sha256').update(der).digest('base64') }));
    const added = new Map(
      each.filter(({ digest }) => !this.indexes.has(digest)).map(({ der, digest }) => [digest, der]),
    );
    const bytes = [...added.values()].reduce((sum, { length }) => sum + length, this.bytes);
    if (bytes > this.maxBytes) return null;
    this.bytes = bytes;
    for (const [digest, der] of added) this.indexes.set(digest, this.list.push(der.toString('base64')) - 1);
    return each.map(({ digest }) => this.indexes.get(digest) ?? -1);
  }
}
