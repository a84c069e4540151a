/** The bytes are no DNS message; what could be read of it is answered FORMERR. */
export class WireFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WireFault';
  }
}
