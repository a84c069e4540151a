import { inspect } from 'node:util';

const masked = '[secret]';

/** A text that only `reveal` returns: templates, JSON, logs and the debugger print a mask. */
export class Secret {
  readonly #text: string;
  readonly #read: () => string;

  /** @param read the text as it is now; default: it does not change */
  constructor(text: string, read: () => string = () => text) {
    this.#text = text;
    this.#read = read;
  }

  reveal(): string {
    return this.#text;
  }

  /**
   * Reads the file of the secret again, which a mounted Secret replaces when it is rotated.
   *
   * @throws Error when the file cannot be read
   */
  revealCurrent(): string {
    return this.#read();
  }

  toString(): string {
    return masked;
  }

  toJSON(): string {
    return masked;
  }

  [inspect.custom](): string {
    return masked;
  }
}
