import { inspect } from 'node:util';

const masked = '[secret]';

/** A text that only `reveal` returns: templates, JSON, logs and the debugger print a mask. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
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
