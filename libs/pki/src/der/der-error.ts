/** Why bytes are not the expected DER. The only error that this folder throws. */
export class DerError extends Error {
  constructor(
    /** For the author of the bytes; names structures and rules, never repeats content. */
    readonly reason: string,
    /** Offset of the error, in bytes from the start of the DER. */
    readonly offset: number,
  ) {
    super(`${reason} (at byte ${offset})`);
    this.name = 'DerError';
  }
}
