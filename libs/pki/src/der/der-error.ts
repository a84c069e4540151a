/** Why octets are not the DER that was expected. The only error that anything in this folder throws. */
export class DerError extends Error {
  constructor(
    /** Written for the person who made the octets; names structures and rules, never repeats content. */
    readonly reason: string,
    /** Octets before the fault, from the start of the DER that was being read. */
    readonly offset: number,
  ) {
    super(`${reason} (at octet ${offset})`);
    this.name = 'DerError';
  }
}
