/** The bytes are not a valid DNS message; the response is FORMERR. */
export class WireFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WireFault';
  }
}
