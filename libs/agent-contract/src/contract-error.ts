export type ContractErrorCode =
  /** Not in the one form that the protocol allows. */
  | 'malformed'
  /** Larger than the limit of the protocol. */
  | 'too_large'
  /** A signature that its key did not make over these bytes. */
  | 'bad_signature'
  /** A ciphertext that was not sealed for this receiver, sender, cluster, order and key. */
  | 'not_sealed_for_this'
  /** A valid value that belongs to another cluster, agent, order or key. */
  | 'mismatch';

/** What another party sent violates the protocol. The message never repeats a secret or a private key. */
export class ContractError extends Error {
  constructor(
    readonly code: ContractErrorCode,
    message: string,
  ) {
    super(message);
    this.name = 'ContractError';
  }
}
